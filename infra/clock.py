"""Time as an argument: whatever needs the hour is handed a `Clock`, so that a test can turn it.

All times are aware and in UTC. Leases do not use this clock but the server's: two machines may disagree.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time. ``now`` never goes back within one process by more than the machine's own correction."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock. Satisfies `Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """A clock that stands still until told otherwise. Satisfies `Clock`."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta) -> None:
        self._now += step


def utc(moment: datetime) -> datetime:
    """`moment` in UTC; a naive one is refused, because whose midnight it means is unknown."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: give one, e.g. datetime(..., tzinfo=timezone.utc)")
    return moment.astimezone(UTC)
