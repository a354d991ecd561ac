"""What belongs together lies in one slot, whatever it is called; and every command finds the slot of its key."""

from __future__ import annotations

from typing import Any, cast

import pytest
from lousa.infra.cluster import slot_of
from lousa.infra.connections import Connections
from lousa.infra.ids import new_id
from lousa.infra.redis_rights import _PROBES  # pyright: ignore[reportPrivateUsage]  # every command that Lousa sends
from lousa.memory_layers.conversation.keys import board_keys, board_of, window_keys
from lousa.memory_layers.journal import journal_keys
from redis.crc import key_slot
from redis.exceptions import ResponseError

NASTY = ["a", "a/b", "{a}", "a}{b", "}", "{", "{}", "%7B", "a%2Fb", " ", "á", "a\u0301", "日本", "😀", "x" * 500]
NAMES = [*NASTY, "\ud800", "a:b", "*", "[ab]", "\n", "..", "'", '"', "\\"]


def slots(keys: Any) -> set[int]:
    return {key_slot(key if isinstance(key, bytes) else key.encode()) for key in keys}


@pytest.mark.parametrize("name", NAMES)
def test_everything_of_a_board_a_window_and_a_journal_is_in_one_slot(name: str) -> None:
    execution = new_id()
    board = board_keys(name, execution)
    assert len(slots((*board.all(), *board.of_a_change))) == 1
    assert board_of(board.changes) == (name, execution)
    assert len(slots(window_keys(name, name))) == 1
    assert len(slots(journal_keys(name))) == 1


def test_names_that_differ_have_keys_that_differ() -> None:
    execution = new_id()
    keys = [
        key
        for name in NAMES
        for key in (*board_keys(name, execution).all(), *window_keys(name, "s"), *window_keys("t", name))
    ]
    assert len(set(keys)) == len(keys)


def test_tenants_are_spread_over_the_slots() -> None:
    assert len({slots(journal_keys(f"tenant-{number}")).pop() for number in range(200)}) > 150


@pytest.mark.parametrize("words", [*_PROBES.values(), ("XREADGROUP", "GROUP", "streams", "c", b"STREAMS", "k", ">")])
async def test_the_slot_of_a_command_is_that_of_the_key_that_the_server_sees(
    connections: Connections, words: tuple[Any, ...]
) -> None:
    if words[0] == "PUBLISH":
        return  # a channel is no key
    try:
        asked = cast(Any, connections.redis).execute_command(b"COMMAND", "GETKEYS", *words)  # vague stubs
        first, *_ = cast(list[bytes], await asked)
    except ResponseError as error:
        assert "no key arguments" in str(error)
        assert slot_of(words) is None
    else:
        assert slot_of(words) == key_slot(first)
        assert slot_of((words[0].encode(), *words[1:])) == key_slot(first)


def test_the_driver_spells_two_words_as_one_and_they_are_read_so() -> None:
    assert slot_of(("XGROUP CREATE", "k", "g", "0")) == slot_of(("XINFO STREAM", "k")) == key_slot(b"k")
    assert slot_of(("SCRIPT FLUSH",)) is None
    assert slot_of(("EVAL", "return 1", 0)) is None
