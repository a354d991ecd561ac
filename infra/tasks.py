"""Tasks that never outlive whoever started them: `together` for calls that are waited for, `end` for what goes on.

`asyncio.gather` lets the others run on unseen when one of its calls fails or is cancelled: they hold a connection while
it is being closed, or open one that nobody closes any more. `together` is over when all of its calls are.

One cancellation is not enough to `end` a task. `asyncio.wait_for` of Python 3.11 drops one that arrives together with
the answer it waits for, and so does a pool that has just handed a connection over; a loop that was cancelled at that
moment goes on, and whoever waits for its end waits for ever. So it is told again until it has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
Call = Coroutine[Any, Any, A]
_AGAIN = 0.5
"""Seconds."""


@overload
async def together(first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
@overload
async def together(first: Call[A], second: Call[B], third: Call[C], fourth: Call[D], /) -> tuple[A, B, C, D]: ...
@overload
async def together(*calls: Call[A]) -> tuple[A, ...]: ...
async def together(*calls: Call[Any]) -> tuple[Any, ...]:
    """What calls answer that are made at the same time, in their order; all of them have ended when this has.

    Raises:
        Exception: the first that one of them raised; the others were cancelled.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended; how is left to them."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN)
