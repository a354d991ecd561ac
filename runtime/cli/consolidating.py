"""`consolidate`: tend what is remembered now, for one tenant or for all, and say what was done.

It is what the schedule does by itself. A dry run counts the same and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from ...consolidation.contract import Counts, Report
from ...consolidation.run import in_order
from ..app import Runtime
from ..output import emit, show, table
from .frame import Frame, say


async def consolidate(frame: Frame, steps: Sequence[str], *, dry_run: bool, all_tenants: bool, json: bool) -> int:
    """The verb."""
    chosen = in_order(steps)
    async with frame.open() as runtime:
        reports = [
            await runtime.consolidate(chosen, dry_run=dry_run, tenant=tenant)
            for tenant in await _tenants(runtime, all_tenants=all_tenants)
        ]
    sums = {name: reduce(add, (report.steps[name] for report in reports), Counts()) for name in chosen}
    if json:
        emit({"dry_run": dry_run, "steps": sums, "runs": reports})
        return 0
    rows = [
        (name, *map(_number, (each.examined, each.changed, each.skipped, each.flagged))) for name, each in sums.items()
    ]
    show(table("step", "examined", "changed", "skipped", "marked", rows=rows))
    say(*(f"{name}: {_more(each)}" for name, each in sums.items() if each.told))
    if dry_run:
        say("nothing was changed: this was a dry run")
    else:
        say(*(_told(report) for report in reports))
    return 0


async def _tenants(runtime: Runtime, *, all_tenants: bool) -> list[str]:
    return await runtime.consolidation.tenants() if all_tenants else [runtime.settings.tenant]


def _told(report: Report) -> str:
    return f"tenant {report.tenant!r}: ledger entry {report.entry}"


def _more(counts: Counts) -> str:
    """What else a step has to say, numbers as they are counted and words under their names."""
    return ", ".join(
        f"{_number(told)} {name}" if isinstance(told, int) else f"{name} {told}" for name, told in counts.told.items()
    )


def _number(count: int) -> str:
    return f"{count:,}"
