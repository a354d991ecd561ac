"""Consolidation over the layers on the real servers, on a day that a test sets, and what there is to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from lousa.consolidation.contract import Counts, Report
from lousa.consolidation.run import Consolidation
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import Memory

if TYPE_CHECKING:
    from ..conftest import Layers

NOTHING = Counts()


@dataclass
class Tended:
    """Layers, and what consolidates them."""

    layers: Layers
    consolidation: Consolidation

    @property
    def connections(self) -> Connections:
        return self.layers.connections

    @property
    def now(self) -> datetime:
        return self.layers.clock.now()

    def aged(self, who: Principal, text: str, age: timedelta, **parts: Any) -> Memory:
        """A memory that was said so long ago."""
        said: Any = self.now - age
        return self.layers.memory(who, text, **{"occurred_at": said, "recorded_at": said, **parts})

    async def keep(self, who: Principal, *kept: Memory, embed: bool = False) -> list[UUID]:
        await self.layers.keep(who, *kept, embed=embed)
        return [memory.id for memory in kept]

    async def run(self, tenant: str, *steps: str, **parts: Any) -> Report:
        report = await self.consolidation.run(tenant, steps, **parts)
        assert report is not None
        return report

    async def counts(self, tenant: str, step: str) -> Counts:
        """What a run of one step counts; without what it looked at."""
        return replace((await self.run(tenant, step)).steps[step], examined=0)

    async def statuses(self, who: Principal, ids: Sequence[UUID]) -> list[str]:
        return await self.layers.statuses(who, ids)

    async def rows(self, tenant: str, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        async with self.connections.system_transaction(tenant) as connection:
            return await (await connection.execute(query.encode(), parameters)).fetchall()

    async def column(self, tenant: str, name: str, ids: Sequence[UUID]) -> list[Any]:
        """A column of memories, in the order of the ids."""
        found = dict(await self.rows(tenant, f"SELECT id, {name} FROM memory WHERE id = ANY (%s)", list(ids)))
        return [found[identifier] for identifier in ids]

    async def entries(self, tenant: str) -> list[tuple[UUID, str, dict[str, Any]]]:
        """The entries of runs: id, outcome, and what each step counted."""
        query = (
            "SELECT id, outcome, basis->'steps' FROM ledger_entry WHERE tenant = %s AND action = 'consolidate'"
            " ORDER BY recorded_at"
        )
        return [(row[0], row[1], row[2]) for row in await self.rows(tenant, query, tenant)]

    async def database(self) -> dict[str, str]:
        """A digest of every table there is, over all tenants."""
        async with self.connections.owner_transaction() as connection:
            cursor = await connection.execute(
                "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'lousa'::regnamespace"
                " AND c.relkind = 'r'"
            )
            found: dict[str, str] = {}
            for (name,) in await cursor.fetchall():
                counted = await connection.execute(
                    f"SELECT count(*) || coalesce(md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))), '')"
                    f" FROM {name} AS t".encode()
                )
                row = await counted.fetchone()
                assert row is not None
                found[name] = row[0]
            return found


@pytest.fixture
def tended(layers: Layers) -> Tended:
    held = {2: layers.context, 3: layers.knowledge}
    return Tended(layers, Consolidation(layers.connections, table(), held, clock=layers.clock, batch=10))


@pytest.fixture
def somebody_else(principal: Principal) -> Principal:
    """Another agent of the same tenant, in another session."""
    return replace(principal, agent="another", session="session-2", execution=None)
