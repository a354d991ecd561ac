"""Pressure: how writers are slowed before what waits for its layers fills the memory.

What was accepted and is not yet where it belongs is a debt, and every debt has a mark. Four are known where a write is
made, without asking anybody again: entries and bytes of a tenant's journal and the unaudited changes of a board come
with the answer of the write itself; memories that wait for their vectors are looked at once a second (`lookout`).

The rule, of the debt that is nearest to its mark:

    below the soft mark      nothing happens
    from soft to hard mark   the write is accepted at once, its acknowledgement held back: in proportion, up to `delay`
    at the hard mark         the write waits for room, the first in a process first, up to `patience`; then it is
                             refused with `Overloaded`, before it was accepted

So what was acknowledged is never dropped, and what a writer may have to wait is bounded. Debts are counted by tenant
(and by board): a backlog slows those who made it and nobody else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar
from weakref import WeakValueDictionary

from ..infra import telemetry
from ..infra.errors import Overloaded
from ..infra.settings import Settings

T = TypeVar("T")
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The hard marks; `soft` is the share of each from which writers are slowed."""

    entries: int = 100_000
    bytes: int = 128 * 2**20
    vectors: int = 100_000
    changes: int = 50_000
    soft: float = 0.5
    delay: timedelta = timedelta(milliseconds=250)
    patience: timedelta = timedelta(seconds=5)

    @classmethod
    def of(cls, settings: Settings) -> Marks:
        """The marks that are set."""
        return cls(
            entries=settings.debt_entries,
            bytes=settings.debt_megabytes * 2**20,
            vectors=settings.debt_vectors,
            changes=settings.debt_changes,
            soft=settings.debt_soft,
            delay=settings.debt_delay,
            patience=settings.debt_patience,
        )

    def hold(self, share: float) -> float:
        """Seconds an acknowledgement is held back when a debt has come to that share of its mark."""
        if share <= self.soft:
            return 0.0
        return self.delay.total_seconds() * min(1.0, (share - self.soft) / max(1e-9, 1 - self.soft))


class Brake:
    """Holds the writers of one process to the rule."""

    def __init__(self, marks: Marks | None = None) -> None:
        self.marks = marks or Marks()
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def admitted(self, queue: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` gives, which raises `Overloaded`, with nothing done, while there is no room.

        Then it is made again, in turn with the others of that queue, until there is room or patience ends.

        Raises:
            Overloaded: there was no room in all that time.
        """
        if queue not in self._queues:
            try:
                return await attempt()
            except Overloaded:
                pass
        return await self._in_turn(queue, attempt)

    async def held(self, share: float, policy: str) -> None:
        """Hold an acknowledgement back, if the debt has come that far."""
        if seconds := self.marks.hold(share):
            telemetry.count("lousa.write.delayed", {"lousa.policy": policy})
            await asyncio.sleep(seconds)

    async def _in_turn(self, queue: str, attempt: Callable[[], Awaitable[T]]) -> T:
        lock = self._queues.get(queue)
        if lock is None:
            lock = self._queues[queue] = asyncio.Lock()
        ends = time.monotonic() + self.marks.patience.total_seconds()
        pause = _FIRST_PAUSE
        # An attempt is never cancelled: it may be accepted at that very moment.
        try:
            async with asyncio.timeout(self.marks.patience.total_seconds()):
                await lock.acquire()
        except TimeoutError:
            return await self._last(queue, attempt)
        try:
            while (left := ends - time.monotonic()) > 0:
                try:
                    return await attempt()
                except Overloaded:
                    await asyncio.sleep(min(pause, left))
                    pause = min(pause * 1.5, _LONGEST_PAUSE)
            return await self._last(queue, attempt)
        finally:
            lock.release()

    async def _last(self, queue: str, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            return await attempt()
        except Overloaded as error:
            telemetry.count("lousa.write.refused", {"lousa.policy": queue.partition(" ")[0]})
            waited = self.marks.patience.total_seconds()
            raise Overloaded(f"{error}; it waited {waited:g} s for room") from error.__cause__
