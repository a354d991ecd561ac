"""Layer 3 over Neo4j: the same answers as Postgres gives, nothing that lags leaks, and an outage is only a silence."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from lousa.infra.errors import ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.contract import Candidate, Query
from lousa.memory_layers.execution import decisions, memories
from lousa.memory_layers.knowledge.outside import OutsideKnowledgeLayer
from lousa.memory_layers.knowledge.paths import Entity
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.records import MemoryKind, Scope, ScopeKind
from neo4j import AsyncDriver, AsyncGraphDatabase

from ..conftest import TODAY, Layers
from .conftest import Ask

STORES = ("neo4j", "neo4j_current")

THINGS = ("Ana", "Bia", "São Paulo", "São Paulo Futebol Clube", "Acme S.A.", "Recife", "active", "C++")
PREDICATES = ("knows", "mora em", "status", "uses")


@pytest.fixture
async def ask(layers: Layers) -> AsyncGenerator[Ask]:
    """Whatever Cypher says, past everything of ours."""
    driver: AsyncDriver
    async with AsyncGraphDatabase.driver(layers.stores.graph_url or "") as driver:  # pyright: ignore[reportUnknownMemberType]  # open keywords

        async def asked(query: Any, **parameters: object) -> list[list[Any]]:
            records, _, _ = await driver.execute_query(query, parameters)
            return [record.values() for record in records]

        yield asked


def outside(layers: Layers) -> OutsideKnowledgeLayer:
    assert isinstance(layers.knowledge, OutsideKnowledgeLayer)
    return layers.knowledge


async def found(layers: Layers, who: Principal, knowledge: KnowledgeLayer, asked: Query) -> list[Candidate]:
    async with layers.connections.transaction(who) as connection:
        return await knowledge.find(connection, who, asked)


@pytest.mark.parametrize("seed", range(2))
async def test_a_random_history_reads_the_same_in_both_stores(layers: Layers, principal: Principal, seed: int):
    chance = random.Random(seed)
    agents = [principal, *(replace(principal, agent=name, session=name, execution=None) for name in ("rui", "zé"))]
    scopes = ("tenant", "tenant", "shared", "private", Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"rui"})))
    stated: list[UUID] = []
    postgres = KnowledgeLayer(layers.connections, clock=layers.clock)
    for _ in range(6):
        for _ in range(12):
            who, day = chance.choice(agents), chance.randint(-9, 2)
            outcome = await layers.state(
                who,
                chance.choice(THINGS),
                predicate := chance.choice(PREDICATES),
                chance.choice((*THINGS, "40", "41")),
                day=day,
                many=predicate == "knows",
                object_is_entity=chance.random() < 0.3,
                scope=chance.choice(scopes),
                source=(source := chance.choice(("agent", "user", "web"))),
                trust={"agent": 0.5, "user": 1.0, "web": 0.3}[source],
                expires_at=chance.choice((None, None, TODAY + timedelta(hours=chance.randint(1, 99)))),
            )
            stated.append(outcome.id)
        gone = [stated.pop(chance.randrange(len(stated)))]
        async with layers.connections.system_transaction(principal.tenant) as connection:
            await memories.set_status(connection, gone, "withdrawn")
            await layers.knowledge.remove(connection, gone)
            if chance.random() < 0.5:
                await layers.knowledge.confirm(connection, [chance.choice(stated)])
        await layers.pay_graph(principal)
        layers.clock.advance(timedelta(hours=1))
        for who in agents:
            text = " e ".join(chance.sample(THINGS, 2)) + "?"
            for moment in (None, TODAY + timedelta(days=chance.randint(-9, 3))):
                asked = Query(text=text, as_of=moment)
                assert await found(layers, who, layers.knowledge, asked) == await found(layers, who, postgres, asked)
            start = Entity(THINGS[0].lower(), THINGS[0])
            async with layers.connections.transaction(who) as connection:
                for hops in (1, 2, 3):
                    around = await layers.knowledge.neighbourhood(connection, who, [start], hops=hops)
                    assert around == await postgres.neighbourhood(connection, who, [start], hops=hops)
                ways = await layers.knowledge.paths(connection, who, "Ana", "Recife")
                assert {way.sentence for way in ways} == {
                    way.sentence for way in await postgres.paths(connection, who, "Ana", "Recife")
                }
    held = await outside(layers).graph.held(principal.tenant, after=None, most=1_000)
    assert held == await outside(layers).expected(principal.tenant, after=None, most=1_000) != []


async def test_a_graph_that_was_told_lies_leaks_nothing(layers: Layers, principal: Principal, ask: Ask):
    other = replace(principal, agent="other", session="elsewhere", execution=None)
    await layers.state(principal, "Andorinha", "is", "known")
    secret = await layers.state(other, "Andorinha", "senha", "XK-7741", scope="private", object_is_entity=True)
    lying = "MATCH (f:Fact {tenant: $tenant}) SET f.circles = $circles, f.expires_at = null, f.valid_to = null"
    everyone = await ask(
        "MATCH (f:Fact {tenant: $tenant}) UNWIND f.circles AS c RETURN collect(c)", tenant=principal.tenant
    )
    await ask(lying, tenant=principal.tenant, circles=everyone[0][0])
    assert secret.id in {one.id for one in await found(layers, principal, layers.knowledge, Query(text="Andorinha"))}
    assert "XK-7741" not in str(await layers.recall(principal, "Andorinha senha"))
    async with layers.connections.transaction(principal) as connection:
        knowledge, thing = layers.knowledge, Entity("andorinha", "Andorinha")
        for hops in (1, 2, 3):
            around = await knowledge.neighbourhood(connection, principal, [thing], hops=hops)
            assert [edge.object for edge in around] == ["known"]
        assert await knowledge.paths(connection, principal, "Andorinha", "XK-7741") == []
        assert await knowledge.alike(connection, principal, "xk 7741") == []


async def test_what_is_in_quarantine_is_not_in_the_graph_and_comes_when_it_is_let_out(
    layers: Layers, principal: Principal, ask: Ask
):
    told = await layers.state(principal, "Acme", "seat", "Olinda", trust=0.3, source="web")
    count = "MATCH (n {tenant: $tenant}) RETURN count(n)"
    assert await ask(count, tenant=principal.tenant) == [[0]]
    async with layers.connections.system_transaction(principal.tenant) as connection:
        await memories.set_status(connection, [told.id], "live")
        await layers.knowledge.confirm(connection, [told.id])
    await layers.pay_graph(principal)
    assert await outside(layers).graph.count(principal.tenant) == 1


async def test_a_decision_is_in_the_graph_with_what_it_cites_until_it_is_forgotten(
    layers: Layers, principal: Principal, ask: Ask
):
    fact = await layers.state(principal, "Acme", "seat", "Recife")
    value = decisions.decision_value("Where?", "Recife", ["near"], [str(fact.id), "a paper", {"page": 3}])
    made = layers.memory(principal, "Where?: Recife", kind=MemoryKind.DECISION, value=value)
    await layers.keep(principal, made, embed=False)
    async with layers.connections.transaction(principal) as connection:
        await decisions.insert(connection, [made])
    await layers.pay_graph(principal)
    cites = "MATCH (f:Fact {tenant: $tenant})-[:REFERENCED_IN]->(d)<-[:DECIDED]-(a) RETURN f.object, d.question, a.name"
    assert await ask(cites, tenant=principal.tenant) == [["Recife", "Where?", "tester"]]
    async with layers.connections.system_transaction(principal.tenant) as connection:
        await memories.set_status(connection, [made.id], "withdrawn")
        await layers.knowledge.remove(connection, [made.id])
    await layers.pay_graph(principal)
    assert await outside(layers).graph.held(principal.tenant, after=None, most=9) == [(fact.id, 1)]


async def test_a_late_payment_leaves_the_graph_as_the_record_is(layers: Layers, principal: Principal):
    knowledge = outside(layers)
    outcome = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    late = await knowledge._told(principal.tenant, [outcome.id])  # pyright: ignore[reportPrivateUsage]  # a payment that stalls
    await layers.state(principal, "Ana", "role", "CEO")
    await knowledge.graph.put(principal.tenant, late.facts, late.decisions, late.gone, late.things)
    held = await knowledge.graph.held(principal.tenant, after=None, most=9)
    assert held == await knowledge.expected(principal.tenant, after=None, most=9)


async def test_a_record_that_was_made_anew_counts_from_one_again(layers: Layers, principal: Principal):
    knowledge = outside(layers)
    old = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    await layers.state(principal, "Ana", "role", "CEO")
    async with layers.connections.system_transaction(principal.tenant) as connection:
        kept = await memories.get(connection, [old.id])
    told = await knowledge._told(principal.tenant, [old.id])  # pyright: ignore[reportPrivateUsage]  # what comes of a restore
    ahead = [replace(fact, revision=fact.revision + 7) for fact in told.facts if fact.id == old.id]
    await knowledge.graph.put(principal.tenant, ahead, [], [], [])
    await knowledge.put(principal.tenant, [*kept.values()])
    held = await knowledge.graph.held(principal.tenant, after=None, most=9)
    assert held == await knowledge.expected(principal.tenant, after=None, most=9)


async def test_sixteen_writers_of_the_same_names_through_the_layer(layers: Layers, principal: Principal):
    names = ("Ana", "Bia", "Zé", "Rui")

    async def writer(number: int) -> None:
        for subject in names:
            object = names[(names.index(subject) + number) % 4]
            await layers.state(
                principal, subject, f"p{number % 5}", object, day=-number, many=True, object_is_entity=True
            )

    await asyncio.gather(*map(writer, range(16)))
    held = await outside(layers).graph.held(principal.tenant, after=None, most=999)
    assert held == await outside(layers).expected(principal.tenant, after=None, most=999)
    assert len(held) == 64


async def test_while_the_graph_is_away_a_recall_names_it_and_postgres_answers_the_rest(
    layers: Layers, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    await layers.state(principal, "Recife", "is", "known")
    assert (await layers.recall(principal, "Recife")).silent == ()
    nowhere: AsyncDriver
    async with AsyncGraphDatabase.driver("neo4j://127.0.0.1:1", max_transaction_retry_time=0.1) as nowhere:  # pyright: ignore[reportUnknownMemberType]  # open keywords
        monkeypatch.setattr(outside(layers).graph, "_driver", nowhere)
        try:
            recall = await layers.recall(principal, "Recife")
            with pytest.raises(ServerUnavailable):
                await layers.knowledge.drop(principal.tenant, [new_id()])
            async with layers.connections.transaction(principal) as connection:
                for hops in (1, 2, 3):
                    thing = Entity("recife", "Recife")
                    around = await layers.knowledge.neighbourhood(connection, principal, [thing], hops=hops)
                    assert [edge.sentence() for edge in around] == ["Recife · is · known"]
                assert len(await layers.knowledge.paths(connection, principal, "Recife", "known")) == 1
                assert await layers.knowledge.alike(connection, principal, "recif") == [thing]
        finally:
            monkeypatch.undo()
    assert recall.silent == ("knowledge",)
    assert [hit.text for hit in recall] == ["Recife · is · known"]


async def test_whoever_names_no_graph_reads_the_same_facts_in_postgres(layers: Layers, principal: Principal):
    await layers.state(principal, "Recife", "is", "known")
    async with AsyncExitStack() as stack:
        postgres = KnowledgeLayer(layers.connections, clock=layers.clock)
        await postgres.start(stack)
        asked = Query(text="Recife")
        assert await found(layers, principal, postgres, asked) != []
