"""The order of work: what is ready starts at once, and every task has exactly one outcome."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
from lousa.agents.contract import Failure, Finding, Outcome, Skipped, Task
from lousa.agents.plan import check_plan
from lousa.agents.work import work_off


async def nothing(_: Skipped) -> None:
    return None


async def test_a_chain_never_waits_for_a_slow_task_beside_it():
    chain = [Task("w", id=f"c{n}", needs=[f"c{n - 1}"] if n else []) for n in range(20)]
    ended: dict[str, float] = {}

    async def run(task: Task) -> Outcome:
        await asyncio.sleep(0.5 if task.id == "slow" else 0.005)
        ended[task.id] = time.monotonic()
        return Finding(task.id, task=task)

    plan = check_plan([*chain, Task("w", id="slow"), *(Task("w", id=f"i{n}") for n in range(19))], ["w"])
    outcomes = await work_off(plan, run, skip=nothing, before={}, limit=4)
    assert [outcome.task.id for outcome in outcomes] == [task.id for task in plan]
    assert ended["c19"] < ended["slow"]


async def test_at_most_limit_tasks_run_at_a_time_and_the_longest_chain_goes_first():
    running, most, begun = 0, 0, list[str]()

    async def run(task: Task) -> Outcome:
        nonlocal running, most
        begun.append(task.id)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return Finding(task=task)

    tasks = [Task("w", id=f"i{n}") for n in range(10)] + [Task("w", id="a"), Task("w", id="b", needs=["a"])]
    await work_off(check_plan(tasks, ["w"]), run, skip=nothing, before={}, limit=3)
    assert most == 3
    assert begun[0] == "a"


async def test_what_depends_on_a_failure_is_skipped_and_names_the_root():
    told: list[str] = []

    async def run(task: Task) -> Outcome:
        return Failure(task, "ValueError: no") if task.id == "b" else Finding(task=task)

    async def skip(skipped: Skipped) -> None:
        told.append(skipped.task.id)

    tasks = [
        Task("w", id="a"),
        *(Task("w", id=right, needs=[left]) for left, right in zip("abcd", "bcde", strict=True)),
    ]
    outcomes = await work_off(check_plan(tasks, ["w"]), run, skip=skip, before={}, limit=4)
    assert [type(outcome) for outcome in outcomes] == [Finding, Failure, Skipped, Skipped, Skipped]
    assert {outcome.because for outcome in outcomes if isinstance(outcome, Skipped)} == {"b"}
    assert told == ["c", "d", "e"]


async def test_a_task_is_given_the_values_it_needs_also_from_earlier_rounds():
    seen: dict[str, object] = {}

    async def run(task: Task) -> Outcome:
        seen[task.id] = dict(task.needed)
        return Finding(task.id.upper(), task=task)

    old = Finding("OLD", task=Task("w", id="old"))
    plan = check_plan(
        [Task("w", id="b", needs=["a", "old"]), Task("w", id="a")], ["w"], round=2, known={"old": old.task}
    )
    await work_off(plan, run, skip=nothing, before={"old": old}, limit=4)
    assert seen == {"a": {}, "b": {"a": "A", "old": "OLD"}}


async def test_what_an_interrupted_run_finished_is_not_run_again():
    begun: list[str] = []

    async def run(task: Task) -> Outcome:
        begun.append(task.id)
        return Finding(task=task)

    plan = check_plan([Task("w", id="a"), Task("w", id="b", needs=["a"]), Task("w", id="c", needs=["b"])], ["w"])
    before: dict[str, Outcome] = {"a": Finding(1, task=plan[0]), "b": Finding(2, task=plan[1])}
    outcomes = await work_off(plan, run, skip=nothing, before=before, limit=4)
    assert begun == ["c"]
    assert all(outcome.ok for outcome in outcomes)


async def test_an_outcome_of_an_earlier_round_does_not_stand_for_a_task_that_is_run_again():
    begun: list[str] = []

    async def run(task: Task) -> Outcome:
        begun.append(task.id)
        return Finding(task=task)

    old = Failure(Task("w", id="a"), "ValueError: no")
    plan = check_plan(["a"], ["w"], round=2, known={"a": old.task})
    await work_off(plan, run, skip=nothing, before={"a": old}, limit=4)
    assert begun == ["a"]


async def test_when_the_round_is_cancelled_its_tasks_are_too():
    ended: list[str] = []

    async def run(task: Task) -> Outcome:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append(task.id)
        raise AssertionError

    plan = check_plan([Task("w"), Task("w")], ["w"])
    going = asyncio.ensure_future(work_off(plan, run, skip=nothing, before={}, limit=4))
    await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert sorted(ended) == ["w-1", "w-2"]


async def test_any_graph_of_tasks_gets_one_outcome_each_and_none_starts_before_what_it_needs():
    for seed in range(60):
        chance = random.Random(seed)
        size = chance.randrange(1, 60)
        tasks = [
            Task("w", id=str(n), needs=[str(need) for need in chance.sample(range(n), min(n, chance.randrange(4)))])
            for n in range(size)
        ]
        chance.shuffle(tasks)
        bad = {task.id for task in tasks if chance.random() < 0.1}
        settled: set[str] = set()

        async def run(task: Task, bad: set[str] = bad, settled: set[str] = settled) -> Outcome:
            assert settled.issuperset(task.need_ids)
            await asyncio.sleep(0)
            settled.add(task.id)
            return Failure(task, "no") if task.id in bad else Finding(task=task)

        outcomes = await work_off(check_plan(tasks, ["w"]), run, skip=nothing, before={}, limit=chance.randrange(1, 8))
        by_id = {outcome.task.id: outcome for outcome in outcomes}
        assert len(outcomes) == len(by_id) == size
        for outcome in outcomes:
            broken = [need for need in outcome.task.need_ids if not by_id[need].ok]
            assert isinstance(outcome, Skipped) == bool(broken)
            assert not isinstance(outcome, Skipped) or outcome.because in bad
