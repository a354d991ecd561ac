"""What is told anew takes the older one's place, on the real servers; it is said why and can be undone."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.contract import Query
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.ranking import Weights
from lousa.memory_layers.recall import Recaller
from lousa.memory_layers.receipts import Receipt
from lousa.memory_layers.records import Fact, MemoryKind
from lousa.memory_layers.router import Router

from .conftest import Instant, WritePath, eventually

DAY = timedelta(days=1)
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
OLD = "O serviço de pagamentos roda em us-east-1."
EPISODE = "Rodei o teste de carga do serviço de pagamentos em us-east-1, aguentou bem."
OTHER = "O bucket de logs antigos fica em us-east-1."
NEW = "A partir de hoje o serviço de pagamentos roda em sa-east-1."


async def tell(path: WritePath, who: Principal, text: str, day: float = 0, **parts: Any) -> Receipt:
    """Said by a user on a day, and examined."""
    values: dict[str, Any] = {"source": "user", "trust": 1.0, **parts}
    memory = path.memory(who, text, occurred_at=BEGAN + day * DAY, **values)
    receipt = await (await path.router.remember(who, memory, operation=memory.id)).settled(30)
    assert not receipt.owed
    return receipt


async def standing(path: WritePath, who: Principal) -> dict[str, tuple[str, str | None]]:
    """Text → status, and what took its place."""
    async with path.connections.system_transaction(who.tenant) as connection:
        cursor = await connection.execute(
            "SELECT m.text, m.status, by.text FROM memory AS m LEFT JOIN memory AS by ON by.id = m.superseded_by"
            " WHERE m.tenant = %s ORDER BY m.recorded_at",
            (who.tenant,),
        )
        return {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}


async def found(path: WritePath, who: Principal) -> set[UUID]:
    """Whatever words may find."""
    async with path.connections.system_transaction(who.tenant) as connection:
        cursor = await connection.execute("SELECT id FROM memory_words WHERE tenant = %s", (who.tenant,))
        return {row[0] for row in await cursor.fetchall()}


async def test_the_older_value_and_what_repeats_it_give_way_and_the_receipt_says_why(
    path: WritePath, principal: Principal
) -> None:
    old, episode = await tell(path, principal, OLD), await tell(path, principal, EPISODE, 3)
    other = await tell(path, principal, OTHER, 4)
    new = await tell(path, principal, NEW, 30)
    assert set(new.superseded) == {old.id, episode.id}
    assert set(new.because) == {old.id, episode.id}
    assert all(new.because.values())
    assert await found(path, principal) == {other.id, new.id}
    assert await standing(path, principal) == {
        OLD: ("superseded", NEW),
        EPISODE: ("superseded", NEW),
        OTHER: ("live", None),
        NEW: ("live", None),
    }
    entries = [entry for entry in await path.trail(principal) if entry.action == "memory.supersede"]
    assert {entry.memory for entry in entries} == {old.id, episode.id}
    assert all(entry.basis["by"] == str(new.id) and entry.outcome == "superseded" for entry in entries)


@pytest.mark.parametrize(("older", "newer"), [({"value": {"region": 1}}, {}), ({}, {"value": {"region": 2}})])
async def test_a_record_with_a_value_of_its_own_neither_gives_way_nor_takes_a_place(
    path: WritePath, principal: Principal, older: dict[str, Any], newer: dict[str, Any]
) -> None:
    await tell(path, principal, OLD, **older)
    await tell(path, principal, NEW, 30, **newer)
    assert {status for status, _ in (await standing(path, principal)).values()} == {"live"}


async def test_the_end_is_the_same_whatever_arrives_first(path: WritePath, principal: Principal) -> None:
    told = [(OLD, 0), (EPISODE, 3), (NEW, 30)]
    ends: list[dict[str, tuple[str, str | None]]] = []
    for number, order in enumerate(permutations(told)):
        who = replace(principal, session=f"order-{number}", execution=None)
        for text, day in order:
            await tell(path, who, text, day, subject=f"person-{number}")
        async with path.connections.system_transaction(who.tenant) as connection:
            cursor = await connection.execute(
                "SELECT m.text, m.status, by.text FROM memory AS m LEFT JOIN memory AS by ON by.id = m.superseded_by"
                " WHERE m.tenant = %s AND m.session = %s",
                (who.tenant, who.session),
            )
            ends.append({row[0]: (row[1], row[2]) for row in await cursor.fetchall()})
    assert all(end == ends[0] for end in ends), ends
    assert ends[0][OLD] == ("superseded", NEW)
    assert ends[0][EPISODE] == ("superseded", NEW)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({}, {"scope": "private"}),
        ({}, {"scope": "tenant"}),
        ({"subject": "Ana"}, {"subject": "Bia"}),
        ({"subject": "Ana"}, {}),
        ({}, {"source": "agent", "trust": 0.5}),
        ({"kind": MemoryKind.PROCEDURAL}, {}),
        ({}, {"kind": MemoryKind.PROCEDURAL}),
        ({"speaker": "Ana"}, {"speaker": "Bia"}),
    ],
    ids=["private", "wider", "person", "nobody", "trust", "rule", "of a rule", "voice"],
)
async def test_another_circle_person_trust_or_kind_takes_no_place(
    path: WritePath, principal: Principal, older: dict[str, Any], newer: dict[str, Any]
) -> None:
    await tell(path, principal, OLD, **older)
    await tell(path, principal, NEW, 30, **newer)
    assert {status for status, _ in (await standing(path, principal)).values()} == {"live"}


async def test_another_session_or_agent_with_private_notes_takes_no_place(
    path: WritePath, principal: Principal
) -> None:
    await tell(path, principal, OLD)
    await tell(path, replace(principal, session="elsewhere", execution=None), NEW, 30)
    await tell(path, replace(principal, agent="spy"), NEW + " Mesmo.", 31, scope="private")
    assert (await standing(path, principal))[OLD] == ("live", None)


async def test_an_old_value_that_is_only_mentioned_again_gives_way_and_one_plainly_told_holds(
    path: WritePath, principal: Principal
) -> None:
    await tell(path, principal, OLD)
    await tell(path, principal, NEW, 30)
    mention = "Alguém abriu um chamado do serviço de pagamentos em us-east-1."
    back = "Voltamos: o serviço de pagamentos roda em us-east-1."
    await tell(path, principal, mention, 40)
    assert (await standing(path, principal))[mention] == ("superseded", NEW)
    await tell(path, principal, back, 50)
    now = await standing(path, principal)
    assert now[back] == ("live", None)
    assert now[NEW] == ("superseded", back)


async def test_the_same_words_said_again_after_the_change_hold_again(path: WritePath, principal: Principal) -> None:
    first = await tell(path, principal, OLD)
    await tell(path, principal, NEW, 30)
    again = await tell(path, principal, OLD, 60)
    assert again.id != first.id
    assert (await standing(path, principal))[NEW] == ("superseded", OLD)


async def test_what_was_told_again_before_the_change_arrived_is_the_later_word(
    path: WritePath, principal: Principal
) -> None:
    first = await tell(path, principal, OLD)
    assert (await tell(path, principal, OLD, 60)).id == first.id
    late = await tell(path, principal, NEW, 30)
    assert late.superseded == ()
    assert await standing(path, principal) == {OLD: ("live", None), NEW: ("superseded", OLD)}


async def test_without_what_took_its_place_the_older_one_holds_again(path: WritePath, principal: Principal) -> None:
    old, episode = await tell(path, principal, OLD), await tell(path, principal, EPISODE, 3)
    new = await tell(path, principal, NEW, 30)
    await path.router.forget(principal, new.id, "it was a mistake", new_id())
    assert (await standing(path, principal))[OLD] == ("live", None)
    assert await found(path, principal) == {old.id, episode.id}

    async def embedded() -> bool:
        return await path.count(principal, "vectors") == 2

    await eventually(embedded, within=30)


async def test_of_equal_texts_that_gave_way_one_holds_again(path: WritePath, principal: Principal) -> None:
    await tell(path, principal, OLD)
    await tell(path, principal, EPISODE, 3)
    new = await tell(path, principal, NEW, 30)
    await tell(path, principal, EPISODE, 40)
    await path.router.forget(principal, new.id, "it was a mistake", new_id())
    async with path.connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute(
            "SELECT status FROM memory WHERE tenant = %s AND text = %s", (principal.tenant, EPISODE)
        )
        assert sorted(row[0] for row in await cursor.fetchall()) == ["live", "superseded"]


async def test_a_curator_upholds_what_gave_way_until_something_is_told_later(
    path: WritePath, principal: Principal
) -> None:
    old = await tell(path, principal, OLD)
    new = await tell(path, principal, NEW, 30)
    curator = replace(principal, roles=frozenset({"curator"}))
    upheld = await path.router.confirm(curator, old.id, "both hold: two services", new_id())
    assert upheld.state == "stored"
    assert not (await upheld.settled(30)).owed
    await tell(path, principal, "O serviço de pagamentos em sa-east-1 respondeu em 12 ms.", 31)
    assert await found(path, principal) >= {old.id, new.id}
    later = (datetime.now(UTC) - BEGAN).days + 10
    await tell(path, principal, "O serviço de pagamentos roda em eu-west-3 desde hoje.", later)
    assert {old.id, new.id} & await found(path, principal) == set()


async def test_nothing_is_examined_before_its_vectors_are_there_and_nothing_is_lost_meanwhile(
    path: WritePath, principal: Principal
) -> None:
    await tell(path, principal, OLD)
    path.embedder.gate.clear()
    memory = path.memory(principal, NEW, occurred_at=BEGAN + 30 * DAY, source="user", trust=1.0)
    receipt = await path.router.remember(principal, memory, operation=memory.id)
    await path.journal_is_empty(principal)
    assert (await receipt.settled(0.1)).owed == ("context", "truth")
    assert (await standing(path, principal))[OLD] == ("live", None)
    path.embedder.gate.set()
    assert len((await receipt.settled(30)).superseded) == 1


async def test_sending_again_changes_nothing(path: WritePath, principal: Principal) -> None:
    await tell(path, principal, OLD)
    memory = path.memory(principal, NEW, occurred_at=BEGAN + 30 * DAY, source="user", trust=1.0)
    for _ in range(2):
        receipt = await (await path.router.remember(principal, memory, operation=memory.id)).settled(30)
        assert len(receipt.because) == 1
    assert len([one for one in await path.trail(principal) if one.action == "memory.supersede"]) == 1


async def test_switched_off_nothing_is_owed_or_marked(connections: Connections, principal: Principal) -> None:
    async with AsyncExitStack() as stack:
        path = await _switched_off(connections, stack)
        await tell(path, principal, OLD)
        assert (await tell(path, principal, NEW, 30)).superseded == ()
        assert {status for status, _ in (await standing(path, principal)).values()} == {"live"}


async def _switched_off(connections: Connections, stack: AsyncExitStack) -> WritePath:
    feed = Feed(connections)
    await feed.start(stack)
    embedder = Instant()
    embedder.gate.set()
    context = ContextLayer(connections, embedder)
    await context.start(stack)
    knowledge = KnowledgeLayer(connections)
    router = Router(connections, table(), context, knowledge, SystemClock(), Settings(truth=False), feed=feed)
    await router.start(stack)
    return WritePath(connections, router, context, embedder, feed)


def recaller_of(path: WritePath, **settings: Any) -> Recaller:
    async def caught_up(_who: Principal, _within: timedelta) -> bool:
        return True

    return Recaller(
        path.connections,
        path.context,
        KnowledgeLayer(path.connections),
        caught_up=caught_up,
        clock=SystemClock(),
        settings=Settings(deadline=timedelta(seconds=30), **settings),
        weights=Weights(dense=0.0),
    )


async def test_of_two_answers_to_a_question_the_one_told_last_leads_and_the_other_is_to_be_confirmed(
    path: WritePath, principal: Principal
) -> None:
    question = "What time is the choir?"
    new = await tell(path, principal, "Be on stage with the choir by 19:45, with warm voices.", 30)
    old = await tell(path, principal, "The choir rehearses at 18:30, the tenors are late as ever.")
    for text in ("Lena brought a cake.", "The choir sang well.", "Somebody fixed the lamp."):
        await tell(path, principal, text, 2)
    hits = (await recaller_of(path).recall(principal, Query(text=question))).hits
    order = [hit.id for hit in hits]
    assert order.index(new.id) < order.index(old.id)
    assert [hit.id for hit in hits if hit.to_confirm] == [old.id]
    off = (await recaller_of(path, truth=False).recall(principal, Query(text=question))).hits
    assert {hit.id for hit in off} == {hit.id for hit in hits}
    assert not any(hit.to_confirm for hit in off)


async def test_the_past_still_knows_what_gave_way(path: WritePath, principal: Principal) -> None:
    old, new = await tell(path, principal, OLD), await tell(path, principal, NEW, 30)
    recaller = recaller_of(path)
    question = "onde roda o serviço de pagamentos"
    today = await recaller.recall(principal, Query(text=question))
    before = await recaller.recall(principal, Query(text=question, as_of=BEGAN + 10 * DAY))
    after = await recaller.recall(principal, Query(text=question, as_of=BEGAN + 40 * DAY))
    assert [hit.id for hit in today] == [new.id]
    assert [hit.id for hit in before] == [old.id]
    assert [hit.id for hit in after] == [new.id]


class TestFacts:
    """A fact that retires another takes along what only the other rests on, and what repeats its value."""

    async def state(
        self, path: WritePath, who: Principal, value: str, *sources: UUID, predicate: str = "region", **parts: Any
    ) -> Receipt:
        fact = Fact(subject="payments", predicate=predicate, object=value)
        memory = path.memory(who, fact.sentence(), fact=fact, sources=sources, source="user", trust=1.0, **parts)
        return await (await path.router.remember(who, memory, operation=memory.id)).settled(30)

    async def test_its_source_and_what_repeats_the_value_give_way(self, path: WritePath, principal: Principal) -> None:
        first = "Combinamos que pagamentos ficam na região us-east-1."
        second = "Pagamentos? Desde ontem é tudo sa-east-1."
        old, new = await tell(path, principal, first), await tell(path, principal, second, 20)
        episode = await tell(path, principal, "Vi os pagamentos lentos em us-east-1.", 3)
        other = await tell(path, principal, OTHER, 4)
        before = await self.state(path, principal, "us-east-1", old.id)
        after = await self.state(path, principal, "sa-east-1", new.id)
        assert before.id in after.superseded
        assert await found(path, principal) >= {new.id, other.id, after.id}
        assert {old.id, episode.id, before.id} & await found(path, principal) == set()

    async def test_a_source_that_bears_out_another_fact_that_holds_stays(
        self, path: WritePath, principal: Principal
    ) -> None:
        text = "Pagamentos: dona é a Rita, e tudo fica em us-east-1."
        both = await tell(path, principal, text)
        await self.state(path, principal, "us-east-1", both.id)
        await self.state(path, principal, "Rita", both.id, predicate="owner")
        await self.state(path, principal, "sa-east-1")
        assert both.id in await found(path, principal)

    async def test_a_private_fact_takes_nothing_from_what_others_see(
        self, path: WritePath, principal: Principal
    ) -> None:
        shared = await tell(path, principal, "Pagamentos ficam na região us-east-1, dizem.")
        await self.state(path, principal, "us-east-1", shared.id, scope="private")
        await self.state(path, principal, "sa-east-1", scope="private")
        assert shared.id in await found(path, principal)
