"""A run that asks a person: it waits, the answer goes on from there, and nothing before it runs again."""

from __future__ import annotations

from typing import Any

import pytest
from doubling import double, doubling, numbers
from lousa import Accept, Desk, Escalate, Finding, Outcomes, Pipeline, Reject, Revise, Runtime, Task
from lousa.infra.errors import BadInput, NotFound, PipelineError
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import ANY
from lousa.memory_layers.records import Json


async def test_a_question_waits_for_a_person_and_the_answer_goes_on_from_there(runtime: Runtime):
    calls: list[str] = []

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        calls.append("plan")
        return [Task("double", 4)]

    async def double(desk: Desk, task: Any) -> Finding:
        calls.append("work")
        return Finding(task.input * 2)

    async def critic(desk: Desk, findings: Outcomes) -> Escalate:
        calls.append("judge")
        return Escalate("is 8 enough?", evidence=[findings[0].value], options=["yes", "no"])

    pipeline = Pipeline(planner, workers=[double], critic=critic)
    waiting = await runtime.run(pipeline, None)
    assert waiting.status == "waiting" and waiting.question is not None
    assert (waiting.question.question, waiting.question.evidence, waiting.question.options) == (
        "is 8 enough?",
        [8],
        ["yes", "no"],
    )
    again = await runtime.resume(waiting.execution, pipeline)
    assert (again.status, again.question) == ("waiting", waiting.question)
    result = await runtime.resume(waiting.execution, pipeline, answer="yes")
    assert (result.status, result.decision) == ("accepted", "yes")
    assert calls == ["plan", "work", "judge"]
    same = await runtime.resume(waiting.execution, pipeline, answer="yes")
    assert (same.status, same.decision, list(same.outcomes)) == ("accepted", "yes", list(result.outcomes))
    with pytest.raises(BadInput):
        await runtime.resume(waiting.execution, pipeline, answer="no")


async def test_an_answer_may_be_a_verdict_and_the_next_question_has_its_own_answer(runtime: Runtime):
    async def critic(desk: Desk, findings: Outcomes) -> Escalate:
        return Escalate(f"round {findings[0].task.round}?")

    pipeline = Pipeline(numbers, workers=[double], critic=critic)
    first = await runtime.run(pipeline, [1, 2])
    with pytest.raises(PipelineError, match="'double-9'"):
        await runtime.resume(first.execution, pipeline, answer=Revise(["double-9"]))
    with pytest.raises(BadInput, match="a question is no answer"):
        await runtime.resume(first.execution, pipeline, answer=Escalate("what?"))
    second = await runtime.resume(first.execution, pipeline, answer=Revise([Task("double", 5, id="double-2")]))
    assert second.question is not None and second.question.question == "round 2?"
    ended = await runtime.resume(first.execution, pipeline, answer=Reject("enough", ["tired"]))
    assert (ended.status, ended.decision, ended.reasons, ended.rounds) == ("rejected", "enough", ["tired"], 2)
    assert [outcome.value for outcome in ended.outcomes] == [2, 10]


async def test_a_critic_that_says_what_answers_mean_is_asked_once(runtime: Runtime):
    asked: list[Json] = []

    class Judge:
        async def judge(self, desk: Desk, findings: Outcomes) -> Escalate:
            await desk.board.write("by", "judge")
            return Escalate("how many?")

        async def answered(self, desk: Desk, question: Escalate, answer: Json) -> Accept | Escalate:
            asked.append(answer)
            await desk.board.write("by", f"answered {len(asked)}", expect=ANY)
            return Accept(answer) if isinstance(answer, int) else Escalate(f"{answer} is no number: how many?")

    pipeline = Pipeline(numbers, workers=[double], critic=Judge)
    waiting = await runtime.run(pipeline, [1])
    more = await runtime.resume(waiting.execution, pipeline, answer="many")
    assert more.question is not None and more.question.question == "many is no number: how many?"
    result = await runtime.resume(waiting.execution, pipeline, answer=3)
    assert (result.decision, asked) == (3, ["many", 3])
    assert await result.board.read("by") == "answered 2"


async def test_an_execution_that_never_asked_takes_no_answer_and_an_unknown_one_is_not_found(runtime: Runtime):
    result = await runtime.run(doubling(), [1])
    with pytest.raises(BadInput, match="has asked nothing"):
        await runtime.resume(result.execution, doubling(), answer="yes")
    with pytest.raises(PipelineError, match="of pipeline 'pipeline', not of 'other'"):
        await runtime.resume(result.execution, doubling(name="other"))
    with pytest.raises(NotFound):
        await runtime.resume(new_id(), doubling())
