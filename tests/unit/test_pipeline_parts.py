"""What can be a planner, a worker or a critic, and how everything else is refused when the pipeline is made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from lousa.agents.contract import Accept, Escalate, Failure, Finding, Outcomes, Skipped, Task
from lousa.agents.parts import part_of, workers_of
from lousa.agents.pipeline import Pipeline
from lousa.infra.errors import PipelineError, TaskFailed


async def plan(desk: Any, goal: Any) -> list[Task]:
    return [Task("count")]


async def count(desk: Any, task: Any) -> Finding:
    return Finding(1)


async def judge(desk: Any, findings: Any) -> Accept:
    return Accept()


def blocking(desk: Any, task: Any) -> Finding:
    return Finding(1)


PARTIAL: Any = functools.partial(count)
NAMELESS: Callable[[Any, Any], None] = lambda desk, task: None  # noqa: E731  # a lambda is what is tested


class Named:
    name = "counter"

    async def work(self, desk: Any, task: Any) -> Finding:
        return Finding(id(self))


class Callable_:
    async def __call__(self, desk: Any, task: Any) -> Finding:
        return Finding(2)


class Empty:
    pass


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (count, "count"),
        (PARTIAL, "count"),
        (Named, "counter"),
        (Named(), "counter"),
        (Callable_(), "Callable_"),
    ],
)
async def test_functions_objects_and_classes_are_workers(given: object, name: str):
    part = part_of(given, "work", "worker")
    assert part.name == name
    assert isinstance(await part.call(None, Task("x")), Finding)


async def test_a_class_is_made_anew_for_each_call_and_an_object_is_not():
    anew = part_of(Named, "work", "worker")
    made = [await anew.call(None, Task("x")) for _ in range(2)]
    kept = part_of(Named(), "work", "worker")
    same = [await kept.call(None, Task("x")) for _ in range(2)]
    assert made[0] is not made[1]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("workers", "says"),
    [
        ([], "at least one worker"),
        (count, r"write workers=\[count\]"),
        ([blocking], "worker 'blocking' is not async"),
        ([Empty], "cannot be called"),
        ([Empty()], "cannot be called"),
        ([7], "cannot be called"),
        ([NAMELESS], "lambda has no name"),
        ([count, count], "two workers are called 'count'"),
        ({"critic": count}, "no worker can be called 'critic'"),
        ({" ": count}, "1 to 200 characters"),
    ],
)
def test_what_cannot_work_is_refused_at_once(workers: Any, says: str):
    with pytest.raises(PipelineError, match=says):
        workers_of(workers)


@pytest.mark.parametrize(
    "options", [{"max_rounds": 0}, {"retries": -1}, {"timeout": 0}, {"parallel": 0}, {"timeout": -1.0}]
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, Any]):
    with pytest.raises(PipelineError, match="cannot be used"):
        Pipeline(plan, [count], judge, **options)


def test_a_planner_or_critic_that_is_none_is_refused():
    with pytest.raises(PipelineError, match="planner 'NoneType' cannot be called"):
        Pipeline(None, [count], judge)  # pyright: ignore[reportArgumentType]  # what an untyped user gives
    with pytest.raises(PipelineError, match="critic class 'Empty' cannot be called"):
        Pipeline(plan, [count], Empty)  # pyright: ignore[reportArgumentType]  # what an untyped user gives


def test_only_a_critic_that_declares_it_says_what_answers_mean():
    class Judge:
        async def judge(self, desk: Any, findings: Outcomes) -> Accept:
            return Accept()

    class Arbiter(Judge):
        async def answered(self, desk: Any, question: Escalate, answer: Any) -> Accept:
            return Accept(answer)

    assert Pipeline(plan, [count], judge).arbiter is None
    assert Pipeline(plan, [count], Judge).arbiter is None
    assert Pipeline(plan, [count], Arbiter).arbiter is not None
    assert Pipeline(plan, [count], Arbiter()).arbiter is not None


def test_outcomes_are_a_list_that_knows_what_failed_and_why():
    a, b, c = (Task("w", id=name) for name in "abc")
    first = [Finding(1, task=a), Failure(b, "ValueError: no", 3, "b.py:3 in b"), Skipped(c, "b")]
    outcomes = Outcomes([Finding(2, task=b)], first)
    assert len(outcomes) == 1 and outcomes[0].ok and outcomes.of("b") is outcomes[0]
    assert [outcome.task.id for outcome in outcomes.latest] == ["a", "b", "c"]
    assert (len(outcomes.latest.found), len(outcomes.latest.failed), len(outcomes.latest.skipped)) == (2, 0, 1)
    with pytest.raises(KeyError):
        outcomes.of("c")
    for outcome, says in (
        (first[1], r"^task 'b' failed: ValueError: no \(b.py:3 in b\);"),
        (first[2], "skipped because 'b'"),
    ):
        assert not outcome.ok and outcome.evidence == ()
        with pytest.raises(TaskFailed, match=says):
            _ = outcome.value


def test_a_task_can_be_a_key_whatever_its_input():
    first, again = Task("count", {"file": ["a"]}, id="a"), Task("count", {"file": ["a"]}, id="a", round=2)
    assert {first: 1, again: 2, Task("count", {"file": ["a"]}, id="a"): 3} == {first: 3, again: 2}
    assert hash(first) == hash(Task("count", {"file": ["b"]}, id="a")) and first != Task("count", 1, id="a")
