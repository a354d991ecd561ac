"""Batching: mutations that are wanted while others are under way go to the server together.

A lone call is sent at once and pays nothing. Calls that are made in the same turn of the event loop go together, as the
results of workers that were started together do, and those that find `LANES` trips under way wait for the next one and
share it: one connection, one sync of the server's file, one waking of this process. Each call still gets its own
answer. Nothing here is needed for correctness: a trip that is sent again after a lost reply meets the answers of the
first by its operation ids.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from ...infra.connections import Connections
from .script import Call, Script, call_all

LANES = 2
LARGEST = 200
"""Calls in one trip, at most."""


class Batch:
    """The trips of one process to its server."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._waiting: deque[tuple[Call, asyncio.Future[object]]] = deque()
        self._under_way = 0
        self._gathering = False
        self._trips: set[asyncio.Task[None]] = set()

    async def run(self, script: Script, keys: Sequence[str | bytes], *arguments: str | bytes | int) -> object:
        """The reply of `script`, as `Script` gives it.

        Raises:
            ServerUnavailable: the server did not answer, or cannot write.
        """
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self._under_way == LANES or self._waiting or self._gathering:
            self._waiting.append(((script, keys, arguments), answer))
            return await answer
        self._under_way += 1
        try:
            await self._gather()
            if not self._waiting:
                return await script(self._connections.redis, keys, *arguments)
            self._waiting.appendleft(((script, keys, arguments), answer))
        finally:
            self._arrived()
        return await answer

    async def _gather(self) -> None:
        """Let whoever wants to go at this very moment come along."""
        self._gathering = True
        try:
            await asyncio.sleep(0)
        finally:
            self._gathering = False

    async def close(self) -> None:
        """Wait for what is under way."""
        if self._trips:
            await asyncio.wait(self._trips)

    def _arrived(self) -> None:
        self._under_way -= 1
        calls: list[tuple[Call, asyncio.Future[object]]] = []
        while self._waiting and len(calls) < LARGEST:
            call, answer = self._waiting.popleft()
            if not answer.done():  # else whoever asked was cancelled
                calls.append((call, answer))
        if calls:
            self._under_way += 1
            self._trips.add(trip := asyncio.create_task(self._travel(calls)))
            trip.add_done_callback(self._trips.discard)

    async def _travel(self, calls: list[tuple[Call, asyncio.Future[object]]]) -> None:
        try:
            replies = await call_all(self._connections.redis, [call for call, _ in calls])
        except Exception as error:
            replies = [error] * len(calls)
        finally:
            self._arrived()
        for (_, answer), reply in zip(calls, replies, strict=True):
            if not answer.done():
                answer.set_exception(reply) if isinstance(reply, Exception) else answer.set_result(reply)
