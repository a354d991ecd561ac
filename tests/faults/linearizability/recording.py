"""Recording: clients of several connections and processes on one board, at the same time, into one history.

Of the connections of this process some go straight to the server and some over a line that is cut; so do those of the
other processes. In some histories one of these is killed in the middle.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.opening import open_board

from .clients import TENANT, Client, Place, entered
from .cutting import Cutter
from .histories import Operation, Recorder, read

IMPATIENT = 0.01
CUT = 0.02
_FAULTS = Path(__file__).resolve().parents[1]


class Neighbour:
    """Another process with clients."""

    def __init__(self, redis_url: str, postgres_url: str) -> None:
        self._urls = (redis_url, postgres_url)
        self._process: asyncio.subprocess.Process | None = None
        self._killed = False

    async def start(self) -> None:
        """Start it, unless it runs."""
        if self._process is None:
            self._killed = False
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "linearizability.clients", *self._urls, str(IMPATIENT)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(_FAULTS)},
            )
            assert await self._line() == b"ready\n"

    async def walk(self, execution: UUID, log: Path, clients: Sequence[str], operations: int) -> None:
        """Take part in a history, to its end or until it is killed."""
        assert self._process is not None
        assert self._process.stdin is not None
        told = {"execution": str(execution), "log": str(log), "clients": clients, "operations": operations}
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        if await self._line() != b"done\n" and not self._killed:
            raise RuntimeError(f"a process with clients ended with {await self._process.wait()}")

    async def kill(self) -> None:
        """Kill it in the middle of whatever it does."""
        if self._process is not None:
            process, self._process, self._killed = self._process, None, True
            process.kill()
            await process.wait()

    async def _line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        return await self._process.stdout.readline()


class Recording:
    """Records histories on a server. `neighbours`: how many other processes take part, every second over a cut line."""

    def __init__(
        self, servers: Endpoints, folder: Path, *, seed: int = 1, neighbours: int = 2, cut: float = CUT
    ) -> None:
        self._servers = servers
        self._folder = folder
        self._random = random.Random(seed)
        self._cutter = Cutter(folder / "cut.sock", Path(servers.redis_url.removeprefix("unix://")), cut, seed)
        urls = (servers.redis_url, f"unix://{self._cutter.socket}")
        self._neighbours = [Neighbour(urls[n % 2], servers.postgres_url) for n in range(neighbours)]
        self._places: list[Place] = []

    @property
    def cut(self) -> int:
        """How many replies were cut so far."""
        return self._cutter.cut

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the connections, and start the other processes."""
        await self._cutter.start(stack)
        for url in (self._servers.redis_url, self._servers.redis_url, f"unix://{self._cutter.socket}"):
            self._places.append(await stack.enter_async_context(entered(url, self._servers.postgres_url)))
        for neighbour in self._neighbours:
            stack.push_async_callback(neighbour.kill)

    async def history(self, operations: int, *, kill: bool = False) -> list[Operation]:
        """One history of at least so many operations; `kill` a neighbour somewhere in it."""
        execution = new_id()
        connections = self._places[0].connections
        await open_board(connections, TENANT, execution)
        await asyncio.gather(*(neighbour.start() for neighbour in self._neighbours))
        spared = self._neighbours[1:] if kill else self._neighbours
        each = -(-operations // (2 * len(self._places) + 2 * len(spared)))
        logs = [self._folder / f"{execution}-{n}" for n in range(len(self._neighbours) + 1)]
        with Recorder(logs[0]) as recorder:
            walking = [
                Client(place, execution, f"here-{n}-{m}", recorder, impatient=IMPATIENT).walk(each)
                for n, place in enumerate(self._places)
                for m in range(2)
            ]
            for n, neighbour in enumerate(self._neighbours):
                walking.append(neighbour.walk(execution, logs[n + 1], [f"there-{n}-{m}" for m in range(2)], each))
            if kill and self._neighbours:
                walking.append(self._kill_soon(self._neighbours[0]))
            await asyncio.gather(*walking)
        found = read(log for log in logs if log.exists())
        for log in logs:
            log.unlink(missing_ok=True)
        await connections.redis.delete(*board_keys(TENANT, execution).all())
        return found

    async def _kill_soon(self, neighbour: Neighbour) -> None:
        await asyncio.sleep(0.02 + self._random.random() * 0.2)
        await neighbour.kill()
