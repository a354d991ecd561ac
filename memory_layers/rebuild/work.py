"""A rebuild as whoever is at it holds it: by a lease on its row, by the server's clock.

One process is at it at a time. One that dies leaves the row, and with it how far it was, to whoever is started next,
once its lease has lapsed; that takes seconds, and they are waited for. No lock of a session is held, so a pooler in
transaction mode may stand in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ...infra.connections import Connection, Connections
from ...infra.errors import LousaError, ServerUnavailable
from ...infra.ids import new_id
from ...infra.sql import load_queries
from ...infra.tasks import end

QUERIES = load_queries(__package__ or "")
LEASE = timedelta(seconds=10)
_LOG = logging.getLogger(__name__)
_LOOK_AGAIN = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a rebuild is: the space that is being filled, if there is one, and whether it is owed all there was."""

    space: str | None
    filled: bool
    begun_at: datetime


class Work:
    """The rebuild of one layer."""

    def __init__(self, connections: Connections, layer: Literal["context", "knowledge"], lease: timedelta) -> None:
        self._connections = connections
        self._layer = layer
        self._lease = lease
        self._holder = new_id()
        self._lost = False

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[Standing]:
        """Take it, or go on with it, and keep it for as long as the block runs.

        Raises:
            LousaError: another process is at it.
        """
        standing = await self._taken()
        renewing = asyncio.create_task(self._renew(), name=f"lousa rebuild: the lease on {self._layer}")
        try:
            yield standing
        finally:
            await end(renewing)
            with suppress(ServerUnavailable):  # its lease lapses by itself
                await self._tell("leave")

    def check(self) -> None:
        """That it is still ours.

        Raises:
            LousaError: it took too long to say so, and another process is at it.
        """
        if self._lost:
            raise LousaError(f"the rebuild of {self._layer} was taken over by another process: nothing is lost by that")

    async def write(self, connection: Connection, what: str, **parameters: object) -> None:
        """Write down how far it is, in the caller's transaction.

        Raises:
            LousaError: another process is at it; the transaction must not commit.
        """
        if (await connection.execute(QUERIES[what], {**self._ours, **parameters})).rowcount != 1:
            self._lost = True
            self.check()

    @property
    def _ours(self) -> dict[str, object]:
        return {"layer": self._layer, "holder": self._holder, "lease": self._lease}

    async def _taken(self) -> Standing:
        waited_for: object = None
        while True:
            async with self._connections.system_transaction("") as connection:
                if (row := await (await connection.execute(QUERIES["take"], self._ours)).fetchone()) is not None:
                    return Standing(space=row[0], filled=row[1], begun_at=row[2])
                held = await (await connection.execute(QUERIES["held"], self._ours)).fetchone()
            if held is not None:
                left, begun_at, holder = held
                until = asyncio.get_running_loop().time() + left
                if waited_for is None:
                    waited_for = (holder, until)
                elif holder != waited_for[0] or until > waited_for[1] + 2 * _LOOK_AGAIN:
                    raise LousaError(
                        f"another process rebuilds {self._layer} (begun {begun_at:%Y-%m-%d %H:%M:%S} UTC): wait for it,"
                        " or stop it, and what it leaves is gone on with"
                    )
            await asyncio.sleep(_LOOK_AGAIN)

    async def _renew(self) -> None:
        while not self._lost:
            await asyncio.sleep(self._lease.total_seconds() / 4)
            try:
                self._lost = not await self._tell("renew")
            except ServerUnavailable as error:
                _LOG.warning("the lease on a rebuild waits for its server: %s", error)

    async def _tell(self, what: str) -> bool:
        async with self._connections.system_transaction("") as connection:
            return (await connection.execute(QUERIES[what], self._ours)).rowcount == 1
