"""A run that failed is mended and resumed: what failed runs again, what succeeded and what was judged does not."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Principal, Revise, Runtime, Task, Written
from lousa.agents.progress import Progress
from lousa.infra.errors import PipelineError, RunFailed
from lousa.memory_layers.records import Json

FILE = "test_pipeline_mending.py"


class Counting:
    """A pipeline of four tasks: one that breaks while `broken`, one that needs it, and two that need nobody."""

    def __init__(self) -> None:
        self.broken = True
        self.begun = Counter[str]()
        self.pipeline = Pipeline(self.planner, workers=[self.count], critic=self.critic, retries=0, name="counting")

    async def planner(self, desk: Desk, goal: Json) -> list[Task]:
        self.begun["planner"] += 1
        return [Task("count", 1), Task("count", 0), Task("count", 3, needs=["count-2"]), Task("count", 4)]

    async def count(self, desk: Desk, task: Any) -> Finding:
        self.begun[task.id] += 1
        await desk.board.update("begun", lambda value: (value or 0) + 1)  # pyright: ignore[reportOperatorIssue, reportUnknownLambdaType]
        if self.broken:
            _ = 12 / task.input
        written = await desk.board.write(f"count/{task.id}", task.input)
        assert isinstance(written, Written)
        return Finding(task.input)

    async def critic(self, desk: Desk, findings: Outcomes) -> Accept:
        self.begun["critic"] += 1
        values: list[Any] = [finding.value for finding in findings]
        return Accept(sum(values))


async def failed(runtime: Runtime, pipeline: Pipeline) -> RunFailed:
    with pytest.raises(RunFailed) as raised:
        await runtime.run(pipeline, None)
    return raised.value


async def test_what_failed_and_what_was_skipped_because_of_it_runs_again_and_nothing_else(runtime: Runtime):
    counting = Counting()
    execution = (await failed(runtime, counting.pipeline)).execution
    counting.broken = False
    result = await runtime.resume(execution, counting.pipeline)
    assert (result.status, result.decision, len(result.outcomes.found)) == ("accepted", 8, 4)
    once = {"planner": 1, "count-1": 1, "count-3": 1, "count-4": 1}
    assert counting.begun == {**once, "count-2": 2, "critic": 2}
    # What the failed attempt did through its desk was not done twice.
    counts = {"count/count-1": 1, "count/count-2": 0, "count/count-3": 3, "count/count-4": 4}
    assert await result.board.read_all() == {**counts, "begun": 4}


async def test_the_trail_shows_the_failure_the_resume_and_both_outcomes(runtime: Runtime):
    counting = Counting()
    execution = (await failed(runtime, counting.pipeline)).execution
    counting.broken = False
    await runtime.resume(execution, counting.pipeline)
    trail = await runtime.trail(execution)
    steps = [(entry.action, entry.outcome) for entry in trail if entry.action.startswith("execution.")]
    assert [step[0] for step in steps] == ["execution.begin", "execution.end", "execution.resume", "execution.end"]
    assert [step[1] for step in steps] == ["running", "failed", "running", "accepted"]
    written = Counter(str(entry.field) for entry in trail if entry.field)
    assert (written["lousa/outcome/1/count-1"], written["lousa/outcome/1/count-2"]) == (1, 2)
    assert (written["lousa/outcome/1/count-3"], written["lousa/failed/0"]) == (2, 1)


async def test_what_fails_again_can_be_mended_again(runtime: Runtime):
    counting = Counting()
    execution = (await failed(runtime, counting.pipeline)).execution
    for _ in range(2):
        with pytest.raises(RunFailed, match=r"^task 'count-2' failed: ZeroDivisionError"):
            await runtime.resume(execution, counting.pipeline)
    counting.broken = False
    assert (await runtime.resume(execution, counting.pipeline)).decision == 8
    assert (counting.begun["count-1"], counting.begun["count-2"], counting.begun["count-3"]) == (1, 4, 1)


async def test_a_resume_that_is_interrupted_takes_what_it_found_with_it(runtime: Runtime):
    counting = Counting()
    execution = (await failed(runtime, counting.pipeline)).execution
    waits = asyncio.Event()

    async def patient(desk: Desk, findings: Outcomes) -> Accept:
        waits.set()
        await asyncio.sleep(30)
        raise AssertionError

    slow = Pipeline(counting.planner, workers=[counting.count], critic=patient, retries=0, name="counting")
    going = asyncio.create_task(runtime.resume(execution, slow))  # still broken: count-2 fails once more
    await waits.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await going
    assert any(str(execution) in note for note in cancelled.value.__notes__)
    result = await runtime.resume(
        execution, Pipeline(counting.planner, workers=[counting.count], critic=tally, name="counting")
    )
    assert result.decision == [True, False, False, True]  # interrupted, not failed: its outcomes stand
    assert counting.begun["count-2"] == 2


async def test_a_board_that_was_closed_is_opened_again_even_when_the_one_who_resumed_died_before_it(runtime: Runtime):
    counting, services = Counting(), runtime.services
    execution = (await failed(runtime, counting.pipeline)).execution
    who = Principal(tenant=runtime.settings.tenant, agent="pipeline", session="default", execution=execution)
    await services.executions.reopen(who, execution)
    last = f"0-{await services.feed.last(who.tenant, execution)}"
    assert await services.feed.expire(who.tenant, execution, last, timedelta(days=1))
    counting.broken = False
    assert (await runtime.resume(execution, counting.pipeline)).decision == 8


async def tally(desk: Desk, findings: Outcomes) -> Accept:
    return Accept([outcome.ok for outcome in findings])


async def test_a_round_that_was_judged_keeps_its_failures(runtime: Runtime):
    counting = Counting()

    async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
        if not findings.earlier:
            return Revise(["count-2"], "again")
        _ = findings[0].value
        return Accept([outcome.ok for outcome in findings.latest])

    pipeline = Pipeline(counting.planner, workers=[counting.count], critic=critic, retries=0)
    execution = (await failed(runtime, pipeline)).execution
    counting.broken = False
    result = await runtime.resume(execution, pipeline)
    assert (result.rounds, result.decision) == (2, [True, True, False, True])
    assert [outcome.ok for outcome in result.outcomes] == [True, True, False, True]
    assert (counting.begun["count-2"], counting.begun["count-3"]) == (3, 0)


async def test_a_verdict_that_cannot_be_used_keeps_what_was_found_and_says_so(runtime: Runtime):
    counting = Counting()
    counting.broken = False

    async def mute(desk: Desk, findings: Outcomes) -> None:
        return None

    pipeline = Pipeline(counting.planner, workers=[counting.count], critic=mute, name="counting")
    with pytest.raises(PipelineError, match=r"returned 'None'.*resume execution .* when it is mended"):
        await runtime.run(pipeline, None)
    [execution] = await runtime.executions()
    assert (await runtime.resume(execution.id, counting.pipeline)).decision == 8
    assert counting.begun["count-2"] == 1


async def test_a_failure_names_the_line_of_the_worker_and_its_traceback_is_logged_for_debugging(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, "lousa.agents")
    counting, news = Counting(), list[Progress]()
    line = counting.count.__code__.co_firstlineno + 4
    pipeline = Pipeline(counting.planner, workers=[counting.count], critic=tally, retries=1)
    result = await runtime.run(pipeline, None, progress=news.append)
    failure = result.outcomes.failed[0]
    assert (failure.error, failure.where) == ("ZeroDivisionError: division by zero", f"{FILE}:{line} in count")
    told = {event.event: event.text for event in news}
    assert told["failed"] == told["retried"] == failure.told == f"{failure.error} ({failure.where})"
    [logged] = [record for record in caplog.records if record.name.startswith("lousa.agents")]
    assert logged.exc_info and isinstance(logged.exc_info[1], ZeroDivisionError)


async def test_a_critic_that_takes_the_value_of_a_failed_task_is_told_why_that_failed(runtime: Runtime):
    counting = Counting()
    error = await failed(runtime, counting.pipeline)
    first, second = (code.__code__.co_firstlineno for code in (counting.count, counting.critic))
    assert str(error).startswith(
        f"task 'count-2' failed: ZeroDivisionError: division by zero ({FILE}:{first + 4} in count);"
    )
    assert f"so the critic failed ({FILE}:{second + 2} in critic)" in str(error)
    assert f"resume execution {error.execution}" in str(error)


async def test_a_planner_that_fails_is_told_with_its_line_and_without_the_frames_of_the_graph(runtime: Runtime):
    async def planner(desk: Desk, goal: Json) -> list[Task]:
        raise OSError("no list")

    counting = Counting()
    error = await failed(runtime, Pipeline(planner, workers=[counting.count], critic=counting.critic, retries=0))
    line = planner.__code__.co_firstlineno + 1
    assert f"the planner failed in 1 attempt(s) with OSError: no list ({FILE}:{line} in planner)" in str(error)
    frames = list[str]()
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    assert not any("langgraph" in name for name in frames)
