"""Saying it again confirms: once for each who says it, however many at once; an agent's echo confirms nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers import ranking
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import SHARED, TENANT, Fact, Hit, Memory, MemoryKind

if TYPE_CHECKING:
    from .conftest import WritePath

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)
RULE = "Regra do time: nunca faça force push na main"


def said(who: Principal, text: str = RULE, *, after: timedelta = timedelta(), **parts: Any) -> Memory:
    source = parts.pop("source", "user")
    return Memory(
        id=new_id(),
        tenant=who.tenant,
        owner=who.agent,
        session=who.session,
        execution=who.execution,
        scope=SHARED,
        kind=parts.pop("kind", MemoryKind.SEMANTIC),
        text=text,
        source=source,
        trust={"user": 1.0, "tool": 0.7, "agent": 0.5}[source],
        occurred_at=NOW + after,
        recorded_at=NOW + after,
        **parts,
    )


async def standing(connections: Connections, who: Principal) -> list[tuple[Any, ...]]:
    """Of every row: how often it was said, when last, by whom at best, how far it is trusted, until when."""
    async with connections.system_transaction(who.tenant) as connection:
        cursor = await connection.execute(
            "SELECT confirmations, confirmed_at, source, round(trust::numeric, 2)::float8, expires_at FROM memory"
            " WHERE tenant = %s AND status = 'live' ORDER BY recorded_at, id",
            (who.tenant,),
        )
        return await cursor.fetchall()


async def insert(connections: Connections, who: Principal, *given: Memory, echoes: bool = False) -> None:
    """Each in a transaction of its own."""
    for memory in given:
        async with connections.transaction(who) as connection:
            await (await memories.send(connection, [memory], echoes=[memory.id] if echoes else [])).known()


async def test_sixteen_writers_at_one_moment_leave_one_row_that_was_confirmed_by_all(
    connections: Connections, principal: Principal
) -> None:
    texts = [RULE, RULE.upper(), f"  {RULE}.", "Regra do time: nunca faça o force push na main!"] * 4

    async def write(text: str) -> None:
        async with connections.transaction(principal) as connection:
            await memories.insert(connection, [said(principal, text)])

    await asyncio.gather(*map(write, texts))
    assert await standing(connections, principal) == [(16, NOW, "user", 1.0, None)]


@pytest.mark.parametrize("kind", [MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL])
async def test_sixteen_writes_of_one_text_are_one_memory_whichever_way_they_go(
    path: WritePath, principal: Principal, kind: MemoryKind
) -> None:
    given = [said(principal, kind=kind) for _ in range(16)]
    receipts = await asyncio.gather(*(path.router.remember(principal, one, operation=one.id) for one in given))
    settled = await asyncio.gather(*(receipt.settled() for receipt in receipts))
    assert sorted({receipt.state for receipt in settled}) == ["duplicate", "stored"]
    assert len({receipt.id for receipt in settled}) == 1
    [(times, *_)] = await standing(path.connections, principal)
    assert times == 16
    assert await path.count(principal, "ledger_entry") == 16


@pytest.mark.parametrize("together", [True, False])
async def test_equals_count_alike_whether_they_come_together_or_apart(
    connections: Connections, principal: Principal, together: bool
) -> None:
    given = [said(principal, after=number * DAY, source="tool") for number in range(3)]
    given += [said(principal, after=5 * DAY, source="agent"), said(principal, after=4 * DAY)]
    if together:
        async with connections.transaction(principal) as connection:
            assert set((await memories.insert(connection, given)).values()) == {given[0].id}
    else:
        await insert(connections, principal, *given)
    assert await standing(connections, principal) == [(4, NOW + 4 * DAY, "user", 1.0, None)]


@pytest.mark.parametrize(
    "text",
    [
        RULE,
        f"O usuário disse: {RULE}",
        f'"{RULE}"',
        f"Segundo o usuário, {RULE.lower()}.",
        f"Note: the user said: {RULE}",
        f"- I remember that {RULE}",
    ],
)
@pytest.mark.parametrize("source", ["user", "tool"])
async def test_an_agent_that_tells_it_again_confirms_nothing_and_lengthens_nothing(
    connections: Connections, principal: Principal, text: str, source: str
) -> None:
    first = said(principal, source=source, expires_at=NOW + DAY)
    await insert(connections, principal, first)
    before = await standing(connections, principal)
    again = said(principal, text, after=DAY, source="agent")
    async with connections.transaction(principal) as connection:
        assert await memories.insert(connection, [again]) == {again.id: first.id}
    assert await standing(connections, principal) == before


async def test_what_an_agent_tells_with_another_value_stands_by_itself(
    connections: Connections, principal: Principal
) -> None:
    texts = ("the limit is 10", "The user said: the limit is 12", "The user said: the limit is not 10")
    given = [said(principal, text, after=place * DAY, source="agent") for place, text in enumerate(texts)]
    await insert(connections, principal, *given)
    await insert(connections, principal, said(principal, "the limit is 10"))
    assert [(row[0], row[2]) for row in await standing(connections, principal)] == [
        (2, "user"),
        (1, "agent"),
        (1, "agent"),
    ]


async def test_an_echo_of_what_is_gone_is_nothing_that_anybody_said(
    connections: Connections, principal: Principal
) -> None:
    await insert(connections, principal, said(principal, source="agent"), echoes=True)
    assert [row[0] for row in await standing(connections, principal)] == [0]
    await insert(connections, principal, said(principal, after=DAY, source="agent"))
    await insert(connections, principal, said(principal, after=2 * DAY, source="agent"), echoes=True)
    assert await standing(connections, principal) == [(1, NOW + DAY, "agent", 0.5, None)]


def hit(memory: Memory) -> Hit:
    return ranking.hit(ranking.Ranked(1.0, (), memory))


@pytest.mark.parametrize("kind", [MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL])
async def test_a_note_that_was_recalled_and_is_written_down_again_does_not_confirm_itself(
    path: WritePath, principal: Principal, kind: MemoryKind
) -> None:
    note = said(principal, "the client pays late", source="agent", kind=kind)
    await (await path.router.remember(principal, note, operation=note.id)).settled()
    before = await standing(path.connections, principal)
    path.router.echoes.heard(principal, [hit(note)])
    another_agent = replace(principal, agent="second")
    for who, text in ((principal, "The client pays late."), (another_agent, "As I recall: the client pays late")):
        again = said(who, text, source="agent", kind=kind)
        receipt = await (await path.router.remember(who, again, operation=again.id)).settled()
        assert (receipt.state, receipt.id) == ("duplicate", note.id)
    assert await standing(path.connections, principal) == before

    elsewhere = replace(principal, session="another session")
    own = said(elsewhere, "the client pays late", source="agent", kind=kind)
    await (await path.router.remember(elsewhere, own, operation=own.id)).settled()
    told = said(principal, "the client pays late", kind=kind)
    await (await path.router.remember(principal, told, operation=told.id)).settled()
    assert [(row[0], row[2]) for row in await standing(path.connections, principal)] == [(2, "user"), (1, "agent")]


async def keep(path: WritePath, who: Principal, memory: Memory) -> tuple[str, UUID]:
    receipt = await (await path.router.remember(who, memory, operation=memory.id)).settled()
    return receipt.state, receipt.id


async def test_an_echo_does_not_outlive_what_it_repeats(path: WritePath, principal: Principal) -> None:
    old = said(principal, "o serviço roda em us-east-1")
    await keep(path, principal, old)
    path.router.echoes.heard(principal, [hit(old)])
    async with path.connections.system_transaction(principal.tenant) as connection:
        await memories.set_status(connection, [old.id], "superseded")
    for text in (old.text, f"O usuário disse: {old.text}"):
        for kind in (MemoryKind.SEMANTIC, MemoryKind.EPISODIC):
            again = said(principal, text, source="agent", kind=kind)
            assert await keep(path, principal, again) == ("duplicate", old.id)
    assert await path.count(principal, "memory") == 1
    assert await path.count(principal, "ledger_entry") == 5


async def test_a_fact_that_was_recalled_is_neither_confirmed_nor_copied_by_its_echo(
    path: WritePath, principal: Principal
) -> None:
    def fact(**parts: Any) -> Memory:
        stated = Fact(subject="Acme", predicate="city", object="Natal", **parts)
        return path.memory(principal, stated.sentence(), fact=stated, source="agent")

    held = fact()
    await keep(path, principal, held)
    path.router.echoes.heard(principal, [hit(held)])
    assert await keep(path, principal, fact()) == ("duplicate", held.id)
    assert await keep(path, principal, said(principal, held.text, source="agent")) == ("duplicate", held.id)
    elsewhere = fact(qualifier="branch")
    assert await keep(path, principal, elsewhere) == ("stored", elsewhere.id)
    assert await path.count(principal, "memory") == await path.count(principal, "fact") == 2


async def test_what_is_more_than_an_echo_is_written_and_says_what_it_rests_on(
    path: WritePath, principal: Principal
) -> None:
    note = said(principal, "the client pays late", source="agent")
    await keep(path, principal, note)
    path.router.echoes.heard(principal, [hit(note)])
    more = [
        said(principal, note.text, source="agent", kind=MemoryKind.PROCEDURAL),
        said(principal, note.text, source="agent", value={"days": 12}),
        said(principal, note.text, source="agent", metadata={"invoice": "7"}),
        replace(said(principal, note.text, source="agent"), scope=TENANT),
    ]
    for memory in more:
        assert await keep(path, principal, memory) == ("stored", memory.id)
        kept = await path.get(principal, memory.id)
        assert kept is not None and kept.sources == (note.id,)
    assert [row[0] for row in await standing(path.connections, principal)] == [1, 0, 0, 0, 0]
