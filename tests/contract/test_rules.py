"""Rules, to a question that asks what to do: found however they are worded, and however much lies nearer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from lousa.memory_layers.records import MemoryKind

from .conftest import TODAY

if TYPE_CHECKING:
    from lousa.infra.identity import Principal

    from .conftest import Layers

RULE = "Nobody hands a child to a man who isn't on the list."
GENERAL = "Children leave with whoever is on the list, their uncle is not."
"""None of the forms of a rule."""
CASE = "A man is here to pick up Tim. May I hand him over?"
NEARER = [f"A man at gate {number} picked up boxes for Tim." for number in range(150)]


@pytest.mark.parametrize("rule", [RULE, GENERAL])
async def test_a_rule_is_found_behind_however_many_nearer_texts_and_years_later(
    layers: Layers, principal: Principal, rule: str
) -> None:
    await layers.remember(principal, rule, source="user", occurred_at=TODAY - timedelta(days=900))
    await layers.remember(principal, *NEARER)
    assert rule in await layers.texts(principal, CASE, k=5)


async def test_a_rule_is_found_by_whoever_may_see_it_and_among_the_kinds_that_are_asked_for(
    layers: Layers, principal: Principal
) -> None:
    await layers.remember(principal, RULE, source="user", scope="private")
    await layers.remember(principal, *NEARER)
    stranger, episodes = replace(principal, agent="another"), frozenset({MemoryKind.EPISODIC})
    assert RULE in await layers.texts(principal, CASE, k=5)
    assert RULE not in await layers.texts(stranger, CASE, k=200)
    assert RULE not in await layers.texts(principal, CASE, k=200, kinds=episodes)


async def test_what_gave_way_or_is_forgotten_is_no_rule_any_more(layers: Layers, principal: Principal) -> None:
    ids = await layers.remember(principal, RULE, source="user")
    await layers.remember(principal, *NEARER)
    async with layers.connections.system_transaction(principal.tenant) as connection:
        await connection.execute("UPDATE memory SET status = 'withdrawn' WHERE id = ANY (%s)", (ids,))
        await layers.context.remove(connection, ids)
    assert RULE not in await layers.texts(principal, CASE, k=200)
