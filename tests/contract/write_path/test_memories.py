"""The record of memories: inserted once, folded with its equals, fetched only while valid and only by its readers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import PRIVATE, SHARED, TENANT, Fact, Memory, MemoryKind

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def memory(principal: Principal, text: str = "Prefere café sem açúcar") -> Memory:
    return Memory(
        id=new_id(),
        tenant=principal.tenant,
        owner=principal.agent,
        session=principal.session,
        execution=principal.execution,
        scope=SHARED,
        kind=MemoryKind.SEMANTIC,
        text=text,
        value={"n": 1, "deep": [1.5, None, True, "ç"]},
        metadata={"from": "test"},
        occurred_at=NOW,
        recorded_at=NOW,
    )


async def test_what_was_inserted_is_fetched_as_it_was(connections: Connections, principal: Principal) -> None:
    stated = replace(
        memory(principal), kind=MemoryKind.FACT, fact=Fact(subject="Ana", predicate="city", object="Natal")
    )
    plain = replace(memory(principal), expires_at=NOW + timedelta(days=1), sources=(new_id(),), category="preference")
    async with connections.transaction(principal) as connection:
        await memories.insert(connection, [stated, plain])
        found = await memories.fetch(connection, [stated.id, plain.id], now=NOW)
    assert found == {stated.id: stated, plain.id: plain}
    for each in found.values():
        assert memories.from_json(memories.to_json(each)) == each


async def test_an_equal_memory_confirms_the_first(connections: Connections, principal: Principal) -> None:
    first, equal = memory(principal), memory(principal, "  prefere CAFE sem acucar")
    in_the_same_batch, other = memory(principal), memory(principal, "something else")
    async with connections.transaction(principal) as connection:
        assert await memories.insert(connection, [first]) == {first.id: first.id}
        known = await memories.insert(connection, [equal, in_the_same_batch, other])
        cursor = await connection.execute("SELECT confirmations FROM memory WHERE id = %s", (first.id,))
        row = await cursor.fetchone()
    assert known == {equal.id: first.id, in_the_same_batch.id: first.id, other.id: other.id}
    assert row == (3,)


async def test_equals_that_come_together_are_as_if_one_had_come_after_the_other(
    connections: Connections, principal: Principal
) -> None:
    first = replace(memory(principal), trust=0.5, source="agent", expires_at=NOW + timedelta(days=1))
    later = replace(memory(principal), trust=1.0, source="user")
    async with connections.transaction(principal) as connection:
        assert await memories.insert(connection, [first, later]) == {first.id: first.id, later.id: first.id}
        kept = (await memories.get(connection, [first.id]))[first.id]
    assert kept == replace(first, trust=1.0, source="user", expires_at=None)


async def test_what_is_set_apart_takes_nobody_with_it(connections: Connections, principal: Principal) -> None:
    hearsay = [replace(memory(principal), trust=0.3, source="web", status="quarantined") for _ in range(2)]
    told = memory(principal)
    given = [hearsay[0], told, hearsay[1]]
    async with connections.transaction(principal) as connection:
        assert await memories.insert(connection, given) == {each.id: each.id for each in given}
        assert await memories.get(connection, [each.id for each in given]) == {each.id: each for each in given}


async def test_memories_of_different_circles_or_values_are_not_equal(
    connections: Connections, principal: Principal
) -> None:
    base = memory(principal)
    different = [
        base,
        replace(base, id=new_id(), scope=PRIVATE),
        replace(base, id=new_id(), scope=TENANT),
        replace(base, id=new_id(), value={"n": 2}),
        replace(base, id=new_id(), subject="ana"),
        replace(base, id=new_id(), kind=MemoryKind.EPISODIC),
        replace(base, id=new_id(), metadata={}),
    ]
    async with connections.transaction(principal) as connection:
        assert set((await memories.insert(connection, different)).values()) == {each.id for each in different}


async def test_a_private_memory_is_its_owners_alone(connections: Connections, principal: Principal) -> None:
    secret = replace(memory(principal), scope=PRIVATE)
    async with connections.transaction(principal) as connection:
        await memories.insert(connection, [secret])
    other = replace(principal, agent="test")  # a prefix of the owner's name
    async with connections.transaction(other) as connection:
        assert await memories.fetch(connection, [secret.id], now=NOW) == {}
        assert await memories.get(connection, [secret.id]) == {}
        assert await memories.lock(connection, secret.id) is None


async def test_what_expired_or_was_withdrawn_is_not_fetched(connections: Connections, principal: Principal) -> None:
    expired = replace(memory(principal), expires_at=NOW)
    withdrawn, live = memory(principal, "withdrawn"), memory(principal, "live")
    async with connections.transaction(principal) as connection:
        await memories.insert(connection, [expired, withdrawn, live])
        await memories.set_status(connection, [withdrawn.id], "withdrawn")
        assert set(await memories.fetch(connection, [expired.id, withdrawn.id, live.id], now=NOW)) == {live.id}
        assert set(await memories.get(connection, [expired.id, withdrawn.id])) == {expired.id, withdrawn.id}
