"""Receipts: what became of a write, as a value to match on.

``stored`` it is in the ledger and found; ``journaled`` it is acknowledged and will be; ``quarantined`` it is kept apart
until a curator confirms it; ``duplicate`` an equal one was there, and `id` is that one's; ``forgotten`` its id was
withdrawn before it arrived; ``stale`` the relay refused it, because its task had passed to another attempt;
``rejected`` the validator of its category refused it; ``withdrawn`` and ``expired`` it was, and nothing brings it back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal
from uuid import UUID

State = Literal[
    "stored", "journaled", "quarantined", "duplicate", "forgotten", "stale", "rejected", "withdrawn", "expired"
]
Follow = Callable[["Receipt", timedelta], Awaitable["Receipt"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one write. `owed` names the layers that do not have it yet; the relay pays them.

    `superseded` are the facts that it retired, and the memories whose place it took because it tells the same thing
    with another value: `because` says why of each of these, once the receipt is settled. `contested` are the facts that
    it stands against. `reason` is why a validator rejected it or set it apart; a repeat is answered without it.
    """

    id: UUID
    state: State
    owed: tuple[str, ...] = ()
    superseded: tuple[UUID, ...] = ()
    contested: tuple[UUID, ...] = ()
    because: Mapping[UUID, str] = field(default_factory=dict[UUID, str])
    reason: str = ""
    _follow: Follow | None = field(default=None, repr=False, compare=False)

    async def settled(self, timeout: timedelta | float = 10.0) -> Receipt:  # noqa: ASYNC109  # its end is an answer
        """The receipt once the write is in all its layers, or as it stands when the time is over; seconds or a span."""
        if self._follow is None or (self.state != "journaled" and not self.owed):
            return self
        return await self._follow(self, timeout if isinstance(timeout, timedelta) else timedelta(seconds=timeout))
