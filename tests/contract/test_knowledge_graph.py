"""The graph: what a text names, what lies around it, and the ways from one thing to another."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from elsewhere import EVERY_GRAPH
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.knowledge.paths import Edge, Path

from .conftest import Layers

STORES = EVERY_GRAPH


async def named(layers: Layers, who: Principal, text: str) -> list[str]:
    async with layers.connections.transaction(who) as connection:
        return [entity.name for entity in await layers.knowledge.named(connection, text)]


async def around(layers: Layers, who: Principal, text: str, hops: int = 2) -> list[str]:
    async with layers.connections.transaction(who) as connection:
        entities = await layers.knowledge.named(connection, text)
        edges = await layers.knowledge.neighbourhood(connection, who, entities, hops=hops)
    return [edge.object for edge in edges]


async def paths(layers: Layers, who: Principal, a: str, b: str) -> list[str]:
    async with layers.connections.transaction(who) as connection:
        return [path.sentence for path in await layers.knowledge.paths(connection, who, a, b)]


async def chain(layers: Layers, who: Principal, *names: str) -> None:
    for subject, object in pairwise(names):
        await layers.state(who, subject, "leads to", object, object_is_entity=True)


async def test_things_are_named_whole_folded_and_the_longest_first(layers: Layers, principal: Principal):
    for name in ("São Paulo", "São Paulo Futebol Clube", "Ana", "C++", "Acme S.A."):
        await layers.state(principal, name, "is", "known")
    text = "A ana, do SAO PAULO FUTEBOL CLUBE, usa C++ na acme s.a.?"
    assert await named(layers, principal, text) == ["São Paulo Futebol Clube", "Acme S.A.", "Ana", "C++"]
    assert await named(layers, principal, "Anabela de São-Paulo") == []
    assert await named(layers, principal, "Ana's São Paulo, São Paulo Futebol Clube") == [
        "São Paulo Futebol Clube",
        "São Paulo",
        "Ana",
    ]


async def test_a_thing_is_found_by_how_the_words_of_its_name_begin(layers: Layers, principal: Principal):
    for name in ("São Paulo", "São Paulo Futebol Clube", "Acme S.A.", "XK-7741", "C++", "O'Hara"):
        await layers.state(principal, name, "is", "known")
    other = replace(principal, agent="other", session="elsewhere", execution=None)
    await layers.state(other, "São Carlos", "is", "secret", scope="private")
    expected = {
        "SAO PAULA": ["São Paulo", "São Paulo Futebol Clube"],
        "futebol são": ["São Paulo Futebol Clube"],
        "sao carlos": [],
        "xk 7741": ["XK-7741"],
        "known": [],
        "o'harra": ["O'Hara"],
        "' | 'zz": [],
        "+- :* ()": [],
    }
    async with layers.connections.transaction(principal) as connection:
        for name, things in expected.items():
            found = await layers.knowledge.alike(connection, principal, name)
            assert [thing.name for thing in found] == things, name
        assert len(await layers.knowledge.alike(connection, principal, "sao", most=1)) == 1


async def test_signs_of_patterns_are_signs(layers: Layers, principal: Principal):
    await layers.state(principal, "A_B", "is", "known")
    assert await named(layers, principal, "AXB %  A%B _") == []
    assert await named(layers, principal, "what is a_b?") == ["A_B"]


async def test_the_neighbourhood_reaches_two_steps_in_both_directions_and_no_further(
    layers: Layers, principal: Principal
):
    await chain(layers, principal, "Zé", "Ana", "Acme", "Recife", "Brasil")
    assert sorted(await around(layers, principal, "ana")) == ["Acme", "Ana", "Recife"]
    assert sorted(await around(layers, principal, "ana", hops=1)) == ["Acme", "Ana"]


async def test_a_value_that_two_things_share_does_not_connect_them(layers: Layers, principal: Principal):
    await layers.state(principal, "Ana", "status", "active")
    await layers.state(principal, "Bia", "status", "active")
    await layers.state(principal, "Bia", "role", "CTO")
    assert await around(layers, principal, "Ana") == ["active"]
    assert await paths(layers, principal, "Ana", "Bia") == []


async def test_a_path_reads_as_the_sentences_that_were_stated(layers: Layers, principal: Principal):
    await layers.state(principal, "Ana", "trabalha em", "Acme", object_is_entity=True)
    await layers.state(principal, "Bia", "dirige", "Acme", object_is_entity=True)
    await layers.state(principal, "Bia", "mora em", "Recife")
    assert await paths(layers, principal, "ANA", "recife") == [
        "Ana · trabalha em · Acme → Bia · dirige · Acme → Bia · mora em · Recife"
    ]
    assert await paths(layers, principal, "Ana", "Olinda") == []
    assert await paths(layers, principal, "Ana", "ana") == []


async def test_the_shortest_paths_come_and_long_ones_do_not(layers: Layers, principal: Principal):
    await chain(layers, principal, *"ABCDEFG")
    assert await paths(layers, principal, "A", "F") == []
    assert len(await paths(layers, principal, "A", "E")) == 1
    await chain(layers, principal, "B", "X", "E")
    assert [path.count("→") for path in await paths(layers, principal, "A", "E")] == [2]


async def test_a_circle_ends(layers: Layers, principal: Principal):
    await chain(layers, principal, "X", "Y", "Z", "X")
    assert len(await paths(layers, principal, "X", "Z")) == 1
    assert sorted(await around(layers, principal, "X", hops=9)) == ["X", "Y", "Z"]


async def test_what_others_keep_to_themselves_is_no_step_on_a_path(layers: Layers, principal: Principal):
    await layers.state(principal, "A", "leads to", "B", object_is_entity=True)
    other = replace(principal, agent="other", session="elsewhere", execution=None)
    await layers.state(other, "B", "leads to", "C", object_is_entity=True, scope="private")
    assert await paths(layers, principal, "A", "C") == []
    assert await named(layers, principal, "C") == []
    assert len(await paths(layers, other, "A", "C")) == 1
    assert await around(layers, principal, "B") == ["B"]


def test_a_path_keeps_the_direction_of_each_fact():
    edge = Edge(
        id=new_id(),
        subject_key="ana",
        subject="Ana",
        predicate="works at",
        object_key="acme",
        object="Acme",
        leads_on=True,
        contested=False,
    )
    assert Path(edges=(edge,)).sentence == "Ana · works at · Acme"
    assert (edge.other("ana"), edge.other("acme")) == ("acme", "ana")
