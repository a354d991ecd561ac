"""Facts in the store: one current value a key, whoever writes at the same time; and who may retire what."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from lousa.infra.errors import BadInput, WrongTenant
from lousa.infra.identity import Principal
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import Fact, Memory, Scope, ScopeKind

from .conftest import TODAY, Layers

STORES = ("embedded", "neo4j")  # facts are resolved in Postgres, so one line of Neo4j is enough here


async def current(layers: Layers, who: Principal) -> list[str]:
    """The objects that hold now, as the caller sees them."""
    async with layers.connections.transaction(who) as connection:
        cursor = await connection.execute("SELECT object FROM fact WHERE status = 'current' ORDER BY object")
        return [row[0] for row in await cursor.fetchall()]


async def held_by_layer_2(layers: Layers, who: Principal, ids: list[UUID]) -> set[UUID]:
    async with layers.connections.transaction(who) as connection:
        return set(ids) - await layers.context.missing(connection, ids)


async def test_sixteen_writers_of_one_key_leave_exactly_one_value(layers: Layers, principal: Principal):
    same_moment = [layers.state(principal, "Plano", "preço", f"R$ {number}", day=-number) for number in range(16)]
    outcomes = await asyncio.gather(*same_moment)
    assert await current(layers, principal) == ["R$ 0"]
    assert (await layers.statuses(principal, [outcome.id for outcome in outcomes])).count("live") == 1


async def test_two_open_transactions_on_one_key_take_turns(layers: Layers, principal: Principal):
    def stated(object: str, day: int) -> Memory:
        fact = Fact(subject="Plano", predicate="preço", object=object, since=TODAY + timedelta(days=day))
        return layers.memory(principal, fact.sentence(), fact=fact)

    first, second = stated("R$ 1", -2), stated("R$ 2", -1)
    async with layers.connections.transaction(principal) as one:
        await memories.insert(one, [first])
        await layers.knowledge.state(one, principal, [first])
        racing = asyncio.create_task(layers.keep(principal, second, embed=False))
        done, _ = await asyncio.wait([racing], timeout=0.3)
        assert not done
    [outcome] = await racing
    assert outcome.superseded == (first.id,)
    assert await current(layers, principal) == ["R$ 2"]


async def test_batches_that_name_the_same_keys_in_opposite_order_do_not_embrace(layers: Layers, principal: Principal):
    def batch(order: int) -> list[Memory]:
        facts = [Fact(subject=f"S{number}", predicate="p", object=f"v{order}") for number in range(30)]
        return [layers.memory(principal, fact.sentence(), fact=fact) for fact in facts[::order]]

    await asyncio.gather(*(layers.keep(principal, *batch(order), embed=False) for order in (1, -1, 1, -1)))
    async with layers.connections.transaction(principal) as connection:
        cursor = await connection.execute(
            "SELECT count(*) FILTER (WHERE status = 'current'), count(*) FILTER (WHERE status = 'contested') FROM fact"
        )
        assert await cursor.fetchone() == (0, 60)


async def test_a_superseded_fact_leaves_words_and_vectors_in_the_same_transaction(layers: Layers, principal: Principal):
    old = layers.memory(
        principal, "Plano Ouro costs 100", fact=Fact(subject="Plano Ouro", predicate="price", object="100")
    )
    await layers.keep(principal, old)
    assert await held_by_layer_2(layers, principal, [old.id]) == {old.id}
    outcome = await layers.state(principal, "plano ouro", "PRICE", "120", trust=1.0, source="user")
    assert outcome.superseded == (old.id,) and outcome.status == "current"
    assert await layers.statuses(principal, [old.id]) == ["superseded"]
    async with layers.connections.transaction(principal) as connection:
        cursor = await connection.execute("SELECT count(*) FROM memory_words WHERE id = %s", (old.id,))
        assert await cursor.fetchone() == (0,)
    await layers.context.put(principal.tenant, [old])
    assert old.text not in await layers.texts(principal, "Plano Ouro costs 100")


async def test_a_fact_stated_twice_with_the_same_id_is_stated_once(layers: Layers, principal: Principal):
    fact = Fact(subject="Ana", predicate="role", object="CTO")
    memory = layers.memory(principal, fact.sentence(), fact=fact)
    first = await layers.keep(principal, memory, embed=False)
    async with layers.connections.transaction(principal) as connection:
        assert await layers.knowledge.state(connection, principal, [memory]) == first


async def test_of_what_the_record_does_not_know_nothing_is_stated_and_no_thing_named(
    layers: Layers, principal: Principal
):
    known, gone = (
        layers.memory(principal, fact.sentence(), fact=fact)
        for fact in (
            Fact(subject="Ana", predicate="works at", object="Acme", object_is_entity=True),
            Fact(subject="Bia", predicate="knows", object="Ana", object_is_entity=True),
        )
    )
    async with layers.connections.transaction(principal) as connection:
        await memories.insert(connection, [known])
        outcomes = await layers.knowledge.state(connection, principal, [gone, known, known])
        assert {outcome.id for outcome in outcomes} == {known.id}
        cursor = await connection.execute("SELECT key FROM entity ORDER BY key")
        assert [row[0] for row in await cursor.fetchall()] == ["acme", "ana"]
    assert await current(layers, principal) == ["Acme"]


async def test_a_confirmation_is_no_second_value_and_is_counted(layers: Layers, principal: Principal):
    first = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    again = await layers.state(principal, "ana", "Role", "cto", day=-1)
    assert (again.status, again.of) == ("confirmation", first.id)
    assert await current(layers, principal) == ["CTO"]
    async with layers.connections.transaction(principal) as connection:
        cursor = await connection.execute("SELECT confirmations FROM memory WHERE id = %s", (first.id,))
        assert await cursor.fetchone() == (2,)


async def test_values_of_different_qualifiers_stand_side_by_side(layers: Layers, principal: Principal):
    await layers.state(principal, "api", "region", "us-east-1", qualifier="production")
    await layers.state(principal, "api", "region", "eu-west-1", qualifier="staging")
    assert await current(layers, principal) == ["eu-west-1", "us-east-1"]


async def test_a_key_stated_as_many_valued_retires_nothing_and_is_the_only_one(layers: Layers, principal: Principal):
    await layers.state(principal, "Bia", "speaks", "Español", day=-9)
    for value in ("Português", "English", "português"):
        await layers.state(principal, "Ana", "speaks", value, many=True)
    await layers.state(principal, "Bia", "speaks", "Italiano", day=-5)
    assert await current(layers, principal) == ["English", "Italiano", "Português"]


MANY_ELSEWHERE: list[dict[str, Any]] = [
    {"subject": "T9"},
    {"subject": "T2", "qualifier": "staging"},
    {"subject": "T2", "scope": "private"},
    {"subject": "T2", "scope": "shared"},
    {"subject": "T2", "source": "web", "trust": 0.1},
    {"subject": "T9", "source": "web", "trust": 0.1},
]


@pytest.mark.parametrize("place", [0, 2, 3])
@pytest.mark.parametrize("elsewhere", MANY_ELSEWHERE)
async def test_many_values_elsewhere_or_on_hearsay_leave_a_key_with_one_in_whatever_order(
    layers: Layers, principal: Principal, elsewhere: dict[str, Any], place: int
):
    parts = dict(elsewhere)
    subject = parts.pop("subject")
    ours: list[UUID] = []
    for number in range(4):
        if number == place:
            await layers.state(replace(principal, agent="other"), subject, "ss", "z", many=True, **parts)
        if number < 3:
            ours.append((await layers.state(principal, "T2", "ss", str(number), day=number - 9)).id)
    assert await layers.statuses(principal, ours) == ["superseded", "superseded", "live"]


@pytest.mark.parametrize("first", [False, True])
async def test_a_fact_that_contradicts_its_key_about_many_values_is_refused_and_changes_nothing(
    layers: Layers, principal: Principal, first: bool
):
    old = await layers.state(principal, "Ana", "Speaks", "Português", day=-9, many=first)
    with pytest.raises(BadInput, match=r"'speaks' .* was stated to hold .* state it with|forgotten"):
        await layers.state(principal, "ana", "speaks", "English", many=not first)
    assert await current(layers, principal) == ["Português"]
    await layers.state(principal, "Ana", "speaks", "English", many=not first, qualifier="at work")
    async with layers.connections.transaction(principal) as connection:
        await layers.knowledge.remove(connection, [old.id])
    await layers.state(principal, "Ana", "speaks", "Italiano", many=not first)
    assert await current(layers, principal) == ["English", "Italiano"]


async def test_facts_of_one_batch_that_contradict_each_other_about_many_values_are_refused(
    layers: Layers, principal: Principal
):
    said = [
        Fact(subject="Ana", predicate="speaks", object=value, many=value == "English") for value in ("a", "English")
    ]
    with pytest.raises(BadInput, match="speaks"):
        await layers.keep(principal, *(layers.memory(principal, fact.sentence(), fact=fact) for fact in said))
    assert await current(layers, principal) == []


async def test_what_is_let_out_of_quarantine_cannot_change_how_many_values_its_key_holds(
    layers: Layers, principal: Principal
):
    rumour = await layers.state(principal, "Ana", "role", "CEO", many=True, trust=0.3, source="web")
    await layers.state(principal, "Ana", "role", "CTO")
    with pytest.raises(BadInput, match="one value at a time"):
        async with layers.connections.transaction(principal) as connection:
            await layers.knowledge.confirm(connection, [rumour.id])
    assert await layers.statuses(principal, [rumour.id]) == ["quarantined"]


async def test_a_key_of_many_values_that_loses_one_keeps_the_others_also_after_a_rebuild(
    layers: Layers, principal: Principal
):
    outcomes = [await layers.state(principal, "Ana", "speaks", value, day=-5, many=True) for value in "abc"]
    ids = [outcome.id for outcome in outcomes]
    async with layers.connections.transaction(principal) as connection:
        await memories.set_status(connection, ids[:1], "withdrawn")
        await layers.knowledge.remove(connection, ids[:1])
        kept = list((await memories.get(connection, ids[1:])).values())
    assert await current(layers, principal) == ["b", "c"]
    await layers.knowledge.clear(principal.tenant)
    await layers.knowledge.put(principal.tenant, kept[::-1])
    assert await current(layers, principal) == ["b", "c"]


async def test_a_value_that_begins_in_the_future_comes_back_to_nobody_before(layers: Layers, principal: Principal):
    now = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    later = await layers.state(principal, "Ana", "role", "CEO", day=3)
    ids = [now.id, later.id]

    async def fetched(day: int, **asked: datetime) -> list[UUID]:
        async with layers.connections.transaction(principal) as connection:
            return [*await memories.fetch(connection, ids, now=TODAY + timedelta(days=day), **asked)]

    assert await fetched(0) == [now.id]
    assert await fetched(4) == [later.id]
    assert await fetched(0, as_of=TODAY + timedelta(days=4)) == [later.id]


async def test_an_untrusted_assertion_is_quarantined_until_someone_confirms_it(layers: Layers, principal: Principal):
    known = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    rumour = await layers.state(principal, "Ana", "role", "CEO", trust=0.3, source="web")
    assert rumour.status == "quarantined" and rumour.superseded == ()
    assert await current(layers, principal) == ["CTO"]
    assert await layers.texts(principal, "Ana role CEO") == ["Ana · role · CTO"]
    async with layers.connections.transaction(principal) as connection:
        [outcome] = await layers.knowledge.confirm(connection, [rumour.id])
    assert (outcome.status, outcome.superseded) == ("current", (known.id,))
    assert await current(layers, principal) == ["CEO"]


async def test_removing_a_fact_brings_back_what_it_had_retired_and_owes_it_to_layer_2(
    layers: Layers, principal: Principal
):
    old = await layers.state(principal, "Ana", "role", "CTO", day=-9)
    new = await layers.state(principal, "Ana", "role", "CEO")
    async with layers.connections.transaction(principal) as connection:
        await layers.knowledge.remove(connection, [new.id])
        cursor = await connection.execute("SELECT memory, layer FROM debt WHERE layer = 'context'")
        assert await cursor.fetchall() == [(old.id, "context")]
    assert await current(layers, principal) == ["CTO"]
    assert await layers.statuses(principal, [old.id]) == ["live"]


@pytest.mark.parametrize("scope", ["private", "shared", "tenant"])
async def test_a_private_fact_retires_nobody_elses(layers: Layers, principal: Principal, scope: str):
    other = replace(principal, agent="other")
    await layers.state(principal, "Ana", "role", "CTO", day=-9, scope=scope)
    outcome = await layers.state(other, "Ana", "role", "CEO", scope="private")
    assert outcome.superseded == ()
    assert "CTO" in await current(layers, principal) and "CEO" not in await current(layers, principal)
    assert "CEO" in await current(layers, other)


async def test_a_shared_fact_is_retired_within_its_session_only(layers: Layers, principal: Principal):
    elsewhere = replace(principal, agent="stranger", session="session-2", execution=None)
    colleague = replace(principal, agent="colleague", execution=None)
    await layers.state(principal, "Ana", "role", "CTO", day=-9, scope="shared")
    await layers.state(elsewhere, "Ana", "role", "CEO", day=-5, scope="shared")
    assert await current(layers, principal) == ["CTO"]
    await layers.state(colleague, "Ana", "role", "CFO", scope="shared")
    assert await current(layers, principal) == ["CFO"]
    assert await current(layers, elsewhere) == ["CEO"]


async def test_who_names_readers_speaks_for_itself(layers: Layers, principal: Principal):
    other = replace(principal, agent="other")
    scope = Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"reader"}))
    await layers.state(principal, "Ana", "role", "CTO", day=-9, scope=scope)
    outcome = await layers.state(other, "Ana", "role", "CEO", scope=scope)
    assert outcome.superseded == () and await current(layers, principal) == ["CTO"]
    assert await current(layers, replace(principal, agent="reader")) == ["CEO", "CTO"]


async def test_a_fact_of_another_tenant_is_refused(layers: Layers, principal: Principal):
    memory = layers.memory(principal, "x", fact=Fact(subject="a", predicate="b", object="c"))
    stranger = replace(principal, tenant=principal.tenant + "-2")
    async with layers.connections.transaction(stranger) as connection:
        with pytest.raises(WrongTenant):
            await layers.knowledge.state(connection, stranger, [memory])


async def test_a_rebuild_from_the_record_gives_the_same_standings(layers: Layers, principal: Principal):
    outcomes = [
        await layers.state(principal, "Ana", "role", "CTO", day=-9),
        await layers.state(principal, "Ana", "role", "CEO", day=-5),
        await layers.state(principal, "Ana", "role", "CFO", trust=0.3, source="web"),
        await layers.state(principal, "Ana", "age", "40"),
        await layers.state(principal, "Ana", "age", "41"),
    ]
    ids = [outcome.id for outcome in outcomes]
    before = await layers.statuses(principal, ids)
    async with layers.connections.transaction(principal) as connection:
        kept = list((await memories.get(connection, ids)).values())
    await layers.knowledge.clear(principal.tenant)
    async with layers.connections.transaction(principal) as connection:
        outside = not layers.knowledge.capabilities.transactional
        quarantined = {ids[2]} if outside else set[UUID]()  # which only the record holds
        assert await layers.knowledge.missing(connection, ids) == set(ids) - quarantined
    await layers.knowledge.put(principal.tenant, kept)
    async with layers.connections.transaction(principal) as connection:
        assert await layers.knowledge.missing(connection, ids) == set()
    assert await layers.statuses(principal, ids) == before
    assert before == ["superseded", "live", "quarantined", "contested", "contested"]
