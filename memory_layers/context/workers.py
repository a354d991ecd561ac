"""Threads for calls that may block for ever.

Those of `concurrent.futures` are waited for when the interpreter ends, so a store that never answers would keep the
process from ending. These are not: whoever hangs is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """Up to `most` threads, made when they are needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[Thread] = []

    async def call(self, function: Callable[[], T]) -> T:
        """What it returns, in the caller's context. Whoever is cancelled leaves a call that has begun to itself."""
        future: Future[T] = Future()
        context = copy_context()
        self._calls.put((future, lambda: context.run(function)))
        if len(self._threads) < self._most:
            name = f"{self._name}_{len(self._threads)}"
            self._threads.append(Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """No thread takes another call; what runs is not waited for."""
        for _ in self._threads:
            self._calls.put(None)

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            future, function = given
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function()
            except BaseException as error:  # whatever it is, it is the caller's
                future.set_exception(error)
            else:
                future.set_result(result)
            del given, future, function
