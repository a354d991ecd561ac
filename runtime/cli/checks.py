"""`doctor`: what was found, as lines or as JSON. A runtime that does not even open is the first finding."""

from __future__ import annotations

from ...infra.errors import LousaError
from ...memory_layers.pressure import Marks
from ..check import Check
from ..doctor import examine, in_force
from ..doctor_stores import store_checks
from ..output import emit, show, table
from ..owed import Debts, findings, look
from .frame import UNWELL, Frame

SIGNS = {"ok": "✓", "note": "·", "wrong": "✗"}


async def doctor(frame: Frame, *, json: bool) -> int:
    """The verb."""
    settings = frame.settings()
    given = {name for name, value in (("home", frame.home), ("tenant", frame.tenant)) if value is not None}
    lines = in_force(settings, frozenset(given))
    checks: list[Check] = []
    debts: Debts | None = None
    try:
        async with frame.open() as runtime:
            checks += [check async for check in examine(settings, runtime.services.connections)]
            checks += [check async for check in store_checks(runtime.services)]
            debts = await look(runtime.services.connections)
            checks += findings(debts, Marks.of(settings))
    except LousaError as error:
        checks.append(Check(what="open", state="wrong", said=str(error)))
    wrong = sum(check.state == "wrong" for check in checks)
    if json:
        emit({"well": not wrong, "settings": lines, "checks": checks, "debts": debts})
    else:
        show(
            table("setting", "value", "from", rows=[(line.variable, line.value, line.origin) for line in lines]),
            "",
            table("", "", "", rows=[(SIGNS[check.state], check.what, check.said) for check in checks]),
            "",
            "all is well" if not wrong else f"{wrong} wrong",
        )
    return UNWELL if wrong else 0
