"""The board's server dies, forgets its scripts, or answers into the void: nothing is lost and nothing done twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import cast

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import valkey_server
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import NotFound, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation import feed as feeds
from lousa.memory_layers.conversation.board import Board, Written
from lousa.memory_layers.conversation.changes import Change
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.operations import Operations


class Server:
    """A Valkey of the test's own, that can be killed and come back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.socket = folder / "v.sock"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            str(valkey_server(OURSELVES)),
            *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder), "--save", ""),
            *("--appendonly", "yes", "--appendfsync", "always"),
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(10):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_unix_connection(str(self.socket))
                    writer.close()
                    return
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None
            self.socket.unlink(missing_ok=True)


class Relay:
    """Stands between client and server; can swallow the next reply and hang up, or swallow everything in silence."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.socket = folder / "p.sock"
        self.swallow_next = False
        self.deaf = False
        self.swallowed = 0
        self._server = server
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self, stack: AsyncExitStack) -> None:
        listener = await asyncio.start_unix_server(self._accept, str(self.socket))
        stack.push_async_callback(self._stop, listener)

    async def _stop(self, listener: asyncio.Server) -> None:
        listener.close()
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await listener.wait_closed()

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve(client, to_client)))

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(str(self._server))

        async def requests() -> None:
            while data := await client.read(65_536):
                to_server.write(data)

        asking = asyncio.create_task(requests())
        try:
            while data := await server.read(65_536):
                if self.deaf:
                    continue
                if self.swallow_next:
                    self.swallow_next = False
                    self.swallowed += 1
                    break
                to_client.write(data)
        finally:
            asking.cancel()
            to_client.close()
            to_server.close()


class NoArtifacts:
    """For values that are small."""

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        raise NotImplementedError

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        raise NotImplementedError

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        raise NotFound("none")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    started = Server(tmp_path)
    await started.start()
    yield started
    await started.kill()


async def board_at(socket: Path, servers: Endpoints, stack: AsyncExitStack) -> tuple[Board, Feed]:
    connections = Connections(f"unix://{socket}", servers.postgres_url)
    await connections.start(stack)
    feed = Feed(connections)
    await feed.start(stack)
    execution = new_id()
    who = Principal(tenant="t", agent="tester", session="s", execution=execution)
    await open_board(connections, who.tenant, execution)
    board = Board(connections, who, feed=feed, artifacts=NoArtifacts(), operations=Operations(who.execution))
    return board, feed


async def test_a_restarted_server_still_holds_all_that_was_acknowledged(server: Server, servers: Endpoints) -> None:
    async with AsyncExitStack() as stack:
        board, _ = await board_at(server.socket, servers, stack)
        claim = await board.claim("t", 60)
        assert claim is not None
        async with board.watch() as changes:
            for number in range(5):
                assert isinstance(await board.write(f"before-{number}", number), Written)
            await server.kill()
            back = asyncio.create_task(_later(server))
            for number in range(5):
                assert isinstance(await board.write(f"after-{number}", number), Written)
            await back
            async with asyncio.timeout(10):
                seen = [await anext(changes) for _ in range(10)]
        expected = [f"{when}-{number}" for when in ("before", "after") for number in range(5)]
        assert [change.field for change in seen if isinstance(change, Change)] == expected
        assert sorted(await board.read_all()) == sorted(expected)
        await claim.renew()
        second = await board.claim("u", 60)
        assert second is not None
        assert second.token == claim.token + 1


async def test_many_who_write_through_a_restart_lose_nothing_and_do_nothing_twice(
    server: Server, servers: Endpoints
) -> None:
    async with AsyncExitStack() as stack:
        board, feed = await board_at(server.socket, servers, stack)

        async def agent(number: int) -> None:
            for step in range(20):
                written = await board.write(f"{number}/{step}", step)
                assert isinstance(written, Written)
                await board.update("sum", lambda old: cast(int, old or 0) + 1)

        working = asyncio.gather(*map(agent, range(20)))
        for _ in range(2):
            await asyncio.sleep(0.1)
            await server.kill()
            await asyncio.sleep(0.1)
            await server.start()
        await working
        assert await board.read_versioned("sum") == (400, 400)
        assert len(await board.read_all()) == 401
        assert await feed.last("t", board.execution) == 800


async def test_a_waiting_agent_outlives_a_restart_of_the_server(server: Server, servers: Endpoints) -> None:
    async with AsyncExitStack() as stack:
        board, _ = await board_at(server.socket, servers, stack)
        waiting = asyncio.create_task(board.wait_for("answer", 20))
        await asyncio.sleep(0.1)
        await server.kill()
        await asyncio.sleep(0.3)
        await server.start()
        await board.write("answer", 42)
        assert await waiting == {"answer": 42}


async def test_a_server_that_stays_away_is_named(server: Server, servers: Endpoints) -> None:
    async with AsyncExitStack() as stack:
        board, _ = await board_at(server.socket, servers, stack)
        await server.kill()
        with pytest.raises(ServerUnavailable, match="was it stopped"):
            await board.write("a", 1)


async def test_a_write_whose_answer_is_lost_never_meets_itself(
    server: Server, servers: Endpoints, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        relay = Relay(tmp_path, server.socket)
        await relay.start(stack)
        board, feed = await board_at(relay.socket, servers, stack)
        await board.write("warm", "the server knows the scripts")
        assert await board.claim("warm", 60) is not None
        for number in range(5):
            relay.swallow_next = True
            written = await board.write("a", number)
            assert isinstance(written, Written)
            assert (written.version, written.repeated) == (number + 1, True)
            relay.swallow_next = True
            claim = await board.claim(f"t{number}", 60)
            assert claim is not None
            assert claim.token == number + 2
        assert relay.swallowed == 10
        assert len(await feed.drain("t", board.execution, "0-0")) == 6


async def test_a_watcher_whose_connection_went_silent_reads_on(
    server: Server, servers: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_BLOCK", 0.2)
    monkeypatch.setattr(feeds, "_GRACE", 0.2)
    async with AsyncExitStack() as stack:
        relay = Relay(tmp_path, server.socket)
        await relay.start(stack)
        board, _ = await board_at(relay.socket, servers, stack)
        direct, _ = await board_at(server.socket, servers, stack)
        other = Board(
            direct._connections, board._principal, feed=direct._feed, artifacts=NoArtifacts(),  # pyright: ignore
            operations=Operations(board.execution),
        )  # fmt: skip
        async with board.watch() as changes:
            relay.deaf = True
            await other.write("a", 1)
            await asyncio.sleep(0.5)
            relay.deaf = False
            async with asyncio.timeout(10):
                change = await anext(changes)
        assert isinstance(change, Change)
        assert change.field == "a"


async def _later(server: Server) -> None:
    await asyncio.sleep(0.3)
    await server.start()
