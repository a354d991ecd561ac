"""An execution from its first row to its end: run, interrupted, resumed, waiting, ended.

    ``run``      a row in Postgres → the claim of the run → the graph → the end, or a question
    ``resume``   the same from the start again, with what the board has: nothing finished is done again
    ``look``     what is known of it now

What the run decided is returned: accepted, rejected, waiting with its question. What went wrong is raised. A planner
or critic that fails in all its attempts, and a plan that cannot be run, end the execution as failed, and it can be
resumed: what the workers found is kept, and what failed in the round that was not judged runs again. When a server is
gone, or the process is told to stop, nothing is recorded, because nothing was decided: the execution stays as it is
until somebody resumes it.

The board outlives the execution by a day. What is looked up later has its decision and no outcomes; those are in the
ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast
from uuid import UUID

from ..agents.contract import Accept, Escalate, Outcomes, Reject, Revise, placed
from ..agents.live import Answer, Asked, Live
from ..agents.ownership import Heartbeat, Held, take_run
from ..agents.pipeline import Pipeline
from ..agents.plan import check_plan, to_json
from ..agents.progress import Listener, Teller
from ..agents.services import Services
from ..agents.whereabouts import whereabouts
from ..agents.written import outcomes_in, plans_in, read_verdict, write_verdict
from ..infra.errors import BadInput, ExecutionBusy, LousaError, PipelineError, RunFailed, ServerUnavailable, Stale
from ..infra.identity import PERSON, Principal
from ..infra.ids import new_id
from ..infra.tasks import end
from ..infra.telemetry import span
from ..infra.text import fit
from ..memory_layers.conversation.board import Board, Version
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.conversation.watch import Watch
from ..memory_layers.execution.executions import Execution
from ..memory_layers.records import Json

Status = Literal["running", "waiting", "accepted", "rejected", "failed"]
UNANSWERED: Final = object()
"""No answer was given; None is one."""


class BoardView:
    """A board that can only be read. It can be while the runtime is open, for a day after the execution's end."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def read(self, field: str) -> Json:
        """The value of `field`, None when there is none."""
        return await self._board.read(field)

    async def read_versioned(self, field: str) -> tuple[Json, Version]:
        """The value of `field` and its version."""
        return await self._board.read_versioned(field)

    async def read_all(self, pattern: str = "*") -> dict[str, Json]:
        """The fields that `pattern` means, with their values."""
        return await self._board.read_all(pattern)

    def watch(self, since: str | None = None, fields: str = "*") -> Watch:
        """The changes of `fields` after the cursor `since`, or from now on."""
        return self._board.watch(since, fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of an execution. `outcomes` has the newest outcome of every task; `error` says why it failed."""

    execution: UUID
    status: Status
    decision: Json = None
    reasons: Sequence[str] = ()
    evidence: Sequence[Json] = ()
    outcomes: Outcomes = field(default_factory=Outcomes)
    question: Escalate | None = None
    rounds: int = 0
    error: str = ""
    board: BoardView = field(repr=False)


async def run(
    services: Services,
    pipeline: Pipeline,
    principal: Principal,
    goal: object,
    *,
    source: str | None = None,
    progress: Listener | None = None,
) -> Result:
    """Run a pipeline towards a goal, in an execution of its own in the principal's session.

    Raises:
        PipelineError: the plan, or what the critic returned, cannot be run; the execution has failed.
        RunFailed: the planner or the critic failed in all its attempts; the execution has failed.
        ServerUnavailable: a server is gone; the execution can be resumed.
    """
    aim = to_json(goal, "the goal")
    execution = new_id()
    who = replace(principal, execution=execution)
    await services.executions.begin(who, pipeline.name, aim, execution=execution, source=source)
    tell = Teller(execution, progress)
    tell("began", text=pipeline.name)
    with _naming(execution):
        return await _drive(services, pipeline, who, aim, tell)


async def resume(
    services: Services,
    pipeline: Pipeline,
    principal: Principal,
    execution: UUID,
    *,
    answer: object = UNANSWERED,
    progress: Listener | None = None,
) -> Result:
    """Go on with an execution that was interrupted, waits for `answer`, or has failed.

    An answer is stored once: the same one again changes nothing, another is refused. One that has ended, and one that
    waits and is given no answer, is returned as it is.

    Raises:
        BadInput: it waits for no answer, or this one cannot be used; or it is another pipeline's.
        ExecutionBusy: a living process runs it.
        NotFound: there is no such execution.
    """
    row = await services.executions.get(principal, execution)
    who = replace(principal, execution=execution, session=row.session)
    if row.pipeline != pipeline.name:
        raise PipelineError(f"execution {execution} is one of pipeline {row.pipeline!r}, not of {pipeline.name!r}")
    if answer is not UNANSWERED:
        said = await _checked(_board(services, who), pipeline, answer, row)
        if not (row.ended and row.answer == said):
            row = await services.executions.answer(replace(who, agent=PERSON), execution, said)
    if row.status in ("accepted", "rejected", "waiting"):
        return await look(services, who, execution)
    if row.status == "failed":
        await services.executions.reopen(who, execution)
    # Always: whoever reopened the row may have died before this.
    await services.feed.reopen(who.tenant, execution, row.audited_through)
    with _naming(execution):
        return await _drive(services, pipeline, who, row.goal, Teller(execution, progress), again=True)


async def look(services: Services, principal: Principal, execution: UUID) -> Result:
    """What is known of an execution now.

    Raises:
        NotFound: there is no such execution.
    """
    row = await services.executions.get(principal, execution)
    who = replace(principal, execution=execution, session=row.session)
    written = await _board(services, who).read_all("lousa/*")
    plans = plans_in(written)
    latest = {name: outcome for plan in plans for name, outcome in outcomes_in(written, plan).items()}
    kept = cast(dict[str, Json], row.result or {})
    return Result(
        execution=execution,
        status=row.status,
        decision=kept.get("decision"),
        reasons=cast(list[str], kept.get("reasons", [])),
        evidence=cast(list[Json], kept.get("evidence", [])),
        outcomes=Outcomes(latest.values()),
        question=_read_question(row.question) if row.status == "waiting" else None,
        rounds=cast(int, kept.get("rounds", len(plans))),
        error=cast(str, kept.get("error", "")),
        board=BoardView(_board(services, who)),
    )


async def _drive(
    services: Services,
    pipeline: Pipeline,
    principal: Principal,
    goal: Json,
    tell: Teller,
    *,
    again: bool = False,
) -> Result:
    """Claim the run, go through the graph, and record how it ended."""
    execution = cast(UUID, principal.execution)
    async with _claimed(services, principal, new=not again) as (heartbeat, run):
        row = await services.executions.get(principal, execution) if again else None
        if row is not None and row.status != "running":  # whoever ran it was faster
            return await look(services, principal, execution)
        board = _board(services, principal, reserved=True)
        written = await board.read_all("lousa/*") if again else None
        if again:
            tell("resumed", text=pipeline.name)
        live = Live(
            services=services,
            pipeline=pipeline,
            principal=principal,
            goal=goal,
            run=run,
            heartbeat=heartbeat,
            tell=tell,
            written=written,
            versions=board.seen,
            answer=_answer(row),
        )
        try:
            with span("invoke_workflow", {"gen_ai.agent.name": pipeline.name, "lousa.execution": str(execution)}):
                return await _until_lost(_whole(services, pipeline, live), run.lost, execution)
        except (ServerUnavailable, ExecutionBusy):
            raise  # nothing was decided
        except (PipelineError, RunFailed) as error:
            await _fail(services, live, error)
            error.__notes__ = []  # like the frames, the graph's: they say nothing; the cause keeps its own
            raise error.with_traceback(None) from error.__cause__
        except Exception as error:
            what = placed(f"{type(error).__name__}: {error}", whereabouts(error))
            failed = RunFailed(
                f"a node of the graph failed with {what}; what was done is kept: resume execution {execution} when it"
                " is mended",
                execution=execution,
            )
            await _fail(services, live, failed)
            raise failed from error


@contextmanager
def _naming(execution: UUID) -> Generator[None]:
    """Whatever ends the run early says which execution it was, an interruption too."""
    try:
        yield
    except BaseException as error:
        if str(execution) not in str(error):
            on = "" if isinstance(error, BadInput) else f"; `runtime.resume({str(execution)!r}, pipeline)` goes on"
            error.add_note(f"this was execution {execution}{on}")
        raise


@asynccontextmanager
async def _claimed(services: Services, principal: Principal, *, new: bool) -> AsyncGenerator[tuple[Heartbeat, Held]]:
    """The execution, claimed for this process and kept."""
    lease = services.settings.lease.total_seconds()
    claim = await take_run(_board(services, principal, reserved=True), services.life, lease, new=new)
    heartbeat = Heartbeat(lease)
    run = heartbeat.keep(claim)
    beating = asyncio.create_task(heartbeat.beat(), name=f"heartbeat of {principal.execution}")
    try:
        yield heartbeat, run
    finally:
        beating.cancel()
        if run in heartbeat.held:
            await asyncio.shield(run.let_go())


async def _through(pipeline: Pipeline, live: Live) -> None:
    """The graph, from its start."""
    steps = 50 + 10 * pipeline.max_rounds  # a round is three nodes; the rest is for those that a user adds
    await pipeline.compiled().ainvoke(  # pyright: ignore[reportUnknownMemberType]  # LangGraph leaves a part open
        {"execution": str(live.execution), "round": 0, "verdict": "escalate"},
        {"recursion_limit": steps, "run_name": pipeline.name, "callbacks": [*pipeline.callbacks]},
        context=live,
    )
    if live.verdict is None:
        raise PipelineError("the graph came to its end without a verdict: keep the nodes plan, work and critique in it")


async def _whole(services: Services, pipeline: Pipeline, live: Live) -> Result:
    """The graph and the end."""
    await _through(pipeline, live)
    return await _end(services, live)


async def _until_lost(going: Coroutine[None, None, Result], lost: asyncio.Future[None], execution: UUID) -> Result:
    """Let it go on as long as the run is this process's own.

    Raises:
        ExecutionBusy: another process has taken the run over.
    """
    task = asyncio.create_task(going, name=f"execution {execution}")
    try:
        await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    except Stale as error:
        raise _overtaken(execution) from error
    finally:
        await end(task)
    raise _overtaken(execution)


async def _end(services: Services, live: Live) -> Result:
    """Record how the run ended, or what it waits for."""
    verdict = live.verdict
    if isinstance(verdict, Escalate) and live.asked is not None:
        await services.executions.wait(live.principal, live.execution, _write_question(live.asked))
        live.tell("waiting", round=live.asked.round, text=verdict.question)
        return _result(services, live, "waiting", question=verdict)
    ended = cast(Accept | Reject, verdict)
    status = "accepted" if isinstance(ended, Accept) else "rejected"
    written = write_verdict(ended)
    kept: dict[str, Json] = {name: written[name] for name in ("decision", "reasons", "evidence")}
    await live.end(status, {**kept, "rounds": live.rounds})
    live.run.forget()  # nobody takes up what has ended: the claim may lapse
    live.tell("ended", round=live.rounds, text=status)
    return _result(services, live, status, kept)


async def _fail(services: Services, live: Live, error: LousaError) -> None:
    """Record that the run failed, unless somebody else runs it now."""
    words = fit(f"{type(error).__name__}: {error}")
    with contextlib.suppress(Stale):
        await live.run.claim.renew()
        await live.failed(words)
        await services.executions.finish(
            live.principal, live.execution, "failed", {"error": words, "rounds": live.rounds}
        )
        live.tell("ended", round=live.rounds, text="failed")


def _result(
    services: Services,
    live: Live,
    status: Status,
    kept: Mapping[str, Json] | None = None,
    question: Escalate | None = None,
) -> Result:
    parts = kept or {}
    return Result(
        execution=live.execution,
        status=status,
        decision=parts.get("decision"),
        reasons=cast(list[str], parts.get("reasons", [])),
        evidence=cast(list[Json], parts.get("evidence", [])),
        outcomes=live.outcomes.latest,
        question=question,
        rounds=live.rounds,
        board=BoardView(_board(services, live.principal)),
    )


async def _checked(board: Board, pipeline: Pipeline, answer: object, row: Execution) -> Json:
    """An answer that can be stored, because what follows from it can be run.

    Raises:
        BadInput: it cannot.
    """
    if row.question is None:
        raise BadInput(f"execution {row.id} is {row.status!r} and has asked nothing: resume it without an answer")
    if isinstance(answer, Escalate):
        raise BadInput("a question is no answer: give Accept(…), Reject(…), Revise(…) or a value")
    if isinstance(answer, Revise):
        plans = plans_in(await board.read_all("lousa/*"))
        known = {task.id: task for plan in plans for task in plan}
        round = cast(int, cast(dict[str, Json], row.question)["round"]) + 1
        tasks = check_plan(answer.tasks, pipeline.workers, by="the answer", round=round, known=known)
        answer = Revise(tasks, answer.reason)
    if isinstance(answer, (Accept, Reject, Revise)):
        return {"verdict": write_verdict(answer)}
    return {"value": to_json(answer, "the answer")}


def _answer(row: Execution | None) -> Answer | None:
    """What a person said to the last question, if they did."""
    if row is None or row.answer is None:
        return None
    asked, said = cast(dict[str, Json], row.question), cast(dict[str, Json], row.answer)
    round, number = cast(int, asked["round"]), cast(int, asked["number"])
    value = read_verdict(said["verdict"], round) if "verdict" in said else said["value"]
    return Answer(round=round, number=number, said=value)


def _write_question(asked: Asked) -> Json:
    return {**write_verdict(asked.question), "round": asked.round, "number": asked.number}


def _read_question(written: Json) -> Escalate:
    return cast(Escalate, read_verdict(written, 0))


def _board(services: Services, principal: Principal, *, reserved: bool = False) -> Board:
    return Board(
        services.connections,
        principal,
        feed=services.feed,
        artifacts=services.artifacts,
        operations=Operations(principal.execution),
        clock=services.clock,
        reserved=reserved,
    )


def _overtaken(execution: UUID) -> ExecutionBusy:
    return ExecutionBusy(f"another process has taken execution {execution} over: this one stops, that one goes on")
