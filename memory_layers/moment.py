"""A moment in which nobody writes: looked for in short tries, so that no writer is held up for long.

What is done then takes locks that conflict with every write, and gives up when it would have to wait for longer than a
writer should. It is tried again, with pauses, for a minute. An automatic vacuum stands in the way as a writer does, for
as long as a table takes; only a wait of over a second sends it away, so after some tries one is that long.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import chain, cycle, repeat
from typing import TypeVar

from psycopg.errors import DeadlockDetected, LockNotAvailable

from ..infra.errors import ServerUnavailable
from ..infra.retry import retrying

_ROOM = timedelta(seconds=60)
_SHORT, _LONG = "400ms", "1500ms"
_SHORT_TRIES = 5

T = TypeVar("T")


async def in_a_moment(work: Callable[[str], Awaitable[T]]) -> T:
    """Do what needs such a moment, in a transaction of its own, as soon as there is one.

    It is told how long it may wait for a lock, as Postgres takes it.

    Raises:
        ServerUnavailable: there is none for a minute.
    """
    patience = chain(repeat(_SHORT, _SHORT_TRIES), cycle((_LONG, *repeat(_SHORT, _SHORT_TRIES))))
    try:
        return await retrying(
            lambda: work(next(patience)),
            transient=_taken,
            what="finding a moment in which nobody writes",
            within=_ROOM,
        )
    except ServerUnavailable as error:
        if not _taken(error):
            raise
        raise ServerUnavailable(
            f"writers left no moment free in {_ROOM.total_seconds():g} s: a transaction, or a vacuum, may hang; run it"
            " again"
        ) from error


def _taken(error: BaseException) -> bool:
    return isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected))
