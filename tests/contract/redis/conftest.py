"""A Cluster and a watched master of these tests' own, because they are killed and moved about."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.operations import Operations
from servers.valkey import Clustered, Watched, clustered, watched


@pytest.fixture(scope="session")
def cluster() -> Iterator[Clustered]:
    """Three primaries with a replica each."""
    with clustered(3, 1) as started:
        yield started


@pytest.fixture(scope="session")
def group() -> Iterator[Watched]:
    """A master and a replica behind three Sentinels."""
    with watched() as started:
        yield started


@pytest.fixture
def doomed() -> Iterator[Watched]:
    """The same for one test alone."""
    with watched() as started:
        yield started


@dataclass
class Process:
    """What one process has open."""

    connections: Connections
    feed: Feed
    who: Principal

    async def board(self) -> Board:
        """The board of a new execution; without a row in the record, which is Postgres's part."""
        who = replace(self.who, execution=new_id())
        assert who.execution is not None
        await open_board(self.connections, who.tenant, who.execution)
        return Board(
            self.connections,
            who,
            feed=self.feed,
            artifacts=None,  # pyright: ignore[reportArgumentType]  # nothing here is large
            operations=Operations(who.execution),
        )


Entering = Callable[[str], AbstractAsyncContextManager[Process]]


@pytest.fixture
def entering(servers: Endpoints, tenant: str) -> Entering:
    """Enters a Redis by its address, as a process does."""

    @asynccontextmanager
    async def enter(url: str) -> AsyncGenerator[Process]:
        async with AsyncExitStack() as stack:
            connections = Connections(url, servers.postgres_url)
            await connections.start(stack)
            feed = Feed(connections)
            await feed.start(stack)
            yield Process(connections, feed, Principal(tenant=tenant, agent="tester", session="s"))

    return enter
