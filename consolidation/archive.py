"""`archive`: an episode that is no longer hot leaves layers 2 and 3, and every recall.

It stays on the record with all it says: its id finds it, an audit reads it, and a curator's `confirm` brings it back,
hot again from that moment. It counts from when the episode was last told, which its use does not change. What a user
told stays hot, and only its rank fades. An episode that was given a date (`expires_at`) goes by that date, and `expire`
takes it.
"""

from __future__ import annotations

from ..infra.connections import Connection
from .ageing import age_out, counted
from .contract import Counts, Hour, Work
from .queries import QUERIES


class Archive:
    """Satisfies `Step`."""

    name = "archive"

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """Everything hot, and what of it is past its time."""
        examined = due = 0
        for kind in hour.kinds("archive"):
            looked, over = await counted(connection, QUERIES["count_archived"], {**hour.gone(), "kind": kind})
            examined, due = examined + looked, due + over
        return Counts(examined=examined, changed=due)

    async def work(self, work: Work, hour: Hour) -> None:
        """Kind after kind."""
        for kind in hour.kinds("archive"):
            await age_out(work, hour, kind, "archived")
