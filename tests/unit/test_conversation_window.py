"""Cuts through a conversation: whatever is cut where, a call stays with its result."""

from __future__ import annotations

import random

import pytest
from lousa.memory_layers.conversation.window import Turn, about_tokens, cut, whole


def call(*ids: str) -> Turn:
    return Turn(role="assistant", body="calls", calls=ids)


def result(of: str) -> Turn:
    return Turn(role="tool", body=f"result of {of}", answers=of)


def said(text: str = "said") -> Turn:
    return Turn(role="user", body=text)


def conversations() -> list[list[Turn]]:
    """Some of every sort: calls in parallel, results late or never, ids that are used again."""
    made: list[list[Turn]] = []
    for seed in range(200):
        chance = random.Random(seed)
        turns: list[Turn] = []
        open_calls: list[str] = []
        for number in range(chance.randint(1, 25)):
            sort = chance.random()
            if sort < 0.35:
                ids = [f"{(number if chance.random() < 0.7 else 0)}.{each}" for each in range(chance.randint(1, 3))]
                ids = [each for each in ids if each not in open_calls]
                turns.append(call(*ids))
                open_calls += ids
            elif sort < 0.75 and open_calls:
                turns.append(result(open_calls.pop(chance.randrange(len(open_calls)))))
            else:
                turns.append(said())
        made.append(turns)
    return made


def pairs(turns: list[Turn]) -> list[tuple[int, int]]:
    """The places of each call and its result."""
    found: list[tuple[int, int]] = []
    made: dict[str, int] = {}
    for place, turn in enumerate(turns):
        if turn.answers in made:
            found.append((made.pop(turn.answers), place))
        made.update(dict.fromkeys(turn.calls, place))
    return found


def test_no_cut_at_any_place_parts_a_call_from_its_result() -> None:
    for turns in conversations():
        for at in range(1, len(turns) + 1):
            end = cut(turns, at)
            assert 1 <= end <= len(turns)
            assert [pair for pair in pairs(turns) if pair[0] < end <= pair[1]] == []


def test_a_cut_goes_beyond_what_was_asked_only_where_one_exchange_is_longer() -> None:
    for turns in conversations():
        for at in range(1, len(turns) + 1):
            if (end := cut(turns, at)) > at:
                assert all(any(a < place <= b for a, b in pairs(turns)) for place in range(1, end))


def test_a_call_that_waits_stays_behind_the_cut_unless_all_begins_with_it() -> None:
    waiting = [said(), said(), call("1"), said(), said()]
    assert [cut(waiting, at) for at in range(1, 6)] == [1, 2, 2, 2, 2]
    assert cut(waiting[2:], 2) == 2
    assert cut([call("1"), said(), result("1"), said()], 2) == 3
    assert cut([], 3) == 0


def test_what_is_left_of_any_newest_part_has_no_result_without_its_call() -> None:
    for turns in conversations():
        for start in range(len(turns)):
            shown = whole(turns[start:])
            made: set[str] = set()
            for turn in shown:
                assert turn.answers is None or turn.answers in made
                made.update(turn.calls)
            assert [turn for turn in shown if turn.answers is None] == [
                turn for turn in turns[start:] if turn.answers is None
            ]


@pytest.mark.parametrize(
    ("turn", "source", "trust"),
    [
        (Turn(role="user", body=1), "user", 1.0),
        (Turn(role="Human", body=1), "user", 1.0),
        (Turn(role="tool", body=1), "tool", 0.7),
        (Turn(role="tool", body=1, source="web"), "web", 0.3),
        (Turn(role="assistant", body=1), "agent", 0.5),
        (Turn(role="system", body=1), "agent", 0.5),
        (Turn(role="administrator", body=1), "agent", 0.5),
    ],
)
def test_a_turn_is_trusted_as_its_source_is(turn: Turn, source: str, trust: float) -> None:
    assert (turn.comes_from, turn.trust) == (source, trust)


def test_a_turn_is_read_as_text_whatever_it_holds() -> None:
    assert Turn(role="user", body="olá").text == "olá"
    assert Turn(role="tool", body={"ação": [1, None]}).text == '{"ação": [1, null]}'
    assert about_tokens(Turn(role="user", body="x" * 400)) == 103
