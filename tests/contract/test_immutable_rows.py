"""What was said cannot be rewritten by whoever may see it: the database refuses, whatever the program does."""

from __future__ import annotations

import pytest
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

COLUMNS = {
    "memory": ("id", "tenant", "owner", "scope", "session", "readers", "text", "value", "fact", "content_key"),
    "fact": ("id", "tenant", "owner", "scope", "subject", "predicate", "object", "object_key"),
    "decision": ("outcome", "reasons", "evidence"),
    "ledger_entry": ("agent", "action", "occurred_at"),
    "seal": ("root",),
}


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, names in COLUMNS.items() for column in names])
async def test_no_agent_and_no_relay_can_rewrite_what_was_said(
    connections: Connections, principal: Principal, table: str, column: str
) -> None:
    rewrite = sql.SQL("UPDATE {0} SET {1} = {1}").format(sql.Identifier(table), sql.Identifier(column))
    with pytest.raises(InsufficientPrivilege):
        async with connections.transaction(principal) as connection:
            await connection.execute(rewrite)
    with pytest.raises(InsufficientPrivilege):
        async with connections.system_transaction(principal.tenant) as connection:
            await connection.execute(rewrite)


@pytest.mark.parametrize("table", ["memory", "decision", "tombstone", "execution", "effect", "ledger_entry", "seal"])
async def test_no_agent_can_delete_a_record(connections: Connections, principal: Principal, table: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        async with connections.transaction(principal) as connection:
            await connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))


async def test_nobody_writes_in_anothers_name(connections: Connections, principal: Principal) -> None:
    with pytest.raises(InsufficientPrivilege):
        async with connections.transaction(principal) as connection:
            await connection.execute(
                "INSERT INTO memory (id, tenant, scope, owner, session, kind, text, source, trust, status, occurred_at,"
                " recorded_at, confirmed_at, content_key) VALUES (%s, %s, 'tenant', 'somebody else', 's', 'semantic',"
                " 'forged', 'user', 1, 'live', now(), now(), now(), '')",
                (new_id(), principal.tenant),
            )
