"""A router over the real servers, with an embedder that a test can slow down or break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy
import pytest
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import journal_key
from lousa.memory_layers.embedding import load
from lousa.memory_layers.execution import ledger, memories
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import Fact, Memory, MemoryKind, Scope
from lousa.memory_layers.router import Router

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

_MODEL = load("e5")


@dataclass
class Instant:
    """An embedder without a model: any vector will do. It can be made slow, or to fail on some texts."""

    name: str = _MODEL.name
    fingerprint: str = _MODEL.fingerprint
    dimensions: int = _MODEL.dimensions
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    poison: str | None = None

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        await self.gate.wait()
        if self.poison is not None and any(self.poison in text for text in texts):
            raise ValueError(self.poison)
        vectors = numpy.random.default_rng(len(texts)).normal(size=(len(texts), self.dimensions))
        return (vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)).astype(numpy.float32)

    async def query(self, text: str) -> Vectors:
        return (await self.documents([text]))[0]


@dataclass
class WritePath:
    """Everything a write passes through."""

    connections: Connections
    router: Router
    context: ContextLayer
    embedder: Instant
    feed: Feed

    def memory(self, who: Principal, text: str, *, scope: str | Scope = "shared", **parts: Any) -> Memory:
        fact: Fact | None = parts.get("fact")
        now = datetime.now(UTC)
        values: dict[str, Any] = {
            "kind": MemoryKind.FACT if fact else MemoryKind.SEMANTIC,
            "occurred_at": now,
            "recorded_at": now,
            "id": new_id(),
            **parts,
        }
        return Memory(
            tenant=who.tenant,
            owner=who.agent,
            session=who.session,
            execution=who.execution,
            scope=Scope.parse(scope),
            text=text,
            **values,
        )

    async def get(self, who: Principal, identifier: UUID) -> Memory | None:
        async with self.connections.transaction(who) as connection:
            return (await memories.get(connection, [identifier])).get(identifier)

    async def trail(self, who: Principal) -> list[ledger.Recorded]:
        assert who.execution is not None
        return await self.router.trail(who, who.execution)

    async def has(self, who: Principal, table: str, rows: int) -> None:
        """Wait until a table holds that many rows of the tenant."""

        async def holds() -> bool:
            return await self.count(who, table) >= rows

        await eventually(holds)

    async def journal_is_empty(self, who: Principal) -> None:
        async def holds() -> bool:
            return not await self.connections.redis.xlen(journal_key(who.tenant))

        await eventually(holds)

    async def count(self, who: Principal, table: str) -> int:
        async with self.connections.system_transaction(who.tenant) as connection:
            name = {"vectors": f"memory_vector_{self.embedder.fingerprint}"}.get(table, table)
            cursor = await connection.execute(
                f"SELECT count(*) FROM {name} WHERE tenant = %s",  # pyright: ignore  # names of this file
                (who.tenant,),
            )
            row = await cursor.fetchone()
            assert row is not None
            return int(row[0])


async def eventually(holds: Callable[[], Awaitable[bool]], within: float = 15) -> None:
    """Wait until something holds, asking the servers."""
    async with asyncio.timeout(within):
        while not await holds():  # noqa: ASYNC110  # what is waited for happens in a server
            await asyncio.sleep(0.02)


@pytest.fixture
async def path(connections: Connections) -> AsyncIterator[WritePath]:
    async with AsyncExitStack() as stack:
        feed = Feed(connections)
        await feed.start(stack)
        embedder = Instant()
        embedder.gate.set()
        context = ContextLayer(connections, embedder)
        await context.start(stack)
        knowledge = KnowledgeLayer(connections)
        router = Router(connections, table(), context, knowledge, SystemClock(), Settings(), feed=feed)
        await router.start(stack)
        yield WritePath(connections, router, context, embedder, feed)
        embedder.gate.set()
