"""What a graph outside promises: newer beats older, nothing is there twice, tenants are apart, names are only names."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from lousa.infra.errors import SchemaMismatch, ServerUnavailable, SettingsError
from lousa.infra.ids import new_id
from lousa.memory_layers.knowledge import neo4j as module
from lousa.memory_layers.knowledge.facts import name_key
from lousa.memory_layers.knowledge.graph import GraphDecision, GraphFact, Run, Sight
from lousa.memory_layers.knowledge.neo4j import Neo4jGraph
from neo4j import AsyncDriver, AsyncGraphDatabase

from .conftest import Ask

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_SCANS = ("AllNodes", "NodeByLabelScan")


def fact(subject: str, predicate: str, object: str, **parts: Any) -> GraphFact:
    values: dict[str, Any] = {
        "id": new_id(),
        "revision": 1,
        "thing": None,
        "status": "current",
        "trust": 0.5,
        "valid_from": NOW,
        "valid_to": None,
        "recorded_at": NOW,
        "expires_at": None,
        "agent": "ana",
        "session": "s-1",
        "circles": ["everyone"],
        "superseded_by": None,
        "contested_with": (),
        **parts,
    }
    return GraphFact(
        subject_key=name_key(subject),
        subject=subject,
        predicate=predicate,
        object_key=name_key(object),
        object=object,
        **values,
    )


def decision(*evidence: UUID, **parts: Any) -> GraphDecision:
    values: dict[str, Any] = {"id": new_id(), "revision": 1, "question": "Which?", "agent": "ana", "session": "s-1"}
    return GraphDecision(decided_at=NOW, circles=["everyone"], evidence=evidence, **{**values, **parts})


def sight(tenant: str, *circles: str, at: datetime = NOW) -> Sight:
    return Sight(tenant=tenant, circles=circles or ("everyone",), now=NOW, at=at)


async def put(graph: Neo4jGraph, tenant: str, *facts: GraphFact, gone: tuple[UUID, ...] = ()) -> dict[UUID, int]:
    return dict(await graph.put(tenant, facts, [], gone, []))


async def around(graph: Neo4jGraph, tenant: str, name: str, *circles: str, at: datetime = NOW) -> list[UUID]:
    return await graph.touching(sight(tenant, *circles, at=at), [name_key(name)], most=100)


async def test_an_older_revision_never_overwrites_a_newer_one(graph: Neo4jGraph, tenant: str):
    first = fact("Ana", "role", "CTO")
    ended = replace(first, revision=3, status="superseded", valid_to=NOW)
    assert await put(graph, tenant, ended) == {first.id: 3}
    assert await put(graph, tenant, first) == {first.id: 3}
    assert await around(graph, tenant, "Ana") == []
    assert await around(graph, tenant, "Ana", at=NOW - timedelta(1)) == []
    assert await put(graph, tenant, replace(first, revision=4)) == {first.id: 4}
    assert await around(graph, tenant, "Ana") == [first.id]


async def test_putting_twice_and_at_once_leaves_one_of_everything(graph: Neo4jGraph, tenant: str, ask: Ask):
    facts = [fact("Ana", "knows", name, thing=name) for name in ("Bia", "Zé", "Rui")]
    cited = decision(facts[0].id)

    async def all_of_it() -> None:
        await graph.put(tenant, facts, [cited], [], [])

    await asyncio.gather(*(all_of_it() for _ in range(8)))
    counted = "MATCH (n {tenant: $tenant}) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n), count(DISTINCT r)"
    # Names, facts, a decision, an agent, a session; ends, KNOWS, CONTAINS, DECIDED, REFERENCED_IN.
    assert await ask(counted, tenant=tenant) == [[4 + 3 + 1 + 1 + 1, 3 * 2 + 3 + 4 + 1 + 1]]


async def test_sixteen_writers_of_the_same_names_make_each_once_and_lose_nothing(
    graph: Neo4jGraph, tenant: str, ask: Ask
):
    names = [f"Ána {number}" for number in range(12)]

    async def writer(number: int) -> list[UUID]:
        turned = names[number % 12 :] + names[: number % 12]
        facts = [fact(a, f"p{number}", b, thing=b) for a, b in zip(turned, reversed(turned), strict=True)]
        for part in (facts[::2], facts[1::2]):
            await put(graph, tenant, *part)
        return [one.id for one in facts]

    written = await asyncio.gather(*map(writer, range(16)))
    assert await ask("MATCH (n:Entity {tenant: $tenant}) RETURN count(n)", tenant=tenant) == [[12]]
    assert set(await graph.revisions(tenant, [one for ids in written for one in ids])) == {
        one for ids in written for one in ids
    }
    assert await graph.count(tenant) == 16 * 12


async def test_everything_that_is_known_of_a_fact_can_be_followed(graph: Neo4jGraph, tenant: str, ask: Ask):
    new = fact("Acme", "seat", "Recife", revision=2)
    old = fact("Acme", "seat", "Olinda", revision=2, status="superseded", valid_to=NOW, superseded_by=new.id)
    one = fact("Ana", "age", "40", status="contested")
    other = fact("Ana", "age", "41", status="contested", contested_with=[one.id])
    await put(graph, tenant, new, old, replace(one, contested_with=[other.id]), other)
    cited = decision(new.id, new_id())
    await graph.put(tenant, [], [cited], [], [])
    found = await ask(
        "MATCH (a {tenant: $tenant})-[r]->(b) WHERE NOT type(r) IN ['SUBJECT', 'OBJECT', 'CONTAINS', 'KNOWS']"
        " RETURN type(r), coalesce(a.object, a.name), coalesce(b.object, b.question) ORDER BY type(r)",
        tenant=tenant,
    )
    [contradicts, decided, cites, supersedes] = found
    assert {contradicts[1], contradicts[2]} == {"40", "41"}
    assert decided == ["DECIDED", "ana", "Which?"]
    assert cites == ["REFERENCED_IN", "Recife", "Which?"]
    assert supersedes == ["SUPERSEDES", "Recife", "Olinda"]
    settled = [
        replace(one, revision=2, status="current"),
        replace(other, revision=2, status="superseded", valid_to=NOW),
    ]
    await put(graph, tenant, *(replace(each, contested_with=()) for each in settled))
    assert await ask("MATCH ({tenant: $tenant})-[r:CONTRADICTS]-() RETURN count(r)", tenant=tenant) == [[0]]


async def test_what_is_removed_leaves_no_name_behind_that_nothing_else_holds(graph: Neo4jGraph, tenant: str, ask: Ask):
    kept, gone = fact("Ana", "lives in", "Recife"), fact("Ana", "salary", "12.000", agent="rui", session=None)
    await put(graph, tenant, kept, gone)
    await put(graph, tenant, gone=(gone.id, new_id()))
    names = "MATCH (n {tenant: $tenant}) WHERE n.name IS NOT NULL RETURN n.name ORDER BY n.name"
    assert await ask(names, tenant=tenant) == [["Ana"], ["Recife"], ["ana"], ["s-1"]]
    await put(graph, tenant, gone=(kept.id,))
    assert await ask("MATCH (n {tenant: $tenant}) RETURN count(n)", tenant=tenant) == [[0]]


async def test_tenants_of_the_same_names_do_not_meet(graph: Neo4jGraph, tenant: str):
    mine, theirs = fact("Ana", "knows", "Bia", thing="Bia"), fact("Bia", "knows", "Rui", thing="Rui")
    await put(graph, tenant, mine)
    await put(graph, tenant + "2", theirs)
    near, far = await graph.within_two(sight(tenant), [Run(key="ana", places=[[0]])], named=True, most=9)
    assert (near, far) == ([mine.id], [])
    assert await graph.revisions(tenant, [theirs.id]) == {}
    await graph.put(tenant, [], [], [theirs.id], [])
    await graph.clear(tenant)
    assert await graph.count(tenant + "2") == 1


async def test_only_who_shares_a_circle_sees_a_fact_or_learns_of_a_name(graph: Neo4jGraph, tenant: str):
    secret = fact("Andorinha", "senha", "XK-7741", circles=["a", "b"])
    await put(graph, tenant, secret)
    run = [Run(key="andorinha", places=[[0]])]
    for circles, expected in (("b", "x"), [secret.id]), (("x",), []):
        assert await around(graph, tenant, "Andorinha", *circles) == expected
        assert (await graph.within_two(sight(tenant, *circles), run, named=True, most=9))[0] == expected
        assert await graph.alike(sight(tenant, *circles), ["andorinha"], most=9) == (["andorinha"] if expected else [])


async def test_names_are_names_whatever_they_say(graph: Neo4jGraph, tenant: str, ask: Ask):
    names = ["'}) DETACH DELETE n //", "$tenant", "`a`:Admin", "a\\u0027", "名前", "😀" * 300, "\u202eabc", '"+*~(']
    facts = [fact(name, "'] // $x", name + " too", thing=name + " too") for name in names]
    await put(graph, tenant, *facts)
    for each in facts:
        assert await around(graph, tenant, each.subject) == [each.id]
    assert await ask("MATCH (n:Entity {tenant: $tenant}) RETURN count(n)", tenant=tenant) == [[2 * len(names)]]
    assert await ask("MATCH (n:Admin) RETURN count(n)") == [[0]]


async def test_a_thing_is_found_by_how_words_of_its_name_begin(graph: Neo4jGraph, tenant: str):
    for name in ("São Paulo Futebol Clube", "São Paulo", "Acme Indústria S.A."):
        await put(graph, tenant, fact(name, "is", "known"))
    assert await graph.alike(sight(tenant), ["pau", "sao"], most=3) == ["sao paulo", "sao paulo futebol clube"]
    assert await graph.alike(sight(tenant), ["pau", "sao"], most=1) == ["sao paulo"]
    assert await graph.alike(sight(tenant), ["indu"], most=3) == ["acme industria s.a."]
    for nobody in (["pau", "acme"], ["known"], ["aulo"]):
        assert await graph.alike(sight(tenant), nobody, most=3) == []
    assert await graph.alike(sight(tenant + "2"), ["sao"], most=3) == []


async def test_what_is_held_comes_in_pages_and_goes_at_once(graph: Neo4jGraph, tenant: str, ask: Ask):
    facts = [fact(f"S{number}", "p", "v", revision=number + 1) for number in range(25)]
    await put(graph, tenant, *facts)
    cited = decision(facts[3].id)
    await graph.put(tenant, [], [cited], [], [])
    pages: list[tuple[UUID, int]] = []
    while page := await graph.held(tenant, after=pages[-1][0] if pages else None, most=10):
        pages += page
    assert pages == sorted([*((one.id, one.revision) for one in facts), (cited.id, 1)])
    assert await graph.count(tenant) == 26
    await graph.clear(tenant)
    assert (await graph.count(tenant), await graph.held(tenant, after=None, most=9)) == (0, [])
    assert await ask("MATCH (n {tenant: $tenant}) RETURN count(n)", tenant=tenant) == [[0]]


async def test_no_question_reads_more_than_indexes_lead_to(graph: Neo4jGraph, url: str):
    parameters: dict[str, Any] = {
        **{"tenant": "t", "circles": ["c"], "now": NOW, "at": NOW, "most": 9, "after": "", "mark": "m ", "named": True},
        **{"runs": [], "keys": ["k"], "ids": ["i"], "words": "w", "facts": [], "links": [], "decisions": []},
        **{"things": [], "number": 1, "digest": ""},
    }
    driver: AsyncDriver
    async with AsyncGraphDatabase.driver(url) as driver:  # pyright: ignore[reportUnknownMemberType]  # open keywords
        for name, query in module.QUERIES.items():
            _, summary, _ = await driver.execute_query("EXPLAIN " + query, parameters)
            scans = {
                step for step in _steps(cast(Any, summary).plan) if step.startswith(("AllNodes", "NodeByLabelScan"))
            }
            assert scans == set() or name == "migrations", name


def _steps(plan: Any) -> list[str]:
    return [plan["operatorType"], *(step for child in plan.get("children", []) for step in _steps(child))]


async def test_a_graph_of_a_newer_version_or_of_other_migrations_is_refused(
    graph: Neo4jGraph, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "migrations", lambda: {0: "RETURN 1;"})
    with pytest.raises(SchemaMismatch, match=r"has schema 1, .* up to 0: upgrade Lousa"):
        await _open(url)
    monkeypatch.setattr(module, "migrations", lambda: {1: "RETURN 1;"})
    with pytest.raises(SchemaMismatch, match="another state of migration 1"):
        await _open(url)


async def test_many_that_open_a_new_graph_at_once_make_it_once(graph: Neo4jGraph, url: str, ask: Ask):
    await ask("MATCH (m:LousaMigration) DELETE m")
    await asyncio.gather(*(_open(url) for _ in range(4)))
    assert await ask("MATCH (m:LousaMigration) RETURN m.number") == [[1]]


async def _open(url: str) -> None:
    async with AsyncExitStack() as stack:
        await Neo4jGraph(url, deadline=timedelta(seconds=20)).start(stack)


@pytest.mark.parametrize("scheme", ["neo4j", "bolt"])
async def test_a_server_that_is_away_is_named_without_its_password(scheme: str):
    graph = Neo4jGraph(f"{scheme}://ana:s%40crét@127.0.0.1:1/sales", deadline=timedelta(seconds=0.2))
    assert graph.name == "neo4j 127.0.0.1:1/sales"
    async with AsyncExitStack() as stack:
        with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1 does not answer") as raised:
            await graph.start(stack)
    assert "cr" not in str(raised.value)


async def test_a_database_that_is_not_there_is_refused_with_the_way_out(neo4j_url: str):
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match=r"no database 'nowhere': .*CREATE DATABASE.*LOUSA_GRAPH_URL"):
            await Neo4jGraph(f"{neo4j_url}/nowhere").start(stack)


@pytest.mark.parametrize("url", ["neo4j://", "neo4j:///sales", "bolt://user:secret@"])
def test_an_address_without_a_server_is_refused_and_not_shown(url: str):
    with pytest.raises(SettingsError, match="names no server") as raised:
        Neo4jGraph(url)
    assert "secret" not in str(raised.value)
