"""A moment in which nobody writes: looked for in short tries, so that no writer is held up for long.

What is done then takes locks that conflict with every write, and gives up when it would have to wait for longer than a
writer should: functions of the database set that patience. It is tried again, with pauses, for a minute.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from psycopg.errors import DeadlockDetected, LockNotAvailable

from ..infra.errors import ServerUnavailable
from ..infra.retry import retrying

_ROOM = timedelta(seconds=60)

T = TypeVar("T")


async def in_a_moment(work: Callable[[], Awaitable[T]]) -> T:
    """Do what needs such a moment, in a transaction of its own, as soon as there is one.

    Raises:
        ServerUnavailable: there is none for a minute.
    """
    try:
        return await retrying(work, transient=_taken, what="finding a moment in which nobody writes", within=_ROOM)
    except ServerUnavailable as error:
        if not _taken(error):
            raise
        raise ServerUnavailable(
            f"writers left no moment free in {_ROOM.total_seconds():g} s: a transaction may hang; run it again"
        ) from error


def _taken(error: BaseException) -> bool:
    return isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected))
