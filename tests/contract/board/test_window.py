"""The window: recent turns, whole exchanges, and nothing lost to the transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from lousa.infra.errors import BadInput
from lousa.memory_layers.conversation.keys import window_keys
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.window import Turn, Window


class Transcript:
    """Takes turns once, by their id."""

    def __init__(self) -> None:
        self.turns: dict[Any, Turn] = {}

    async def __call__(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self.turns.setdefault(turn.id, turn)


def window_of(
    room: Any, transcript: Transcript, *, task: str | None = None, session: str = "s", **limits: Any
) -> Window:
    who = replace(room.who("ana"), session=session)
    return Window(
        room.connections, who, artifacts=room.artifacts, archive=transcript,
        operations=Operations(room.principal.execution, task=task), **limits,
    )  # fmt: skip


def said(turns: Sequence[Turn]) -> list[Any]:
    return [turn.body for turn in turns]


async def test_a_window_shows_the_newest_turns_oldest_first(room: Any) -> None:
    window = window_of(room, Transcript())
    for number in range(5):
        await window.append(Turn(role="user", body={"n": number}))
    [turn] = await window.last(1)
    assert (turn.role, turn.body, turn.agent) == ("user", {"n": 4}, "ana")
    assert said(await window.last(3)) == [{"n": 2}, {"n": 3}, {"n": 4}]
    assert len(await window.last(100)) == 5


async def test_a_window_belongs_to_its_session_over_executions(room: Any) -> None:
    transcript = Transcript()
    await window_of(room, transcript).append(Turn(role="user", body=1))
    assert said(await window_of(room, transcript).last(9)) == [1]
    assert await window_of(room, transcript, session="s2").last(9) == []


async def test_what_leaves_the_window_is_in_the_transcript(room: Any) -> None:
    transcript = Transcript()
    window = window_of(room, transcript, most=10)
    await asyncio.gather(*(window.append(Turn(role="user", body=n)) for n in range(50)))
    assert len(await window.last(100)) == 10
    assert sorted(said(list(transcript.turns.values()))) == list(range(50))


async def test_a_turn_that_is_there_is_not_appended_again(room: Any) -> None:
    transcript = Transcript()
    window = window_of(room, transcript)
    for _ in range(2):
        window = window_of(room, transcript, task="t")
        await window.append(Turn(role="user", body="a"))
        kept = await window.append(Turn(role="user", body="b"))
        assert await window.append(kept) == kept
    assert said(await window.last(9)) == ["a", "b"]
    assert said(list(transcript.turns.values())) == ["a", "b"]


async def test_a_window_never_splits_a_call_from_its_result(room: Any) -> None:
    window = window_of(room, Transcript())
    for turn in (
        Turn(role="user", body="q"),
        Turn(role="assistant", body="call", calls=("1", "2")),
        Turn(role="tool", body="r1", answers="1"),
        Turn(role="user", body="meanwhile"),
        Turn(role="tool", body="r2", answers="2"),
        Turn(role="assistant", body="a", calls=("3",)),
    ):
        await window.append(turn)
    shown = [said(await window.last(count)) for count in range(1, 7)]
    assert shown == [
        ["a"],
        ["a"],
        ["meanwhile", "a"],
        ["meanwhile", "a"],
        ["call", "r1", "meanwhile", "r2", "a"],
        ["q", "call", "r1", "meanwhile", "r2", "a"],
    ]


async def test_a_window_of_calls_begins_where_the_last_of_them_begin(room: Any) -> None:
    window = window_of(room, Transcript())
    assert await window.last_calls(1) == []
    for turn in (
        Turn(role="user", body="q"),
        Turn(role="assistant", body="call", calls=("1",)),
        Turn(role="tool", body="r1", answers="1"),
        Turn(role="assistant", body="calls", calls=("2", "3")),
        Turn(role="tool", body="r3", answers="3"),
        Turn(role="tool", body="r2", answers="2", source="web"),
        Turn(role="assistant", body="a"),
    ):
        await window.append(turn)
    shown = [said(await window.last_calls(count)) for count in (1, 2, 3, 9)]
    two = ["calls", "r3", "r2", "a"]
    assert shown == [two, two, ["call", "r1", *two], ["q", "call", "r1", *two]]
    assert [turn.source for turn in await window.last(4)] == [None, None, "web", None]


async def test_a_window_of_tokens_stays_within_them(room: Any) -> None:
    window = window_of(room, Transcript())
    for body in ("aaaa", "bbb", "cc", "d"):
        await window.append(Turn(role="user", body=body))

    def count(turn: Turn) -> int:
        return len(str(turn.body))

    assert said(await window.last_tokens(6, count)) == ["bbb", "cc", "d"]
    assert said(await window.last_tokens(5, count)) == ["cc", "d"]
    assert said(await window.last_tokens(1, count)) == ["d"]
    await window.append(Turn(role="user", body="long"))
    assert await window.last_tokens(3, count) == []


async def test_a_window_ends_after_silence_and_holds_nothing_older_than_a_day(room: Any) -> None:
    transcript = Transcript()
    window = window_of(room, transcript, idle=timedelta(milliseconds=200), kept=timedelta(milliseconds=400))
    for number in range(4):
        await window.append(Turn(role="user", body=number))
        await asyncio.sleep(0.15)
    shown = said(await window.last(9))
    assert shown[-1] == 3
    assert 0 not in shown
    await asyncio.sleep(0.25)
    assert await window.last(9) == []
    keys = window_keys(room.principal.tenant, "s")
    assert await room.connections.redis.exists(*keys) == 0
    await window_of(room, transcript).append(Turn(role="user", body=9))
    for key in keys:
        assert 3_590 < await room.connections.redis.ttl(key) <= 3_600


async def test_a_turn_that_the_transcript_refused_is_not_in_the_window(room: Any) -> None:
    async def refuse(turns: Sequence[Turn]) -> None:
        raise RuntimeError("full")

    with pytest.raises(RuntimeError):
        await window_of(room, refuse).append(Turn(role="user", body=1))  # pyright: ignore
    assert await window_of(room, Transcript()).last(9) == []


async def test_a_large_turn_comes_back_whole(room: Any) -> None:
    window = window_of(room, Transcript())
    await window.append(Turn(role="user", body="x" * 50_000))
    assert said(await window.last(1)) == ["x" * 50_000]


async def test_a_window_of_nothing_is_refused(room: Any) -> None:
    window = window_of(room, Transcript())
    unheard: Any = "rumour"
    for call in (
        window.last(0),
        window.last_tokens(0, lambda _: 1),
        window.last_calls(0),
        window.append(Turn(role="", body=1)),
        window.append(Turn(role="user", body=1, source=unheard)),
    ):
        with pytest.raises(BadInput):
            await call
