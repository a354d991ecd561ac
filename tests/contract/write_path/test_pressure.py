"""Debts are bounded: what was acknowledged is never dropped, and writers wait or are refused before it is too much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.errors import Overloaded
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers import auditing
from lousa.memory_layers.auditing import BoardAudit
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.board import ANY, Board
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.execution.artifacts import Artifacts
from lousa.memory_layers.execution.executions import Executions
from lousa.memory_layers.journal import Journal, Journaled, journal_keys
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.pressure import Brake, Marks
from lousa.memory_layers.records import MemoryKind
from lousa.memory_layers.router import Router
from redis_kinds import connections, redis_url

from .conftest import Instant, WritePath, eventually

__all__ = ["connections", "redis_url"]
# A journal behind Sentinels is one server's, and `contract/redis` fails it over.
pytestmark = pytest.mark.parametrize("redis_url", ["alone", "cluster"], indirect=True)

AT_ONCE = timedelta(milliseconds=20)


def journal(connections: Connections, **marks: Any) -> Journal:
    """A journal without a relay, so that its debt grows."""
    return Journal(connections, Brake(replace(Marks(patience=AT_ONCE, delay=timedelta(0)), **marks)))


def entry(path: WritePath, who: Principal, words: str = "something") -> Journaled:
    kept = path.memory(who, words)
    return Journaled(operation=kept.id, memory=kept)


def weight(write: Journaled) -> int:
    return sum(len(word if isinstance(word, bytes) else str(word).encode()) for word in write.fields())


async def places(connections: Connections, tenant: str) -> list[bytes]:
    entries = cast(list[tuple[bytes, Any]], await connections.redis.xrange(journal_keys(tenant)[0]))
    return [place for place, _ in entries]


@pytest.fixture
def path(connections: Connections) -> WritePath:
    """A maker of memories: in these tests nothing runs that is not asked for."""
    nothing: Any = None
    return WritePath(connections, nothing, nothing, Instant(), nothing)


@asynccontextmanager
async def writing(connections: Connections, **settings: Any) -> AsyncGenerator[WritePath]:
    """A router whose embedder does nothing until it is let."""
    async with AsyncExitStack() as stack:
        feed, embedder = Feed(connections), Instant()
        await feed.start(stack)
        context = ContextLayer(connections, embedder)
        await context.start(stack)
        knowledge, given = KnowledgeLayer(connections), Settings(**settings)
        router = Router(connections, table(), context, knowledge, SystemClock(), given, feed=feed)
        await router.start(stack)
        stack.callback(embedder.gate.set)
        yield WritePath(connections, router, context, embedder, feed)


async def test_a_journal_at_its_mark_refuses_and_says_what_is_owed_and_nothing_of_the_write_is_done(
    path: WritePath, connections: Connections, principal: Principal
) -> None:
    full = journal(connections, entries=3)
    for _ in range(3):
        await full.append(principal.tenant, entry(path, principal))
    before = await full.owing([principal.tenant])
    with pytest.raises(Overloaded, match=rf"3 acknowledged writes .* of tenant '{principal.tenant}'.*lousa doctor"):
        await full.append(principal.tenant, entry(path, principal))
    assert await full.owing([principal.tenant]) == before
    assert before[principal.tenant][0] == await full.length(principal.tenant) == 3


async def test_a_journal_is_bounded_in_bytes_and_one_large_write_is_taken_when_it_is_empty(
    path: WritePath, connections: Connections, principal: Principal
) -> None:
    full = journal(connections, bytes=2_000)
    await full.append(principal.tenant, entry(path, principal, "x" * 5_000))
    with pytest.raises(Overloaded, match=r"0\.0 MB may"):
        await full.append(principal.tenant, entry(path, principal))
    await full.settle(principal.tenant, await places(connections, principal.tenant))
    await full.append(principal.tenant, entry(path, principal))
    without = Journal(connections, Brake(Marks(patience=AT_ONCE)), lambda: 0)
    with pytest.raises(Overloaded):
        await without.append(principal.tenant, entry(path, principal))


async def test_what_waits_is_counted_exactly_through_appends_settlements_repeats_and_burials(
    path: WritePath, connections: Connections, principal: Principal
) -> None:
    tenant, kept = principal.tenant, journal(connections)
    writes = [entry(path, principal, "á" * size) for size in (1, 100, 3_000, 7)]
    for write in writes:
        await kept.append(tenant, write)
    assert await kept.owing([tenant]) == {tenant: (4, sum(map(weight, writes)))}
    there = await places(connections, tenant)
    await kept.settle(tenant, there[:1])
    await kept.settle(tenant, there[:2])  # the first is gone already, and counts no second time
    assert await kept.owing([tenant]) == {tenant: (2, weight(writes[2]) + weight(writes[3]))}
    delivered = (await kept.take([tenant], "relay-1", 10))[tenant]
    await kept.bury(tenant, delivered[0])
    assert await kept.buried(tenant) == 1
    assert await kept.owing([tenant]) == {tenant: (1, weight(writes[3]))}
    await kept.settle(tenant, there)
    assert await kept.owing([tenant]) == {}
    assert await connections.redis.exists(journal_keys(tenant)[1]) == 0


async def test_a_write_that_waits_at_the_mark_goes_in_as_soon_as_there_is_room(
    path: WritePath, connections: Connections, principal: Principal
) -> None:
    full = journal(connections, entries=2, patience=timedelta(seconds=30))
    for _ in range(2):
        await full.append(principal.tenant, entry(path, principal))
    waiting = [asyncio.create_task(full.append(principal.tenant, entry(path, principal))) for _ in range(6)]
    await asyncio.sleep(0.05)
    while not all(task.done() for task in waiting):
        there = await places(connections, principal.tenant)
        assert len(there) <= 2
        await full.settle(principal.tenant, there[:1])
    await asyncio.gather(*waiting)


async def test_the_debt_of_one_tenant_slows_nobody_else(
    path: WritePath, connections: Connections, principal: Principal
) -> None:
    other = replace(principal, tenant=f"{principal.tenant}-other")
    both = journal(connections, entries=2, patience=timedelta(seconds=50))
    for _ in range(2):
        await both.append(principal.tenant, entry(path, principal))
    waiting = asyncio.create_task(both.append(principal.tenant, entry(path, principal)))
    async with asyncio.timeout(10):
        for _ in range(2):
            await both.append(other.tenant, entry(path, other))
    assert not waiting.done()
    waiting.cancel()


async def test_a_slow_embedder_bounds_its_debt_holds_up_nobody_else_and_everything_acknowledged_arrives(
    connections: Connections, principal: Principal
) -> None:
    other = replace(principal, tenant=f"{principal.tenant}-other", execution=None)
    mark = 40
    async with writing(
        connections, debt_vectors=mark, debt_delay=timedelta(milliseconds=5), debt_patience=timedelta(seconds=50)
    ) as path:
        acknowledged, enough = list[Any](), asyncio.Event()

        async def write() -> None:
            while not enough.is_set():
                kept = path.memory(principal, f"memory {new_id()}")
                acknowledged.append(await path.router.remember(principal, kept, operation=kept.id))

        writers = [asyncio.create_task(write()) for _ in range(10)]
        owed, before = 0, -1
        while owed < mark or owed != before:
            await asyncio.sleep(1.2)  # longer than a look, so that a debt that stands still was seen
            owed, before = await path.count(principal, "debt"), owed
        assert owed < 3 * mark and not any(task.done() for task in writers)

        rule = path.memory(principal, "a rule", kind=MemoryKind.PROCEDURAL)
        refused = asyncio.create_task(path.router.remember(principal, rule, operation=rule.id))
        async with asyncio.timeout(20):
            for _ in range(20):
                kept = path.memory(other, f"memory {new_id()}")
                await path.router.remember(other, kept, operation=kept.id)
        assert not refused.done(), "a write-through that owes a vector waits as well"

        enough.set()
        path.embedder.gate.set()
        await asyncio.gather(*writers)
        await refused
        await path.has(principal, "vectors", len(acknowledged) + 1)
        assert await path.count(principal, "memory") == len(acknowledged) + 1


async def test_a_memory_that_owes_no_vector_is_written_whatever_the_embedder_does(
    connections: Connections, principal: Principal
) -> None:
    async with writing(
        connections, debt_vectors=1, debt_patience=AT_ONCE, deadline=timedelta(milliseconds=300)
    ) as path:
        kept = path.memory(principal, "memory")
        await path.router.remember(principal, kept, operation=kept.id)

        async def refused() -> bool:
            kept = path.memory(principal, f"memory {new_id()}")
            try:
                await path.router.remember(principal, kept, operation=kept.id)
            except Overloaded as error:
                return "wait for their vectors" in str(error)
            return False

        await eventually(refused)
        block = path.memory(principal, "who we are", kind=MemoryKind.BLOCK)
        assert (await path.router.remember(principal, block, operation=block.id)).state == "stored"


def board(connections: Connections, who: Principal, feed: Feed) -> Board:
    return Board(connections, who, feed=feed, artifacts=Artifacts(connections), operations=Operations(who.execution))


async def through(connections: Connections, who: Principal) -> str:
    assert who.execution is not None
    return (await Executions(connections).get(who, who.execution)).audited_through


async def test_a_board_that_the_ledger_lags_behind_refuses_at_its_mark_and_goes_on_once_it_is_copied(
    connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    feed = Feed(connections, Marks(changes=4, patience=AT_ONCE, delay=timedelta(0)))
    ours = board(connections, principal, feed)
    for number in range(3):
        await ours.write("field", number)
    await ours.tell("critic", "look")
    for attempt in (ours.write("field", 9), ours.tell("critic", 9), ours.delete("field")):
        with pytest.raises(
            Overloaded, match=rf"lacks 4 changes of execution {principal.execution}.*LOUSA_DEBT_CHANGES"
        ):
            await attempt
    assert await ours.read_versioned("field") == (2, 3)
    await BoardAudit(connections, feed).turn()
    assert await through(connections, principal) == "0-4"
    for number in range(4):
        await ours.write("field", number, expect=ANY)
    with pytest.raises(Overloaded):
        await ours.write("field", 9)


async def test_an_answered_operation_is_answered_again_whatever_the_board_owes(
    connections: Connections, principal: Principal
) -> None:
    feed = Feed(connections, Marks(changes=1, patience=AT_ONCE))
    first = await board(connections, principal, feed).write("field", 1, key="once")
    again = await board(connections, principal, feed).write("field", 1, key="once")
    assert again == replace(cast(Any, first), repeated=True)


async def test_every_open_board_is_copied_however_many_there_are_and_whoever_changed_them(
    connections: Connections, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "_BOARDS", 3)
    dead, people = Feed(connections), list[Principal]()
    for _ in range(8):
        who = Principal(tenant=tenant, agent="tester", session="s", execution=new_id())
        await Executions(connections).create(who, "test", {}, execution=who.execution)
        await board(connections, who, dead).write("field", 1)
        people.append(who)
    await BoardAudit(connections, Feed(connections)).round()
    assert [await through(connections, who) for who in people] == ["0-1"] * 8


async def test_a_relay_copies_at_once_what_its_own_process_changed(
    connections: Connections, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "_EVERY", 3_600.0)
    feed = Feed(connections)
    audit = BoardAudit(connections, feed)
    await audit.turn()  # it has looked at all boards
    await board(connections, principal, feed).write("field", 1)
    await audit.turn()
    assert await through(connections, principal) == "0-1"
    assert feed.touched == set()


async def test_a_board_that_cannot_be_audited_holds_up_no_other(
    connections: Connections, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    feed, people = Feed(connections), list[Principal]()
    for _ in range(3):
        who = Principal(tenant=tenant, agent="tester", session="s", execution=new_id())
        await Executions(connections).create(who, "test", {}, execution=who.execution)
        people.append(who)
        await board(connections, who, feed).write("field", 1)
    broken = board_keys(tenant, cast(Any, people[1].execution))
    await connections.redis.xadd(broken.changes, {"not": "a change"}, id="0-2")
    await BoardAudit(connections, feed).turn()
    assert [await through(connections, who) for who in people] == ["0-1", "0-0", "0-1"]
    assert "cannot be audited" in caplog.text
    await connections.redis.delete(*broken.all())
