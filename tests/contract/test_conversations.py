"""Turns of a conversation are found with those beside them; memories that share a rare name lead to one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from lousa.infra.errors import BadInput
from lousa.infra.identity import Principal
from lousa.memory_layers.guard import admit
from lousa.memory_layers.records import MemoryKind

from .conftest import TODAY, Layers

STORES = ("embedded", "pinecone")


async def said(layers: Layers, who: Principal, *turns: tuple[str, str], day: int = 0, **parts: Any) -> list[UUID]:
    """Turns in the order in which they were said, all on one day."""
    at = TODAY + timedelta(days=day)
    kept = [
        layers.memory(
            who,
            text,
            speaker=speaker,
            kind=MemoryKind.EPISODIC,
            occurred_at=at,
            recorded_at=at + timedelta(milliseconds=place),
            **{"scope": "shared", **parts},
        )
        for place, (speaker, text) in enumerate(turns)
    ]
    await layers.keep(who, *kept)
    return [memory.id for memory in kept]


async def ids(layers: Layers, who: Principal, text: str, **parts: Any) -> list[UUID]:
    return [hit.id for hit in await layers.recall(who, text, **parts)]


SMALL_TALK: Sequence[tuple[str, str]] = tuple(
    (("Ana", "Bruno")[number % 2], f"{text} {number}")
    for number, text in enumerate(
        ["Bom dia, tudo bem por aqui", "The weather is fine", "Até amanhã", "See you later"] * 5
    )
)


async def test_the_answer_of_a_question_is_found_though_it_shares_no_word_with_it(layers: Layers, principal: Principal):
    turns = await said(
        layers,
        principal,
        *SMALL_TALK,
        ("Ana", "What colour did you paint the kitchen in the end?"),
        ("Bruno", "Turquoise!"),
        *SMALL_TALK,
    )
    found = await ids(layers, principal, "What colour did Bruno paint the kitchen?", k=3)
    assert turns[len(SMALL_TALK) + 1] in found


async def test_who_is_named_goes_before_who_said_the_same(layers: Layers, principal: Principal):
    for one, other in (("Ana", "Bruno"), ("Bruno", "Ana")):
        mine, theirs = await said(
            layers, principal, (other, f"I bought a bicycle last week in shop {one}"), (one, "I bought a bicycle too")
        )
        found = await ids(layers, principal, f"What did {one} buy, a bicycle?", k=4)
        assert found.index(theirs) < found.index(mine)


async def test_a_day_that_the_question_names_goes_before_other_days(layers: Layers, principal: Principal):
    [early] = await said(layers, principal, ("Ana", "We rowed on the lake"), day=-200)
    [late] = await said(layers, principal, ("Ana", "We rowed on the lake again"), day=-20)
    for day, expected in ((-200, early), (-20, late)):
        moment = TODAY + timedelta(days=day)
        assert (await ids(layers, principal, f"Did we row on the lake on {moment:%d/%m/%Y}?", k=2))[0] == expected


@pytest.mark.parametrize(
    ("asked", "little", "much"),
    [
        ("pottery", "Pottery, wow!", "The pottery class at Casa Lume begins with a kiln and ends with a wheel"),
        ("cerâmica", "Viva a cerâmica!", "O curso de cerâmica na Casa Lume começa pelo forno e termina no torno"),
    ],
)
async def test_of_turns_that_hold_the_words_the_one_that_tells_something_comes_first(
    layers: Layers, principal: Principal, asked: str, little: str, much: str
):
    parts: dict[str, Any] = {"speaker": "Ana", "kind": MemoryKind.EPISODIC}
    await layers.keep(principal, *(layers.memory(principal, text, **parts) for text in (little, much)), embed=False)
    assert await layers.texts(principal, asked) == [much, little]


async def test_what_is_beside_a_hit_and_for_others_is_not_lifted(layers: Layers, principal: Principal):
    ana, bruno = replace(principal, agent="ana"), replace(principal, agent="bruno")
    [asked] = await said(layers, ana, ("Ana", "Where is the key of the safe?"))
    at = TODAY
    secret = layers.memory(
        bruno,
        "Under the mat",
        speaker="Bruno",
        scope="private",
        kind=MemoryKind.EPISODIC,
        occurred_at=at,
        recorded_at=at + timedelta(seconds=1),
    )
    await layers.keep(bruno, secret)
    assert set(await ids(layers, ana, "Where is the key of the safe?")) == {asked}
    assert secret.id in await ids(layers, bruno, "Where is the key of the safe?")


async def test_turns_of_another_session_are_not_beside_it(layers: Layers, principal: Principal):
    elsewhere = replace(principal, session="session-2")
    await said(layers, elsewhere, ("Bruno", "Turquoise!"), scope="tenant")
    await said(layers, principal, ("Ana", "What colour is the kitchen?"))
    found = await layers.recall(principal, "What colour is the kitchen?")
    assert all("dense" in hit.via or "words" in hit.via for hit in found)


async def test_two_memories_that_share_a_rare_name_lead_to_one_another(layers: Layers, principal: Principal):
    filler = [
        f"The {thing} of the town was painted in {year}."
        for thing in ("bridge", "tower", "mill")
        for year in range(1900, 1940)
    ]
    await layers.keep(principal, *[layers.memory(principal, text) for text in filler], embed=False)
    first, second = await layers.remember(
        principal,
        "The opera Serra Dourada was written by Joaquim Tavares Meireles.",
        "Joaquim Tavares Meireles was born in the village of Pedra Alta.",
    )
    found = await ids(layers, principal, "In which place was the writer of the opera Serra Dourada born?", k=2)
    assert set(found) == {first, second}


async def test_a_name_that_only_others_may_read_of_leads_nowhere(layers: Layers, principal: Principal):
    ana, bruno = replace(principal, agent="ana"), replace(principal, agent="bruno")
    [first] = await layers.remember(ana, "The opera Serra Dourada was written by Joaquim Tavares Meireles.")
    [hidden] = await layers.remember(bruno, "Joaquim Tavares Meireles owes us money.", scope="private")
    assert await ids(layers, ana, "Who wrote the opera Serra Dourada?") == [first]
    assert hidden in await ids(layers, bruno, "Who wrote the opera Serra Dourada?")


async def test_a_turn_that_goes_leaves_no_trace_in_the_next_ones_vector(layers: Layers, principal: Principal):
    first, second = await said(layers, principal, ("Ana", "My card ends in 4411"), ("Bruno", "Noted"))
    async with layers.connections.system_transaction(principal.tenant) as connection:
        await connection.execute("UPDATE memory SET status = 'withdrawn' WHERE id = %s", (first,))
        await layers.context.remove(connection, [first])
        cursor = await connection.execute("SELECT memory FROM debt WHERE layer = 'context' AND memory = %s", (second,))
        assert await cursor.fetchall() == [(second,)]
        assert await layers.context.missing(connection, [second]) == {second} or layers.stores.vector_url
    await layers.pay(principal)
    told = await layers.context.told(principal.tenant, [layers.memory(principal, "Noted", speaker="Bruno", id=second)])
    assert told == ["Bruno: Noted"]


@pytest.mark.parametrize("speaker", ["", " ", "x" * 201])
def test_a_turn_without_a_name_is_told_by_nobody(layers: Layers, principal: Principal, speaker: str):
    with pytest.raises(BadInput, match="speaker"):
        admit(principal, layers.memory(principal, "hello", speaker=speaker), UUID(int=1), TODAY)
