"""The order of work: tasks that are ready start at once, and nothing waits for what it does not need.

A round is not done in levels. Each finished task frees those that waited for it alone, at that moment; a slow one
delays only what needs it. `limit` says how many may run at a time; when more are ready, the one with the longest
chain behind it goes first, because the chain decides when the round ends.

This file knows nothing of boards, retries or claims: it is given a function that turns a task into its outcome and
that never raises for what happened inside a task. What it does raise (the run was taken over, a server is gone for
good) stops the round: nothing new starts, what runs is cancelled and waited for.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace

from ..infra.tasks import end, together
from .contract import Finding, Outcome, Skipped, Task

Run = Callable[[Task], Awaitable[Outcome]]
Record = Callable[[Skipped], Coroutine[None, None, None]]


async def work_off(
    tasks: Sequence[Task],
    run: Run,
    *,
    skip: Record,
    before: Mapping[str, Outcome],
    limit: int,
) -> list[Outcome]:
    """The outcome of every task, in the order given.

    `before` holds outcomes that exist already: of earlier rounds, which tasks may need, and of tasks of this round
    that an interrupted run finished, which are not run again. `skip` records a task that will not run.
    """
    order = _Order(tasks, before)
    running: dict[asyncio.Task[Outcome], Task] = {}
    try:
        while True:
            while len(running) < limit and (task := order.next()) is not None:
                running[asyncio.ensure_future(run(task))] = task
            while skips := order.skipped():
                await together(*(skip(skipped) for skipped in skips))
                for skipped in skips:
                    order.settle(skipped)
            if not running:
                return [order.outcomes[task.id] for task in tasks]
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for finished in done:
                del running[finished]
                order.settle(finished.result())
    finally:
        await end(*running)


class _Order:
    """Which task is next. `outcomes` grows as tasks settle."""

    def __init__(self, tasks: Sequence[Task], before: Mapping[str, Outcome]) -> None:
        mine = {task.id for task in tasks}
        self.outcomes: dict[str, Outcome] = {}
        self._before = {name: outcome for name, outcome in before.items() if name not in mine}
        self._tasks = {task.id: task for task in tasks}
        self._place = {task.id: place for place, task in enumerate(tasks)}
        self._waiting = {task.id: {need for need in task.need_ids if need in mine} for task in tasks}
        self._behind: dict[str, list[str]] = {task.id: [] for task in tasks}
        for task in tasks:
            for need in self._waiting[task.id]:
                self._behind[need].append(task.id)
        self._height = self._heights()
        self._ready: list[tuple[int, int, str]] = []
        self._skips: list[Skipped] = []
        finished = [before[task.id] for task in tasks if task.id in before and before[task.id].task.round == task.round]
        for task in tasks:
            if not self._waiting[task.id]:
                self._release(task.id)
        for outcome in finished:
            self.settle(outcome)

    def next(self) -> Task | None:
        """A task that may start now, with the values it needs; None while there is none."""
        while self._ready:
            name = heapq.heappop(self._ready)[2]
            if name not in self.outcomes:
                task = self._tasks[name]
                return replace(task, needed={need: self._outcome(need).value for need in task.need_ids})
        return None

    def skipped(self) -> list[Skipped]:
        """Tasks that will never start, each named once."""
        skips, self._skips = self._skips, []
        return [skip for skip in skips if skip.task.id not in self.outcomes]

    def settle(self, outcome: Outcome) -> None:
        """A task has its outcome: what waited for it alone is ready, or will be skipped."""
        name = outcome.task.id
        self.outcomes[name] = outcome
        for behind in self._behind[name]:
            self._waiting[behind].discard(name)
            if not self._waiting[behind]:
                self._release(behind)

    def _release(self, name: str) -> None:
        task = self._tasks[name]
        because = next((cause for need in task.need_ids if (cause := _cause(self._outcome(need)))), None)
        if because is None:
            heapq.heappush(self._ready, (-self._height[name], self._place[name], name))
        else:
            self._skips.append(Skipped(task, because))

    def _outcome(self, name: str) -> Outcome:
        return self.outcomes[name] if name in self.outcomes else self._before[name]

    def _heights(self) -> dict[str, int]:
        """How many tasks the longest chain behind each one has."""
        left = {name: len(behind) for name, behind in self._behind.items()}
        height = dict.fromkeys(self._tasks, 0)
        ends = [name for name, count in left.items() if count == 0]
        while ends:
            name = ends.pop()
            for need in self._waiting[name]:
                height[need] = max(height[need], height[name] + 1)
                left[need] -= 1
                if left[need] == 0:
                    ends.append(need)
        return height


def _cause(outcome: Outcome) -> str | None:
    """The task to blame when this outcome is needed, or None if it can be used."""
    if isinstance(outcome, Finding):
        return None
    return outcome.because if isinstance(outcome, Skipped) else outcome.task.id
