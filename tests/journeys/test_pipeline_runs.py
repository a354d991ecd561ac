"""A pipeline from its goal to its end: what a user writes, what each part is shown, what comes back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import lousa
import pytest
from doubling import double, doubling, numbers
from langchain_core.callbacks import AsyncCallbackHandler
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Reject, Revise, Runtime, Task
from lousa.infra.errors import PipelineError, TaskFailed
from lousa.memory_layers.records import Json


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


async def test_a_tracer_sees_nodes_and_tasks_and_no_content(runtime: Runtime):
    seen: list[tuple[str, str]] = []

    class Tracer(AsyncCallbackHandler):
        async def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
            seen.append((more["name"], str(inputs)))

        async def on_chain_end(self, outputs: Any, **more: Any) -> None:
            seen.append(("", str(outputs)))

    result = await runtime.run(doubling(callbacks=[Tracer()], name="secretive"), [4242424242424242])
    assert result.decision == 8484848484848484
    names = {name for name, _ in seen}
    assert {"secretive", "plan", "work", "double", "critique", "accept"} <= names
    assert not [words for _, words in seen if "4242424242" in words or "8484848484" in words]


async def test_the_decision_is_in_the_record_with_its_reasons(runtime: Runtime):
    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept({"sum": 2}, ["one task"], [findings[0].value])

    result = await runtime.run(Pipeline(numbers, workers=[double], critic=critic, name="doubling"), [1])
    trail = await runtime.trail(result.execution)
    assert [entry.agent for entry in trail if entry.field == "doubled/double-1"] == ["double"]
    decided = [entry for entry in trail if entry.memory is not None]
    assert [entry.agent for entry in decided] == ["critic"]


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
    assert "PipelineError: the finding of task 'echo-1' at ['when'] holds timedelta" in str(refused.decision)
    with pytest.raises(PipelineError, match="the goal holds set"):
        await runtime.run(doubling(), {1, 2})  # pyright: ignore[reportArgumentType]  # what an untyped user gives
