"""A recall while one of the two servers is away: it answers with what it can, or says soon that it cannot."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from time import monotonic

import lousa
import pytest
from elsewhere import fresh_database
from lousa import Runtime
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import ServerUnavailable
from outages import Gate, Valkey

DEADLINE = timedelta(seconds=1)


@dataclass
class Away:
    """An open Lousa that remembers something, and its two servers, which can be taken away."""

    runtime: Runtime
    gate: Gate
    valkey: Valkey


@pytest.fixture
async def away(servers: Endpoints, tmp_path: Path) -> AsyncGenerator[Away]:
    own = replace(servers, postgres_url=await fresh_database(servers, f"lousa_{tmp_path.name}"))
    valkey, gate = Valkey(tmp_path), Gate.before(own, tmp_path)
    await valkey.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_killed, valkey)
        await gate.start(stack)
        opened = lousa.open(
            home=tmp_path,
            redis_url=valkey.url,
            postgres_url=gate.url(own),
            embedder="hashed:embeddings",
            deadline=DEADLINE,
            consolidate=False,
        )
        runtime = await stack.enter_async_context(opened)
        await (await runtime.desk().remember("the garden gate is blue")).settled()
        yield Away(runtime, gate, valkey)


async def _killed(valkey: Valkey) -> None:
    with suppress(ProcessLookupError):
        await valkey.kill()


async def test_without_redis_a_recall_finds_what_is_committed_and_says_that_it_may_be_behind(away: Away) -> None:
    await away.valkey.kill()
    begun = monotonic()
    found = await away.runtime.desk().recall("garden gate")
    assert [hit.text for hit in found] == ["the garden gate is blue"]
    assert found.behind and found.silent == ()
    assert monotonic() - begun < 3 * DEADLINE.total_seconds()


async def test_without_postgres_a_recall_says_so_within_a_few_deadlines(away: Away) -> None:
    away.gate.close()
    begun = monotonic()
    with pytest.raises(ServerUnavailable, match=r"nothing can be recalled.*lousa doctor"):
        await away.runtime.desk().recall("garden gate", freshness="eventual")
    assert monotonic() - begun < 4 * DEADLINE.total_seconds()
    away.gate.open()
