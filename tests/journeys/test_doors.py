"""What no store can hold is refused at the door, by the name of the argument and the place in it, and not retried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lousa import Accept, Desk, Escalate, Finding, Outcomes, Pipeline, Reject, Result, Revise, Runtime, Task
from lousa.infra.errors import BadInput, RunFailed
from lousa.memory_layers.conversation.window import Turn
from lousa.memory_layers.records import Json

NUL, HALF, LONG = "a\x00b", "a\ud800b", 10**5_000
HOSTILE = pytest.mark.parametrize("bad", [NUL, HALF, LONG], ids=["nul", "half a character", "5000 digits"])
NAMES = pytest.mark.parametrize("bad", [NUL, HALF, "", 7, LONG], ids=["nul", "half", "empty", "int", "5000 digits"])
WHY = "NUL|half a character|4,300 digits"


async def planner(desk: Desk, goal: Json) -> list[Task]:
    return [Task("work", goal)]


async def accept(desk: Desk, findings: Outcomes) -> Accept:
    return Accept("fine")


async def work(desk: Desk, task: Task) -> Json:
    return None


@HOSTILE
async def test_a_goal_that_cannot_be_kept_begins_nothing(runtime: Runtime, bad: Any) -> None:
    pipeline = Pipeline(planner, [work], accept)
    with pytest.raises(BadInput, match=rf"the goal at \['files'\]\[1\] .*({WHY})"):
        await runtime.run(pipeline, {"files": ["a", bad]})
    with pytest.raises(BadInput, match=r"the goal at \['by'\] has the key"):
        await runtime.run(pipeline, {"by": {bad: 1}})
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(BadInput, match=r"the goal at .* nested deeper"):
        await runtime.run(pipeline, deep)
    assert await runtime.executions() == []


@NAMES
async def test_a_name_that_cannot_be_kept_is_refused_before_anything_is_written(runtime: Runtime, bad: Any) -> None:
    pipeline = Pipeline(planner, [work], accept)
    for parts in ({"session": bad}, {"tenant": bad}):
        with pytest.raises(BadInput, match=next(iter(parts))):
            await runtime.run(pipeline, 1, **parts)
    with pytest.raises(BadInput, match="agent"):
        runtime.desk(bad)
    assert await runtime.executions() == []


@pytest.mark.parametrize("bad", [NUL, HALF])
async def test_names_of_a_pipeline_can_be_kept(runtime: Runtime, bad: str) -> None:
    with pytest.raises(BadInput, match="the pipeline's name"):
        Pipeline(planner, [work], accept, name=bad)
    with pytest.raises(BadInput, match="the worker's name"):
        Pipeline(planner, {bad: work}, accept)
    with pytest.raises(BadInput, match="a role"):
        runtime.desk(roles=[bad])
    with pytest.raises(BadInput, match="the pipeline's file"):
        await runtime.run(Pipeline(planner, [work], accept), 1, source=bad)


async def at_a_desk(runtime: Runtime, do: Callable[[Desk], Awaitable[object]]) -> Result:
    async def work(desk: Desk, task: Task) -> None:
        await do(desk)

    return await runtime.run(Pipeline(planner, [work], accept), 1)


@HOSTILE
async def test_a_value_that_cannot_be_kept_is_refused_at_every_verb_by_its_place(runtime: Runtime, bad: Any) -> None:
    value: Any = {"x": [1, bad]}

    async def do(desk: Desk) -> None:
        refused: dict[str, Awaitable[object]] = {
            r"the turn of 'user'\['body'\]\['x'\]\[1\]": desk.window.append(Turn(role="user", body=value)),
            r"at \['x'\]\[1\]": desk.decide("may I?", value),
            r"value\['x'\]\[1\]": desk.remember("text", value=value),
            r"metadata\['x'\]\[1\]": desk.remember("text", metadata=value),
            r"the result of effect 'known' at \['x'\]\[1\]": desk.effect_settle("known", value),
        }
        if bad != NUL:  # these lie in Redis alone, and the ledger's copy is encrypted
            refused |= {
                r"the value of 'f'\['x'\]\[1\]": desk.board.write("f", value),
                r"the new value of 'f'\['x'\]\[1\]": desk.board.update("f", lambda old: value),
                r"the message to '\*'\['x'\]\[1\]": desk.tell("*", value),
                r"the note 'n'\['x'\]\[1\]": desk.notes.write("n", value),
            }
        for place, verb in refused.items():
            with pytest.raises(BadInput, match=f"{place}.*({WHY})"):
                await verb

    result = await at_a_desk(runtime, do)
    assert result.outcomes[0].ok, result.outcomes[0]


async def test_a_nul_on_the_board_is_read_and_audited_as_it_was_written(runtime: Runtime) -> None:
    small: Json = {NUL: [NUL, "\\u0000"]}
    large: Json = [NUL * 10_000]

    async def do(desk: Desk) -> None:
        await desk.board.write("small", small, subject="ana")
        await desk.board.write("large", large, subject="ana")
        await desk.tell("work", small)
        await desk.notes.write("note", small)
        assert await desk.board.read_all() == {"large": large, "small": small}
        assert [message.body for message in await desk.inbox()] == [small]
        assert await desk.notes.read("note") == small

    result = await at_a_desk(runtime, do)
    assert result.outcomes[0].ok, result.outcomes[0]
    trail = await runtime.trail(result.execution)
    told = {entry.action: entry.payload for entry in trail if entry.field in ("small", "work")}
    assert told == {"board.write": {"value": small}, "board.tell": {"value": small}}


@pytest.mark.parametrize("bad", [True, False, -1, 1.5, "1", LONG, 2**53, [1]], ids=lambda bad: type(bad).__name__)
async def test_what_is_no_version_or_token_is_refused(runtime: Runtime, bad: Any) -> None:
    async def do(desk: Desk) -> None:
        for verb in (desk.board.write("f", 1, expect=bad), desk.board.delete("f", expect=bad)):
            with pytest.raises(BadInput, match="expect="):
                await verb
        with pytest.raises(BadInput, match="over="):
            await desk.board.claim("t", 1, over=bad)

    result = await at_a_desk(runtime, do)
    assert result.outcomes[0].ok, result.outcomes[0]


@NAMES
async def test_a_name_given_to_a_verb_is_refused_by_what_it_names(runtime: Runtime, bad: Any) -> None:
    async def do(desk: Desk) -> None:
        board = desk.board
        refused: list[tuple[str, Awaitable[object]]] = [
            ("a field's name", board.write(bad, 1)),
            ("a task's name", board.claim(bad, 1)),
            ("an addressee", desk.tell(bad, 1)),
            ("a note's name", desk.notes.write(bad, 1)),
            ("a role", desk.window.append(Turn(role=bad, body=1))),
            ("effect", desk.effect("name", lambda: 1, key=bad)),
            ("effect", desk.effect_settle(bad)),
        ]
        if bad != "":  # there may be none
            refused += [
                ("the subject", board.write("f", 1, subject=bad)),
                ("the subject", board.update("f", lambda old: 1, subject=bad)),
                ("key=", board.write("f", 1, key=bad)),
                ("key=", desk.window.append(Turn(role="user", body=1), key=bad)),
                ("no cursor", desk.inbox(f"0-{'9' * 5_000}")),
            ]
        for what, verb in refused:
            with pytest.raises(BadInput, match=what):
                await verb

    result = await at_a_desk(runtime, do)
    assert result.outcomes[0].ok, result.outcomes[0]


@HOSTILE
async def test_a_finding_that_cannot_be_kept_fails_its_task_once(runtime: Runtime, bad: Any) -> None:
    async def work(desk: Desk, task: Task) -> Finding:
        return Finding({"x": [bad]}) if task.id == "work-1" else Finding(1, evidence=[bad])

    async def two(desk: Desk, goal: Json) -> list[Task]:
        return [Task("work"), Task("work")]

    result = await runtime.run(Pipeline(two, [work], accept), 1)
    found, evidence = result.outcomes
    assert not found.ok and found.attempts == 1 and "the finding of task 'work-1' at ['x'][0]" in found.error  # type: ignore[union-attr]
    assert not evidence.ok and evidence.attempts == 1 and "the evidence of the finding" in evidence.error  # type: ignore[union-attr]


MADE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "accept": (lambda bad: Accept({"x": [bad]}), r"the decision at \['x'\]\[0\]"),
    "reject": (lambda bad: Reject(bad), "the decision"),
    "reasons": (lambda bad: Accept(1, [bad]), "a reason of the verdict"),
    "evidence": (lambda bad: Accept(1, evidence=[bad]), "the evidence of the verdict"),
    "revise": (lambda bad: Revise(["work-1"], bad), "the reason"),
    "question": (lambda bad: Escalate(bad), "the question"),
    "options": (lambda bad: Escalate("?", options=["a", bad]), r"the options at \[1\]"),
}


@HOSTILE
@pytest.mark.parametrize(("made", "place"), MADE.values(), ids=MADE)
async def test_a_verdict_that_cannot_be_kept_is_asked_for_once_and_the_run_goes_on_when_it_is_mended(
    runtime: Runtime, bad: Any, made: Callable[[Any], Any], place: str
) -> None:
    asked: list[int] = []

    async def critic(desk: Desk, findings: Outcomes) -> Any:
        asked.append(1)
        return made(bad) if len(asked) == 1 else Accept("mended")

    pipeline = Pipeline(planner, [work], critic)
    with pytest.raises(BadInput, match=f"{place}.*({WHY})"):
        await runtime.run(pipeline, 1)
    assert len(asked) == 1
    (execution,) = await runtime.executions()
    assert execution.status == "failed"
    assert (await runtime.resume(execution.id, pipeline)).decision == "mended"


@HOSTILE
async def test_an_answer_that_cannot_be_kept_leaves_the_question_open(runtime: Runtime, bad: Any) -> None:
    async def critic(desk: Desk, findings: Outcomes) -> Escalate:
        return Escalate("which?")

    asking = await runtime.run(Pipeline(planner, [work], critic), 1)
    for answer in ({"x": bad}, Accept(bad), Reject(1, [bad]), Revise(["work-1"], bad)):
        with pytest.raises(BadInput, match=WHY):
            await runtime.resume(asking.execution, answer=answer)
    assert (await runtime.resume(asking.execution, answer="this one")).decision == "this one"


@pytest.mark.parametrize("bad", [NUL, HALF], ids=["nul", "half a character"])
async def test_words_of_an_error_are_kept_whatever_they_hold(runtime: Runtime, bad: str) -> None:
    async def breaks(desk: Desk, *_: Any) -> Any:
        raise OSError(f"it said {bad}")

    result = await runtime.run(Pipeline(planner, {"work": breaks}, accept, retries=0), 1)
    assert result.outcomes[0].error == "OSError: it said a�b"  # type: ignore[union-attr]
    for pipeline in (Pipeline(breaks, [work], accept, retries=0), Pipeline(planner, [work], breaks, retries=0)):
        with pytest.raises(RunFailed, match="it said a�b"):
            await runtime.run(pipeline, 1)
    assert sorted(each.status for each in await runtime.executions()) == ["accepted", "failed", "failed"]

    async def do(desk: Desk) -> None:
        async def deed() -> Json:
            await asyncio.sleep(0)
            raise OSError(bad)

        with pytest.raises(OSError, match="a"):
            await desk.effect("mail", deed)

    assert (await at_a_desk(runtime, do)).outcomes[0].ok
