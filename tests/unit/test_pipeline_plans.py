"""A plan that cannot be run is refused before anything starts, with the way out."""

from __future__ import annotations

from typing import cast
from uuid import uuid4

import pytest
from lousa.agents.contract import Task
from lousa.agents.plan import MOST_TASKS, check_plan
from lousa.infra.errors import PipelineError
from lousa.memory_layers.records import Json


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (None, "returned nothing"),
        ([], "empty plan"),
        ("count", "return a list of Task"),
        (Task("count"), "return a list of Task"),
        (7, "return a list of Task"),
        ([{"worker": "count"}], "each must be a Task"),
        (["count-1"], "no round had it"),
        ([Task("sum")], "there is none of that name; there is 'count'"),
        ([Task("count", id="a"), Task("count", id="a")], "two tasks have the id 'a'"),
        ([Task("count", id="a", needs=["b"])], "task 'a' needs 'b', which is in no plan"),
        ([Task("count", needs=[Task("count")])], "which is in no plan"),
        ([Task("count", id="a", needs="b"), Task("count", id="b")], "must be a list"),
        ([Task("count", id="a", needs=["a"])], "'a' needs 'a'"),
        (
            [
                Task("count", id="a", needs=["b"]),
                Task("count", id="b", needs=["c"]),
                Task("count", id="c", needs=["a"]),
            ],
            "circle: 'a' needs 'b' needs 'c' needs 'a'",
        ),
        ([Task("count", cast(Json, {1: "x"}))], "the key 1"),
        ([Task("count", {"x": float("nan")})], "nan"),
        ([Task("count", cast(Json, {"x": {1, 2}}))], "holds set"),
        ([Task("count", cast(Json, b"raw"))], "holds bytes"),
        ([Task("count", id="x" * 201)], "at most 200 characters"),
        ([Task("count", id="a\x00b")], "no NUL"),
        ([Task("count", id=3)], "cannot be used"),  # pyright: ignore[reportArgumentType]  # what an untyped user gives
        ([Task("count", retries=-1)], "-1 retries"),
        ([Task("count", timeout=0)], "timeout"),
        ((Task("count") for _ in range(MOST_TASKS + 1)), "more than 10,000 tasks"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(asked: object, says: str):
    with pytest.raises(PipelineError) as refused:
        check_plan(asked, ["count"])
    assert says in str(refused.value)


def test_ids_are_numbered_by_worker_and_never_meet_given_ones():
    plan = check_plan([Task("a"), Task("b"), Task("a"), Task("b", id="b-2"), Task("b")], ["a", "b"])
    assert [task.id for task in plan] == ["a-1", "b-1", "a-2", "b-2", "b-3"]


def test_a_later_round_goes_on_numbering_and_takes_earlier_tasks_by_id_or_as_objects():
    first = check_plan([Task("a", {"n": 1}), Task("a", {"n": 2})], ["a"])
    known = {task.id: task for task in first}
    again = Task("a", {"n": 3}, id="a-2")
    second = check_plan(["a-1", again, Task("a")], ["a"], round=2, known=known)
    assert [(task.id, task.input, task.round) for task in second] == [
        ("a-1", {"n": 1}, 2),
        ("a-2", {"n": 3}, 2),
        ("a-3", None, 2),
    ]


def test_needs_are_named_by_id_or_by_the_task_itself():
    first = Task("a")
    plan = check_plan([first, Task("a", needs=[first, "a-1"])], ["a"])
    assert plan[1].need_ids == ("a-1",)


def test_inputs_are_what_json_brings_back():
    one = uuid4()
    assert check_plan([Task("a", cast(Json, {"t": (1, 2), "u": one}))], ["a"])[0].input == {"t": [1, 2], "u": str(one)}


def test_a_chain_as_long_as_the_limit_is_no_problem():
    tasks = [Task("a", id=str(n), needs=[str(n + 1)] if n < MOST_TASKS - 1 else []) for n in range(MOST_TASKS)]
    assert len(check_plan(tasks, ["a"])) == MOST_TASKS
