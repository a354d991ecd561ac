"""A store outside Postgres goes away for a while, under load, and comes back.

    python tests/faults/stores_away.py [--seconds 60] [--store vectors|graph]

Agents remember, state facts and recall all the while, with their vectors in Pinecone's emulator and their graph in
Neo4j. While the store is away writes must go on and every recall must name the layer and still find by words what is in
the record; afterwards the debt must be paid, and the store hold each memory once and nothing else. The last line is
JSON; exits with 1 when one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, Literal
from uuid import UUID, uuid4

import lousa
import pytest
from lousa import Runtime
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints
from lousa.memory_layers.context.remote import VectorStore
from lousa.memory_layers.context.stores import vector_store
from lousa.memory_layers.embedding import load as load_embedder
from lousa.memory_layers.journal import Journal
from lousa.memory_layers.knowledge.graph import GraphStore
from lousa.memory_layers.knowledge.stores import graph_store
from lousa.memory_layers.receipts import Receipt
from psycopg import sql

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hashed import DIMENSIONS
from neo4j_server import LTS, shared_server
from outages import PortGate
from servers.pinecone import Emulator

Store = Literal["vectors", "graph"]
LAYER = {"vectors": "context", "graph": "knowledge"}
WRITERS, ASKERS = 4, 2
DEADLINE = timedelta(seconds=1)
GRACE = 1.0
"""Seconds that an answer may take which was under way when the store went."""
PATIENCE = 120.0


@dataclass
class Load:
    """Agents at work, and what they were told."""

    runtime: Runtime
    tenant: str
    store: Store
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    away_since: float | None = None
    receipts: dict[UUID, Receipt] = field(default_factory=dict[UUID, Receipt])
    during: int = 0
    slowest: float = 0.0
    recalls: int = 0
    unnamed: int = 0
    unfound: int = 0
    named_after: set[str] = field(default_factory=set[str])

    async def write(self, number: int) -> None:
        """Remember and state facts, as fast as they are acknowledged."""
        desk = self.runtime.desk(f"writer-{number}", tenant=self.tenant)
        for turn in count():
            if self.stop.is_set():
                return
            begun, away = monotonic(), self.away_since
            if turn % 3:
                receipt = await desk.remember(f"note{number}x{turn} of writer {number}", scope="tenant")
            else:
                thing = f"thing{number}x{turn % 30}"
                receipt = await desk.state_fact(thing, "count", str(turn), scope="tenant")
            self.slowest = max(self.slowest, monotonic() - begun)
            self.during += away is not None
            self.receipts[receipt.id] = receipt
            await asyncio.sleep(0.005)

    async def ask(self) -> None:
        """Recall what was written first, which is in the record by now."""
        desk = self.runtime.desk("asker", tenant=self.tenant)
        while not self.stop.is_set():
            away = self.away_since
            found = await desk.recall("first note of all", k=3)
            if away is not None and self.away_since == away and monotonic() - away > GRACE:
                self.recalls += 1
                self.unnamed += LAYER[self.store] not in found.silent
            self.unfound += not any(hit.text == "first note of all" for hit in found)
            await asyncio.sleep(0.02)


async def run(servers: Endpoints, folder: Path, graph_url: str, *, store: Store, seconds: float) -> dict[str, Any]:
    """The figures of one outage."""
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        emulator = stack.enter_context(Emulator(dimension=DIMENSIONS, delay=0.1))
        patch.setenv("PINECONE_API_KEY", emulator.key)
        gate = PortGate(folder, graph_url.rpartition("/")[2])
        await gate.start(stack)
        runtime = await stack.enter_async_context(
            lousa.open(
                None,
                home=folder,
                redis_url=servers.redis_url,
                postgres_url=servers.postgres_url,
                vector_url=emulator.url,
                graph_url=f"bolt://127.0.0.1:{gate.port}",
                embedder="hashed:embeddings",
                deadline=DEADLINE,
                consolidate=False,
            )
        )
        tenant = f"away-{uuid4().hex[:8]}"
        await (await runtime.desk("writer-0", tenant=tenant).remember("first note of all", scope="tenant")).settled()
        load = Load(runtime, tenant, store)
        agents = [asyncio.create_task(load.write(number)) for number in range(WRITERS)]
        agents += [asyncio.create_task(load.ask()) for _ in range(ASKERS)]
        await asyncio.sleep(min(5.0, seconds))
        go, come = (emulator.down, emulator.up) if store == "vectors" else (gate.close, gate.open)
        await outage(load, go, come, seconds)
        await asyncio.sleep(min(5.0, seconds))
        load.stop.set()
        await asyncio.gather(*agents)
        begun = monotonic()
        paid = await all_paid(runtime, tenant)
        figures = {
            "store": store,
            "seconds": seconds,
            "acknowledged": len(load.receipts),
            "while_away": load.during,
            "slowest_acknowledgement": round(load.slowest, 2),
            "recalls_while_away": load.recalls,
            "unnamed": load.unnamed,
            "unfound": load.unfound,
            "paid_within": round(monotonic() - begun, 1) if paid else None,
        }
        vectors = vector_store(emulator.url, load_embedder("hashed:embeddings"), generation=1)
        graph = graph_store(graph_url, deadline=timedelta(seconds=10))
        for opened in (vectors, graph):
            await opened.start(stack)
        return figures | await compared(load, vectors, graph)


async def outage(load: Load, go: Callable[[], None], come: Callable[[], None], seconds: float) -> None:
    """Away, and back."""
    go()
    load.away_since = monotonic()
    await asyncio.sleep(seconds)
    load.away_since = None
    come()


async def all_paid(runtime: Runtime, tenant: str) -> bool:
    """Wait until nothing is owed, not even a look at what the store shows."""
    connections = runtime.services.connections
    ends = monotonic() + PATIENCE
    while monotonic() < ends:
        async with connections.system_transaction(tenant) as connection:
            cursor = await connection.execute("SELECT count(*) FROM debt WHERE tenant = current_tenant()")
            if await cursor.fetchone() == (0,) and not await Journal(connections).length(tenant):
                return True
        await asyncio.sleep(0.2)
    return False


async def compared(load: Load, vectors: VectorStore, graph: GraphStore) -> dict[str, Any]:
    """What the record and the stores hold, held against what was acknowledged."""
    runtime, tenant = load.runtime, load.tenant
    async with runtime.services.connections.system_transaction(tenant) as connection:
        cursor = await connection.execute("SELECT id, status FROM memory WHERE tenant = current_tenant()")
        record: dict[UUID, str] = dict(await cursor.fetchall())
        cursor = await connection.execute("SELECT id, revision FROM fact WHERE tenant = current_tenant()")
        facts: dict[UUID, int] = dict(await cursor.fetchall())
        cursor = await connection.execute("SELECT name FROM layer_space WHERE layer = 'context'")
        ((space,),) = await cursor.fetchall()
        counted = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(f"memory_vector_{space}"))
        ((copies,),) = await (await connection.execute(counted)).fetchall()
    live = {identifier for identifier, status in record.items() if status in ("live", "contested")}
    shown = await vectors.shown(tenant, live)
    held: dict[UUID, int] = {}
    after: UUID | None = None
    while page := await graph.held(tenant, after=after, most=1_000):
        held |= dict(page)
        after = page[-1][0]
    last = await runtime.desk("asker", tenant=tenant).recall("first note of all")
    return {
        "lost": len(load.receipts.keys() - record.keys()),
        "vectors_missing": len(live - shown),
        "vectors_surplus": (await vectors.count(tenant) or 0) - len(live),
        "own_copies": copies,
        "facts_wrong": len(facts.items() ^ held.items()),
        "silent_after": list(last.silent),
    }


def holds(figures: dict[str, Any]) -> bool:
    """Whether an outage went as promised."""
    nothing = ("unnamed", "unfound", "lost", "vectors_missing", "vectors_surplus", "own_copies", "facts_wrong")
    fine = figures["paid_within"] is not None and not figures["silent_after"]
    return fine and figures["while_away"] > 0 < figures["recalls_while_away"] and not any(map(figures.get, nothing))


async def _alone(folder: Path, store: Store, seconds: float) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(folder / "home").start(stack)
        graph_url = stack.enter_context(shared_server(LTS, folder / "neo4j"))
        return await run(servers, folder, graph_url, store=store, seconds=seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the store is away")
    parser.add_argument("--store", choices=["vectors", "graph"], help="which one; without it both, in turn")
    told = parser.parse_args()
    stores: list[Store] = [told.store] if told.store else ["vectors", "graph"]
    fine = True
    for store in stores:
        with tempfile.TemporaryDirectory(prefix="lousa-away-") as folder:
            figures = asyncio.run(_alone(Path(folder), store, told.seconds))
        fine = fine and holds(figures)
        print(json.dumps(figures), flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
