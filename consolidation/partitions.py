"""`partitions`: the ledger always has room for the months to come.

Entries lie in a partition a month and retention class. This keeps twelve months ahead of today; what would find none
goes to a partition for the rest, so nothing is ever refused, but a month cannot be made once entries of it lie there.

The database makes them as the owner of its schema, whoever asks for lousa_system. To make one the ledger is locked for
a moment, so whoever waits for it longer than a second gives way and leaves it for the next run: there are months of
time.
"""

from __future__ import annotations

import logging

from psycopg.errors import CheckViolation, LockNotAvailable

from ..infra.connections import Connection, Connections
from ..infra.errors import ServerUnavailable
from .contract import Counts, Hour, Work
from .queries import QUERIES

_LOG = logging.getLogger(__name__)
AHEAD = 12
CLASSES = 3
PATIENCE = "1s"


class Partitions:
    """Satisfies `Step`. The ledger is everybody's, so whichever tenant's run comes first finds the work."""

    name = "partitions"

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """The months ahead, by the server's own calendar, and how many have no partition."""
        rows = await (await connection.execute(QUERIES["partitions"], {"months": AHEAD})).fetchall()
        return Counts(examined=CLASSES * (AHEAD + 1), changed=len(rows))

    async def work(self, work: Work, hour: Hour) -> None:
        """Each in a transaction of its own, which belongs to no tenant; then it is counted."""
        async with work.batch() as batch:
            missing = await (await batch.connection.execute(QUERIES["partitions"], {"months": AHEAD})).fetchall()
        for name, month in missing:
            try:
                async with self._connections.system_transaction("") as connection:
                    await connection.execute("SELECT set_config('lock_timeout', %s, true)", (PATIENCE,))
                    await connection.execute(QUERIES["make_partition"], {"class": name, "month": month})
            except (CheckViolation, ServerUnavailable) as error:
                if not isinstance(error.__cause__ or error, (CheckViolation, LockNotAvailable)):
                    raise
                why = type(error.__cause__ or error).__name__
                _LOG.warning("the ledger got no partition %s %s (%s)", name, f"{month:%Y-%m}", why)
                continue
            async with work.batch() as batch:
                batch.changed += 1
