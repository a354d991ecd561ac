"""Servers of a test's own that go away, come back, hang or are small; a router over them, and what is in the record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import numpy
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import valkey_server
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import ServerUnavailable
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
async def routing(redis_url: str, postgres_url: str, **settings: Any) -> AsyncGenerator[tuple[Connections, Router]]:
    """A router with its relay, over these servers."""
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        feed = Feed(connections)
        await feed.start(stack)
        context = ContextLayer(connections, Instant())
        await context.start(stack)
        knowledge = KnowledgeLayer(connections)
        router = Router(connections, table(), context, knowledge, SystemClock(), Settings(**settings), feed=feed)
        await router.start(stack)
        yield connections, router


def memory(who: Principal, number: int, kind: MemoryKind = MemoryKind.SEMANTIC, *, words: str = "") -> Memory:
    now, identifier = datetime.now(UTC), new_id()
    return Memory(
        id=identifier,
        tenant=who.tenant,
        owner=who.agent,
        session=who.session,
        execution=who.execution,
        scope=SHARED,
        kind=kind,
        text=f"memory number {number} of {identifier} {words}".strip(),
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
    options: tuple[str, ...] = ()
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.folder / 'v.sock'}"

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            str(valkey_server(OURSELVES)),
            *("--port", "0", "--unixsocket", str(self.folder / "v.sock"), "--dir", str(self.folder), "--save", ""),
            *("--appendonly", "yes", "--appendfsync", "always", *self.options),
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
    """Stands before Postgres; when it is shut, connections are cut and refused, and while it is deaf nothing passes."""

    folder: Path
    server: str
    shut: bool = False
    hears: asyncio.Event = field(default_factory=asyncio.Event)
    lines: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @classmethod
    def before(cls, servers: Endpoints, folder: Path) -> Gate:
        """One before the Postgres of these servers, whose socket lies in `folder`."""
        return cls(folder, f"{_folder_of(servers)}/.s.PGSQL.5432")

    def url(self, servers: Endpoints) -> str:
        """The way to Postgres through the gate."""
        return servers.postgres_url.replace(_folder_of(servers), str(self.folder))

    async def start(self, stack: AsyncExitStack) -> None:
        self.hears.set()
        stack.push_async_callback(self._stop, await self._listen())

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_unix_server(self._accept, str(self.folder / ".s.PGSQL.5432"))

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self.server)

    def close(self) -> None:
        self.shut = True
        for line in list(self.lines):
            line.transport.abort()

    def open(self) -> None:
        self.shut = False

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
        server, to_server = await self._reach()
        self.lines |= {to_client, to_server}
        await asyncio.gather(self._pump(client, to_server), self._pump(server, to_client))
        self.lines -= {to_client, to_server}

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(65536):
                await self.hears.wait()
                sink.write(chunk)
                await sink.drain()
        sink.transport.abort()


@dataclass
class PortGate(Gate):
    """The same before a server that listens on a port of this machine; `server` is HOST:PORT, and `port` the gate's."""

    port: int = 0

    async def _listen(self) -> asyncio.Server:
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        return listener

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.server.rpartition(":")
        return await asyncio.open_connection(host, int(port))


def _folder_of(servers: Endpoints) -> str:
    return parse_qs(urlsplit(servers.postgres_url).query)["host"][0]


async def insist(router: Router, who: Principal, kept: Memory) -> Receipt:
    """Send it until it is acknowledged, as a task that is run again does."""
    while True:
        try:
            return await router.remember(who, kept, operation=kept.id)
        except ServerUnavailable:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def routing_by_a_gate(
    servers: Endpoints, folder: Path, *, redis_url: str | None = None, **settings: Any
) -> AsyncGenerator[tuple[Gate, Connections, Router]]:
    """The same with a gate before Postgres, open as yet."""
    gate = Gate.before(servers, folder)
    async with AsyncExitStack() as stack:
        await gate.start(stack)
        way = routing(redis_url or servers.redis_url, gate.url(servers), **settings)
        yield gate, *await stack.enter_async_context(way)
