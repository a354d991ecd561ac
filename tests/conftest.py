"""What every test may ask for: real servers, migrated, shared by a whole test run; a fresh tenant for each test."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.migrate import migrate
from lousa.memory_layers.conversation.opening import open_board
from servers import pgbouncer, postgres

pytest_plugins = ["neo4j_server", "elsewhere", "letters"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # A run in the background of a script inherits a deaf ear for Ctrl-C, and would hand it on to what it tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# One model for the databases that tests share, and the one that is loaded sooner.
os.environ["LOUSA_EMBEDDER"] = "e5"


@pytest.fixture(scope="session")
def servers() -> Iterator[Endpoints]:
    """One pair of servers for the whole run, with the schema in place: the embedded ones in a home of their own, unless
    LOUSA_TEST_POSTGRES names another Postgres or LOUSA_TEST_POOLER wants a pooler before it."""
    with tempfile.TemporaryDirectory(prefix="lousa-tests-") as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> Endpoints:
            found = await EmbeddedServers(Path(folder)).start(stack)
            if name := postgres.chosen():
                programs = postgres.installation(fresh_folder(stack), name)
                url = await stack.enter_async_context(postgres.serving(programs, fresh_folder(stack)))
                found = replace(found, postgres_url=url)
            if pgbouncer.wanted():
                server = found.postgres_url.partition("?host=")[2]
                there = await stack.enter_async_context(pgbouncer.pooling(server, fresh_folder(stack)))
                found = replace(found, postgres_url=f"postgresql://lousa@/lousa?host={there}&port={pgbouncer.PORT}")
            return found

        async def prepare() -> None:
            async with AsyncExitStack() as inner:
                connections = Connections(endpoints.redis_url, endpoints.postgres_url)
                await connections.start(inner)
                async with connections.owner_transaction() as connection:
                    await migrate(connection)

        try:
            endpoints = runner.run(start())
            runner.run(prepare())
            yield endpoints
        finally:
            runner.run(stack.aclose())


def fresh_folder(stack: AsyncExitStack) -> Path:
    """A folder with a short path, removed with the stack."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-")))


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test knows."""
    return f"tenant-{uuid4().hex[:12]}"


@pytest.fixture
async def principal(connections: Connections, tenant: str) -> Principal:
    """An agent in a fresh execution of a fresh tenant."""
    who = Principal(tenant=tenant, agent="tester", session="session-1", execution=new_id())
    async with connections.transaction(who) as connection:
        await connection.execute(
            "INSERT INTO execution (id, tenant, session, pipeline, goal) VALUES (%s, %s, %s, 'test', '{}')",
            (who.execution, tenant, who.session),
        )
    assert who.execution is not None
    await open_board(connections, tenant, who.execution)
    return who
