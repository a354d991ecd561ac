"""A rebuild that is killed while others write and recall is gone on with: no wrong recall, no lost write."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest
import rebuild_campaign
from elsewhere import fresh_database, own_redis
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.settings import Settings

SIZE = 2_000


@pytest.mark.timeout(180)
@pytest.mark.parametrize("to", ["one", "two"])
async def test_no_recall_is_wrong_and_no_write_lost_while_a_rebuild_is_killed(
    servers: Endpoints, tmp_path: Path, tenant: str, to: Literal["one", "two"]
) -> None:
    settings = Settings(
        redis_url=await own_redis(servers),
        postgres_url=await fresh_database(servers, f"killed_{uuid4().hex[:8]}"),
        home=tmp_path,
        tenant=tenant,
        embedder="models:one",
        consolidate=False,
    )
    figures = await rebuild_campaign.run(settings, SIZE, to, hurry=True)
    assert figures.missed == figures.brought_back == [] and not figures.failed
    assert figures.lost == figures.without_vector == figures.surplus_vectors == 0
    assert figures.found_by_likeness == "300 of 300"
    assert figures.recalls > 20 and figures.withdrawn > 5 and figures.written > SIZE
    assert figures.gone_on_from >= figures.killed_at - figures.withdrawn and figures.rebuilt["resumed"]
