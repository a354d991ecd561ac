"""Ending tasks that go on until they are told to stop.

One cancellation is not enough. `asyncio.wait_for` of Python 3.11 drops one that arrives together with the answer it
waits for, and so does a pool that has just handed a connection over; a loop that was cancelled at that moment goes on,
and whoever waits for its end waits for ever. So it is told again until it has ended.
"""

from __future__ import annotations

import asyncio
from typing import Any

_AGAIN = 0.5
"""Seconds."""


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended; how is left to them."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN)
