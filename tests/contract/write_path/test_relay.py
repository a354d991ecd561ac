"""The relay: what was acknowledged arrives, whoever dies, and what cannot arrive holds nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connection, Connections
from lousa.infra.errors import ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.settings import Settings
from lousa.memory_layers import journal as journal_module
from lousa.memory_layers import relay as relay_module
from lousa.memory_layers.commit import Committer, Write
from lousa.memory_layers.conversation.board import Board, Written
from lousa.memory_layers.conversation.keys import board_keys, journal_key
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.execution.artifacts import Artifacts
from lousa.memory_layers.execution.executions import Executions
from lousa.memory_layers.journal import Journal, Journaled, dead_letters
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import MemoryKind
from lousa.memory_layers.router import Router
from redis_kinds import connections, redis_url

from .conftest import eventually

__all__ = ["connections", "redis_url"]
# A journal behind Sentinels is one server's, and `contract/redis` fails it over.
pytestmark = pytest.mark.parametrize("redis_url", ["alone", "cluster"], indirect=True)

if TYPE_CHECKING:
    from .conftest import WritePath


async def test_what_a_dead_relay_had_taken_is_taken_over(path: WritePath, principal: Principal) -> None:
    journal = Journal(path.connections)
    await journal.adopt([principal.tenant])
    memory = path.memory(principal, "taken, and never committed")
    await journal.append(principal.tenant, Journaled(operation=memory.id, memory=memory))
    taken = await journal.take([principal.tenant], "a-relay-that-died", 10)
    assert len(taken[principal.tenant]) == 1
    await path.has(principal, "memory", 1)
    assert await path.router.caught_up(principal, timedelta(seconds=2))
    assert await path.count(principal, "ledger_entry") == 1


async def test_what_a_living_relay_has_taken_is_left_to_it(path: WritePath, principal: Principal) -> None:
    journal = Journal(path.connections)
    await journal.adopt([principal.tenant])
    memory = path.memory(principal, "in good hands")
    await journal.renew("a-living-relay")
    await journal.take([principal.tenant], "a-living-relay", 10)
    await journal.append(principal.tenant, Journaled(operation=memory.id, memory=memory))
    await journal.take([principal.tenant], "a-living-relay", 10)
    assert await journal.take_over(principal.tenant, "another", 10) == []
    assert not await path.router.caught_up(principal, timedelta(milliseconds=200))
    await journal.resign("a-living-relay")
    await path.has(principal, "memory", 1)


async def test_a_process_that_stops_in_the_middle_of_a_commit_holds_nobody_up(
    path: WritePath, principal: Principal
) -> None:
    memory = path.memory(principal, "written and not committed")
    stopped, never = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def stopping() -> AsyncGenerator[Connection]:
        async with path.connections.system_transaction(principal.tenant) as connection:
            yield connection
            stopped.set()
            await never.wait()

    committer = Committer(policy=table(), words=path.context, facts=KnowledgeLayer(path.connections))
    other = asyncio.create_task(committer.commit(stopping, principal, [Write(operation=memory.id, memory=memory)]))
    await stopped.wait()
    receipt = await path.router.remember(principal, memory, operation=memory.id)
    assert (await receipt.settled(20)).state == "stored"
    never.set()
    with pytest.raises(ServerUnavailable):
        await other


@pytest.mark.parametrize("malformed", [True, False])
async def test_an_entry_that_cannot_be_committed_is_buried_and_holds_nobody_up(
    path: WritePath, principal: Principal, malformed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "_HOUSEKEEPING", 0.05)
    monkeypatch.setattr(relay_module, "_BLOCK", timedelta(seconds=0.05))
    monkeypatch.setattr(journal_module, "_AGAIN", 20)
    fields: dict[Any, Any] = {b"session": b"s", b"execution": b"", b"id": b"x", b"owner": b"tester", b"body": b"{"}
    if not malformed:  # well-formed for the journal, refused by the database
        poison = path.memory(principal, "poison\x00")
        fields = dict(_pairs(Journaled(operation=poison.id, memory=poison)))
    before, after = path.memory(principal, "before"), path.memory(principal, "after")
    for write in (before, None, after):
        entry = fields if write is None else dict(_pairs(Journaled(operation=write.id, memory=write)))
        await path.connections.redis.xadd(journal_key(principal.tenant), entry)  # pyright: ignore
    await Journal(path.connections).adopt([principal.tenant])
    await path.has(principal, "memory", 2)
    await path.journal_is_empty(principal)
    assert await path.router.dead_letters(principal.tenant) == 1
    ((_, letter),) = cast(Any, await path.connections.redis.xrange(dead_letters(principal.tenant)))
    assert letter[b"body"] == (fields.get(b"body") or fields["body"].encode())
    async with path.connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute("SELECT outcome, agent FROM ledger_entry WHERE outcome = 'buried'")
        assert await cursor.fetchall() == [("buried", "tester")]


async def test_a_layer_that_refuses_one_memory_gets_all_the_others(path: WritePath, principal: Principal) -> None:
    path.embedder.poison = "indigestible"
    kept = [path.memory(principal, text) for text in ("one", "indigestible", "two", "three")]
    for memory in kept:
        await path.router.remember(principal, memory, operation=memory.id)
    await path.has(principal, "vectors", 3)

    async def only_that_one_is_owed() -> bool:
        async with path.connections.system_transaction(principal.tenant) as connection:
            cursor = await connection.execute("SELECT memory, error FROM debt WHERE tenant = current_tenant()")
            return await cursor.fetchall() == [(kept[1].id, "ValueError")]

    await eventually(only_that_one_is_owed)


async def test_closing_commits_what_was_journaled(
    connections: Connections, path: WritePath, principal: Principal
) -> None:
    kept = [path.memory(principal, f"memory {n}") for n in range(250)]
    async with AsyncExitStack() as stack:
        knowledge = KnowledgeLayer(connections)
        router = Router(connections, table(), path.context, knowledge, SystemClock(), Settings(), feed=path.feed)
        await router.start(stack)
        await asyncio.gather(*(router.remember(principal, memory, operation=memory.id) for memory in kept))
    await path.router.caught_up(principal, timedelta(seconds=5))  # what the other relay had in its hands
    assert await path.count(principal, "memory") == await path.count(principal, "ledger_entry") == 250


async def test_the_writes_of_many_tenants_arrive_apart(path: WritePath, principal: Principal) -> None:
    others = [replace(principal, tenant=f"{principal.tenant}{n}", execution=None) for n in range(8)]
    for who in others:
        memory = path.memory(who, "mine alone", scope="tenant")
        receipt = await path.router.remember(who, memory, operation=memory.id)
        assert (await receipt.settled()).state == "stored"
        assert await path.count(who, "memory") == 1
        for stranger in others:
            assert (await path.get(stranger, memory.id) is not None) == (stranger == who)


async def test_the_board_is_in_the_ledger_in_order_and_goes_once_it_is_over(
    path: WritePath, principal: Principal
) -> None:
    assert principal.execution is not None
    board = Board(
        path.connections,
        principal,
        feed=path.feed,
        artifacts=Artifacts(path.connections),
        operations=Operations(principal.execution),
    )
    for step in range(30):
        assert isinstance(await board.write(f"field/{step % 3}", {"step": step}), Written)
    await board.write("large", "x" * 50_000)
    await board.delete("field/0")
    trail = await path.trail(principal)
    assert [entry.action for entry in trail] == ["board.write"] * 31 + ["board.delete"]
    assert [entry.payload for entry in trail[:30]] == [{"value": {"step": step}} for step in range(30)]
    assert (trail[30].payload, trail[30].basis["artifact"] is not None) == (None, True)
    assert [(entry.version_before, entry.version_after) for entry in trail[::3][:10]] == [(n, n + 1) for n in range(10)]
    async with path.connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute("SELECT count(*) FROM artifact WHERE taken_at IS NOT NULL")
        assert await cursor.fetchall() == [(1,)]
    changes = board_keys(principal.tenant, principal.execution).changes
    assert await path.connections.redis.ttl(changes) == -1
    executions = Executions(path.connections)
    await executions.finish(principal, principal.execution, "accepted")

    async def drained() -> bool:
        assert principal.execution is not None
        return (await executions.get(principal, principal.execution)).drained

    await eventually(drained)
    assert 0 < await path.connections.redis.ttl(changes) <= 24 * 3600


async def test_a_board_that_failed_can_still_be_taken_up(path: WritePath, principal: Principal) -> None:
    assert principal.execution is not None
    executions = Executions(path.connections)
    await executions.finish(principal, principal.execution, "failed")
    await asyncio.sleep(1.5)
    assert not (await executions.get(principal, principal.execution)).drained


async def test_relays_of_several_processes_apply_everything_once(
    connections: Connections, path: WritePath, principal: Principal
) -> None:
    kept = [path.memory(principal, f"shared work {n}", kind=MemoryKind.EPISODIC) for n in range(300)]
    async with AsyncExitStack() as stack:
        routers = [path.router]
        for _ in range(2):
            knowledge = KnowledgeLayer(connections)
            router = Router(connections, table(), path.context, knowledge, SystemClock(), Settings(), feed=path.feed)
            await router.start(stack)
            routers.append(router)
        for router in routers:  # every one of them sends everything
            await asyncio.gather(*(router.remember(principal, memory, operation=memory.id) for memory in kept))
        await path.router.caught_up(principal, timedelta(seconds=20))
    assert await path.count(principal, "memory") == await path.count(principal, "ledger_entry") == 300
    async with path.connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute("SELECT DISTINCT confirmations FROM memory")
        assert await cursor.fetchall() == [(1,)]


def _pairs(write: Journaled) -> list[tuple[Any, Any]]:
    flat = write.fields()
    return list(zip(flat[::2], flat[1::2], strict=True))
