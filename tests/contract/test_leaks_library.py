"""Nothing that an agent may not see, and nothing that no longer holds, comes back by any way of asking.

Each case puts one secret into every layer and then asks for it in every way the library knows: recall (now and as of
then), words, vectors, the graph by name, neighbourhood and path, and the record by its id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from elsewhere import EVERY_STORE
from lousa.infra.errors import WrongTenant
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.contract import Query
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import Fact, Memory, Scope, ScopeKind

from .conftest import TODAY, Layers

STORES = (*EVERY_STORE, "neo4j")

SECRET = "Operação Andorinha · senha · XK-7741"
ASKED = ("Operação Andorinha senha", "XK-7741", "qual é a senha da operacao andorinha?")

RECORD = frozenset({"record"})
LAGGING = RECORD | {"words", "vectors"}
"""These two hold ids and no text; what they still propose falls out of every recall."""

Then = Callable[[Layers, Principal, Memory], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """A secret's scope and parts, who keeps it and who asks, and what happens to it before it is asked for."""

    name: str
    scope: str | Scope = "tenant"
    keeper: Callable[[Principal], Principal] = lambda who: who
    asker: Callable[[Principal], Principal] = lambda who: who
    parts: dict[str, Any] | None = None
    then: Then | None = None
    besides: frozenset[str] = frozenset()
    """Where its id may still turn up: in the record's own row, which is no recall, or in a layer that lags."""


def hierarchical(*readers: str, roles: frozenset[str] = frozenset()) -> Scope:
    return Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset(readers), roles=roles)


def stranger(who: Principal, **changes: Any) -> Principal:
    """Another agent of the same tenant, in another session and no execution."""
    return replace(who, **{"agent": "stranger", "session": "elsewhere", "execution": None, **changes})


async def supersede(layers: Layers, who: Principal, secret: Memory) -> None:
    fact = Fact(subject="operacao andorinha", predicate="SENHA", object="trocada")
    await layers.keep(who, layers.memory(who, fact.sentence(), fact=fact, trust=1.0))


async def withdraw(layers: Layers, who: Principal, secret: Memory) -> None:
    async with layers.connections.transaction(who) as connection:
        await memories.set_status(connection, [secret.id], "withdrawn")
        await layers.context.remove(connection, [secret.id])
        await layers.knowledge.remove(connection, [secret.id])


async def withdraw_in_the_record_alone(layers: Layers, who: Principal, secret: Memory) -> None:
    async with layers.connections.transaction(who) as connection:
        await memories.set_status(connection, [secret.id], "withdrawn")
        await connection.execute("UPDATE fact SET status = 'withdrawn' WHERE id = %s", (secret.id,))


async def expire(layers: Layers, who: Principal, secret: Memory) -> None:
    layers.clock.advance(timedelta(days=2))


CASES = [
    Case("another tenant", asker=lambda who: replace(who, tenant="other-" + who.tenant)),
    Case("a tenant whose name begins alike", asker=lambda who: replace(who, tenant=who.tenant + "-2")),
    Case("a tenant whose name is the beginning", asker=lambda who: replace(who, tenant=who.tenant[:-1])),
    Case("a tenant named by a pattern of one sign", asker=lambda who: replace(who, tenant="_" * len(who.tenant))),
    Case("a tenant named by a pattern of any sign", asker=lambda who: replace(who, tenant="%")),
    Case("a tenant in other letters", asker=lambda who: replace(who, tenant=who.tenant.upper())),
    Case("another agent's private memory", scope="private", asker=lambda who: replace(who, agent="other")),
    Case("an agent whose name begins alike", scope="private", asker=lambda who: replace(who, agent=who.agent + "2")),
    Case("an agent named by a pattern", scope="private", asker=lambda who: replace(who, agent="%")),
    Case("another session's shared memory", scope="shared", asker=stranger),
    Case(
        "a session named by a pattern",
        scope="shared",
        asker=lambda who: stranger(who, session="_" * len(who.session)),
    ),
    Case("another execution's shared memory", scope="shared", asker=lambda who: stranger(who, execution=new_id())),
    Case("readers that do not name the asker", scope=hierarchical("boss", "stranger2", "strange_"), asker=stranger),
    Case(
        "a role that the asker does not hold",
        scope=hierarchical(roles=frozenset({"legal", "leg_l"})),
        asker=lambda who: stranger(who, roles=frozenset({"lega", "LEGAL", "%"})),
    ),
    Case(
        "readers and roles are not each other",
        scope=hierarchical("legal"),
        asker=lambda who: stranger(who, roles=frozenset({"legal"})),
    ),
    Case("quarantined by its trust", parts={"trust": 0.3, "source": "web"}, besides=RECORD),
    Case("quarantined by the guard", parts={"status": "quarantined"}, besides=RECORD),
    Case("superseded", then=supersede, besides=RECORD),
    Case("withdrawn", then=withdraw, besides=RECORD),
    Case("withdrawn, and layer 2 lags", then=withdraw_in_the_record_alone, besides=LAGGING),
    Case("expired", parts={"expires_at": TODAY + timedelta(days=1)}, then=expire, besides=LAGGING),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_it_never_comes_back(layers: Layers, principal: Principal, case: Case):
    keeper, asker = case.keeper(principal), case.asker(principal)
    fact = Fact(
        subject="Operação Andorinha",
        predicate="senha",
        object="XK-7741",
        since=TODAY - timedelta(days=1),
        object_is_entity=True,
    )
    secret = layers.memory(keeper, SECRET, fact=fact, scope=case.scope, **(case.parts or {}))
    await layers.keep(keeper, secret)
    if case.then:
        await case.then(layers, keeper, secret)
        await layers.pay(keeper)
    bait = layers.memory(asker, "A operação de hoje não tem senha.", scope="private")
    await layers.keep(asker, bait)

    found = await everything(layers, asker, secret.id)
    assert {way for way, ids in found.items() if secret.id in ids} <= case.besides
    assert bait.id in found["recall"], "the asker's own memory is found, so the ways do work"


async def test_who_may_see_it_finds_it_in_every_way(layers: Layers, principal: Principal):
    fact = Fact(subject="Operação Andorinha", predicate="senha", object="XK-7741", object_is_entity=True)
    askers = {
        "private": principal,
        "shared": replace(principal, agent="colleague"),
        "tenant": stranger(principal),
        hierarchical("stranger"): stranger(principal),
        hierarchical(roles=frozenset({"legal"})): stranger(principal, roles=frozenset({"legal"})),
    }
    for number, (scope, asker) in enumerate(askers.items()):
        who = replace(principal, tenant=f"{principal.tenant}-{number}")
        secret = layers.memory(who, SECRET, fact=fact, scope=scope)
        await layers.keep(who, secret)
        found = await everything(layers, replace(asker, tenant=who.tenant), secret.id)
        assert {way for way, ids in found.items() if secret.id in ids} == found.keys(), scope


async def everything(layers: Layers, who: Principal, secret: UUID) -> dict[str, set[UUID]]:
    """Way of asking → ids that it gives."""
    found: dict[str, set[UUID]] = {"recall": set(), "words": set(), "vectors": set(), "graph": set()}
    for asked in ASKED:
        for parts in ({}, {"as_of": layers.clock.now()}, {"k": 200}):
            hits = await layers.recall(who, asked, **parts)
            assert hits.silent == ()
            found["recall"] |= {identifier for hit in hits for identifier in (hit.id, *hit.also)}
        query = Query(text=asked, k=200)
        vector = await layers.context.embedder.query(asked)
        async with layers.connections.transaction(who) as connection:
            found["words"] |= {one.id for one in await layers.context.words(connection, who, query)}
            found["vectors"] |= {one.id for one in await layers.context.vectors(connection, who, query, vector)}
            found["graph"] |= {one.id for one in await layers.knowledge.find(connection, who, query)}
    async with layers.connections.transaction(who) as connection:
        entities = await layers.knowledge.named(connection, SECRET)
        around = await layers.knowledge.neighbourhood(connection, who, entities)
        paths = await layers.knowledge.paths(connection, who, "Operação Andorinha", "XK-7741")
        found["neighbourhood"] = {edge.id for edge in around}
        found["paths"] = {edge.id for path in paths for edge in path.edges}
        found["fetch"] = set(await memories.fetch(connection, [secret], now=layers.clock.now()))
        found["record"] = set(await memories.get(connection, [secret]))
    return found


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_tenant_is_nobody(name: str):
    with pytest.raises(WrongTenant):
        Principal(tenant=name, agent="a", session="s")


@pytest.mark.parametrize("table", ["memory", "memory_words", "fact", "entity"])
async def test_a_transaction_that_says_nobody_sees_nothing(layers: Layers, principal: Principal, table: str):
    await layers.state(principal, "Operação Andorinha", "senha", "XK-7741")
    async with layers.connections.system_transaction("") as connection:
        cursor = await connection.execute(f"SELECT count(*) FROM {table}".encode())
        assert await cursor.fetchone() == (0,)
        cursor = await connection.execute(
            "SELECT worded, frequencies FROM find_words('{senha}', '{\"\"}', '{-1}', 0, NULL, 1, 10, 10, 10, 1, 10)"
        )
        assert await cursor.fetchall() == [(None, [0])]
