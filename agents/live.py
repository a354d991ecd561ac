"""A run as it goes on: what the graph's nodes call, and what a node of a user's own finds in ``runtime.context``.

It holds no state that is not on the board. A run that starts again is given what the board has, and each step asks
first whether its result is there. What is there is taken; what is not is done, under a claim, and written under it
(see `attempt` and `workplace`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, cast
from uuid import UUID

from ..infra.connections import Connection
from ..infra.errors import PipelineError, RunFailed, TaskFailed
from ..infra.identity import Principal
from ..memory_layers.conversation.changes import RESERVED, TASK
from ..memory_layers.execution.ledger import Entry
from ..memory_layers.guard import LARGEST_VALUE
from ..memory_layers.records import Json
from .attempt import Exhausted, Step, attempt
from .contract import (
    Accept,
    Escalate,
    Failure,
    Finding,
    Outcome,
    Outcomes,
    Reject,
    Revise,
    Skipped,
    Task,
    Verdict,
    placed,
)
from .desk import Desk
from .ownership import Heartbeat, Held
from .parts import Call
from .pipeline import Pipeline
from .plan import check_plan, seconds, to_json
from .progress import Teller
from .services import Services
from .tracing import traced
from .work import work_off
from .workplace import Workplace, own_versions
from .written import (
    failed_field,
    failures_in,
    outcome_field,
    outcomes_in,
    plan_field,
    read_outcome,
    read_plan,
    read_verdict,
    resolved_field,
    standing_in,
    verdict_field,
    write_outcome,
    write_plan,
    write_verdict,
)

logger = logging.getLogger(__name__)

CRITIC = RESERVED + "critic"
"""The critic's claim."""

Turn = Literal["accept", "revise", "reject", "escalate"]


class State(TypedDict):
    """The state of the graph: ids and words, no content."""

    execution: str
    round: int
    verdict: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to a person: the `number`-th about the verdict on a round, from 0."""

    round: int
    number: int
    question: Escalate


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said to a question: a verdict, or a value that has to be made one."""

    round: int
    number: int
    said: Verdict | Json


@dataclass(kw_only=True, eq=False)
class Live:
    """One run of a pipeline. `verdict` is the last one, `asked` the question it waits for.

    `written` is what the board has of an interrupted run, at these `versions`; None for a new one.
    """

    services: Services
    pipeline: Pipeline
    principal: Principal
    goal: Json
    run: Held
    heartbeat: Heartbeat
    tell: Teller
    written: Mapping[str, Json] | None = None
    versions: Mapping[str, int] = field(default_factory=dict[str, int])
    answer: Answer | None = None
    verdict: Verdict | None = field(default=None, init=False)
    asked: Asked | None = field(default=None, init=False)
    rounds: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.execution = cast(UUID, self.principal.execution)
        self._written = dict(self.written or {})
        self._failures = failures_in(self._written)
        self._place = Workplace(
            self.services, self.principal, run=self.run, heartbeat=self.heartbeat, resumed=self.written is not None
        )
        self._desks: dict[tuple[str, int], Desk] = {}
        self._plans: list[tuple[Task, ...]] = []
        self._outcomes: list[list[Outcome]] = []

    # What the graph's nodes call

    async def plan(self) -> None:
        """The first round's tasks."""
        if plan_field(1) not in self._written:
            await self._do(
                "planner",
                plan_field(1),
                round=1,
                call=self.pipeline.planner.call,
                on=lambda: (to_json(self.goal, "the goal"),),
                write=lambda value: write_plan(check_plan(value, self.pipeline.workers)),
            )
        self.tell("planned", round=1, count=len(self._plan(1)))

    async def work(self, round: int) -> None:
        """Every task of the round to its outcome."""
        plan = self._plan(round)
        if round > 1:
            self.tell("planned", round=round, count=len(plan))
        self.rounds = round
        done = standing_in(self._written, plan)
        for name in outcomes_in(self._written, plan):
            place = outcome_field(round, name)
            self._place.recall(TASK + name, self._written[place])
            if name not in done:
                self._place.again[place] = self.versions[place]
        outcomes = await work_off(
            plan,
            self._work_on,
            skip=self._skip,
            before={**self._latest(), **done},
            limit=self.pipeline.parallel,
        )
        self._outcomes.append(outcomes)

    async def critique(self, round: int) -> Turn:
        """The verdict on the round, and where it leads."""
        if verdict_field(round) not in self._written:
            outcomes = Outcomes(self._outcomes[-1], [outcome for past in self._outcomes[:-1] for outcome in past])
            await self._judge(verdict_field(round), round, self.pipeline.critic.call, outcomes)
        self._place.recall(CRITIC, self._written[verdict_field(round)])
        verdict = read_verdict(self._written[verdict_field(round)], round)
        number = 0
        while isinstance(verdict, Escalate):
            place = resolved_field(round, number)
            if place not in self._written:
                if self.answer is None or (self.answer.round, self.answer.number) != (round, number):
                    self.asked = Asked(round=round, number=number, question=verdict)
                    break
                await self._resolve(place, round, verdict, self.answer.said)
            self._place.recall(CRITIC, self._written[place])
            verdict = read_verdict(self._written[place], round)
            number += 1
        if isinstance(verdict, Revise) and round == self.pipeline.max_rounds:
            verdict = Reject(
                f"not accepted after {round} round(s)",
                [f"max_rounds={round} is used up, and the critic asks for another round: {verdict.reason}"],
            )
        self.verdict = verdict
        turn = _turn(verdict)
        self.tell("judged", round=round, agent="critic", text=turn)
        return turn

    async def end(self, status: Literal["accepted", "rejected"], result: Json) -> None:
        """Write the decision through, in the critic's name, and in the same transaction that the run has ended."""
        verdict = cast(Accept | Reject, self.verdict)
        goal = json.dumps(self.goal, ensure_ascii=False)
        asked = f"{self.pipeline.name} on {goal if len(goal) <= 500 else goal[:499] + '…'}"
        desk = self._place.desk("critic", f"{RESERVED}decision/{self.rounds}", self.rounds)
        decision = desk._decision(asked, verdict.decision, verdict.reasons, verdict.evidence)  # pyright: ignore[reportPrivateUsage]  # its own run's

        async def along(connection: Connection) -> Sequence[Entry]:
            return await self.services.executions.end(connection, desk.principal, self.execution, status, result)

        # No fence is shown: the verdict lies on the board, so whoever else ends this run makes the same decision.
        await self.services.router.remember(desk.principal, decision, operation=decision.id, along=along)

    async def failed(self, error: str) -> None:
        """Write that the run itself failed: when it goes on, what failed in the round without a verdict runs again."""
        await self._place.conclude(failed_field(self._failures), {"error": error})

    # What nodes of a user's own may use

    def desk(self, agent: str) -> Desk:
        """The desk of a node, by a name of its own. What it does is done once, if it does the same when run again.

        In each round it may write over what it wrote in those before.
        """
        place = (agent, self.rounds)
        if place not in self._desks:
            wrote: dict[str, int] = {}
            for (whose, _), desk in self._desks.items():
                wrote |= own_versions(desk.board) if whose == agent else {}
            self._desks[place] = self._place.desk(agent, f"{RESERVED}node/{agent}", self.rounds, seen=wrote)
        return self._desks[place]

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of the last round; `earlier` has those before."""
        past = [outcome for outcomes in self._outcomes[:-1] for outcome in outcomes]
        return Outcomes(self._outcomes[-1] if self._outcomes else (), past)

    # Within

    async def _do(
        self,
        agent: str,
        field: str,
        *,
        round: int,
        call: Call,
        on: Callable[[], tuple[object, ...]],
        write: Callable[[object], Json],
    ) -> None:
        """A step of the planner or the critic, which is called with the desk and what `on` gives.

        Raises:
            PipelineError: what it returned cannot be used.
            RunFailed: all its attempts failed.
        """
        step = Step(
            task=RESERVED + agent,
            agent=agent,
            round=round,
            field=field,
            call=lambda desk, number: call(desk, *on()),
            write=lambda value, number: write(value),
            retries=self.pipeline.retries,
            timeout=self._timeout(None),
        )
        came = await attempt(step, self._place, self._retried)
        if not isinstance(came, Exhausted):
            self._written[field] = came
            return
        mended = f"what was done is kept: resume execution {self.execution} when it is mended"
        match came.error:
            case PipelineError() as error if agent == "planner":
                raise error
            case PipelineError() as error:
                raise PipelineError(f"{error}; {mended}") from error
            case TaskFailed() as error:
                what = f"{error}; so {placed(f'the {agent} failed', came.where)}"
            case _:
                what = f"the {agent} failed in {came.attempts} attempt(s) with {came.told}"
        raise RunFailed(f"{what}; {mended}", execution=self.execution) from came.error

    async def _work_on(self, task: Task) -> Outcome:
        """A task to its outcome."""
        self.tell("started", round=task.round, task=task.id, agent=task.worker, attempt=1)
        part = self.pipeline.workers[task.worker]
        step = Step(
            task=TASK + task.id,
            agent=task.worker,
            round=task.round,
            field=outcome_field(task.round, task.id),
            call=lambda desk, number: traced(
                task.worker, task.id, task.round, number, lambda: part.call(desk, _copy(task, number))
            ),
            write=lambda value, number: write_outcome(
                replace(value if isinstance(value, Finding) else Finding(cast(Json, value)), task=task, attempts=number)
            ),
            retries=self.pipeline.retries if task.retries is None else task.retries,
            timeout=self._timeout(task),
            work=task,
        )
        came = await attempt(step, self._place, self._retried)
        if isinstance(came, Exhausted):
            logger.debug("task %r failed", task.id, exc_info=came.error)
            failure = write_outcome(Failure(task, came.words, came.attempts, came.where), self._failures)
            came = await self._place.conclude(step.field, failure, of=step.task)
        outcome = read_outcome(came, replace(task, needed={}))
        if isinstance(outcome, Failure):
            self.tell("failed", round=task.round, task=task.id, agent=task.worker, text=outcome.told)
        else:
            self.tell("finished", round=task.round, task=task.id, agent=task.worker)
        return outcome

    async def _skip(self, skipped: Skipped) -> None:
        task = skipped.task
        await self._place.conclude(outcome_field(task.round, task.id), write_outcome(skipped, self._failures))
        self.tell("skipped", round=task.round, task=task.id, agent=task.worker, text=skipped.because)

    async def _judge(self, field: str, round: int, call: Call, *words: object) -> None:
        await self._do(
            "critic",
            field,
            round=round,
            call=call,
            on=lambda: words,
            write=lambda value: write_verdict(self.checked(value, round)),
        )

    async def _resolve(self, field: str, round: int, question: Escalate, said: Verdict | Json) -> None:
        """Make a verdict of an answer."""
        if isinstance(said, (Accept, Reject, Revise)):
            self._written[field] = await self._place.conclude(field, write_verdict(said))
        elif self.pipeline.arbiter is not None:
            await self._judge(field, round, self.pipeline.arbiter.call, question, said)
        else:
            accepted = write_verdict(Accept(cast(Json, said), [f"answered by a person: {question.question}"]))
            self._written[field] = await self._place.conclude(field, accepted)

    def checked(self, verdict: object, round: int) -> Verdict:
        """A verdict that can be written.

        Raises:
            PipelineError: it is none, or it asks for tasks that cannot be run.
        """
        if isinstance(verdict, Revise):
            known = {task.id: task for plan in self._plans for task in plan}
            workers = self.pipeline.workers
            plan = check_plan(verdict.tasks, workers, by="the critic", round=round + 1, known=known)
            return Revise(plan, verdict.reason)
        if isinstance(verdict, (Accept, Reject, Escalate)):
            if (size := len(json.dumps(write_verdict(verdict)))) > LARGEST_VALUE:
                raise PipelineError(
                    f"the critic's verdict holds {size:,} bytes, at most {LARGEST_VALUE:,} fit: write the whole of it"
                    " to the board, and decide with what a person reads"
                )
            return verdict
        raise PipelineError(
            f"the critic returned {str(verdict)[:60]!r}: return Accept(…), Reject(…), Revise(…) or Escalate(…)"
        )

    def _plan(self, round: int) -> tuple[Task, ...]:
        """The tasks of a round: the planner's, or those that the verdict before asked for."""
        if len(self._plans) < round:
            if round == 1:
                plan = read_plan(self._written[plan_field(1)], 1)
            else:
                verdict = cast(Revise, self.verdict)
                plan = tuple(cast(Sequence[Task], verdict.tasks))
            self._plans.append(plan)
        return self._plans[round - 1]

    def _latest(self) -> dict[str, Outcome]:
        return {outcome.task.id: outcome for outcomes in self._outcomes for outcome in outcomes}

    def _retried(self, step: Step, attempt: int, why: Exhausted) -> None:
        name = step.work.id if step.work else ""
        self.tell("retried", round=step.round, task=name, agent=step.agent, attempt=attempt, text=why.told)

    def _timeout(self, task: Task | None) -> float:
        own = task.timeout if task is not None else None
        return seconds(own or self.pipeline.timeout or self.services.settings.task_timeout)


def _copy(task: Task, attempt: int) -> Task:
    """A task for one attempt, which may do with it as it likes."""
    needed = {name: to_json(value, name) for name, value in task.needed.items()}
    return replace(task, input=to_json(task.input, task.id), needed=needed, attempt=attempt)


def _turn(verdict: Verdict) -> Turn:
    """Where a verdict leads."""
    match verdict:
        case Accept():
            return "accept"
        case Reject():
            return "reject"
        case Revise():
            return "revise"
        case Escalate():
            return "escalate"
