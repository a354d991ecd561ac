"""A process that leads the run that is due over one tenant, two rows at a time, to be killed in the middle."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import timedelta

from lousa.consolidation.run import Consolidation
from lousa.consolidation.schedule import Schedule
from lousa.infra.connections import Connections
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.embedding import load
from lousa.memory_layers.policy import table


async def lead(redis_url: str, postgres_url: str, tenant: str, batch: int = 2) -> bool:
    """Ask once; whether there was a run to lead."""
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        context = ContextLayer(connections, load("e5"))
        lease = timedelta(seconds=0.5)
        consolidation = Consolidation(connections, table(), {2: context}, batch=batch, lease=lease)

        async def alone() -> list[str]:
            return [tenant]

        consolidation.tenants = alone
        return await Schedule(consolidation, timedelta(days=1)).look() is not None


if __name__ == "__main__":
    asyncio.run(lead(sys.argv[1], sys.argv[2], sys.argv[3]))
