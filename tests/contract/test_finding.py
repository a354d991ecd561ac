"""Finding by words sees exactly what row-level security shows, and one tenant's words are no other's."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import count, islice

from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.asking import numbers, texts
from lousa.memory_layers.contract import Query
from lousa.memory_layers.records import Scope, ScopeKind

from .conftest import Layers

SCOPES: tuple[str | Scope, ...] = (
    "tenant",
    "shared",
    "private",
    Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"bo"})),
    Scope(kind=ScopeKind.HIERARCHICAL, roles=frozenset({"clerk"})),
)


async def test_a_search_of_words_finds_what_the_policies_show_and_nothing_else(layers: Layers, principal: Principal):
    elsewhere = replace(principal, session="session-2", execution=new_id())
    askers = [
        replace(who, agent=agent, roles=roles)
        for who in (principal, elsewhere, replace(principal, session="session-3", execution=None))
        for agent in ("ana", "bo")
        for roles in (frozenset[str](), frozenset({"clerk"}))
    ]
    for keeper in (replace(principal, agent="ana"), replace(elsewhere, agent="bo"), replace(elsewhere, agent="cy")):
        for place, scope in enumerate(SCOPES):
            await layers.remember(keeper, f"jabuticaba {keeper.agent} {place}", scope=scope)
    counts = set[int]()
    for asker in askers:
        async with layers.connections.transaction(asker) as connection:
            cursor = await connection.execute("SELECT id FROM memory_words")
            shown = {row[0] for row in await cursor.fetchall()}
            found = {one.id for one in await layers.context.words(connection, asker, Query(text="jabuticaba"))}
            cursor = await connection.execute(
                "SELECT frequencies FROM find_words('{jabuticaba}', '{\"\"}', '{-1}', 0, NULL, 1, 100, 10, 10, 1, 10)"
            )
            assert await cursor.fetchone() == ([len(shown)],)
            cursor = await connection.execute(
                "SELECT count(*) FILTER (WHERE sampled(id)), (SELECT frequencies FROM find_words("
                "'{jabuticaba}', '{\"\"}', '{-1}', 1, NULL, 1, 100, 0, 10, 1, 10)) FROM memory_words"
            )
            [(few, counted)] = await cursor.fetchall()
            assert counted == [32 * min(few, 100 // 32)], "told from a sample, as in a large tenant"
        assert found == shown
        counts.add(len(shown))
    assert len(counts) > 2 and 0 not in counts


async def test_a_frequent_word_is_told_from_a_sample_of_a_large_tenant(layers: Layers, principal: Principal):
    sampled = islice((one for one in iter(new_id, None) if one.bytes[-1] < 8), 5)
    rest = islice((one for one in iter(new_id, None) if one.bytes[-1] >= 8), 3)
    await layers.remember(principal, "pitomba", id=next(sampled))  # what is rare is counted, sampled or not
    for number, identifier in enumerate((*sampled, *rest)):
        await layers.remember(principal, f"jabuticaba {number}", id=identifier)
    async with layers.connections.transaction(principal) as connection:
        cursor = await connection.execute(
            "SELECT frequencies FROM find_words("
            "'{jabuticaba,pitomba,cupuaçu}', '{\"\",\"\",\"\"}', '{-1,-1,-1}', 1, NULL, 1, 2000, 10, 10, 1, 10)"
        )
        assert await cursor.fetchone() == ([4 * 32, 1, 0],)


async def test_of_a_word_that_too_many_hold_those_come_first_that_hold_another(layers: Layers, principal: Principal):
    for number in range(9):
        await layers.remember(principal, f"feijoada {number}")
        await layers.remember(principal, f"torresmo {number}")
    both = await layers.remember(principal, "torresmo, feijoada", "feijoada: torresmo")
    await layers.remember(principal, "torresmo")
    ask = (
        "SELECT worded, shares FROM find_words("
        "'{torresmo,feijoada}', '{\"\",\"\"}', '{-1,-1}', 0, NULL, 1, 100, 1, 3, 1, %s)"
    )
    async with layers.connections.transaction(principal) as connection:
        for most, found in ((2, 2), (3, 3), (10, 5)):  # at most three are read of either sort
            [(worded, shares)] = await (await connection.execute(ask, (most,))).fetchall()
            assert len(worded) == len(set(worded)) == found
            assert set(worded[:2]) == set(both)
            assert shares[:2] == [1, 1] and all(share < 1 for share in shares[2:])


def of_one_mark(prefix: str) -> tuple[str, str]:
    """Two names whose marks are equal; some hundred thousand have a pair."""
    seen: dict[str, str] = {}
    names = (f"{prefix}-{number}" for number in count())
    return next((other, name) for name in names if (other := seen.setdefault(_mark(name), name)) != name)


def _mark(name: str) -> str:
    return hashlib.md5(name.encode()).hexdigest()[:8]


async def test_tenants_that_share_a_mark_are_told_apart(layers: Layers, principal: Principal):
    one, two = (replace(principal, tenant=name) for name in of_one_mark(principal.tenant))
    async with layers.connections.owner_transaction() as connection:
        cursor = await connection.execute("SELECT lousa.mark_of(%s) = lousa.mark_of(%s)", (one.tenant, two.tenant))
        assert await cursor.fetchone() == (True,)
    await layers.remember(one, "a jabuticaba está madura")
    assert await layers.texts(two, "jabuticaba") == []
    assert await layers.texts(one, "jabuticaba") == ["a jabuticaba está madura"]


async def test_a_word_too_long_for_the_index_hinders_no_other(layers: Layers, principal: Principal):
    text = f"jabuticaba {'ab' * 1_015} it's \\quoted\\"
    await layers.keep(principal, layers.memory(principal, text), embed=False)
    assert await layers.texts(principal, "jabuticabas") == [text]
    assert await layers.texts(principal, "quoted it's") == [text]


async def test_arrays_arrive_as_they_were(layers: Layers, principal: Principal):
    lists = [
        [],
        [""],
        ["", ""],
        ["a", "b c"],
        ['"', "\\", "{", "}", ",", "'", "NULL", "null", " x ", "\n", "\\0", 'a\\"b', "日本"],
    ]
    async with layers.connections.transaction(principal) as connection:
        for values in lists:
            cursor = await connection.execute("SELECT %s::text[]", (texts(values),))
            assert await cursor.fetchone() == (values,)
        for whole in ([], [-1], [0, -(2**63), 2**63 - 1]):
            cursor = await connection.execute("SELECT %s::bigint[]", (numbers(whole),))
            assert await cursor.fetchone() == (whole,)
