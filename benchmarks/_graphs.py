"""The benchmark of layer 3: its servers, its facts, and what somebody would write by hand against the same stores."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, LiteralString, cast

import _rows
import psycopg
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.migrate import migrate
from lousa.infra.settings import Settings
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.knowledge.stores import knowledge_layer
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import TENANT, Fact, Memory, MemoryKind
from lousa.memory_layers.router import Router
from remember import Instant

THINGS = 2_000
TABLES = ("memory", "memory_words", "entity", "fact", "ledger_entry", "ledger_payload", "debt")
NUMBERS = count()
TENANTS = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A layer and a router over one arrangement of stores, and plain connections past them."""

    connections: Connections
    knowledge: KnowledgeLayer
    router: Router
    plain: psycopg.AsyncConnection[Any]
    driver: Any
    """Neo4j's own; None where the graph lies in Postgres."""


@asynccontextmanager
async def opened(home: Path, graph_url: str | None) -> AsyncGenerator[Bench]:
    """A bench on embedded servers, with a graph outside if there is one."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        context = ContextLayer(connections, Instant())
        knowledge = knowledge_layer(connections, graph_url, deadline=timedelta(seconds=30))
        await context.start(stack)
        await knowledge.start(stack)
        driver = None
        if graph_url:
            from neo4j import AsyncGraphDatabase

            driver = AsyncGraphDatabase.driver(graph_url)  # pyright: ignore[reportUnknownMemberType]  # open keywords
            stack.push_async_callback(driver.close)
        plain = await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True)
        stack.push_async_callback(plain.close)
        await plain.execute("SET search_path = lousa, public")
        settings = Settings(deadline=timedelta(seconds=30))
        # Not started: it writes, and no relay works beside it.
        router = Router(connections, table(), context, knowledge, SystemClock(), settings, feed=Feed(connections))
        yield Bench(connections=connections, knowledge=knowledge, router=router, plain=plain, driver=driver)


def somebody() -> Principal:
    """An agent of a tenant that has nothing yet."""
    return Principal(tenant=f"graph-{next(TENANTS)}", agent="agent", session="bench")


def stated(who: Principal) -> Memory:
    """A fact as agents state them; two of three objects are things, and things come up again."""
    number, now = next(NUMBERS), datetime.now(UTC)
    thing = number % 3 > 0
    object = f"Pessoa {number * 7 % THINGS}" if thing else f"R$ {number},00"
    fact = Fact(
        subject=f"Pessoa {number % THINGS}",
        predicate=f"relação {number // THINGS}",
        object=object,
        object_is_entity=thing,
    )
    return Memory(
        id=new_id(),
        tenant=who.tenant,
        owner=who.agent,
        session=who.session,
        execution=None,
        scope=TENANT,
        kind=MemoryKind.FACT,
        text=fact.sentence(),
        fact=fact,
        occurred_at=now,
        recorded_at=now,
    )


async def timed(call: Awaitable[object]) -> float:
    begin = perf_counter()
    await call
    return perf_counter() - begin


RAW_UNWIND: LiteralString = """
UNWIND $rows AS row
MERGE (s:Term {tenant: $tenant, key: row.subject_key})
  ON CREATE SET s:Entity, s.name = row.subject, s.lookup = row.words
MERGE (o:Term {tenant: $tenant, key: row.object_key})
  ON CREATE SET o.name = row.object, o.lookup = row.words
FOREACH (_ IN row.thing | SET o:Entity)
MERGE (a:Agent {tenant: $tenant, name: row.agent})
MERGE (c:Session {tenant: $tenant, name: row.session})
MERGE (f:Record {tenant: $tenant, id: row.id}) SET f:Fact, f += row.held
MERGE (f)-[:SUBJECT]->(s)
MERGE (f)-[:OBJECT]->(o)
MERGE (a)-[:KNOWS]->(f)
MERGE (c)-[:CONTAINS]->(f)
"""


def raw_row(memory: Memory) -> dict[str, object]:
    """A fact as somebody would hand it to Neo4j, with the properties that ours has there."""
    fact = cast(Fact, memory.fact)
    held = {
        "revision": 1,
        "predicate": fact.predicate,
        "object": fact.object,
        "status": "current",
        "trust": memory.trust,
        "valid_from": memory.occurred_at,
        "valid_to": None,
        "recorded_at": memory.recorded_at,
        "expires_at": None,
        "circles": ["0123456789abcdef", "fedcba9876543210"],
    }
    return {
        "id": str(memory.id),
        "subject_key": fact.subject.lower(),
        "subject": fact.subject,
        "words": f"t0123456789abcdef {fact.subject}",
        "object_key": fact.object.lower(),
        "object": fact.object,
        "thing": [1] if fact.object_is_entity else [],
        "agent": memory.owner,
        "session": memory.session,
        "held": held,
    }


async def told(bench: Bench, tenant: str, rows: Sequence[dict[str, object]]) -> None:
    """The same rows by the driver alone."""

    async def work(transaction: Any) -> None:
        await (await transaction.run(RAW_UNWIND, rows=rows, tenant=tenant)).consume()

    async with bench.driver.session() as session:
        await session.execute_write(work)


RAW_HOPS: LiteralString = """
MATCH (s:Term {tenant: $tenant, key: $key})<-[:SUBJECT|OBJECT]-(near:Fact)
WITH s, collect(DISTINCT near)[..200] AS nearest
UNWIND nearest AS near
OPTIONAL MATCH (near)-[:SUBJECT|OBJECT]->(e:Entity)<-[:SUBJECT|OBJECT]-(far:Fact) WHERE e <> s
WITH nearest, collect(DISTINCT far.id)[..200] AS far
RETURN [f IN nearest | f.id] AS near, far
"""
RAW_SQL: LiteralString = """
WITH named AS MATERIALIZED (
    SELECT id, key FROM entity WHERE tenant = %(tenant)s AND key = %(key)s
), near AS MATERIALIZED (
    SELECT f.id, f.subject, f.object_entity FROM fact f, named
    WHERE f.tenant = %(tenant)s AND (f.subject = named.id OR f.object_key = named.key)
    ORDER BY f.recorded_at DESC LIMIT 200
), ends AS MATERIALIZED (
    SELECT DISTINCT e.id, e.key FROM near, entity e
    WHERE e.id IN (near.subject, near.object_entity) AND e.id NOT IN (SELECT id FROM named)
), far AS (
    SELECT DISTINCT f.id, f.recorded_at FROM ends, fact f
    WHERE f.tenant = %(tenant)s AND (f.subject = ends.id OR f.object_key = ends.key)
    ORDER BY f.recorded_at DESC LIMIT 200
)
SELECT id, 1 FROM near UNION ALL SELECT id, 2 FROM far
"""


async def asked_plainly(bench: Bench, who: Principal, key: str) -> None:
    parameters = {"tenant": who.tenant, "key": key}
    if bench.driver is None:
        cursor = await bench.plain.execute(RAW_SQL, parameters)
        assert await cursor.fetchall()
        return

    async def work(transaction: Any) -> None:
        record = await (await transaction.run(RAW_HOPS, parameters)).single()
        assert record["near"]

    async with bench.driver.session() as session:
        await session.execute_read(work)


async def emptied(bench: Bench, who: Principal, *names: str) -> None:
    """Take a tenant's rows out again, of these tables or of all that a fact has."""
    await _rows.emptied(bench.plain, who.tenant, names or (*TABLES, f"memory_vector_{Instant.fingerprint}"))
