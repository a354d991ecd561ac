"""A plan that cannot be run is refused before anything starts, with the way out."""

from __future__ import annotations

from typing import cast
from uuid import uuid4

import pytest
from lousa.agents.contract import Accept, Escalate, Failure, Finding, Outcome, Reject, Revise, Skipped, Task, Verdict
from lousa.agents.plan import MOST_TASKS, check_plan
from lousa.agents.written import (
    failed_field,
    failures_in,
    outcome_field,
    plan_field,
    plans_in,
    read_outcome,
    read_plan,
    read_verdict,
    resolved_field,
    standing_in,
    verdict_field,
    verdict_in,
    write_outcome,
    write_plan,
    write_verdict,
)
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


PLANNED = check_plan([Task("a", {"n": 1}), Task("a", needs=["a-1"], retries=0, timeout=1.5)], ["a"])


def test_plans_outcomes_and_verdicts_are_read_as_they_were_written():
    assert read_plan(write_plan(PLANNED), 1) == PLANNED
    outcomes: list[Outcome] = [
        Finding({"x": 1}, ["page 3"], task=PLANNED[0], attempts=2),
        Failure(PLANNED[0], "ValueError: no", 3, "a.py:3 in a"),
        Skipped(PLANNED[0], "a-9"),
    ]
    assert [read_outcome(write_outcome(outcome), PLANNED[0]) for outcome in outcomes] == outcomes
    again = check_plan(["a-1"], ["a"], round=2, known={"a-1": PLANNED[0]})
    verdicts: list[Verdict] = [
        Accept({"x": 1}, ["because"], ["page 3"]),
        Reject("no", [], []),
        Revise(list(again), "thin"),
        Escalate("which?", [1], ["this", "that"]),
    ]
    assert [read_verdict(write_verdict(verdict), 1) for verdict in verdicts] == verdicts


def test_one_reason_or_piece_of_evidence_without_a_list_is_one_and_not_its_letters():
    one = uuid4()
    assert read_verdict(write_verdict(Accept(1, "because", "page 3")), 1) == Accept(1, ["because"], ["page 3"])
    found = read_outcome(write_outcome(Finding(1, cast(list[Json], one), task=PLANNED[0])), PLANNED[0])
    assert found.evidence == [str(one)]


def test_the_rounds_that_were_begun_are_known_from_the_board_also_after_an_answer():
    done = write_outcome(Finding(1))
    again = write_verdict(Revise(list(check_plan(["a-1"], ["a"], round=2, known={"a-1": PLANNED[0]})), "thin"))
    fields: dict[str, Json] = {}
    assert plans_in(fields) == []
    fields[plan_field(1)] = write_plan(PLANNED)
    assert len(plans_in(fields)) == 1
    fields[verdict_field(1)] = write_verdict(Escalate("again?"))
    assert isinstance(verdict_in(fields, 1), Escalate) and len(plans_in(fields)) == 1
    fields[resolved_field(1, 0)] = again
    assert len(plans_in(fields)) == 1
    fields[outcome_field(2, "a-1")] = done
    assert [[task.round for task in plan] for plan in plans_in(fields)] == [[1, 1], [2]]


def test_after_the_run_has_failed_what_failed_before_does_not_stand_unless_its_round_was_judged():
    plan = check_plan([Task("a"), Task("a"), Task("a", needs=["a-2"])], ["a"])
    fields: dict[str, Json] = {
        outcome_field(1, "a-1"): write_outcome(Finding(1)),
        outcome_field(1, "a-2"): write_outcome(Failure(plan[1], "ValueError: no")),
        outcome_field(1, "a-3"): write_outcome(Skipped(plan[2], "a-2")),
    }
    assert list(standing_in(fields, plan)) == ["a-1", "a-2", "a-3"]
    fields[failed_field(0)] = {"error": "no"}
    assert failures_in(fields) == 1 and list(standing_in(fields, plan)) == ["a-1"]
    fields[outcome_field(1, "a-2")] = write_outcome(Failure(plan[1], "ValueError: still"), after=1)
    assert list(standing_in(fields, plan)) == ["a-1", "a-2"]
    fields[failed_field(1)] = {"error": "no"}
    assert list(standing_in(fields, plan)) == ["a-1"]
    fields[verdict_field(1)] = write_verdict(Escalate("what now?"))
    assert list(standing_in(fields, plan)) == ["a-1", "a-2", "a-3"]
