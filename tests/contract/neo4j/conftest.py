"""The graph on real servers, of the long-term line and of the current one, without a layer around it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from lousa.memory_layers.knowledge.neo4j import Neo4jGraph
from neo4j import AsyncDriver, AsyncGraphDatabase

Ask = Callable[..., Awaitable[list[list[Any]]]]


@pytest.fixture(params=["neo4j_url", "neo4j_current_url"])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


@pytest.fixture
async def graph(url: str) -> AsyncGenerator[Neo4jGraph]:
    async with AsyncExitStack() as stack:
        opened = Neo4jGraph(url, deadline=timedelta(seconds=20))
        await opened.start(stack)
        yield opened


@pytest.fixture
async def ask(url: str) -> AsyncGenerator[Ask]:
    """Whatever Cypher says, past everything of ours."""
    driver: AsyncDriver
    async with AsyncGraphDatabase.driver(url) as driver:  # pyright: ignore[reportUnknownMemberType]  # open keywords

        async def asked(query: Any, **parameters: object) -> list[list[Any]]:
            records, _, _ = await driver.execute_query(query, parameters)
            return [record.values() for record in records]

        yield asked
