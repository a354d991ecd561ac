"""Names of keys, patterns, operation ids: pure, and right at the edges."""

from __future__ import annotations

from fnmatch import fnmatchcase
from random import Random
from uuid import UUID

import pytest
from lousa.infra.errors import BadInput
from lousa.infra.ids import milliseconds, new_id
from lousa.memory_layers.conversation.changes import matcher
from lousa.memory_layers.conversation.claims import Fence, stale
from lousa.memory_layers.conversation.keys import board_keys, board_of, checked, journal_key, part, window_keys
from lousa.memory_layers.conversation.operations import Operations

EXECUTION = UUID("01a22bfc-3243-7dfd-9862-affb7aea927f")
NAMES = ["a", "a/b", "a%2Fb", "{a}", "}", "{", "a b", "*", "?", "[x]", "ç", "🧵", "\ud800", "a:b", "~", ".", ".."]


def test_different_names_give_different_keys_in_the_right_slot() -> None:
    keys: list[str] = []
    for name in NAMES:
        keys += [
            *board_keys(name, EXECUTION).all(),
            *window_keys(name, "s"),
            *window_keys("t", name),
            journal_key(name),
        ]
        assert board_of(board_keys(name, EXECUTION).changes) == (name, EXECUTION)
        assert "{" not in part(name)
        assert "}" not in part(name)
    assert len(set(keys)) == len(keys)
    assert all(key.count("{") == key.count("}") == 1 for key in keys)


def test_a_pattern_means_what_a_shell_means_by_a_star() -> None:
    dice = Random(7)
    for _ in range(3_000):
        pattern = "".join(dice.choice("ab/*") for _ in range(dice.randrange(1, 7)))
        field = "".join(dice.choice("ab/") for _ in range(dice.randrange(1, 8)))
        assert matcher(pattern)(field) == fnmatchcase(field, pattern), (pattern, field)


@pytest.mark.parametrize(("pattern", "meant"), [("*", False), ("l*", False), ("*x", False), ("lousa/*", True)])
def test_the_runtimes_fields_are_meant_only_by_their_beginning(pattern: str, meant: bool) -> None:
    assert matcher(pattern)("lousa/plan/x") == meant


def test_a_name_is_checked_as_a_whole() -> None:
    assert checked("x" * 512, "a name") == "x" * 512
    for wrong in ("", "x" * 513, "\x00", "a\udc80"):
        with pytest.raises(BadInput, match="a name"):
            checked(wrong, "a name")


def test_the_ids_of_a_task_are_the_same_over_its_attempts_and_no_others() -> None:
    def ids(task: str | None, round: int = 0) -> list[UUID]:
        operations = Operations(EXECUTION, task=task, round=round)
        return [
            operations.next(of="write a"),
            operations.next(of="write b"),
            operations.next(of="write a"),
            operations.next("key", of="write a"),
            operations.next("call", of="write a"),
        ]

    assert ids("t") == ids("t")
    assert len({*ids("t"), *ids("t", 1), *ids("u"), *ids("T")}) == 20
    assert len({*ids(None), *ids(None)}) == 8  # outside a task only what has a key is ever the same
    assert all(milliseconds(made) == milliseconds(EXECUTION) and made.version == 7 for made in ids("t"))


def test_a_key_needs_an_execution_that_would_remember_it() -> None:
    operations = Operations(None)
    assert operations.next() != operations.next()
    with pytest.raises(BadInput, match="within an execution"):
        operations.next("k")
    with pytest.raises(BadInput, match="belongs to an execution"):
        Operations(None, task="t")


def test_a_stale_fence_says_what_happened() -> None:
    fence = Fence(task="t", token=3)
    assert "was given to token 4" in str(stale(fence, b"4 1700 holder note"))
    assert "was released" in str(stale(fence, b"3 0 "))
    assert "is not claimed" in str(stale(fence, b""))


def test_fresh_ids_differ() -> None:
    assert len({new_id() for _ in range(1_000)}) == 1_000
