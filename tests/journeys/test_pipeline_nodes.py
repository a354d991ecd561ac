"""Nodes that a user adds to the graph work at a desk of their own, in every round."""

from __future__ import annotations

from typing import Any

import pytest
from lousa import Accept, Desk, Outcomes, Pipeline, Revise, Runtime, Task
from lousa.infra.errors import RunFailed
from lousa.memory_layers.conversation.board import ANY, Conflict
from lousa.memory_layers.records import Json


async def planner(desk: Desk, goal: Json) -> list[Task]:
    return [Task("work")]


async def work(desk: Desk, task: Task) -> None:
    await desk.board.write("theirs", f"worker in round {task.round}", expect=ANY)


async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
    rounds = 1 + len(findings.earlier)
    return Accept("done") if rounds == 3 else Revise(["work-1"], "once more")


async def test_a_node_writes_over_its_own_words_in_every_round_and_not_over_those_of_others(runtime: Runtime) -> None:
    answers: list[tuple[int, object, object]] = []
    broken = True

    async def report(state: Any, runtime: Any) -> dict[str, Any]:
        board = runtime.context.desk("reporter").board
        if broken and state["round"] == 3:
            raise KeyError("not yet")
        mine = await board.write("report", f"round {state['round']}")
        theirs = await board.write("theirs", "the node's")
        another = await runtime.context.desk("another").board.write("report", "of another")
        assert isinstance(another, Conflict)
        answers.append((state["round"], mine.version, theirs))
        return {}

    graph = Pipeline(planner, [work], critic).graph()
    graph.add_node("report", report)  # pyright: ignore[reportUnknownMemberType]  # LangGraph leaves a part open
    graph.add_edge("work", "report")
    pipeline = Pipeline(planner, [work], critic, graph=graph)
    with pytest.raises(RunFailed, match="not yet") as failed:
        await runtime.run(pipeline, None)
    assert [answer[:2] for answer in answers] == [(1, 1), (2, 2)]
    assert all(isinstance(theirs, Conflict) for *_, theirs in answers)
    broken = False
    result = await runtime.resume(failed.value.execution, pipeline)
    assert result.decision == "done"
    board = await result.board.read_all()
    assert (board["report"], board["theirs"]) == ("round 3", "worker in round 3")
