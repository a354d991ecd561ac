"""Layers 2 and 3 on the real servers, and a short way to put memories into them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

import numpy
import pytest
from elsewhere import Stores, read_back
from lousa.infra.clock import ManualClock
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.context.outside import OutsideContextLayer, ReadBack
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.context.stores import context_layer
from lousa.memory_layers.contract import Query
from lousa.memory_layers.debts import Debts, Layer
from lousa.memory_layers.embedding import Embedder, load
from lousa.memory_layers.execution import memories
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.knowledge.resolution import FactOutcome
from lousa.memory_layers.knowledge.stores import knowledge_layer
from lousa.memory_layers.recall import Recaller
from lousa.memory_layers.records import Fact, Memory, MemoryKind, Recall, Scope

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

TODAY = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class Layers:
    """Layers 2, 3, 4 and the recall over them, without a router in between."""

    connections: Connections
    context: ContextLayer
    knowledge: KnowledgeLayer
    recaller: Recaller
    clock: ManualClock
    stores: Stores
    paying: asyncio.Lock = field(default_factory=asyncio.Lock)

    def another_context(self, embedder: Embedder | None = None) -> ContextLayer:
        """Layer 2 on the same stores, as another process opens it; not started."""
        return context_layer(self.connections, embedder or self.context.embedder, self.stores.vector_url)

    def memory(self, who: Principal, text: str, *, scope: str | Scope = "tenant", **parts: Any) -> Memory:
        """A memory of `who`, as said just now unless told otherwise."""
        fact: Fact | None = parts.get("fact")
        values: dict[str, Any] = {
            "kind": MemoryKind.FACT if fact else MemoryKind.SEMANTIC,
            "occurred_at": self.clock.now(),
            "recorded_at": self.clock.now(),
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

    async def keep(self, who: Principal, *kept: Memory, embed: bool = True) -> list[FactOutcome]:
        """Record, words and facts in one transaction; then the vectors."""
        async with self.connections.transaction(who) as connection:
            await memories.insert(connection, kept)
            outcomes = await self.knowledge.state(connection, who, kept)
            await self.context.index_words(connection, kept)
        await self.pay_graph(who)
        if embed:
            await self.context.put(who.tenant, kept)
            await read_back(self.context, who.tenant, [*kept])
        return outcomes

    async def pay(self, who: Principal) -> None:
        """Pay what stores outside are owed."""
        owed: dict[str, Layer] = {"context": self.context}
        if isinstance(self.context, OutsideContextLayer):
            owed["shown"] = ReadBack(self.context)
        while await Debts(self.connections, owed).pay([who.tenant]):
            pass
        await self.pay_graph(who)

    async def pay_graph(self, who: Principal) -> None:
        """Pay what a graph outside is owed, until it is owed nothing."""
        while not self.knowledge.capabilities.transactional:
            async with self.paying:  # one at a time: who comes second finds it done
                async with self.connections.system_transaction(who.tenant) as connection:
                    due = "UPDATE debt SET due_at = '-infinity' WHERE layer = 'knowledge' RETURNING memory"
                    if not await (await connection.execute(due)).fetchall():
                        return
                await Debts(self.connections, {"knowledge": self.knowledge}).pay([who.tenant])

    async def remember(self, who: Principal, *texts: str, **parts: Any) -> list[UUID]:
        kept = [self.memory(who, text, **parts) for text in texts]
        await self.keep(who, *kept)
        return [memory.id for memory in kept]

    async def state(
        self, who: Principal, subject: str, predicate: str, object: str, *, day: int = 0, **parts: Any
    ) -> FactOutcome:
        """State a fact that holds since `day` days from today; returns what became of it."""
        terms = {name: parts.pop(name) for name in ("many", "qualifier", "object_is_entity") if name in parts}
        fact = Fact(subject=subject, predicate=predicate, object=object, since=TODAY + timedelta(days=day), **terms)
        [outcome] = await self.keep(who, self.memory(who, fact.sentence(), fact=fact, **parts), embed=False)
        return outcome

    async def recall(self, who: Principal, text: str, **parts: Any) -> Recall:
        return await self.recaller.recall(who, Query(text=text, **parts))

    async def texts(self, who: Principal, text: str, **parts: Any) -> list[str]:
        return [hit.text for hit in await self.recall(who, text, **parts)]

    async def statuses(self, who: Principal, ids: Sequence[UUID]) -> list[str]:
        async with self.connections.transaction(who) as connection:
            found = await memories.get(connection, ids)
        return [found[identifier].status for identifier in ids]


async def _caught_up(_principal: Principal, _timeout: timedelta) -> bool:
    return True


class Remembering:
    """An embedder that answers the same text from memory, because many tests ask alike."""

    documents_of: ClassVar[dict[str, Vectors]] = {}
    queries_of: ClassVar[dict[str, Vectors]] = {}

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.fingerprint, self.dimensions = embedder.name, embedder.fingerprint, embedder.dimensions
        self._embedder = embedder

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self.documents_of]
        self.documents_of.update(zip(new, await self._embedder.documents(new), strict=True))
        return numpy.stack([self.documents_of[text] for text in texts])

    async def query(self, text: str) -> Vectors:
        if text not in self.queries_of:
            self.queries_of[text] = await self._embedder.query(text)
        return self.queries_of[text]


@pytest.fixture
async def layers(connections: Connections, stores: Stores) -> AsyncIterator[Layers]:
    clock = ManualClock(TODAY)
    context = context_layer(connections, Remembering(load("e5")), stores.vector_url)
    knowledge = knowledge_layer(connections, stores.graph_url, clock=clock, deadline=timedelta(seconds=20))
    recaller = Recaller(
        connections,
        context,
        knowledge,
        caught_up=_caught_up,
        clock=clock,
        settings=Settings(deadline=timedelta(seconds=20)),
    )
    async with AsyncExitStack() as stack:
        await context.start(stack)
        await knowledge.start(stack)
        yield Layers(connections, context, knowledge, recaller, clock, stores)
