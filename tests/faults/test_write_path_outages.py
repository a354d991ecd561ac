"""Servers and processes die while memories are written: what was acknowledged is in the record, once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import numpy
import pytest
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import valkey_server
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import LedgerUnavailable, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.embedding import load
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.receipts import Receipt
from lousa.memory_layers.records import SHARED, Memory, MemoryKind
from lousa.memory_layers.router import Router

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

_MODEL = load("e5")


class Instant:
    """An embedder without a model."""

    name, fingerprint, dimensions = _MODEL.name, _MODEL.fingerprint, _MODEL.dimensions

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return numpy.full((len(texts), self.dimensions), self.dimensions**-0.5, dtype=numpy.float32)

    async def query(self, text: str) -> Vectors:
        return (await self.documents([text]))[0]


@asynccontextmanager
async def routing(redis_url: str, postgres_url: str) -> AsyncGenerator[tuple[Connections, Router]]:
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        feed = Feed(connections)
        await feed.start(stack)
        context = ContextLayer(connections, Instant())
        await context.start(stack)
        knowledge = KnowledgeLayer(connections)
        router = Router(connections, table(), context, knowledge, SystemClock(), Settings(), feed=feed)
        await router.start(stack)
        yield connections, router


def memory(who: Principal, number: int, kind: MemoryKind = MemoryKind.SEMANTIC) -> Memory:
    now, identifier = datetime.now(UTC), new_id()
    return Memory(
        id=identifier,
        tenant=who.tenant,
        owner=who.agent,
        session=who.session,
        execution=who.execution,
        scope=SHARED,
        kind=kind,
        text=f"memory number {number} of {identifier}",
        occurred_at=now,
        recorded_at=now,
    )


async def recorded(connections: Connections, who: Principal) -> dict[UUID, int]:
    """Memories of the tenant, and how many ledger entries each has."""
    async with connections.system_transaction(who.tenant) as connection:
        cursor = await connection.execute(
            "SELECT m.id, count(e.id) FROM memory m LEFT JOIN ledger_entry e ON e.memory = m.id GROUP BY m.id"
        )
        return dict(await cursor.fetchall())


@dataclass
class Valkey:
    """A Valkey of the test's own, that can be killed and come back."""

    folder: Path
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.folder / 'v.sock'}"

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            str(valkey_server(OURSELVES)),
            *("--port", "0", "--unixsocket", str(self.folder / "v.sock"), "--dir", str(self.folder), "--save", ""),
            *("--appendonly", "yes", "--appendfsync", "always"),
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(10):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_unix_connection(str(self.folder / "v.sock"))
                    writer.close()
                    return
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()
        (self.folder / "v.sock").unlink(missing_ok=True)


@dataclass
class Gate:
    """Stands before Postgres; when it is shut, connections are cut and refused."""

    folder: Path
    server: str
    shut: bool = False
    lines: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def start(self, stack: AsyncExitStack) -> None:
        listener = await asyncio.start_unix_server(self._accept, str(self.folder / ".s.PGSQL.5432"))
        stack.push_async_callback(self._stop, listener)

    def close(self) -> None:
        self.shut = True
        for line in list(self.lines):
            line.transport.abort()

    async def _stop(self, listener: asyncio.Server) -> None:
        listener.close()
        self.close()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(client, to_client))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if self.shut:
            to_client.transport.abort()
            return
        server, to_server = await asyncio.open_unix_connection(self.server)
        self.lines |= {to_client, to_server}
        await asyncio.gather(_pump(client, to_server), _pump(server, to_client))
        self.lines -= {to_client, to_server}


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
    sink.transport.abort()


async def insist(router: Router, who: Principal, kept: Memory) -> Receipt:
    """Send it until it is acknowledged, as a task that is run again does."""
    while True:
        try:
            return await router.remember(who, kept, operation=kept.id)
        except ServerUnavailable:
            await asyncio.sleep(0.05)


async def test_a_redis_that_is_killed_loses_nothing_that_was_acknowledged(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    valkey = Valkey(tmp_path)
    await valkey.start()
    try:
        async with routing(valkey.url, servers.postgres_url) as (connections, router):
            kept = [memory(principal, number) for number in range(120)]

            async def write() -> None:
                for each in kept:
                    await insist(router, principal, each)

            writing = asyncio.create_task(write())
            for pause in (0.1, 0.3):
                await asyncio.sleep(pause)
                await valkey.kill()
                await asyncio.sleep(0.2)
                await valkey.start()
            await writing
            assert await router.caught_up(principal, timedelta(seconds=15))
            assert await recorded(connections, principal) == {each.id: 1 for each in kept}
    finally:
        await valkey.kill()


async def test_a_postgres_that_goes_away_delays_and_loses_nothing(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    folder = parse_qs(urlsplit(servers.postgres_url).query)["host"][0]
    gate = Gate(tmp_path, f"{folder}/.s.PGSQL.5432")
    async with AsyncExitStack() as stack:
        await gate.start(stack)
        url = servers.postgres_url.replace(folder, str(tmp_path))
        connections, router = await stack.enter_async_context(routing(servers.redis_url, url))
        backs = [memory(principal, number) for number in range(60)]
        rules = [memory(principal, number, MemoryKind.PROCEDURAL) for number in range(20)]

        async def write(some: list[Memory]) -> None:
            for each in some:
                await insist(router, principal, each)
                await asyncio.sleep(0.01)

        writing = [asyncio.create_task(write(some)) for some in (backs, rules)]
        for pause in (0.1, 0.4):
            await asyncio.sleep(pause)
            gate.close()
            await asyncio.sleep(0.3)
            gate.shut = False
        await asyncio.gather(*writing)
        assert await router.caught_up(principal, timedelta(seconds=20))
        assert await recorded(connections, principal) == {each.id: 1 for each in [*backs, *rules]}


async def test_a_write_through_without_a_ledger_is_refused_in_seconds(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    folder = parse_qs(urlsplit(servers.postgres_url).query)["host"][0]
    gate = Gate(tmp_path, f"{folder}/.s.PGSQL.5432")
    async with AsyncExitStack() as stack:
        await gate.start(stack)
        url = servers.postgres_url.replace(folder, str(tmp_path))
        connections, router = await stack.enter_async_context(routing(servers.redis_url, url))
        rule = memory(principal, 1, MemoryKind.PROCEDURAL)
        gate.close()
        with pytest.raises(LedgerUnavailable):
            async with asyncio.timeout(20):
                await router.remember(principal, rule, operation=rule.id)
        gate.shut = False
        assert (await insist(router, principal, rule)).state == "stored"
        assert await recorded(connections, principal) == {rule.id: 1}


_WRITER = """
import asyncio, sys
from test_write_path_outages import memory, routing
from lousa.infra.identity import Principal
from lousa.memory_layers.records import MemoryKind

async def main(redis_url, postgres_url, tenant):
    who = Principal(tenant=tenant, agent="tester", session="session-1")
    async with routing(redis_url, postgres_url) as (_, router):
        for number in range(100_000):
            kept = memory(who, number, MemoryKind.PROCEDURAL if number % 5 == 0 else MemoryKind.SEMANTIC)
            receipt = await router.remember(who, kept, operation=kept.id)
            print(receipt.id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_process_that_is_killed_loses_nothing_that_it_had_acknowledged(
    servers: Endpoints, connections: Connections, principal: Principal
) -> None:
    acknowledged: list[UUID] = []
    random = Random(7)
    for _ in range(2):
        writer = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _WRITER, servers.redis_url, servers.postgres_url, principal.tenant),
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parent,
        )
        assert writer.stdout is not None
        try:
            first = await writer.stdout.readline()
            await asyncio.sleep(random.uniform(0.2, 0.6))
        finally:
            writer.kill()
        lines = (first + await writer.stdout.read()).decode().splitlines()
        acknowledged += [UUID(line) for line in lines if len(line) == 36]
        await writer.wait()
    outside = Principal(tenant=principal.tenant, agent="tester", session="session-1")
    async with routing(servers.redis_url, servers.postgres_url) as (_, router):
        assert await router.caught_up(outside, timedelta(seconds=15))
        found = await recorded(connections, principal)
    assert len(acknowledged) > 20
    assert {identifier: found.get(identifier) for identifier in acknowledged} == dict.fromkeys(acknowledged, 1)
    assert set(found.values()) == {1}
