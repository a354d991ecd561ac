"""Who leads the run that is due: one of any number of replicas, and another one when it dies.

Due times lie on a grid that all compute alike, and the last one taken is written down: whoever moves it forward leads.
So a due time is taken once, however many replicas ask and whatever their own clocks say; one that was missed is taken
late, several that were missed as one. The leader holds a lease by the server's clock and renews it; when it lapses
before the run is done, the next to ask takes the same run up.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from ..infra.clock import Clock
from ..infra.connections import Connections
from .queries import QUERIES

QUIET = datetime(2026, 1, 1, 6, tzinfo=UTC)
"""The grid goes through three in the morning in São Paulo, which is early morning in Europe."""


class Lead:
    """The lead of the runs that are due every so often."""

    def __init__(
        self, connections: Connections, holder: UUID, every: timedelta, lease: timedelta, *, clock: Clock | None = None
    ) -> None:
        self.lease = lease
        self._connections = connections
        self._clock = clock
        self._parameters = {"holder": holder, "every": every, "lease": lease, "anchor": QUIET}

    async def take(self) -> datetime | None:
        """The due time of the run that is ours to lead now; None when nothing is due, or somebody leads it."""
        now = None if self._clock is None else self._clock.now()
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["take_due"], {**self._parameters, "now": now})
            row = await cursor.fetchone()
        return None if row is None else row[0].astimezone(UTC)

    async def renew(self) -> bool:
        """Still leading, for another while; False when somebody else does."""
        return await self._tell("renew_lead")

    async def end(self) -> bool:
        """The run is done."""
        return await self._tell("end_lead")

    async def leave(self) -> bool:
        """The run is not done, and whoever asks next may take it up at once."""
        return await self._tell("leave_lead")

    async def _tell(self, what: str) -> bool:
        async with self._connections.system_transaction("") as connection:
            return (await connection.execute(QUERIES[what], self._parameters)).rowcount == 1
