"""A consolidation that is killed at any moment is gone on with: the same end, one entry, every change counted once."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from consolidation_child import lead
from lousa.consolidation.contract import ORDER
from lousa.consolidation.run import Consolidation
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.embedding import load
from lousa.memory_layers.execution import memories
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import TENANT, Memory, MemoryKind

CHILD = Path(__file__).with_name("consolidation_child.py")
OLD, YOUNG = timedelta(days=91), timedelta(days=1)
SCHEDULE = "UPDATE lousa.consolidation_job SET last_run = %s, holder = NULL, held_until = NULL"


@pytest.fixture
async def due(connections: Connections) -> AsyncIterator[None]:
    """A run is due."""
    async with connections.owner_transaction() as connection:
        await connection.execute(SCHEDULE, (datetime(2026, 1, 1, tzinfo=UTC),))
    yield
    async with connections.owner_transaction() as connection:
        await connection.execute(SCHEDULE, (datetime.now(UTC),))


async def remembered(connections: Connections, who: Principal) -> None:
    """Sixty that expire, sixty for the archive, sixty that say what sixty others say."""
    now = datetime.now(UTC)

    def said(text: str, age: timedelta, kind: MemoryKind = MemoryKind.SEMANTIC) -> Memory:
        return Memory(
            id=new_id(),
            tenant=who.tenant,
            owner=who.agent,
            session=who.session,
            execution=who.execution,
            scope=TENANT,
            kind=kind,
            text=text,
            occurred_at=now - age,
            recorded_at=now - age,
        )

    kept: list[Memory] = []
    for number in range(60):
        kept += [said(f"old {number}", OLD), said(f"an episode {number}", OLD, MemoryKind.EPISODIC)]
        kept += [said(f"ação {number}", 2 * YOUNG), said(f"Acao {number}.", YOUNG)]
    context = ContextLayer(connections, load("e5"))
    async with connections.transaction(who) as connection:
        await memories.insert(connection, kept)
        await context.index_words(connection, kept)


async def standing(connections: Connections, tenant: str) -> dict[str, str]:
    rows = await asked(connections, tenant, "SELECT text, status FROM memory WHERE tenant = current_tenant()")
    return dict(rows)


async def asked(connections: Connections, tenant: str, query: str) -> list[tuple[Any, ...]]:
    async with connections.system_transaction(tenant) as connection:
        return await (await connection.execute(query.encode())).fetchall()


@pytest.mark.usefixtures("to_the_letter")
async def test_a_leader_that_is_killed_again_and_again_is_followed_to_the_same_end(
    connections: Connections, servers: Endpoints, principal: Principal, due: None
) -> None:
    tenant = principal.tenant
    await remembered(connections, principal)
    expected = await Consolidation(connections, table(), {}).examine(tenant)
    touched = "SELECT count(*) FROM memory WHERE tenant = current_tenant() AND consolidated_by IS NOT NULL"
    run = "SELECT counts FROM consolidation_run WHERE tenant = current_tenant()"
    for wanted in (20, 70, 150):
        child = await asyncio.create_subprocess_exec(
            sys.executable, str(CHILD), servers.redis_url, servers.postgres_url, tenant
        )
        async with asyncio.timeout(30):
            while (await asked(connections, tenant, touched))[0][0] < wanted:
                # What came too early, while the last one's lease was not over, asked once and found nothing.
                if child.returncode is not None:
                    child = await asyncio.create_subprocess_exec(
                        sys.executable, str(CHILD), servers.redis_url, servers.postgres_url, tenant
                    )
                await asyncio.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        # What had reached the server when the process died may still be committed, a batch and its count together.
        async with asyncio.timeout(10):
            told: list[int] | None = None
            found = [-1]
            words = "SELECT count(*) FROM memory_words WHERE tenant = current_tenant()"
            while found != told:
                [(counts,)] = await asked(connections, tenant, run)
                statuses = [*(await standing(connections, tenant)).values()]
                found = [statuses.count(status) for status in ("expired", "archived", "superseded", "live")]
                told = [counts.get(name, {}).get("changed", 0) for name in ORDER[:3]]
                told.append((await asked(connections, tenant, words))[0][0])

    async with asyncio.timeout(30):
        while not await lead(servers.redis_url, servers.postgres_url, tenant, 500):  # noqa: ASYNC110  # a lease ends
            await asyncio.sleep(0.05)
    entries = (
        "SELECT outcome, basis->'steps' FROM ledger_entry WHERE tenant = current_tenant() AND action = 'consolidate'"
    )
    [(outcome, steps)] = await asked(connections, tenant, entries)
    assert outcome == "done"
    assert steps == {name: counts.to_json() for name, counts in expected.steps.items()}
    assert await asked(connections, tenant, run) == []
    ended = await standing(connections, tenant)
    assert ended == {
        **{f"old {number}": "expired" for number in range(60)},
        **{f"an episode {number}": "archived" for number in range(60)},
        **{f"ação {number}": "live" for number in range(60)},
        **{f"Acao {number}.": "superseded" for number in range(60)},
    }
