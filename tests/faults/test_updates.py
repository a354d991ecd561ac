"""Updates of several processes at once are each done once, in few attempts, and seen by a watcher that is killed."""

from __future__ import annotations

from pathlib import Path

from lousa.infra.embedded.supervisor import Endpoints
from updates import holds, run


async def test_processes_that_update_one_field_lose_nothing_and_a_killed_watcher_misses_nothing(
    servers: Endpoints, tmp_path: Path
) -> None:
    figures = await run(servers, tmp_path, processes=3, updates=100, kills=2)
    assert holds(figures), figures
    assert (figures["updates"], figures["missed"], figures["doubled_or_out_of_order"]) == (300, 0, 0)
