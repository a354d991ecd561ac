"""`expire`: what is past its time leaves every recall, for good. It stays on the record, where an audit finds it.

A memory goes by the table: so long after its last use, by its category where that has a limit of its own, else by its
kind. Used means that a recall said so (`touch=True`) or that it was said again; being found is no use. A memory that
was given a date (`expires_at`) goes by that date instead. At the limit itself its time is over.

Rules, blocks and decisions never go, whatever date they were given. A fact is never taken away because of its age: past
its category's limit it is marked as to be confirmed, until somebody states it again. So is what a user said, past the
limit of its kind, where no category limits it. What is in quarantine waits for a curator and is left alone.
"""

from __future__ import annotations

from ..infra.connections import Connection
from ..memory_layers.records import MemoryKind
from .ageing import age_out, counted, in_batches
from .contract import Counts, Hour, Work
from .queries import QUERIES


class Expire:
    """Satisfies `Step`."""

    name = "expire"

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """Whatever has a limit, and what of it is past it."""
        limits, examined, due, flagged = {**hour.limits(), "now": hour.now}, 0, 0, 0
        for kind in hour.kinds("expire", "archive"):
            ages = kind in hour.kinds("expire")
            looked, over = await counted(connection, QUERIES["count_aged"], {**limits, "kind": kind, "ages": ages})
            examined, due = examined + looked, due + over
        for kind in hour.doubted():
            parameters = {**limits, "kind": kind, "all": kind in hour.kinds("confirm")}
            looked, over = await counted(connection, QUERIES["count_doubtful"], parameters)
            examined, flagged = examined + looked, flagged + over
        return Counts(examined=examined, changed=due, flagged=flagged)

    async def work(self, work: Work, hour: Hour) -> None:
        """By date, then by age, then the marks."""
        for kind in hour.kinds("expire", "archive"):
            await in_batches(work, QUERIES["run_out"], {"kind": kind, "now": hour.now}, MemoryKind(kind))
        for kind in hour.kinds("expire"):
            await age_out(work, hour, kind, "expired")
        for kind in hour.doubted():
            latest = hour.latest(kind)
            for status in ("live", "contested") if latest is not None else ():
                parameters = {
                    **hour.limits(),
                    "kind": kind,
                    "all": kind in hour.kinds("confirm"),
                    "status": status,
                    "latest": latest,
                }
                await in_batches(work, QUERIES["doubt"], parameters, None)
