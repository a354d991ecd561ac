"""The ledger: entries are added once, payloads lie beside them encrypted, and nothing is ever changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import derived_id, new_id
from lousa.memory_layers.execution import ledger

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def entry(principal: Principal, identifier: UUID | None = None, **other: object) -> ledger.Entry:
    made = ledger.Entry(
        id=identifier or new_id(),
        tenant=principal.tenant,
        agent=principal.agent,
        session=principal.session,
        execution=principal.execution,
        action="memory.write",
        outcome="stored",
        occurred_at=NOW,
        payload={"text": "O cliente paga à vista", "value": [1, None]},
    )
    return replace(made, **other)  # pyright: ignore[reportArgumentType]  # a test's shorthand


async def test_a_replay_is_absorbed(connections: Connections, principal: Principal) -> None:
    assert principal.execution is not None
    once = entry(principal)
    async with connections.transaction(principal) as connection:
        assert await ledger.append(connection, [once, entry(principal)])
        assert await ledger.append(connection, [once]) == set()
        assert len(await ledger.trail(connection, principal.execution)) == 2


async def test_the_trail_is_in_order_and_numbered_and_its_payloads_are_readable(
    connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    base = new_id()
    given = [entry(principal, derived_id(base, step), action=f"step-{step}") for step in range(20)]
    late = entry(principal, occurred_at=NOW - timedelta(seconds=1), action="earlier")
    async with connections.transaction(principal) as connection:
        await ledger.append(connection, [*given, late])
        trail = await ledger.trail(connection, principal.execution)
    assert [each.action for each in trail] == ["earlier", *(f"step-{step}" for step in range(20))]
    assert [each.number for each in trail] == list(range(1, 22))
    assert all(each.payload == given[0].payload for each in trail)


async def test_a_payload_is_for_the_agent_that_acted_and_for_auditors(
    connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    async with connections.transaction(principal) as connection:
        await ledger.append(connection, [entry(principal)])
    for reader, readable in (
        (replace(principal, agent="test"), False),
        (replace(principal, agent="test", roles=frozenset({"auditors"})), False),
        (replace(principal, agent="test", roles=frozenset({"auditor"})), True),
    ):
        async with connections.transaction(reader) as connection:
            (found,) = await ledger.trail(connection, principal.execution)
        assert (found.payload is not None) is readable


async def test_another_tenant_sees_no_entry(connections: Connections, principal: Principal) -> None:
    assert principal.execution is not None
    async with connections.transaction(principal) as connection:
        await ledger.append(connection, [entry(principal)])
    other = replace(principal, tenant=principal.tenant + "x", roles=frozenset({"auditor"}))
    async with connections.transaction(other) as connection:
        assert await ledger.trail(connection, principal.execution) == []


async def test_no_payload_is_stored_in_the_clear_and_a_destroyed_key_leaves_the_entry(
    connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    async with connections.transaction(principal) as connection:
        await ledger.append(connection, [entry(principal, person="Ana")])
    async with connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute("SELECT e::text || p::text FROM ledger_entry e, ledger_payload p")
        (row,) = await cursor.fetchall()
        assert "vista" not in row[0] and "Ana" not in row[0] and b"vista".hex() not in row[0]
        await connection.execute("DELETE FROM subject_key WHERE name = 'person/Ana'")
    async with connections.transaction(principal) as connection:
        (found,) = await ledger.trail(connection, principal.execution)
    assert found.outcome == "stored" and found.payload is None


@pytest.mark.parametrize("change", ["UPDATE ledger_entry SET outcome = 'x'", "DELETE FROM ledger_entry"])
async def test_an_entry_is_never_changed_or_removed(
    connections: Connections, principal: Principal, change: str
) -> None:
    async with connections.transaction(principal) as connection:
        await ledger.append(connection, [entry(principal)])
    for acting in (connections.transaction(principal), connections.system_transaction(principal.tenant)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with acting as connection:
                await connection.execute(change)  # pyright: ignore  # a literal of this test
