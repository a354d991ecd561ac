"""A pipeline from its goal to its end: what a user writes, what each part is shown, what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import lousa
import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from lousa import Accept, Desk, Escalate, Finding, Outcomes, Pipeline, Reject, Revise, Runtime, Task
from lousa.agents.progress import Progress
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import BadInput, ExecutionBusy, NotFound, PipelineError, RunFailed, TaskFailed
from lousa.memory_layers.records import Json


@pytest.fixture
async def runtime(servers: Endpoints, tmp_path: Path, tenant: str) -> AsyncIterator[Runtime]:
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(
            lousa.open(
                redis_url=servers.redis_url,
                postgres_url=servers.postgres_url,
                home=tmp_path,
                tenant=tenant,
                lease=timedelta(seconds=2),
            )
        )


async def numbers(desk: Desk, goal: Any) -> list[Task]:
    return [Task("double", n) for n in goal]


async def double(desk: Desk, task: Any) -> Finding:
    await desk.board.write(f"doubled/{task.id}", task.input * 2)
    return Finding(task.input * 2)


async def total(desk: Desk, findings: Outcomes) -> Accept:
    values: list[Any] = [found.value for found in findings.found]
    return Accept(sum(values))


def doubling(**options: Any) -> Pipeline:
    return Pipeline(numbers, workers=[double], critic=total, **options)


async def test_a_goal_becomes_tasks_findings_and_a_decision(runtime: Runtime):
    result = await runtime.run(doubling(), [1, 2, 3])
    assert (result.status, result.decision, result.rounds) == ("accepted", 12, 1)
    assert [(outcome.task.id, outcome.value) for outcome in result.outcomes] == [
        ("double-1", 2),
        ("double-2", 4),
        ("double-3", 6),
    ]
    assert await result.board.read_all("doubled/*") == {
        "doubled/double-1": 2,
        "doubled/double-2": 4,
        "doubled/double-3": 6,
    }
    assert all(not name.startswith("lousa/") for name in await result.board.read_all())


async def test_the_files_of_the_design_give_their_word_counts(runtime: Runtime, tmp_path: Path):
    async def planner(desk: Any, goal: Any):
        return [Task("count", {"file": f}) for f in goal["files"]]

    async def count(desk: Any, task: Any):
        text = Path(task.input["file"]).read_text(encoding="utf-8")  # noqa: ASYNC240  # as the design writes it
        known = await desk.recall(f"length of {task.input['file']}", k=1)
        await desk.remember(f"{task.input['file']} has {len(text.split())} words", kind="semantic")
        await desk.board.write(f"words/{task.id}", len(text.split()))
        return Finding({"words": len(text.split())}, evidence=[hit.id for hit in known])

    async def critic(desk: Any, findings: Any):
        missing = [f.task for f in findings if not f.value["words"]]
        return Revise(missing, "empty files") if missing else Accept(f"{sum(f.value['words'] for f in findings)} words")

    files: list[Json] = []
    for number in range(3):
        files.append(str(tmp_path / f"{number}.txt"))
        (tmp_path / f"{number}.txt").write_text("palavra " * (number + 1), encoding="utf-8")
    result = await runtime.run(Pipeline(planner, workers=[count], critic=critic), {"files": files})
    assert str(result.decision) == "6 words"
    assert await result.board.read_all("words/*") == {"words/count-1": 1, "words/count-2": 2, "words/count-3": 3}


async def test_a_chain_beside_others_reaches_the_critic_whole_but_for_the_failure(runtime: Runtime):
    order: list[str] = []
    chain_ended = asyncio.Event()
    judged: list[Outcomes] = []

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        chain = [Task("step", id=f"c{n}", needs=[f"c{n - 1}"] if n else []) for n in range(20)]
        rest = [Task("step", id=f"i{n}", retries=0) for n in range(18)]
        return [*chain, *rest, Task("slow", id="slow"), Task("bad", id="bad", retries=1)]

    async def step(desk: Desk, task: Task) -> Finding:
        order.append(task.id)
        if task.id == "c19":
            chain_ended.set()
        return Finding(task.id)

    async def slow(desk: Desk, task: Task) -> Finding:
        async with asyncio.timeout(30):
            await chain_ended.wait()
        return Finding("at last")

    async def bad(desk: Desk, task: Task) -> Finding:
        raise ValueError("no such thing")

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        judged.append(findings)
        return Accept(len(findings.found))

    result = await runtime.run(Pipeline(planner, workers=[step, slow, bad], critic=critic), None)
    assert result.decision == 39
    assert len(judged) == 1
    [failure] = judged[0].failed
    assert (failure.task.id, failure.attempts, failure.error) == ("bad", 2, "ValueError: no such thing")
    with pytest.raises(TaskFailed, match=r"'bad'.*ValueError: no such thing"):
        _ = failure.value


async def test_what_depends_on_a_failure_is_skipped_and_says_why(runtime: Runtime):
    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("step", n, id=f"c{n}", needs=[f"c{n - 1}"] if n else [], retries=0) for n in range(6)]

    async def step(desk: Desk, task: Task) -> Finding:
        if task.id == "c3":
            raise ValueError("here")
        return Finding(dict(task.needed))

    async def critic(desk: Desk, findings: Outcomes) -> Reject:
        return Reject("incomplete", [skipped.because for skipped in findings.skipped])

    result = await runtime.run(Pipeline(planner, workers=[step], critic=critic), None)
    assert (result.status, result.reasons) == ("rejected", ["c3", "c3"])
    assert result.outcomes[1].value == {"c0": {}}
    with pytest.raises(TaskFailed, match="skipped because 'c3'"):
        _ = result.outcomes[5].value


async def test_another_round_runs_what_the_critic_names_and_shows_it_the_rounds_before(runtime: Runtime):
    seen: list[tuple[int, int, int]] = []

    async def draft(desk: Desk, task: Task) -> Finding:
        written = await desk.board.write(f"draft/{task.id}", task.round)
        assert isinstance(written, lousa.Written)
        return Finding(task.round)

    async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
        seen.append((len(findings), len(findings.earlier), len(findings.latest)))
        if not findings.earlier:
            return Revise([findings[0].task, Task("draft", needs=["draft-2"])], "the first is thin")
        return Accept([outcome.value for outcome in findings.latest])

    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("draft"), Task("draft")]

    result = await runtime.run(Pipeline(planner, workers=[draft], critic=critic), None)
    assert (result.decision, result.rounds) == ([2, 1, 2], 2)
    assert seen == [(2, 0, 2), (2, 2, 3)]
    assert await result.board.read_all("draft/*") == {"draft/draft-1": 2, "draft/draft-2": 1, "draft/draft-3": 2}


async def test_when_the_rounds_are_used_up_the_run_is_rejected_and_says_so(runtime: Runtime):
    async def critic(desk: Desk, findings: Outcomes) -> Revise:
        return Revise([outcome.task for outcome in findings], "not yet")

    result = await runtime.run(Pipeline(numbers, workers=[double], critic=critic, max_rounds=2), [1])
    assert (result.status, result.rounds) == ("rejected", 2)
    assert "max_rounds=2 is used up" in result.reasons[0] and "not yet" in result.reasons[0]


async def test_a_worker_class_is_made_anew_for_each_task(runtime: Runtime):
    class Counter:
        name = "double"

        def __init__(self) -> None:
            self.calls = 0

        async def work(self, desk: Desk, task: Task) -> Finding:
            self.calls += 1
            return Finding(self.calls)

    class Planning:
        async def plan(self, desk: Desk, goal: Json) -> list[Task]:
            return [Task("double"), Task("double")]

    class Judging:
        async def judge(self, desk: Desk, findings: Outcomes) -> Accept:
            return Accept([found.value for found in findings])

    result = await runtime.run(Pipeline(Planning, workers=[Counter], critic=Judging()), None)
    assert result.decision == [1, 1]


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


async def passing(desk: Desk, findings: Outcomes) -> Accept:
    return Accept([outcome.ok for outcome in findings])


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
            await desk.board.write("by", f"answered {len(asked)}", expect=lousa_any())
            return Accept(answer) if isinstance(answer, int) else Escalate(f"{answer} is no number: how many?")

    pipeline = Pipeline(numbers, workers=[double], critic=Judge)
    waiting = await runtime.run(pipeline, [1])
    more = await runtime.resume(waiting.execution, pipeline, answer="many")
    assert more.question is not None and more.question.question == "many is no number: how many?"
    result = await runtime.resume(waiting.execution, pipeline, answer=3)
    assert (result.decision, asked) == (3, ["many", 3])
    assert await result.board.read("by") == "answered 2"


def lousa_any() -> Any:
    from lousa.memory_layers.conversation.board import ANY

    return ANY


async def test_an_execution_that_never_asked_takes_no_answer_and_an_unknown_one_is_not_found(runtime: Runtime):
    result = await runtime.run(doubling(), [1])
    with pytest.raises(BadInput, match="has asked nothing"):
        await runtime.resume(result.execution, doubling(), answer="yes")
    with pytest.raises(PipelineError, match="of pipeline 'pipeline', not of 'other'"):
        await runtime.resume(result.execution, doubling(name="other"))
    with pytest.raises(NotFound):
        await runtime.resume(lousa_new_id(), doubling())


def lousa_new_id() -> Any:
    from lousa.infra.ids import new_id

    return new_id()


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


async def test_a_graph_that_a_user_extends_runs_their_nodes(runtime: Runtime):
    async def report(state: Any, runtime: Any) -> dict[str, Any]:
        desk = runtime.context.desk("reporter")
        await desk.board.write("report", f"{len(runtime.context.outcomes)} in round {state['round']}")
        return {}

    graph = doubling().graph()
    graph.add_node("report", report)  # pyright: ignore[reportUnknownMemberType]  # LangGraph leaves a part open
    graph.add_edge("accept", "report")
    result = await runtime.run(doubling(graph=graph), [1, 2])
    assert await result.board.read("report") == "2 in round 1"


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


async def test_a_tracer_sees_nodes_and_tasks_and_no_content(runtime: Runtime):
    seen: list[tuple[str, str]] = []

    class Tracer(AsyncCallbackHandler):
        async def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
            seen.append((more["name"], str(inputs)))

        async def on_chain_end(self, outputs: Any, **more: Any) -> None:
            seen.append(("", str(outputs)))

    result = await runtime.run(doubling(callbacks=[Tracer()], name="secretive"), [4242])
    assert result.decision == 8484
    names = {name for name, _ in seen}
    assert {"secretive", "plan", "work", "double", "critique", "accept"} <= names
    assert not [words for _, words in seen if "4242" in words or "8484" in words]


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


async def test_the_decision_is_in_the_record_with_its_reasons(runtime: Runtime):
    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept({"sum": 2}, ["one task"], [findings[0].value])

    result = await runtime.run(Pipeline(numbers, workers=[double], critic=critic, name="doubling"), [1])
    trail = await runtime.trail(result.execution)
    assert [entry.agent for entry in trail if entry.field == "doubled/double-1"] == ["double"]
    decided = [entry for entry in trail if entry.memory is not None]
    assert [entry.agent for entry in decided] == ["critic"]


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


async def test_values_are_what_json_brings_back_even_when_nothing_crashes(runtime: Runtime):
    async def planner(desk: Desk, goal: Json) -> list[Task]:
        assert goal == {"pair": [1, 2]}
        return [Task("echo", goal)]

    async def echo(desk: Desk, task: Task) -> Any:
        return (1, 2)

    async def wrong(desk: Desk, task: Task) -> Any:
        return {"when": timedelta(1)}

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept(findings[0].value if findings[0].ok else str(findings.failed[0].error))

    goal: Any = {"pair": (1, 2)}
    assert (await runtime.run(Pipeline(planner, workers=[echo], critic=critic), goal)).decision == [1, 2]
    refused = await runtime.run(Pipeline(planner, workers={"echo": wrong}, critic=critic), goal)
    assert "PipelineError: the finding of task 'echo-1' holds timedelta" in str(refused.decision)
    with pytest.raises(PipelineError, match="the goal holds set"):
        await runtime.run(doubling(), {1, 2})  # pyright: ignore[reportArgumentType]  # what an untyped user gives
