"""Notes are their agent's alone, and live as long as they were meant to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from lousa.infra.errors import BadInput
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.scratchpad import Scratchpad
from lousa.memory_layers.records import Json


def notes_of(room: Any, who: Principal) -> Scratchpad:
    return Scratchpad(room.connections, who, artifacts=room.artifacts)


@pytest.mark.parametrize("value", [None, 0, "ç", [1, {"a": None}], "x" * 30_000], ids=lambda value: repr(value)[:12])
async def test_a_note_is_read_as_it_was_written(room: Any, value: Json) -> None:
    notes = notes_of(room, room.who("ana"))
    await notes.write("a/{b}", value)
    await notes.write("a/{b}", value)
    assert await notes.read("a/{b}") == value
    assert await notes.all() == {"a/{b}": value}
    await notes.delete("a/{b}")
    await notes.delete("a/{b}")
    assert (await notes.read("a/{b}"), await notes.all()) == (None, {})


async def test_notes_are_private_to_agent_execution_and_tenant(room: Any) -> None:
    mine = notes_of(room, room.who("ana"))
    await mine.write("secret", 1)
    others = [
        room.who("an"),
        room.who("ana/"),
        room.who("ana/secret"),
        room.who("*"),
        room.who("ANA"),
        replace(room.who("ana"), tenant=room.principal.tenant + "x"),
    ]
    await open_board(room.connections, others[-1].tenant, room.principal.execution)
    for other in others:
        assert await notes_of(room, other).all() == {}
        assert await notes_of(room, other).read("secret") is None
        await notes_of(room, other).delete("secret")
        await notes_of(room, other).write("secret", "theirs")
    assert await mine.all() == {"secret": 1}


async def test_a_note_ends_when_its_time_is_over_and_no_sooner(room: Any) -> None:
    notes = notes_of(room, room.who("ana"))
    await notes.write("short", 1, ttl=0.1)
    await notes.write("long", 2, ttl=timedelta(hours=1))
    await notes.write("kept", 3, ttl=0.1)
    await notes.write("kept", 3)
    assert await notes.all() == {"kept": 3, "long": 2, "short": 1}
    await asyncio.sleep(0.15)
    assert await notes.read("short") is None
    assert await notes.all() == {"kept": 3, "long": 2}


async def test_notes_end_with_their_board(room: Any) -> None:
    notes = notes_of(room, room.who("ana"))
    await notes.write("a", 1)
    assert await room.feed.expire(room.principal.tenant, room.principal.execution, "0-0", timedelta(milliseconds=100))
    for call in (notes.write("a", 2), notes.delete("a")):
        with pytest.raises(BadInput, match="ended"):
            await call
    assert await notes.read("a") == 1
    await asyncio.sleep(0.15)
    assert await notes.all() == {}


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), timedelta(0)])
async def test_a_time_to_live_that_is_none_is_refused(room: Any, ttl: Any) -> None:
    with pytest.raises(BadInput, match="cannot live"):
        await notes_of(room, room.who("ana")).write("a", 1, ttl=ttl)


async def test_bad_names_and_values_are_refused(room: Any) -> None:
    notes = notes_of(room, room.who("ana"))
    for name in ("", "x" * 513, "a\x00"):
        with pytest.raises(BadInput, match="a note's name"):
            await notes.write(name, 1)
    with pytest.raises(BadInput, match="the note 'a' is set"):
        await notes.write("a", {1})  # pyright: ignore
