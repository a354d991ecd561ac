"""The graph moves to Neo4j and back by a setting: while it does, and after it, every process reads the same facts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import lousa
import pytest
from elsewhere import fresh_database, own_redis
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import ServerUnavailable
from lousa.infra.settings import Settings
from lousa.memory_layers.knowledge.neo4j import Neo4jGraph
from lousa.memory_layers.knowledge.outside import OutsideKnowledgeLayer
from lousa.memory_layers.knowledge.spaces import adopt
from lousa.runtime.app import Runtime
from lousa.runtime.doctor_stores import store_checks
from lousa.runtime.rebuild import Known, rebuilding

PLACES = ("Recife", "Olinda", "Natal", "Belém", "São Paulo", "Curitiba")


class World:
    """A database of a test's own, and the graph that a program may be told of."""

    def __init__(self, redis_url: str, postgres_url: str, graph_url: str, home: Path, tenant: str) -> None:
        self._given: dict[str, Any] = {
            "redis_url": redis_url,
            "postgres_url": postgres_url,
            "home": home,
            "tenant": tenant,
            "embedder": "models:one",
            "consolidate": False,
        }
        self.graph_url = graph_url

    def settings(self, *, graph: bool) -> Settings:
        return Settings(**self._given, graph_url=self.graph_url if graph else None)

    @asynccontextmanager
    async def open(self, *, graph: bool) -> AsyncGenerator[Runtime]:
        async with lousa.open(self.settings(graph=graph)) as runtime:
            yield runtime

    async def rebuilt(self, *, graph: bool) -> Known:
        async with rebuilding(self.settings(graph=graph)) as opened:
            return await opened.knowledge()


@pytest.fixture
async def world(servers: Endpoints, neo4j_url: str, tmp_path: Path, tenant: str) -> World:
    url = await fresh_database(servers, f"moves_{uuid4().hex[:8]}")
    return World(await own_redis(servers), url, neo4j_url, tmp_path, tenant)


def outside(runtime: Runtime) -> OutsideKnowledgeLayer:
    layer = runtime.services.knowledge
    assert isinstance(layer, OutsideKnowledgeLayer)
    return layer


async def rows(runtime: Runtime, query: str) -> list[tuple[Any, ...]]:
    async with runtime.services.connections.system_transaction(runtime.settings.tenant) as connection:
        return await (await connection.execute(query.encode())).fetchall()


async def state(runtime: Runtime, *places: str) -> None:
    desk = runtime.desk()
    for number, place in enumerate(places):
        await desk.state_fact(f"Loja {number}", "fica em", place, scope="tenant")


async def serving(runtime: Runtime) -> None:
    while outside(runtime).standing != "serving":  # noqa: ASYNC110  # a task of the program's own gets there
        await asyncio.sleep(0.05)


async def settled(runtime: Runtime) -> None:
    while (await rows(runtime, "SELECT count(*) FROM debt"))[0][0]:  # noqa: ASYNC110  # a relay pays
        await asyncio.sleep(0.05)


async def agrees(runtime: Runtime) -> bool:
    layer, tenant = outside(runtime), runtime.settings.tenant
    return await layer.graph.held(tenant, after=None, most=1_000) == await layer.expected(
        tenant, after=None, most=1_000
    )


async def by_graph(runtime: Runtime, text: str) -> set[str]:
    found = await runtime.desk().recall(text, k=50)
    assert found.silent == ()
    return {hit.text for hit in found.hits if "graph" in hit.via}


async def test_opened_under_the_address_of_a_graph_a_database_brings_it_there_by_itself(world: World) -> None:
    async with asyncio.timeout(60):
        async with world.open(graph=False) as runtime:
            await state(runtime, *PLACES)
            before = await by_graph(runtime, "Loja 1 e Loja 2")
            assert before
        async with world.open(graph=True) as runtime:
            assert await by_graph(runtime, "Loja 1 e Loja 2") == before
            await state(runtime, "Niterói")
            await serving(runtime)
            await settled(runtime)
            assert await agrees(runtime)
            assert await by_graph(runtime, "Loja 1 e Loja 2") == before
            assert "Loja 0 · fica em · Niterói" in await by_graph(runtime, "Loja 0")
            async with world.open(graph=False) as other:
                assert await by_graph(other, "Loja 1 e Loja 2") == before


async def test_a_graph_that_was_left_behind_is_brought_up_to_date_and_let_go(world: World) -> None:
    async with asyncio.timeout(60):
        async with world.open(graph=True) as runtime:
            await state(runtime, *PLACES)
            await settled(runtime)
            assert outside(runtime).standing == "serving" and await agrees(runtime)
        async with world.open(graph=False) as runtime:
            await state(runtime, "Manaus", "Belém")
            assert (await rows(runtime, "SELECT count(*) FROM debt WHERE layer = 'knowledge'"))[0][0] > 0
        brought = (await world.rebuilt(graph=True)).brought
        assert brought is not None and brought.owed == 0
        async with world.open(graph=True) as runtime:
            assert await agrees(runtime)
        async with world.open(graph=False) as runtime:
            await state(runtime, "Recife")
        released = await world.rebuilt(graph=False)
        assert released.brought is None and released.ended > 0
        async with world.open(graph=False) as runtime:
            await state(runtime, "Natal")
            assert await rows(runtime, "SELECT count(*) FROM debt WHERE layer = 'knowledge'") == [(0,)]


async def test_what_a_graph_lacks_or_has_too_much_is_found_by_a_rebuild(world: World) -> None:
    async with asyncio.timeout(60):
        async with world.open(graph=True) as runtime:
            await state(runtime, *PLACES)
            await settled(runtime)
            layer, tenant = outside(runtime), runtime.settings.tenant
            lacking, *_ = await layer.expected(tenant, after=None, most=10)
            await layer.graph.put(tenant, [], [], [lacking[0]], [])
            assert not await agrees(runtime)
            known = await world.rebuilt(graph=True)
            assert known.brought is not None and known.brought.given == 1
            assert await agrees(runtime)


async def test_when_the_graph_is_brought_elsewhere_its_former_readers_turn_to_postgres(world: World) -> None:
    async with asyncio.timeout(60):
        async with world.open(graph=True) as runtime:
            await state(runtime, *PLACES)
            await settled(runtime)
            before = await by_graph(runtime, "Loja 1 e Loja 2")
            async with runtime.services.connections.system_transaction("") as connection:
                await adopt(connection, "neo4j of another", "5s")
            receipt = await runtime.desk().state_fact("Loja 9", "fica em", "Palmas", scope="tenant")
            assert "knowledge" in receipt.owed
            while outside(runtime).standing != "elsewhere":  # noqa: ASYNC110  # it looks once a second
                await asyncio.sleep(0.05)
            assert await by_graph(runtime, "Loja 1 e Loja 2") == before
            assert "Loja 9 · fica em · Palmas" in await by_graph(runtime, "Loja 9")
            await asyncio.sleep(1.5)
            assert await rows(runtime, "SELECT count(*) FROM debt WHERE layer = 'knowledge'") == [(1,)]


async def test_a_process_that_starts_while_its_graph_is_away_reads_facts_in_postgres(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.open(graph=True) as runtime:
        await state(runtime, *PLACES[:2])
    away = True
    reached = Neo4jGraph._reached  # pyright: ignore[reportPrivateUsage]

    async def unreached(graph: Neo4jGraph, attempt: Any) -> Any:
        if away:
            raise ServerUnavailable("Neo4j is away")
        return await reached(graph, attempt)

    monkeypatch.setattr(Neo4jGraph, "_reached", unreached)
    async with world.open(graph=True) as runtime:
        desk = runtime.desk()
        assert [edge.object for edge in await desk.facts("Loja 0")] == ["Recife"]
        assert (await desk.recall("onde fica a Loja 1?")).silent == ("knowledge",)
        assert (await desk.state_fact("Loja 2", "fica em", "Natal", scope="tenant")).owed == ("knowledge",)
        (check,) = [check async for check in store_checks(runtime.services)]
        assert (check.what, check.state) == ("graph", "wrong")
        away = False
        async with asyncio.timeout(30):
            while await rows(runtime, "SELECT FROM debt"):  # noqa: ASYNC110  # a relay pays
                await asyncio.sleep(0.05)
        assert (await desk.recall("onde fica a Loja 1?")).silent == ()
        assert await outside(runtime).graph.count(runtime.settings.tenant) == 3
        (check,) = [check async for check in store_checks(runtime.services)]
        assert (check.what, check.state) == ("graph", "ok")
    away = True
    world.graph_url = "neo4j://127.0.0.1:1"
    with pytest.raises(ServerUnavailable):
        async with world.open(graph=True):
            pass
