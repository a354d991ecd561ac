"""What a planner, a worker and a critic owe the pipeline, and the values that pass between them.

Each is a plain async function or an object with one method; both are shown the *desk*, which is all they may touch:

    ========  =====================================  =======================================================
    planner   ``async (desk, goal)``, or ``plan``     a list of `Task`, at least one
    worker    ``async (desk, task)``, or ``work``     a `Finding`, or a bare value that becomes one
    critic    ``async (desk, findings)``, or ``judge``  `Accept`, `Reject`, `Revise` or `Escalate`
    ========  =====================================  =======================================================

What they may count on. Every task of a plan has exactly one outcome: a `Finding`, a `Failure` with the last error, or
`Skipped` with the task because of which. A round's critic is called once, with all outcomes of its round. A worker
given as a class is made anew for each attempt, so that none meets another's leftovers; so are a planner and a critic.
What a task needs is in `Task.needed` before it starts.

What they owe. Any of them may be run again from its start: after an exception, after a timeout, after a crash. What
they do through the desk is then not done twice, if they do it in the same order or name it with ``key=``. What they do
outside, they do through `desk.effect`. They must let themselves be cancelled; one that does not is abandoned, and
what it still writes is refused. Blocking work belongs into ``asyncio.to_thread``: while one blocks, no other moves.

Values are JSON. They are put through it even when nothing crashes, so that a critic never sees a tuple today and a
list after a resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol, overload, runtime_checkable
from uuid import UUID

from ..infra.errors import TaskFailed
from ..memory_layers.records import Json

if TYPE_CHECKING:
    from .desk import Desk

Evidence = Json | UUID
"""A memory's id, a quotation, a place in a document: whatever lets somebody check."""


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work for the worker of that name.

    `id` defaults to ``<worker>-<n>`` in the order of the plan. `needs` names tasks (by id, or the objects themselves)
    that must have found something first. `retries` and `timeout` (of one attempt) default to the pipeline's.
    The runtime fills in `needed` (the values of what it needs, by id), `round` and `attempt`, counted from 1.
    Tasks are equal when all of that is; they can be keys of a dict, whatever their input.
    """

    worker: str
    input: Json = None
    id: str = field(default="", kw_only=True)
    needs: Sequence[str | Task] = field(default=(), kw_only=True)
    retries: int | None = field(default=None, kw_only=True)
    timeout: timedelta | float | None = field(default=None, kw_only=True)
    needed: Mapping[str, Json] = field(default_factory=dict[str, Json], kw_only=True, repr=False)
    round: int = field(default=1, kw_only=True)
    attempt: int = field(default=1, kw_only=True)

    def __hash__(self) -> int:
        """By what names it, since its input may not be hashable."""
        return hash((self.worker, self.id, self.round))

    @property
    def need_ids(self) -> tuple[str, ...]:
        """The ids of what it needs."""
        return tuple(need if isinstance(need, str) else need.id for need in self.needs)


_NO_TASK = Task("")  # what a finding belongs to until the runtime has filled it in


@dataclass(frozen=True, slots=True)
class Finding:
    """What a worker found, and what supports it. The runtime fills in `task` and `attempts`."""

    value: Json = None
    evidence: Sequence[Evidence] = ()
    task: Task = field(default=_NO_TASK, kw_only=True)
    attempts: int = field(default=1, kw_only=True)
    ok: Literal[True] = field(default=True, init=False, repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """A task whose attempts all ended in an error: `error` is the last one's name and words.

    `where` is the place in the worker's own code that it came from (``count.py:12 in count``), '' if there is none.
    """

    task: Task
    error: str
    attempts: int = 1
    where: str = ""
    ok: Literal[False] = field(default=False, init=False, repr=False)

    @property
    def told(self) -> str:
        """The error with its place, as people read it."""
        return placed(self.error, self.where)

    @property
    def value(self) -> Json:
        """Never there: a failed task has no value.

        Raises:
            TaskFailed: always, with the reason.
        """
        raise TaskFailed(
            f"task {self.task.id!r} failed: {self.told}; a failed task has no value,"
            " look at `.ok` first, or at `findings.found` and `findings.failed`"
        )

    @property
    def evidence(self) -> Sequence[Evidence]:
        """None: a failure supports nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A task that never began, because the task `because` that it needs, perhaps through others, did not succeed."""

    task: Task
    because: str
    ok: Literal[False] = field(default=False, init=False, repr=False)

    @property
    def value(self) -> Json:
        """Never there: a skipped task has no value.

        Raises:
            TaskFailed: always, with the reason.
        """
        raise TaskFailed(
            f"task {self.task.id!r} has no value, it was skipped because {self.because!r} did not succeed;"
            " look at `.ok` first, or at `findings.found` and `findings.skipped`"
        )

    @property
    def evidence(self) -> Sequence[Evidence]:
        """None: nothing was done."""
        return ()


Outcome = Finding | Failure | Skipped


def placed(error: str, where: str) -> str:
    """An error with its place, where it has one."""
    return f"{error} ({where})" if where else error


class Outcomes(Sequence[Outcome]):
    """The outcomes of one round, one for each of its tasks, in the order of the plan.

    `earlier` holds those of the rounds before; `latest` has for every task of the run its newest outcome.
    """

    __slots__ = ("_all", "_earlier")

    def __init__(self, outcomes: Iterable[Outcome] = (), earlier: Iterable[Outcome] = ()) -> None:
        self._all = tuple(outcomes)
        self._earlier = tuple(earlier)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, index: int | slice) -> Outcome | Sequence[Outcome]:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._all)

    def __repr__(self) -> str:
        return f"Outcomes({len(self.found)} found, {len(self.failed)} failed, {len(self.skipped)} skipped)"

    def of(self, task: str) -> Outcome:
        """The outcome of the task with this id; KeyError if the round had none."""
        for outcome in self._all:
            if outcome.task.id == task:
                return outcome
        raise KeyError(task)

    @property
    def found(self) -> tuple[Finding, ...]:
        """Those that have a value."""
        return tuple(outcome for outcome in self._all if isinstance(outcome, Finding))

    @property
    def failed(self) -> tuple[Failure, ...]:
        """Those whose attempts all ended in an error."""
        return tuple(outcome for outcome in self._all if isinstance(outcome, Failure))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Those that never began."""
        return tuple(outcome for outcome in self._all if isinstance(outcome, Skipped))

    @property
    def earlier(self) -> tuple[Outcome, ...]:
        """The outcomes of all earlier rounds, oldest first."""
        return self._earlier

    @property
    def latest(self) -> Outcomes:
        """For every task of the run its newest outcome, in the order in which the tasks were first planned."""
        return Outcomes({outcome.task.id: outcome for outcome in (*self._earlier, *self._all)}.values())


@dataclass(frozen=True, slots=True)
class Accept:
    """The run has reached its goal; `decision` is its answer."""

    decision: Json = None
    reasons: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Reject:
    """The run ends without its goal; `decision` says what was decided instead."""

    decision: Json = None
    reasons: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Revise:
    """Another round, with these tasks: new ones, or earlier ones again, by id or as objects (with other inputs, say).

    What an earlier round found stays available to `Task.needs`. Tasks that built on one that is run again are run
    again only if they are named too. When the pipeline's `max_rounds` are used up, the run ends rejected and says so.
    """

    tasks: Sequence[Task | str]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Escalate:
    """A person is asked. The execution waits, for weeks if need be, until `runtime.resume(id, pipeline, answer=…)`."""

    question: str
    evidence: Sequence[Evidence] = ()
    options: Sequence[Json] = ()


Verdict = Accept | Reject | Revise | Escalate


@runtime_checkable
class Planner(Protocol):
    """Turns a goal into tasks."""

    async def plan(self, desk: Desk, goal: Json) -> Sequence[Task]:
        """The tasks of the first round: at least one, at most 10,000, with distinct ids and no circle of needs."""
        ...


@runtime_checkable
class Worker(Protocol):
    """Does one task. `name` is what tasks call it; without one, the name of the class or function."""

    async def work(self, desk: Desk, task: Task) -> Finding | Json:
        """What was found. An exception is a failed attempt; all but our own refusals are tried again."""
        ...


@runtime_checkable
class Critic(Protocol):
    """Judges a round."""

    async def judge(self, desk: Desk, findings: Outcomes) -> Verdict:
        """The verdict on this round. It is called once a round: a verdict that was recorded is not asked for again."""
        ...


@runtime_checkable
class Arbiter(Critic, Protocol):
    """A critic that also says what a person's answer means.

    Without this power, an answer that is a verdict is taken as one, and any other becomes ``Accept(answer)``.
    """

    async def answered(self, desk: Desk, question: Escalate, answer: Json) -> Verdict:
        """The verdict that follows from the answer."""
        ...
