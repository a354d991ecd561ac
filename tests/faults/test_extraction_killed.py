"""An extraction that is killed at any moment is gone on with: each source is read to its end once, and states once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import scripted
from extraction_child import SAID, extract
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import SHARED, Memory, MemoryKind

CHILD = Path(__file__).with_name("extraction_child.py")
WHERE = {**os.environ, "PYTHONPATH": str(Path(scripted.__file__).parent)}


async def asked(connections: Connections, tenant: str, query: str) -> list[tuple[Any, ...]]:
    async with connections.system_transaction(tenant) as connection:
        return await (await connection.execute(query.encode())).fetchall()


async def test_a_reader_that_is_killed_again_and_again_is_followed_and_states_nothing_twice(
    connections: Connections, servers: Endpoints, principal: Principal
) -> None:
    tenant, now = principal.tenant, datetime.now(UTC)
    sources = [
        Memory(
            id=new_id(),
            tenant=tenant,
            owner=principal.agent,
            session=principal.session,
            execution=principal.execution,
            scope=SHARED,
            kind=MemoryKind.EPISODIC,
            text=SAID.format(number, 2000 + number),
            source="user",
            trust=1.0,
            occurred_at=now,
            recorded_at=now,
        )
        for number in range(8)
    ]
    async with connections.transaction(principal) as connection:
        await memories.insert(connection, sources)
    for moment, at in (("model", 1), ("inside", 0), ("after", 1), ("inside", 1), ("after", 0)):
        child = await asyncio.create_subprocess_exec(
            sys.executable, str(CHILD), servers.redis_url, servers.postgres_url, tenant, moment, str(at), env=WHERE
        )
        assert await child.wait() == -signal.SIGKILL
        await whole(connections, tenant)

    states = "SELECT state FROM extraction WHERE tenant = current_tenant()"
    async with asyncio.timeout(30):
        while [row[0] for row in await asked(connections, tenant, states)].count("extracted") < len(sources):
            await extract(
                servers.redis_url, servers.postgres_url, tenant
            )  # what a dead one held is free after its lease
    await whole(connections, tenant)
    derived = "SELECT sources[1] FROM memory WHERE tenant = current_tenant() AND sources <> '{}'"
    came = [row[0] for row in await asked(connections, tenant, derived)]
    assert {source.id: came.count(source.id) for source in sources} == {source.id: 2 for source in sources}


async def whole(connections: Connections, tenant: str) -> None:
    """What came of sources, their states and the entries in the ledger say the same."""
    kept = "SELECT source, kept FROM extraction WHERE tenant = current_tenant() AND state = 'extracted'"
    derived = (
        "SELECT sources[1], count(*)::integer FROM memory WHERE tenant = current_tenant() AND sources <> '{}'"
        " GROUP BY 1"
    )
    entries = (
        "SELECT memory, jsonb_array_length(basis->'kept') FROM ledger_entry"
        " WHERE tenant = current_tenant() AND action = 'extract' AND outcome = 'extracted'"
    )
    # What had reached the server when the process died may be committed a moment later.
    async with asyncio.timeout(30):
        found: list[list[tuple[Any, ...]]] = [[], [()]]
        while found.count(found[0]) < len(found):
            found = [sorted(await asked(connections, tenant, query)) for query in (kept, derived, entries)]
