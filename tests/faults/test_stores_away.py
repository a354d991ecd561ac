"""While a store outside is away writes go on and recalls say so; afterwards it holds what the record holds, once."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from pathlib import Path

import pytest
from elsewhere import fresh_database, own_redis
from lousa.infra.embedded.supervisor import Endpoints
from stores_away import Store, holds, run


# The graph's driver leaves a socket to the garbage collector when a server hangs up in the middle of a greeting.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("store", ["vectors", "graph"])
async def test_an_outage_costs_nothing_but_time(servers: Endpoints, tmp_path: Path, neo4j_url: str, store: Store):
    url = await fresh_database(servers, f"lousa_without_{store}")
    own = replace(servers, redis_url=await own_redis(servers), postgres_url=url)
    figures = await run(own, tmp_path, neo4j_url, store=store, seconds=3)
    gc.collect()
    assert holds(figures), json.dumps(figures)
