"""`demo`: four agreements, ten readers at once, on two days.

The second day is another `open()` with another session and a clock that is a day ahead: in between everything was
closed, so whatever it knows was remembered. It happens under a tenant of its own, new each time, in the ordinary home;
so the demo can be repeated, and what it did can be looked at afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast
from uuid import uuid4

from ...infra.clock import Clock, SystemClock
from ...infra.errors import NotFound
from ...memory_layers.records import Json
from ..load import Loaded, load
from ..output import emit, show
from ..progress import shown
from .frame import FAILED, Frame, from_here, say
from .runs import CODES, concluded, in_lines, remembering

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "contract_review"


class Ahead:
    """The machine's clock, some time ahead. Satisfies `Clock`."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return SystemClock().now() + self._by


async def demo(frame: Frame, *, json: bool) -> int:
    """The verb."""
    frame = replace(frame, tenant=frame.tenant or f"demo-{uuid4().hex[:6]}")
    loaded = load(EXAMPLE)
    agreements = sorted(str(path) for path in (EXAMPLE / "agreements").glob("*.*"))
    if not agreements:
        raise NotFound(f"the agreements are not in {str(EXAMPLE)!r}: install Lousa again")
    say(f"{len(agreements)} agreements, ten readers at once, one board.", *_where(frame), "", "The first day")
    code, first, verdict = await _day(frame, loaded, agreements, session="first day", clock=SystemClock())
    if code:
        return code
    if not json and loaded.render:
        show(loaded.render(first), "", *verdict)
    say("", "The next day: everything was closed in between, the same agreements come again")
    code, second, verdict = await _day(frame, loaded, agreements, session="next day", clock=Ahead(timedelta(days=1)))
    if code:
        return code
    if json:
        emit({"tenant": frame.tenant, "days": [first, second]})
    else:
        show(verdict[0], _recalled(second), "", *_what_next(frame, first))
    return code


async def _day(
    frame: Frame, loaded: Loaded, agreements: list[str], *, session: str, clock: Clock
) -> tuple[int, dict[str, Json], list[str]]:
    """One review: its exit code, its report, and its verdict in lines."""
    async with frame.open(clock=clock) as runtime:
        with shown(remembering(frame)) as listener:
            result = await runtime.run(
                loaded.pipeline, loaded.goal(agreements), session=session, source=str(loaded.path), progress=listener
            )
        if result.status != "accepted" or loaded.report is None:
            say(*in_lines(result))
            return CODES.get(result.status, FAILED), {}, []
        return 0, cast("dict[str, Json]", await loaded.report(result)), concluded(result)


def _where(frame: Frame) -> list[str]:
    settings = frame.settings()
    own = [name for name, url in (("Valkey", settings.redis_url), ("PostgreSQL", settings.postgres_url)) if url is None]
    servers = f"embedded {' and '.join(own)} in {str(settings.home)!r}" if own else "the servers you named"
    return [f"It uses {servers}, and the tenant {frame.tenant!r}."]


def _recalled(report: dict[str, Json]) -> str:
    return f"recalled {report['recalled']} findings; about {report['tokens_saved']:,} tokens were not read again"


def _what_next(frame: Frame, report: dict[str, Json]) -> list[str]:
    execution = str(report["execution"])
    anybody = replace(frame, tenant=None)
    example = from_here(EXAMPLE)
    if example == str(EXAMPLE):  # not below this folder: its name is shorter
        example = "lousa.examples.contract_review"
    commands = {
        frame.command("trail", execution): "who did what, in order",
        frame.command("board", execution): "what the agents shared",
        frame.command("recall", "liability"): "what is remembered",
        f"{anybody.command('run', example)} FILE…": "agreements of yours",
        anybody.command("doctor"): "what is in force, and what is wrong",
    }
    return ["What you may type next:", *(f"  {line}\n      {why}" for line, why in commands.items())]
