"""Settling what was brought back: the world outside remembers more than it does.

Between the backup and the restore others went on, and some of them kept what they were told: a watcher its cursor, a
process its claim. The restored servers know nothing of that and would give the same numbers again, to other changes. So
every open board is copied into the ledger as far as it goes, and then goes on with numbers and tokens far beyond any
that can have been given: a cursor from that time is answered with a snapshot, which says so. Nobody holds a claim: who
held one belongs to the other servers, perhaps is still at work there, and must not keep anybody from resuming here.

The restore itself is in the ledger of every tenant: an auditor who misses the time between sees why.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ...infra.connections import Connections
from ...infra.errors import ServerUnavailable
from ...infra.ids import new_id
from ...memory_layers.auditing import BoardAudit
from ...memory_layers.conversation.changes import cursor_of
from ...memory_layers.conversation.feed import Feed
from ...memory_layers.conversation.keys import board_keys
from ...memory_layers.conversation.script import Script
from ...memory_layers.execution import ledger
from .cut import QUERIES

_RELEASED = Script("released.lua")
_WITHIN = timedelta(minutes=1)


async def settle(connections: Connections, taken_at: datetime, seal: str) -> None:
    """Do it, on servers that nobody else uses."""
    feed = Feed(connections)
    audit = BoardAudit(connections, feed)
    for execution, tenant in await _rows(connections, "open_boards"):
        if not await audit.catch_up(tenant, execution, _WITHIN):
            raise ServerUnavailable(f"the board of execution {execution} could not be copied into the ledger")
        await _go_on(connections, feed, tenant, execution)
    now = datetime.now(taken_at.tzinfo)
    for (tenant,) in await _rows(connections, "tenants"):
        entry = ledger.Entry(
            id=new_id(),
            tenant=tenant,
            agent="restore",
            action="backup.restore",
            outcome="restored",
            retention="standard",
            occurred_at=now,
            basis={"taken_at": taken_at.isoformat(), "backup": seal},
        )
        async with connections.system_transaction(tenant) as connection:
            await ledger.append(connection, [entry])


async def _go_on(connections: Connections, feed: Feed, tenant: str, execution: UUID) -> None:
    await _RELEASED(connections.redis, [board_keys(tenant, execution).claims])
    await feed.go_ahead(tenant, execution, cursor_of(await feed.last(tenant, execution)))
    await feed.found(tenant, execution)  # all it has is in the ledger already
    through = cursor_of(await feed.last(tenant, execution))
    async with connections.owner_transaction() as connection:
        await connection.execute(QUERIES["audited"], {"id": execution, "through": through})


async def _rows(connections: Connections, query: str) -> list[tuple[Any, ...]]:
    async with connections.owner_transaction() as connection:
        return await (await connection.execute(QUERIES[query])).fetchall()
