"""`trail`: who did what in an execution, in order, from the audit ledger."""

from __future__ import annotations

from ..output import emit, show
from .frame import Frame
from .runs import identified


async def trail(frame: Frame, execution: str, *, json: bool) -> int:
    """The verb."""
    async with frame.open() as runtime:
        lines = await runtime.trail(identified(execution))
    if json:
        emit({"execution": execution, "trail": lines})
    else:
        show(*map(str, lines))
    return 0
