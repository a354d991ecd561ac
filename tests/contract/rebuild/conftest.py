"""A database that is rebuilt, as programs with different settings see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import lousa
import models
import psycopg
import pytest
from elsewhere import fresh_database, own_redis
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.settings import Settings
from lousa.memory_layers import embedding
from lousa.memory_layers.context.stores import context_layer
from lousa.memory_layers.policy import table
from lousa.memory_layers.rebuild.context import ContextRebuild, Rebuilt
from lousa.runtime.app import Runtime
from lousa.runtime.rebuild import rebuilding

SUBJECTS = ("garden", "harbour", "library", "orchard", "foundry", "station")


@dataclass
class World:
    """A database of a test's own, as programs with different settings see it."""

    redis_url: str
    postgres_url: str
    home: Path
    tenant: str

    def settings(self, embedder: str = "models:one", **more: Any) -> Settings:
        return Settings(
            redis_url=self.redis_url,
            postgres_url=self.postgres_url,
            home=self.home,
            tenant=self.tenant,
            embedder=embedder,
            consolidate=False,
            **more,
        )

    def open(self, embedder: str = "models:one", **more: Any) -> Any:
        return lousa.open(self.settings(embedder, **more))

    @asynccontextmanager
    async def rebuild(
        self, embedder: str = "models:two", *, vector_url: str | None = None, **parts: Any
    ) -> AsyncGenerator[ContextRebuild]:
        """A rebuild under other settings, with what only a test sets."""
        settings = self.settings(embedder, vector_url=vector_url)
        async with rebuilding(settings) as opened:
            target = context_layer(opened.connections, embedding.load(embedder), settings.vector_url)
            yield ContextRebuild(opened.connections, target, table(), **parts)

    async def rebuilt(self, embedder: str = "models:two", **parts: Any) -> Rebuilt:
        async with self.rebuild(embedder, **parts) as rebuild:
            return await rebuild.run()


@pytest.fixture(scope="module")
def database(servers: Endpoints) -> str:
    """A database of this module's own: what is made anew there is everybody's."""
    return asyncio.run(fresh_database(servers, f"rebuild_{uuid4().hex[:8]}"))


@pytest.fixture
async def world(servers: Endpoints, database: str, tmp_path: Path, tenant: str) -> World:
    """That database without memories and vectors."""
    async with await psycopg.AsyncConnection.connect(database) as owner:
        await owner.execute("SET search_path = lousa, public")
        await owner.execute(
            "SELECT mirror_debts(false), close_vector_space(name) FROM layer_space WHERE layer = 'context'"
        )
        await owner.execute("TRUNCATE memory, memory_words, debt, fact, entity, decision, rebuild")
    return World(await own_redis(servers), database, tmp_path, tenant)


@pytest.fixture(autouse=True)
def gates() -> Iterator[None]:
    """Every model answers, and its calls are counted from nothing."""
    for state in (models.gates, models.free, models.calls, models.refused):
        state.clear()
    yield
    models.gates.clear()


async def rows(runtime: Runtime, query: str) -> list[tuple[Any, ...]]:
    async with runtime.services.connections.system_transaction(runtime.settings.tenant) as connection:
        return await (await connection.execute(query.encode())).fetchall()


async def space(runtime: Runtime) -> str:
    [(name,)] = await rows(runtime, "SELECT name FROM layer_space WHERE layer = 'context' AND state = 'serving'")
    return name


async def vectors(runtime: Runtime) -> set[UUID]:
    """The memories of the tenant that have a vector in the space that serves."""
    return {row[0] for row in await rows(runtime, f"SELECT id FROM memory_vector_{await space(runtime)}")}


async def live(runtime: Runtime) -> set[UUID]:
    return {row[0] for row in await rows(runtime, "SELECT id FROM memory WHERE status IN ('live', 'contested')")}


async def settled(runtime: Runtime) -> None:
    """Until nothing is owed to any layer."""
    async with asyncio.timeout(30):
        while (await rows(runtime, "SELECT count(*) FROM debt"))[0][0]:  # noqa: ASYNC110  # a relay pays
            await asyncio.sleep(0.02)


async def remember(runtime: Runtime, *texts: str) -> list[UUID]:
    desk, ids = runtime.desk(), list[UUID]()
    for start in range(0, len(texts), 20):  # a slow machine refuses what waits too long for a connection
        some = texts[start : start + 20]
        receipts = await asyncio.gather(*(desk.remember(text, kind="procedural", scope="tenant") for text in some))
        ids += [receipt.id for receipt in receipts]
    return ids


async def likeness(runtime: Runtime, text: str) -> tuple[list[str], tuple[str, ...]]:
    """What is found by likeness, and the layers that were silent."""
    found = await runtime.desk().recall(text, k=3)
    return [hit.text for hit in found.hits if "dense" in hit.via], found.silent
