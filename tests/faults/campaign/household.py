"""The children of the campaign, and the servers of their home: begun, killed, and begun again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lousa.infra.embedded import life as lives
from lousa.infra.embedded.postgres import Postgres
from lousa.infra.embedded.server import Server
from lousa.infra.embedded.supervisor import stop
from lousa.infra.embedded.valkey import Valkey

Words = dict[str, Any]
Heard = Callable[["Child", list[Any]], None]


class Child:
    """One process. `met` once it said who it is, `ready` once it has Lousa open, `gone` once it has ended."""

    def __init__(self, name: str, order: Words) -> None:
        self.name = name
        self.order = order
        self.pid = 0
        self.met = asyncio.Event()
        self.ready = asyncio.Event()
        self.gone = asyncio.Event()
        self.expected = False
        """Whether somebody killed it, or told it to leave."""
        self._line: asyncio.StreamWriter | None = None
        self._waiting: list[Words] = []

    @property
    def works(self) -> bool:
        """Whether it lives and has Lousa open."""
        return self.ready.is_set() and not self.gone.is_set()

    def attach(self, line: asyncio.StreamWriter) -> None:
        self._line = line
        self.met.set()
        for words in self._waiting:
            self.tell(words)

    def tell(self, words: Words) -> None:
        """An order; it comes to nothing if the child dies."""
        if self._line is None:
            self._waiting.append(words)
        elif not self._line.is_closing():
            self._line.write(json.dumps(words).encode() + b"\n")

    def kill(self) -> None:
        """Signal 9, unless it has ended; whoever was never met cannot be known to have."""
        if self.gone.is_set() or not self.met.is_set():
            return
        self.expected = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Household:
    """Begins children through the nursery, and knows the servers."""

    def __init__(self, folder: Path, heard: Heard, ended: Callable[[Child], None]) -> None:
        self.home = folder / "home"
        self.log = folder / "log"
        self.children: dict[str, Child] = {}
        self._heard = heard
        self._ended = ended
        self._socket = str(folder / "w.sock")
        self._servers = {"valkey": Server(Valkey(home=self.home), self.home)}
        self._servers["postgres"] = Server(Postgres(home=self.home), self.home)
        self._turn = asyncio.Lock()
        self._reading: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen, and start the nursery."""
        self._listener = await asyncio.start_unix_server(self._accept, self._socket, limit=2**22)
        with self.log.open("ab") as log:
            self._nursery = await asyncio.create_subprocess_exec(
                sys.executable,
                str(Path(__file__).with_name("nursery.py")),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    async def close(self, *, kindly: bool) -> None:
        """End every child and both servers; kindly, if they have settled."""
        for child in self.children.values():
            child.expected = True
            child.tell({"do": "leave"})
            if not kindly:
                child.kill()
        _, late = await asyncio.wait([asyncio.create_task(c.gone.wait()) for c in self.children.values()], timeout=15)
        for child in self.children.values():
            if late:
                child.kill()
        assert self._nursery.stdin is not None
        self._nursery.stdin.close()
        await self._nursery.wait()
        self._listener.close()
        await stop(self.home, force=True)

    async def begin(self, name: str, order: Words) -> Child:
        """A new process under that name."""
        child = self.children[name] = Child(name, order)
        words = {"name": name, "socket": self._socket, "log": str(self.log), "home": str(self.home), **order}
        async with self._turn:
            assert self._nursery.stdin is not None and self._nursery.stdout is not None
            self._nursery.stdin.write(json.dumps(words).encode() + b"\n")
            child.pid = int(await self._nursery.stdout.readline())
        return child

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reading.add(task := asyncio.create_task(self._read(reader, writer)))
        task.add_done_callback(self._reading.discard)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        child: Child | None = None
        with suppress(ConnectionError):
            while line := await reader.readline():
                if not line.endswith(b"\n"):
                    break  # its last word was never finished
                words: list[Any] = json.loads(line)
                if child is None:
                    child = self.children[words[1]]
                    child.attach(writer)
                elif words[0] == "ready":
                    child.ready.set()
                self._heard(child, words)
        writer.close()
        if child is not None:
            child.gone.set()
            self._ended(child)

    # Servers

    def pid_of(self, server: str) -> int:
        """The process of a server that lives; 0 when none does."""
        path = self._servers[server].life
        life = lives.read(path)
        return life.pid if life is not None and lives.held(path) else 0

    async def back(self, server: str, since: int) -> None:
        """Wait until a server answers that is not the process `since`."""
        while True:
            life = await self._servers[server].running()
            if life is not None and life.pid != since:
                return
            await asyncio.sleep(0.02)


def folder() -> Path:
    """A new one for the home, the log and the socket; its name is short, as a socket's has to be."""
    return Path(tempfile.mkdtemp(prefix="lousa-f-"))
