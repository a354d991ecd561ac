"""The board is linearizable, over cut lines as well; and a board that is broken in one place is found out.

A break replaces one line of a script by another, as a careless change would. The same clients find each: they meet
often enough.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from hashlib import sha1
from pathlib import Path

import pytest
from lousa.infra.embedded.supervisor import Endpoints
from lousa.memory_layers.conversation import board, claims
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.script import Script
from lousa.memory_layers.records import Json

from linearizability.recording import Recording
from linearizability.specifications import judge

Break = Callable[[str, str, str], None]


@pytest.fixture
async def recording(servers: Endpoints, tmp_path: Path) -> AsyncIterator[Recording]:
    """Clients of this process alone, a third of them over a line that is cut often."""
    async with AsyncExitStack() as stack:
        started = Recording(servers, tmp_path, neighbours=0, cut=0.05)
        await started.start(stack)
        yield started


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Replaces words of a script."""

    def break_(script: str, words: str, by: str) -> None:
        module, name = {"board.lua": (board, "_BOARD"), "claims.lua": (claims, "_CLAIMS")}[script]
        changed = Script(script, "fence.lua")
        text, count = re.subn(re.escape(words), lambda _: by, changed._text)  # pyright: ignore[reportPrivateUsage]
        assert count == 1, f"{words!r} is {count} times in {script}"
        changed._text = text  # pyright: ignore[reportPrivateUsage]
        changed._digest = sha1(text.encode(), usedforsecurity=False).hexdigest().encode()  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(module, name, changed)

    return break_


async def found(recording: Recording, *, within: int = 20) -> str:
    """What the checker finds wrong in one of the next histories; '' if nothing."""
    for _ in range(within):
        for name, verdict in judge(await recording.history(400)).items():
            assert verdict.linearizable is not None, verdict.reason
            if not verdict.linearizable:
                return f"{name}: {verdict.reason}"
    return ""


async def test_the_board_is_linearizable_over_lines_that_are_cut(recording: Recording) -> None:
    assert await found(recording, within=2) == ""
    assert recording.cut > 0


async def test_a_build_that_loses_updates_is_found(recording: Recording, broken: Break) -> None:
    broken("board.lua", "if expected ~= 'any' and tonumber(expected) ~= before then", "if false then")
    assert await found(recording) != ""


async def test_a_build_that_forgets_its_answers_is_found(recording: Recording, broken: Break) -> None:
    broken("board.lua", "if kept[1] then", "if false then")
    assert await found(recording) != ""


async def test_a_build_that_gives_a_version_twice_is_found(recording: Recording, broken: Break) -> None:
    broken("board.lua", "after = before + 1", "after = before % 9 == 8 and before or before + 1")
    assert await found(recording) != ""


async def test_a_build_that_lets_zombies_write_is_found(recording: Recording, broken: Break) -> None:
    broken("board.lua", "local refusal = overtaken(claims, task, token)", "local refusal = nil")
    assert (await found(recording)).startswith("task")


async def test_a_build_that_gives_a_task_to_two_is_found(recording: Recording, broken: Break) -> None:
    broken("claims.lua", "if claim and held_by ~= '' and tonumber(till) > now_ms()", "if false and tonumber(till) > 0")
    assert (await found(recording)).startswith("task")


async def test_a_build_whose_tokens_begin_anew_is_found(recording: Recording, broken: Break) -> None:
    broken("claims.lua", "redis.call('INCR', tokens)", "redis.call('INCR', tokens) % 5 + 1")
    assert await found(recording) != ""


async def test_a_client_that_reads_what_it_remembers_is_found(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered: dict[tuple[int, str], tuple[Json, int]] = {}
    really = Board.read_versioned

    async def read_versioned(self: Board, field: str) -> tuple[Json, int]:
        place = (id(self), field)
        remembered[place] = remembered.pop(place, None) or await really(self, field)
        return remembered[place]

    monkeypatch.setattr(Board, "read_versioned", read_versioned)
    assert ".read" in await found(recording)
