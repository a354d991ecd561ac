"""Where layers 2 and 3 lie in a test: in the embedded Postgres, or in stores outside, each with a database of its own.

A module says with `STORES = EVERY_STORE` that its tests run on each; its fixtures `connections`, `principal` and
`layers` are then those of the arrangement. Vectors outside lie in Pinecone's emulator, which shows a write late, or in
Qdrant by way of LangChain; graphs outside in real servers of Neo4j's long-term line and of its current one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle
from urllib.parse import urlsplit

import psycopg
import pytest
import redis.asyncio
from langchain_stores import STORES as LANGCHAIN_STORES
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.migrate import migrate
from lousa.memory_layers.context.outside import OutsideContextLayer, ReadBack
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.records import Memory
from servers.pinecone import Emulator

LATE = timedelta(milliseconds=50)
"""How late the emulator shows a write."""

EVERY_GRAPH = ("embedded", "neo4j", "neo4j_current")
EVERY_STORE = ("embedded", "pinecone", "langchain")

_NUMBERS = cycle(range(1, 16))
"""Of the databases in a Redis server; 0 is for everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """An arrangement: the database, and the addresses that the settings would name."""

    postgres_url: str
    vector_url: str | None = None
    graph_url: str | None = None
    emulator: Emulator | None = None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a module that names arrangements runs on each."""
    named: tuple[str, ...] = getattr(metafunc.module, "STORES", ())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # its module has no type
    if named and "stores" in metafunc.fixturenames:
        metafunc.parametrize("stores", named, indirect=True)


@pytest.fixture(scope="session")
def arranged(servers: Endpoints) -> Iterator[dict[str, Stores]]:
    """What was arranged in this run, by name."""
    yield {"embedded": Stores(postgres_url=servers.postgres_url)}


@pytest.fixture(scope="session")
def pinecone() -> Iterator[Emulator]:
    """Pinecone's emulator for vectors of 384 dimensions."""
    with pytest.MonkeyPatch.context() as patch, Emulator(delay=LATE.total_seconds()) as emulator:
        patch.setenv("PINECONE_API_KEY", emulator.key)
        yield emulator


@pytest.fixture(scope="session")
def langchain() -> Iterator[str]:
    """The address of Qdrant in this process, as a LangChain store."""
    with pytest.MonkeyPatch.context() as patch, LANGCHAIN_STORES["langchain-qdrant"](patch) as store:
        yield store.url


@pytest.fixture
async def stores(request: pytest.FixtureRequest, servers: Endpoints, arranged: dict[str, Stores]) -> Stores:
    """The arrangement of this test; the embedded one, where it asks for none."""
    name: str = getattr(request, "param", "embedded")
    if name not in arranged:
        outside = request.getfixturevalue(name if name in EVERY_STORE else f"{name}_url")
        url = await fresh_database(servers, f"lousa_{name}")
        if isinstance(outside, Emulator):
            arranged[name] = Stores(postgres_url=url, vector_url=outside.url, emulator=outside)
        elif name in EVERY_STORE:
            arranged[name] = Stores(postgres_url=url, vector_url=outside)
        else:
            arranged[name] = Stores(postgres_url=url, graph_url=outside)
    return arranged[name]


@pytest.fixture
async def connections(servers: Endpoints, stores: Stores) -> AsyncGenerator[Connections]:
    """Open clients of both servers."""
    async with opened(servers.redis_url, stores.postgres_url) as connections:
        yield connections


async def fresh_database(servers: Endpoints, name: str) -> str:
    """The address of another database in the same server, with the schema in place."""
    async with await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True) as owner:
        await owner.execute(f'CREATE DATABASE "{name}"'.encode())
    url = urlsplit(servers.postgres_url)._replace(path=f"/{name}").geturl()
    async with opened(servers.redis_url, url) as connections, connections.owner_transaction() as connection:
        await migrate(connection)
    return url


async def own_redis(servers: Endpoints) -> str:
    """The address of an empty database in the same Redis server.

    A journal belongs to one record: where two databases share a Redis, the relay of one commits what a test of the
    other left waiting.
    """
    url = f"{servers.redis_url}?db={next(_NUMBERS)}"
    async with redis.asyncio.Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType]  # redis-py types it so
        await client.execute_command("FLUSHDB")  # pyright: ignore[reportUnknownMemberType]
    return url


@asynccontextmanager
async def opened(redis_url: str, postgres_url: str) -> AsyncGenerator[Connections]:
    """Clients of a pair of servers."""
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        yield connections


async def read_back(context: ContextLayer, tenant: str, kept: list[Memory]) -> None:
    """What a store outside was given is with it alone from now on, as when its debts called `shown` are paid."""
    if isinstance(context, OutsideContextLayer):
        back = ReadBack(context)
        while await back.put(tenant, kept):  # what is waited for happens in a server
            pass


@contextmanager
def down(stores: Stores) -> Generator[None]:
    """While this lasts, the store of vectors outside does not answer."""
    assert stores.emulator is not None
    stores.emulator.down()
    try:
        yield
    finally:
        stores.emulator.up()
