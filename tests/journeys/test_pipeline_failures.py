"""What fails in a pipeline: named, repeated where that can help, mended and resumed, never done twice outside."""

from __future__ import annotations

import asyncio
from typing import Any

import lousa
import pytest
from doubling import double, doubling, numbers, passing, total
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Revise, Runtime, Task
from lousa.agents.progress import Progress
from lousa.infra.errors import ExecutionBusy, PipelineError, RunFailed
from lousa.memory_layers.records import Json


async def test_a_failed_attempt_is_repeated_and_its_writes_are_not(runtime: Runtime):
    attempts: list[int] = []

    async def flaky(desk: Desk, task: Task) -> Finding:
        attempts.append(task.attempt)
        first = await desk.board.write("a", task.attempt)
        assert isinstance(first, lousa.Written)
        await desk.board.update("n", lambda value: (value or 0) + 1)  # pyright: ignore[reportOperatorIssue, reportUnknownLambdaType]
        if task.attempt < 3:
            raise ConnectionError("later")
        return Finding(first.repeated)

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("flaky")]

    result = await runtime.run(Pipeline(planner, workers=[flaky], critic=passing), None)
    assert attempts == [1, 2, 3]
    assert result.outcomes.found[0].attempts == 3
    assert await result.board.read_all() == {"a": 1, "n": 1}


async def test_a_worker_that_never_returns_is_a_named_failure_and_its_late_words_are_refused(runtime: Runtime):
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    end = asyncio.Event()

    async def deaf(desk: Desk, task: Task) -> Finding:
        try:
            while not end.is_set():
                try:
                    await asyncio.wait_for(end.wait(), 10)
                except asyncio.CancelledError:
                    continue
            await desk.board.write("late", "words")
        except lousa.Stale as stale:
            refused.set_result(str(stale))
        return Finding("too late")

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("deaf", timeout=0.1, retries=0), Task("double", 1)]

    result = await runtime.run(Pipeline(planner, workers=[deaf, double], critic=passing), None)
    assert result.outcomes.failed[0].error.startswith("TimeoutError: no result within 0.1 s")
    assert result.outcomes.found[0].value == 2
    end.set()
    assert "another attempt goes on" in await asyncio.wait_for(refused, 5)
    assert await result.board.read("late") is None


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (None, "returned nothing"),
        ([Task("triple")], "there is none of that name"),
        ([Task("double", id="a", needs=["b"]), Task("double", id="b", needs=["a"])], "circle"),
    ],
)
async def test_a_bad_plan_is_refused_and_the_execution_has_failed(runtime: Runtime, plan: object, says: str):
    calls: list[int] = []

    async def planner(desk: Desk, goal: Json) -> Any:
        calls.append(1)
        return plan

    with pytest.raises(PipelineError, match=says):
        await runtime.run(Pipeline(planner, workers=[double], critic=total), None)
    [execution] = await runtime.executions()
    assert execution.status == "failed" and says in str(execution.result)
    assert len(calls) == 1
    actions = [entry.action for entry in await runtime.trail(execution.id)]
    assert actions[0] == "execution.begin" and "execution.end" in actions


async def test_a_verdict_that_is_none_is_refused(runtime: Runtime):
    async def critic(desk: Desk, findings: Outcomes) -> None:
        return None

    with pytest.raises(PipelineError, match="the critic returned 'None'"):
        await runtime.run(Pipeline(numbers, workers=[double], critic=critic), [1])


async def test_a_critic_that_fails_can_be_mended_and_the_workers_are_not_run_again(runtime: Runtime):
    worked: list[str] = []

    async def once(desk: Desk, task: Task) -> Finding:
        worked.append(task.id)
        return Finding(task.id)

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("once"), Task("once")]

    async def broken(desk: Desk, findings: Outcomes) -> Accept:
        raise RuntimeError("boom")

    with pytest.raises(RunFailed, match=r"the critic failed in 1 attempt.*RuntimeError: boom") as failed:
        await runtime.run(Pipeline(planner, workers=[once], critic=broken, retries=0), None)
    assert isinstance(failed.value.__cause__, RuntimeError)
    assert (await runtime.execution(failed.value.execution)).status == "failed"
    result = await runtime.resume(failed.value.execution, Pipeline(planner, workers=[once], critic=passing))
    assert (result.status, result.decision, sorted(worked)) == ("accepted", [True, True], ["once-1", "once-2"])


async def test_progress_tells_what_happens_and_a_listener_that_raises_harms_nobody(runtime: Runtime):
    news: list[Progress] = []

    def listen(told: Progress) -> None:
        news.append(told)
        raise RuntimeError("a broken bar")

    result = await runtime.run(doubling(), [1, 2], progress=listen)
    assert result.status == "accepted"
    assert [told.event for told in news if told.event not in ("started", "finished")] == [
        "began",
        "planned",
        "judged",
        "ended",
    ]
    assert sorted((told.event, told.task) for told in news if told.task) == [
        ("finished", "double-1"),
        ("finished", "double-2"),
        ("started", "double-1"),
        ("started", "double-2"),
    ]


async def test_a_node_that_fails_fails_the_run_and_can_be_mended(runtime: Runtime):
    broken = True

    async def report(state: Any, runtime: Any) -> dict[str, Any]:
        if broken:
            raise KeyError("x")
        return {}

    graph = doubling().graph()
    graph.add_node("report", report)  # pyright: ignore[reportUnknownMemberType]  # LangGraph leaves a part open
    graph.add_edge("accept", "report")
    pipeline = doubling(graph=graph)
    with pytest.raises(RunFailed, match="a node of the graph failed with KeyError") as failed:
        await runtime.run(pipeline, [1])
    broken = False
    assert (await runtime.resume(failed.value.execution, pipeline)).decision == 2


async def test_a_run_that_is_cancelled_stops_its_workers_and_can_be_resumed_at_once(runtime: Runtime):
    ended: list[str] = []
    begun, let_through = asyncio.Event(), asyncio.Event()

    async def patient(desk: Desk, task: Task) -> Finding:
        begun.set()
        try:
            await let_through.wait()
        except asyncio.CancelledError:
            ended.append(task.id)
            raise
        return Finding(task.id)

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("double", 1), Task("patient", needs=["double-1"])]

    pipeline = Pipeline(planner, workers=[double, patient], critic=passing)
    going = asyncio.create_task(runtime.run(pipeline, None))
    await begun.wait()
    [execution] = await runtime.executions()
    with pytest.raises(ExecutionBusy, match="this process runs"):
        await runtime.resume(execution.id, pipeline)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert ended == ["patient-1"]
    assert (await runtime.execution(execution.id)).status == "running"
    let_through.set()
    assert (await runtime.resume(execution.id, pipeline)).decision == [True, True]


async def test_the_critic_may_write_over_its_own_words_in_the_next_round_also_after_a_failure(runtime: Runtime):
    broken = True

    async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
        assert isinstance(await desk.board.write("summary", findings[0].task.round), lousa.Written)
        if not findings.earlier:
            return Revise(["double-1"])
        if broken:
            raise RuntimeError("boom")
        return Accept(1)

    pipeline = Pipeline(numbers, workers=[double], critic=critic, retries=0)
    with pytest.raises(RunFailed) as failed:
        await runtime.run(pipeline, [1])
    broken = False
    result = await runtime.resume(failed.value.execution, pipeline)
    assert await result.board.read_all() == {"doubled/double-1": 2, "summary": 2}


async def test_an_effect_is_done_once_for_the_whole_execution_when_it_has_a_key(runtime: Runtime):
    sent: list[str] = []

    async def mail(desk: Desk, task: Task) -> Finding:
        def send() -> Json:
            sent.append(task.id)
            return {"id": len(sent)}

        return Finding(await desk.effect("mail", send, key="invoice-7"))

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("mail"), Task("mail")]

    result = await runtime.run(Pipeline(planner, workers=[mail], critic=passing), None)
    assert [outcome.value for outcome in result.outcomes] == [{"id": 1}, {"id": 1}]
    assert len(sent) == 1


async def test_an_effect_that_raised_is_not_repeated_blindly_and_can_be_settled_or_tried_again(runtime: Runtime):
    tried: list[str] = []

    def broken() -> Json:
        tried.append("broken")
        raise ConnectionResetError("mid-flight")

    def works() -> Json:
        tried.append("works")
        return "sent"

    async def blind(desk: Desk, task: Task) -> Finding:
        return Finding(await desk.effect("mail", broken))

    async def checks(desk: Desk, task: Task) -> Finding:
        try:
            return Finding(await desk.effect("mail", broken if task.attempt == 1 else works))
        except lousa.EffectUncertain as uncertain:
            if task.input == "it did":
                await desk.effect_settle(uncertain.key, "seen outside")
                return Finding(await desk.effect("mail", works, key=uncertain.key))
            return Finding(await desk.effect("mail", works, again=uncertain))

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("blind"), Task("checks", "it did"), Task("checks", "it did not")]

    result = await runtime.run(Pipeline(planner, workers=[blind, checks], critic=passing), None)
    failure = result.outcomes.failed[0]
    assert failure.attempts == 2 and failure.error.startswith("EffectUncertain: effect 'mail' was begun by 'blind'")
    assert "ConnectionResetError: mid-flight" in failure.error
    assert [found.value for found in result.outcomes.found] == ["seen outside", "sent"]
    assert sorted(tried) == ["broken", "broken", "broken", "works"]
