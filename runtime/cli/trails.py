"""`trail`: who did what in an execution and why, in order, from the audit ledger.

A line says what an entry is about and begins what was said: the question, the answer, the decision and its reasons, the
text of a memory, the error. JSON has it whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...memory_layers.execution.ledger import Recorded
from ...memory_layers.records import Json
from ..output import emit, listing, short, show
from .frame import Frame

SAID, WHY = 160, 600
"""How many characters a line shows of what was said, and of a question, an answer or a decision with its reasons."""


async def trail(frame: Frame, execution: str, *, json: bool) -> int:
    """The verb."""
    async with frame.open() as runtime:
        entries = await runtime.trail(execution)
    if json:
        emit({"execution": execution, "trail": entries})
        return 0
    days = {f"{entry.occurred_at:%Y-%m-%d}" for entry in entries}
    when, shown = (f"{min(days)} UTC", "%H:%M:%S") if len(days) == 1 else ("when (UTC)", "%Y-%m-%d %H:%M:%S")
    rows = [
        (entry.number, f"{entry.occurred_at:{shown}}", entry.agent, entry.action, entry.outcome, line_of(entry))
        for entry in entries
    ]
    show(listing("", when, "who", "did", "outcome", "what", rows=rows))
    return 0


def line_of(entry: Recorded) -> str:
    """What an entry is about, and the beginning of what was said, where it may still be read."""
    about, given = " ".join(_about(entry)), _said(entry)
    most = WHY if _is_decision(entry) or entry.action.startswith("execution.") else SAID
    said = "" if given is None else short(given, most)
    line = f"{about}: {said}" if about and said else about or said
    return line if entry.memory is None else f"{line} (memory {entry.memory})"


def _about(entry: Recorded) -> Iterator[str]:
    """An effect, a field and its versions, or a kind of memory."""
    if "effect" in entry.basis:
        yield str(entry.basis["effect"])
    if entry.field is not None:
        yield entry.field
    if entry.version_after is not None:
        yield f"{entry.version_before or 0} → {entry.version_after}"
    if "kind" in entry.basis:
        yield str(entry.basis["kind"])


def _said(entry: Recorded) -> Json:
    """What was said, in one value; None when there was nothing, or it can no longer be read."""
    match entry.payload:
        case {"question": {"question": question}} | {"question": question}:
            return question
        case {"answer": {"verdict": verdict}} | {"answer": {"value": verdict}}:
            return _verdict(verdict)
        case {"result": ended} if entry.action == "execution.end":
            return _verdict(ended)
        case {"value": {"question": str(question), "outcome": outcome, "reasons": reasons}} if _is_decision(entry):
            return _because(f"{short(question, 50)}: {short(outcome)}", reasons)
        case {"text": said} | {"value": said} | {"reason": said} | {"error": said} | {"result": said} | {"goal": said}:
            return said
        case _:
            return None


def _is_decision(entry: Recorded) -> bool:
    return entry.basis.get("kind") == "decision"


def _verdict(given: Json) -> Json:
    """A verdict, or what came of a run, as one line; any other value as it is."""
    match given:
        case {"error": error}:
            return error
        case {"verdict": "revise", "tasks": tasks, "reason": reason}:
            return f"revise {short(tasks)}: {reason}"
        case {"decision": decision, "reasons": reasons}:
            word = f"{given['verdict']}: " if "verdict" in given else ""
            return _because(f"{word}{short(decision)}", reasons)
        case _:
            return given


def _because(what: str, reasons: Json) -> str:
    given = [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    return f"{what}, because {'; '.join(given)}" if given else what
