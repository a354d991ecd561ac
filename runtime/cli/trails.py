"""`trail`: who did what in an execution, in order, from the audit ledger."""

from __future__ import annotations

from ...memory_layers.execution.ledger import Recorded
from ..output import emit, short, show, table
from .frame import Frame


async def trail(frame: Frame, execution: str, *, json: bool) -> int:
    """The verb."""
    async with frame.open() as runtime:
        entries = await runtime.trail(execution)
    if json:
        emit({"execution": execution, "trail": entries})
        return 0
    rows = [
        (
            entry.number,
            f"{entry.occurred_at:%Y-%m-%d %H:%M:%S}",
            entry.agent,
            entry.action,
            entry.outcome,
            _about(entry),
        )
        for entry in entries
    ]
    show(table("", "when (UTC)", "who", "did", "outcome", "what", rows=rows))
    return 0


def _about(entry: Recorded) -> str:
    """What an entry is about: a field and its versions, or a memory; and its content where that may be read."""
    what = entry.field or ""
    if entry.version_after is not None:
        what += f" {entry.version_before or 0} → {entry.version_after}"
    if entry.memory is not None:
        what += f" memory {entry.memory}"
    said = short(next(iter(entry.payload.values())), 120) if entry.payload and len(entry.payload) == 1 else ""
    return f"{what.strip()}: {said}" if said else what.strip()
