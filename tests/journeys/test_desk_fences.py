"""An attempt whose task has passed to another can change nothing more, by whichever verb of its desk."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from lousa import Accept, Desk, EffectUncertain, Outcomes, Pipeline, Runtime, Stale, Task
from lousa.agents.conversation import Conversation
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.scratchpad import Scratchpad
from lousa.memory_layers.conversation.window import Turn
from lousa.memory_layers.records import Json

Verb = Callable[[Desk, UUID], Awaitable[object]]


async def _never() -> Json:
    raise AssertionError("a stale attempt did its deed")


CHANGES: dict[str, Verb] = {
    "Desk.tell": lambda desk, memory: desk.tell("*", "hello"),
    "Desk.remember": lambda desk, memory: desk.remember("written back"),
    "Desk.state_fact": lambda desk, memory: desk.state_fact("the sky", "colour", "green"),
    "Desk.decide": lambda desk, memory: desk.decide("may I?", "yes"),
    "Desk.forget": lambda desk, memory: desk.forget(memory, "wrong"),
    "Desk.effect": lambda desk, memory: desk.effect("mail", _never),
    "Desk.effect_settle": lambda desk, memory: desk.effect_settle("known", "sent"),
    "Board.write": lambda desk, memory: desk.board.write("field", 2),
    "Board.delete": lambda desk, memory: desk.board.delete("field"),
    "Board.update": lambda desk, memory: desk.board.update("field", lambda old: 2),
    "Board.tell": lambda desk, memory: desk.board.tell("*", "hello"),
    "Board.claim": lambda desk, memory: desk.board.claim("a task of mine", 5),
    "Scratchpad.write": lambda desk, memory: desk.notes.write("note", 2),
    "Scratchpad.delete": lambda desk, memory: desk.notes.delete("note"),
    "Conversation.append": lambda desk, memory: desk.window.append(Turn(role="user", body="late words")),
}
READS = {
    *("Desk.inbox", "Desk.recall", "Desk.context", "Desk.facts", "Desk.paths", "Desk.notes", "Desk.window"),
    *("Board.read", "Board.read_versioned", "Board.read_all", "Board.snapshot", "Board.wait_for", "Board.watch"),
    "Board.holder",
    *("Scratchpad.read", "Scratchpad.all"),
    *("Conversation.last", "Conversation.last_tokens", "Conversation.last_calls", "Conversation.earlier"),
    *("Conversation.summary", "Conversation.after", "Conversation.topics"),
}


def test_every_verb_of_a_desk_is_known_to_change_or_to_read() -> None:
    verbs = {
        f"{part.__name__}.{name}"
        for part in (Desk, Board, Scratchpad, Conversation)
        for name, _ in inspect.getmembers(part)
        if not name.startswith("_")
    }
    assert verbs <= CHANGES.keys() | READS, "say of a new verb what it is; one that changes something carries the fence"


async def test_a_stale_attempt_is_refused_by_every_verb_that_changes_something(runtime: Runtime) -> None:
    refused: dict[str, str] = {}
    before: dict[str, Any] = {}
    first: list[Desk] = []

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("work")]

    async def work(desk: Desk, task: Task) -> Json:
        if task.attempt == 1:
            await desk.board.write("field", 1)
            await desk.notes.write("note", 1)
            await desk.window.append(Turn(role="user", body="early words"))
            receipt = await desk.remember("kept", kind="procedural")
            before["memory"] = receipt.id
            with pytest.raises(OSError):
                await desk.effect("mail", _breaks, key="known")
            before["trail"] = len(await runtime.trail(desk.execution))
            first.append(desk)
            raise ConnectionError("the first attempt gives up")
        known = before["memory"]
        for verb, change in CHANGES.items():
            try:
                refused[verb] = f"returned {await change(first[0], known)!r}"
            except Exception as error:
                refused[verb] = type(error).__name__
        assert len(await runtime.trail(desk.execution)) == before["trail"]
        assert await desk.board.read("field") == 1 and await desk.notes.all() == {"note": 1}
        assert [turn.body for turn in await desk.window.last(5)] == ["early words"]
        assert [turn.body for turn in await runtime.services.transcript.last(desk.principal, 5)] == ["early words"]
        assert (await desk.recall("kept")).hits[0].id == before["memory"]
        with pytest.raises(EffectUncertain):  # it was not settled
            await desk.effect("mail", _never, key="known")
        for change in CHANGES.values():  # and each of them was a change that the living attempt may make
            try:
                await change(desk, before["memory"])
            except (AssertionError, EffectUncertain):
                assert change is CHANGES["Desk.effect"]
        return "done"

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept(findings[0].value)

    result = await runtime.run(Pipeline(planner, workers=[work], critic=critic), None)
    assert result.decision == "done"
    assert refused == dict.fromkeys(CHANGES, Stale.__name__)


async def _breaks() -> Json:
    raise OSError("the line is dead")
