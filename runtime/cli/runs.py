"""`run` and `resume`: a pipeline's work shown while it happens, then what came of it.

The exit code says how the run stands: accepted 0, rejected 10, failed 1, waiting for a person 3.
"""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import Any, Literal, cast

from ...agents.contract import Accept, Failure, Outcome, Reject, Revise, Skipped
from ...agents.progress import Listener, Progress
from ...infra.errors import BadInput
from ...memory_layers.records import Json
from ..execution import Result
from ..load import Loaded, load
from ..output import emit, short, show
from ..progress import shown
from .frame import FAILED, REJECTED, WAITING, Frame

Verdict = Literal["accept", "reject", "revise"]

MOST_REASONS = 20
"""How many reasons of a verdict a person is shown."""

CODES = {"accepted": 0, "rejected": REJECTED, "waiting": WAITING}


async def run(frame: Frame, path: Path, arguments: list[str], *, goal: str | None, session: str, json: bool) -> int:
    """The verb."""
    loaded = load(path)
    wanted = _goal(loaded, arguments, goal)
    async with frame.open() as runtime:
        with shown(remembering(frame)) as listener:
            result = await runtime.run(
                loaded.pipeline, wanted, session=session, source=str(loaded.path), progress=listener
            )
        return await finish(frame, loaded, result, json=json)


async def resume(frame: Frame, execution: str, *, answer: str | None, verdict: Verdict | None, json: bool) -> int:
    """The verb."""
    given = _answer(answer, verdict)
    async with frame.open() as runtime:
        record = await runtime.execution(execution)
        if record.source is None:
            raise BadInput(f"execution {record.id} was run by a program: resume it there, runtime.resume(id, pipeline)")
        loaded = load(record.source)
        with shown(remembering(frame)) as listener:
            result = await runtime.resume(record.id, loaded.pipeline, progress=listener, **given)
        return await finish(frame, loaded, result, json=json)


async def finish(frame: Frame, loaded: Loaded, result: Result, *, json: bool) -> int:
    """Show what came of a run; its exit code."""
    frame.on_interrupt.clear()
    told = result.status in ("accepted", "rejected") and len(result.outcomes) > 0  # a board is kept for a day
    report = await loaded.report(result) if loaded.report and told else None
    if json:
        emit(plainly(result) if report is None else report)
    elif report is not None and loaded.render:
        show(loaded.render(report), "", *concluded(result))
    else:
        show(*in_lines(result))
    if not json:
        show("", *_what_next(frame, result))
    return CODES.get(result.status, FAILED)


def plainly(result: Result) -> dict[str, object]:
    """A result as one object, for pipelines that make no report of their own."""
    return {
        "execution": result.execution,
        "status": result.status,
        "decision": result.decision,
        "reasons": result.reasons,
        "evidence": result.evidence,
        "question": result.question,
        "rounds": result.rounds,
        "outcomes": [_outcome(outcome) for outcome in result.outcomes],
    }


def _outcome(outcome: Outcome) -> dict[str, object]:
    task = {"task": outcome.task.id, "worker": outcome.task.worker, "round": outcome.task.round}
    match outcome:
        case Failure(error=error, where=where, attempts=attempts):
            return {**task, "outcome": "failed", "error": error, "where": where, "attempts": attempts}
        case Skipped(because=because):
            return {**task, "outcome": "skipped", "because": because}
        case found:
            said = {"value": found.value, "evidence": found.evidence, "attempts": found.attempts}
            return {**task, "outcome": "found", **said}


def concluded(result: Result) -> list[str]:
    """The verdict and its reasons, for people."""
    lines = [f"{result.status}: {short(result.decision, 2_000)}" if result.decision is not None else result.status]
    lines += [f"  - {short(reason, 500)}" for reason in result.reasons[:MOST_REASONS]]
    if len(result.reasons) > MOST_REASONS:
        lines.append(f"  … and {len(result.reasons) - MOST_REASONS} more reasons; the trail has them all, with --json")
    return lines


def in_lines(result: Result) -> list[str]:
    """A result for people: the verdict, and what had no success."""
    lines = concluded(result)
    for outcome in result.outcomes:
        match outcome:
            case Failure(task=task, told=told, attempts=attempts):
                lines.append(f"  {task.id} failed after {attempts} attempts: {told}")
            case Skipped(task=task, because=because):
                lines.append(f"  {task.id} was skipped, because {because} did not succeed")
            case _:
                pass
    return lines


def _what_next(frame: Frame, result: Result) -> list[str]:
    if result.status == "waiting" and result.question is not None:
        asked = result.question
        options = [f"  option: {short(option)}" for option in asked.options]
        evidence = [f"  evidence: {short(piece)}" for piece in asked.evidence]
        return [
            f"question: {asked.question}",
            *evidence,
            *options,
            f"answer it: {frame.command('resume', str(result.execution))} --answer '…'",
        ]
    return [f"who did what: {frame.command('trail', str(result.execution))}"]


def remembering(frame: Frame) -> Listener:
    """A listener that keeps how to go on, for when the run is interrupted."""

    def heard(news: Progress) -> None:
        way = frame.command("resume", str(news.execution))
        frame.on_interrupt[:] = [f"execution {news.execution} can go on: {way}"]

    return heard


def read_json(text: str) -> Json:
    """JSON if it can be read as such, else the text itself."""
    try:
        return cast(Json, jsons.loads(text))
    except ValueError:
        return text


def _goal(loaded: Loaded, arguments: list[str], goal: str | None) -> Json:
    if goal is None:
        return loaded.goal(arguments)
    if arguments:
        raise BadInput("give either --goal or arguments, not both: arguments are made into a goal")
    text, where = goal, "--goal"
    if goal.startswith("@"):
        where = goal[1:]
        try:
            text = Path(where).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"the goal cannot be read from {where!r}: {error}") from error
    try:
        return cast(Json, jsons.loads(text))
    except ValueError as error:
        raise BadInput(
            f"{where} is no JSON ({error}): text needs quotes of its own, as in --goal '\"text\"'"
        ) from error


def _answer(answer: str | None, verdict: Verdict | None) -> dict[str, Any]:
    """What `Runtime.resume` is given."""
    said = None if answer is None else read_json(answer)
    match verdict:
        case None:
            return {} if answer is None else {"answer": said}
        case "accept":
            return {"answer": Accept(said)}
        case "reject":
            return {"answer": Reject(said)}
        case "revise":
            tasks = [said] if isinstance(said, str) else said
            if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks) or not tasks:
                raise BadInput("--verdict revise needs the tasks to run again: --answer '[\"count-1\"]'")
            return {"answer": Revise(cast("list[str]", tasks), "a person asked for it")}
