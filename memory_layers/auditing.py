"""Board changes into the ledger: the other half of "no write without its audit record".

A board's change stream holds every change until its entry is in the ledger. The copy goes in order, and how far it got
is written in the transaction of the entries themselves, on the execution's own row, so relays take turns and a crash
repeats nothing. Entry ids derive from the execution and the change's place, so even a repeat would meet itself. An
artifact that a change refers to is taken up in that same transaction.

Once an execution is over and its stream is in the ledger, its board is closed and given a day to live, or what
`Settings.board_kept` says. A failed one can be taken up again, so it is over only after a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from ..infra.connections import Connections
from ..infra.ids import derived_id
from .commit import QUERIES
from .conversation.changes import StoredChange
from .conversation.feed import Feed
from .conversation.values import decode
from .execution import artifacts, ledger
from .records import Json

_PAGE = 500
_KEPT_CHANGES = 10_000
_MOST_BOARDS = 1_000


class BoardAudit:
    """Copies the changes of boards into the ledger. A board that is over and copied is `kept` for a while."""

    def __init__(self, connections: Connections, feed: Feed, *, kept: timedelta = timedelta(hours=24)) -> None:
        self._connections = connections
        self._feed = feed
        self._kept = kept

    async def round(self) -> None:
        """Copy what every open board owes, and let go of those that are over."""
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["open_boards"], {"limit": _MOST_BOARDS})
            boards = await cursor.fetchall()
        for execution, tenant, through, over in boards:
            through, complete = await self.copy(tenant, execution, through)
            if over and complete and await self._feed.expire(tenant, execution, through, self._kept):
                async with self._connections.system_transaction(tenant) as connection:
                    await connection.execute(QUERIES["drained"], {"id": execution, "through": through})

    async def copy(self, tenant: str, execution: UUID, through: str) -> tuple[str, bool]:
        """Copy the changes after `through`; how far the ledger is now, and whether that is the end of the stream."""
        while changes := await self._feed.drain(tenant, execution, through, _PAGE):
            if not await self._enter(tenant, execution, through, changes):
                return through, False  # another relay is at it
            through = changes[-1].cursor
            if changes[-1].number > _KEPT_CHANGES:
                await self._feed.trim(tenant, execution, through, _KEPT_CHANGES)
        return through, True

    async def collect(self) -> None:
        """Remove artifacts that nothing referred to; to be called when every change so far was copied."""
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["tenants"])
            tenants = [row[0] for row in await cursor.fetchall()]
        for tenant in tenants:
            async with self._connections.system_transaction(tenant) as connection:
                await artifacts.collect(connection)

    async def _enter(self, tenant: str, execution: UUID, through: str, changes: Sequence[StoredChange]) -> bool:
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(QUERIES["lock_audit"], {"id": execution})
            row = await cursor.fetchone()
            if row is None or row[0] != through:
                return False
            await ledger.append(connection, [_entry(tenant, execution, change) for change in changes])
            taken = [(found.subject, found.digest) for change in changes if (found := change.artifact)]
            if taken:
                await artifacts.take_up(connection, tenant, taken)
            await connection.execute(QUERIES["audited"], {"id": execution, "through": changes[-1].cursor})
            return True


def _entry(tenant: str, execution: UUID, change: StoredChange) -> ledger.Entry:
    basis: dict[str, Json] = {"operation": str(change.operation)}
    if change.task is not None:
        basis["task"] = change.task
    if reference := change.artifact:
        basis["artifact"] = reference.digest.hex()
    return ledger.Entry(
        id=derived_id(execution, "change", change.cursor),
        tenant=tenant,
        agent=change.agent,
        session=change.session,
        execution=execution,
        occurred_at=change.at,
        action=f"board.{change.action}",
        field=change.field,
        version_before=change.before,
        version_after=change.after,
        outcome="written",
        basis=basis,
        person=change.subject or None,
        payload={"value": decode(change.body)} if change.body is not None else {},
    )
