"""How a run is written on its board: plans, outcomes, verdicts, as JSON, under fields that only the runtime may write.

    ``lousa/plan/<round>``            the round's tasks
    ``lousa/outcome/<round>/<task>``  the task's one outcome
    ``lousa/verdict/<round>``         what the critic said
    ``lousa/resolved/<round>/<n>``    what came of a person's answer to it
    ``lousa/failed/<n>``              why the run itself failed, from 0; written before the execution ends as failed

An outcome also says which fields its task ``wrote``, and at which versions it knows them.

A run that starts again reads these and does only what is not there. They are the whole state of a run: the graph's own
state carries ids.

A run that had failed does a little more again: in a round without a verdict, what failed or was skipped before the run
failed does not stand (`standing_in`). Such an outcome says ``after`` how many failures of the run it came, so nothing
has to be cleared, and a crash in the middle leaves both kinds told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ..memory_layers.records import Json
from .contract import Accept, Escalate, Evidence, Failure, Finding, Outcome, Reject, Revise, Skipped, Task, Verdict
from .plan import seconds, to_json


def plan_field(round: int) -> str:
    """Where the plan of a round lies."""
    return f"lousa/plan/{round}"


def outcome_field(round: int, task: str) -> str:
    """Where the outcome of a task lies."""
    return f"lousa/outcome/{round}/{task}"


def verdict_field(round: int) -> str:
    """Where the critic's verdict on a round lies."""
    return f"lousa/verdict/{round}"


def resolved_field(round: int, number: int) -> str:
    """Where the verdict lies that came of the answer to the `number`-th question about a round, from 0."""
    return f"lousa/resolved/{round}/{number}"


def failed_field(number: int) -> str:
    """Where the `number`-th failure of the run lies, from 0."""
    return f"lousa/failed/{number}"


def write_task(task: Task) -> dict[str, Json]:
    """A checked task; what is filled in when it starts is left out."""
    return {
        "worker": task.worker,
        "id": task.id,
        "input": task.input,
        "needs": list(task.need_ids),
        "retries": task.retries,
        "timeout": None if task.timeout is None else seconds(task.timeout),
    }


def read_task(written: Json, round: int) -> Task:
    """The task as it was planned."""
    parts = cast(dict[str, Json], written)
    return Task(
        cast(str, parts["worker"]),
        parts["input"],
        id=cast(str, parts["id"]),
        needs=tuple(cast(list[str], parts["needs"])),
        retries=cast("int | None", parts["retries"]),
        timeout=cast("float | None", parts["timeout"]),
        round=round,
    )


def write_plan(plan: Sequence[Task]) -> Json:
    """A round's tasks."""
    return [write_task(task) for task in plan]


def read_plan(written: Json, round: int) -> tuple[Task, ...]:
    """A round's tasks."""
    return tuple(read_task(task, round) for task in cast(list[Json], written))


def write_outcome(outcome: Outcome, after: int = 0) -> dict[str, Json]:
    """An outcome, `after` so many failures of the run; its task is named by the field it is written to."""
    late: dict[str, Json] = {"after": after} if after else {}
    match outcome:
        case Finding():
            evidence = _evidence(outcome.evidence, f"the finding of task {outcome.task.id!r}")
            value = to_json(outcome.value, f"the finding of task {outcome.task.id!r}")
            return {"outcome": "found", "value": value, "evidence": evidence, "attempts": outcome.attempts}
        case Failure():
            failed = {"error": outcome.error, "where": outcome.where, "attempts": outcome.attempts}
            return {"outcome": "failed", **failed, **late}
        case Skipped():
            return {"outcome": "skipped", "because": outcome.because, **late}


def read_outcome(written: Json, task: Task) -> Outcome:
    """The outcome of `task`."""
    parts = cast(dict[str, Json], written)
    match parts["outcome"]:
        case "found":
            evidence = cast(list[Json], parts["evidence"])
            return Finding(parts["value"], evidence, task=task, attempts=cast(int, parts["attempts"]))
        case "failed":
            where = cast(str, parts.get("where", ""))
            return Failure(task, cast(str, parts["error"]), cast(int, parts["attempts"]), where)
        case _:
            return Skipped(task, cast(str, parts["because"]))


def write_verdict(verdict: Verdict) -> dict[str, Json]:
    """A verdict. A `Revise` must have been checked: its tasks are complete."""
    match verdict:
        case Accept() | Reject():
            return {
                "verdict": "accept" if isinstance(verdict, Accept) else "reject",
                "decision": to_json(verdict.decision, "the decision"),
                "reasons": [_in_words(reason, "a reason of the verdict") for reason in _each(verdict.reasons)],
                "evidence": _evidence(verdict.evidence, "the verdict"),
            }
        case Revise():
            tasks: list[Json] = [task if isinstance(task, str) else write_task(task) for task in verdict.tasks]
            return {"verdict": "revise", "tasks": tasks, "reason": to_json(verdict.reason, "the reason")}
        case Escalate():
            return {
                "verdict": "escalate",
                "question": to_json(verdict.question, "the question"),
                "evidence": _evidence(verdict.evidence, "the question"),
                "options": to_json(_each(verdict.options), "the options"),
            }


def read_verdict(written: Json, round: int) -> Verdict:
    """The verdict on `round`; the tasks of a `Revise` belong to the next."""
    parts = cast(dict[str, Json], written)
    match parts["verdict"]:
        case "accept" | "reject" as word:
            ending = Accept if word == "accept" else Reject
            reasons, evidence = cast(list[str], parts["reasons"]), cast(list[Json], parts["evidence"])
            return ending(parts["decision"], reasons, evidence)
        case "revise":
            tasks = [task if isinstance(task, str) else read_task(task, round + 1) for task in _list(parts["tasks"])]
            return Revise(tasks, cast(str, parts["reason"]))
        case _:
            return Escalate(cast(str, parts["question"]), _list(parts["evidence"]), _list(parts["options"]))


def _list(written: Json) -> list[Json]:
    return cast(list[Json], written)


def _evidence(evidence: Sequence[Evidence], of: str) -> list[Json]:
    return [to_json(item, f"the evidence of {of}") for item in _each(evidence)]


def _in_words(said: object, what: str) -> Json:
    """Something said, as text that can be kept."""
    return to_json(str(to_json(said, what) if isinstance(said, int) else said), what)


def _each(given: object) -> list[object]:
    """The items of a list, or the one that was given without a list around it: a text is not its letters."""
    return [*given] if isinstance(given, (list, tuple, set, frozenset)) else [given]  # pyright: ignore[reportUnknownVariableType]


def outcomes_in(fields: Mapping[str, Json], plan: Sequence[Task]) -> dict[str, Outcome]:
    """The outcomes that a board already has of a plan's tasks, by id."""
    written = {task.id: (task, fields.get(outcome_field(task.round, task.id))) for task in plan}
    return {name: read_outcome(value, task) for name, (task, value) in written.items() if value is not None}


def failures_in(fields: Mapping[str, Json]) -> int:
    """How often the run has failed."""
    number = 0
    while failed_field(number) in fields:
        number += 1
    return number


def standing_in(fields: Mapping[str, Json], plan: Sequence[Task]) -> dict[str, Outcome]:
    """The outcomes that a run which goes on with this plan keeps: what was found, what came after the run last failed,
    and all of a round that was judged.
    """
    now = failures_in(fields)

    def stands(outcome: Outcome) -> bool:
        task = outcome.task
        written = cast(dict[str, Json], fields[outcome_field(task.round, task.id)])
        return outcome.ok or verdict_field(task.round) in fields or written.get("after", 0) == now

    return {name: outcome for name, outcome in outcomes_in(fields, plan).items() if stands(outcome)}


def verdict_in(fields: Mapping[str, Json], round: int) -> Verdict | None:
    """The verdict on a round, as the last answer to it left it; None while there is none."""
    written = fields.get(verdict_field(round))
    number = 0
    while (resolved := fields.get(resolved_field(round, number))) is not None:
        written = resolved
        number += 1
    return None if written is None else read_verdict(written, round)


def plans_in(fields: Mapping[str, Json]) -> list[tuple[Task, ...]]:
    """The plans of the rounds that were begun."""
    if plan_field(1) not in fields:
        return []
    plans = [read_plan(fields[plan_field(1)], 1)]
    while isinstance(verdict := verdict_in(fields, len(plans)), Revise):
        plan = tuple(task for task in verdict.tasks if isinstance(task, Task))
        if not outcomes_in(fields, plan):
            break
        plans.append(plan)
    return plans
