"""One server under the gate: is it there, start it, send it away.

What differs between Valkey and PostgreSQL is a `Program`; what is the same is a `Server`. Every method that changes
something expects the caller to hold the home's gate, so none of them races with its like in another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Literal, Protocol

from ..errors import HomeInUse, ServerUnavailable
from . import life as lives
from .home import LOGS, sockets_for, tidy
from .launcher import HELD, Launch, launch
from .life import Life

logger = logging.getLogger(__name__)

State = Literal["ready", "busy", "gone"]
"""It answers; it lives and will answer (recovery, loading); nobody is behind the socket."""

LOADING_PATIENCE = 300.0
START_PATIENCE = 15.0
ADOPTION_PATIENCE = 2.0
LOG_LIMIT = 1_000_000
NOISE = "the database system is starting up"
"""What PostgreSQL logs at each attempt to connect while it recovers; it would crowd out the reason of a failure."""
INITIALISING = "postgres.init-"
"""How the folder of an initialisation begins; it is in the command line of what works there."""


class Program(Protocol):
    """What a `Server` must know about the program it runs."""

    @property
    def name(self) -> str:
        """Also the stem of its life file and its log."""
        ...

    @property
    def data(self) -> Path:
        """The folder with its data, or a link to it."""
        ...

    @property
    def farewell(self) -> tuple[tuple[signal.Signals, float], ...]:
        """Signals that end it, mildest first, each with the seconds to wait before the next."""
        ...

    async def prepare(self, log: Path) -> Launch:
        """Make what it needs on disk; safe to repeat after a crash at any point of it.

        Raises:
            BlockingIOError: another program took the life file meanwhile.
        """
        ...

    def words_for(self, life: Life) -> tuple[str, ...]:
        """The words to add to the command so that it listens, and syncs, as `life` says."""
        ...

    def socket_file(self, life: Life) -> Path:
        """The file at which clients knock."""
        ...

    async def state(self, life: Life) -> State:
        """Ask it, within two seconds."""
        ...


class Server:
    """The server of one program in one home."""

    def __init__(self, program: Program, home: Path) -> None:
        self.program = program
        self.life = home / f"{program.name}.life"
        self.log = home / LOGS / f"{program.name}.log"
        self._home = home

    async def running(self) -> Life | None:
        """Its life if it can be used at once. Needs no gate and starts no process."""
        life = lives.read(self.life)
        if life is None or life.stopping or not lives.held(self.life):
            return None
        return life if await self.program.state(life) == "ready" else None

    async def ensure(self, fsync: str) -> tuple[Life, bool]:
        """Adopt the server that is there, or start one; True if one was started. Under the gate.

        Raises:
            ServerUnavailable: it does not start; the message ends with the last lines of its log.
            HomeInUse: something we cannot see holds the data.
        """
        for _ in range(3):  # a launcher whose owner was killed may come between; then its server is adopted
            if lives.held(self.life):
                life = lives.read(self.life)
                if life is not None and life.sockets and not life.stopping:
                    if await self._becomes_ready(life, ADOPTION_PATIENCE):
                        return life, False
                    logger.warning("%s (pid %s) lives but does not answer; it is replaced", life.program, life.pid)
                await self.dismiss()
            with contextlib.suppress(BlockingIOError):
                return await self._start(fsync), True
        raise HomeInUse(f"other {self.program.name} servers keep starting in {str(self._home)!r}")

    async def _start(self, fsync: str) -> Life:
        _rotate(self.log)
        begun = size(self.log)
        prepared = await self.program.prepare(self.log)
        sockets = sockets_for(self._home, prepared.who)
        program = Path(prepared.command[0]).name
        future = Life(pid=0, program=program, version=prepared.version, sockets=str(sockets), fsync=fsync)
        await self._clear_socket(self.program.socket_file(future))
        command = (*prepared.command, *self.program.words_for(future))
        code, why = await launch(replace(prepared, command=command), log=self.log, life=self.life, line=future)
        if code == HELD:
            raise BlockingIOError(why)
        life = lives.read(self.life)
        if code or life is None or not await self._becomes_ready(life, START_PATIENCE):
            raise self._failure(why if code else tail(self.log, begun))
        return life

    async def dismiss(self, why: lives.Stopping = "last") -> bool:
        """End whatever holds the life file, and wait until it is gone. True if there was anything. Under the gate.

        Raises:
            HomeInUse: it belongs to another user, or we cannot see who it is.
            ServerUnavailable: it cannot be ended.
        """
        if not lives.held(self.life):
            return False
        life = lives.read(self.life)
        if life is None or not _is_ours(life.pid, life.sockets or INITIALISING):
            await self._outlast_children()
            return True
        lives.mark(self.life, life, stopping=why)
        for number, patience in self.program.farewell:
            try:
                os.kill(life.pid, number)
            except ProcessLookupError:
                break
            except PermissionError as error:
                raise HomeInUse(f"the {self.program.name} server {life.pid} belongs to another user") from error
            if await _until_free(self.life, patience):
                return True
            logger.warning("%s (pid %s) did not end within %s s of %s", life.program, life.pid, patience, number.name)
        await self._outlast_children()
        return True

    async def send_away(self, life: Life) -> None:
        """End a server whose home is gone, so that no lock is left to ask and nothing to be kept."""
        if _is_ours(life.pid, life.sockets):
            with contextlib.suppress(OSError):
                os.kill(life.pid, self.program.farewell[0][0])
        socket_file = self.program.socket_file(life)
        await self._clear_socket(socket_file)
        with contextlib.suppress(OSError):
            socket_file.unlink()
        tidy(socket_file.parent)

    async def _outlast_children(self) -> None:
        """Outlive what a killed server forked: most leave at once, a long query or a rewrite of the file does not."""
        for last_try in (False, True):
            if await _until_free(self.life, 1.0):
                return
            if not last_try:
                for pid in _processes_in(self.program.data):
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
        raise HomeInUse(
            f"a {self.program.name} server that this process cannot see (in another container?) holds "
            f"{str(self.life)!r}; stop it, or point LOUSA_HOME elsewhere"
        )

    async def _clear_socket(self, socket_file: Path) -> None:
        """End a server whose home was removed under it: our life file is free, and yet one listens at our address."""
        pid = _listener(socket_file)
        if pid is None:
            # PostgreSQL's, left by a kill: it would believe it as long as anything, even a zombie, has the pid inside
            socket_file.with_name(f"{socket_file.name}.lock").unlink(missing_ok=True)
            return
        if not _is_ours(pid, str(socket_file.parent)):
            return
        logger.warning("a %s server (pid %s) outlived its home and is ended", self.program.name, pid)
        for number, patience in self.program.farewell:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            started = monotonic()
            while monotonic() - started < patience:
                if _listener(socket_file) is None:
                    return await self._clear_socket(socket_file)
                await asyncio.sleep(0.01)

    async def _becomes_ready(self, life: Life, patience: float) -> bool:
        started = answered = monotonic()
        pause = 0.002
        while (state := await self.program.state(life)) != "ready":
            now = monotonic()
            if state == "busy":
                answered = now
            if not lives.held(self.life) or now - answered > patience or now - started > LOADING_PATIENCE:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, 0.05)
        return True

    def _failure(self, said: str) -> ServerUnavailable:
        way_out = "free some space and try again" if "No space left" in said else f"its whole log is {str(self.log)!r}"
        return ServerUnavailable(
            f"the embedded {self.program.name} server did not start; {way_out}; it said:\n{said.strip() or 'nothing'}"
        )


def size(log: Path) -> int:
    """How long a log is, so that `tail` can tell what is new."""
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, begun: int = 0, lines: int = 12) -> str:
    """The last lines that a log got since it was `begun` bytes long."""
    try:
        with log.open("rb") as file:
            file.seek(max(begun, log.stat().st_size - 8192))
            said = file.read().decode(errors="replace").strip().splitlines()
            return "\n".join([line for line in said if NOISE not in line][-lines:])
    except OSError:
        return ""


def _rotate(log: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > LOG_LIMIT:
            log.replace(log.with_name(f"{log.name}.1"))


def _is_ours(pid: int, sign: str) -> bool:
    """Whether a pid (still) is the process that has `sign` in its command line; without /proc the held lock must do.

    Only the command line can be read of another user's process by root without the right to trace, as in a container.
    """
    if sys.platform != "linux":
        return True
    try:
        return sign.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _processes_in(folder: Path) -> Iterator[int]:
    """The servers' processes that work in `folder`, as each does in its data (Linux)."""
    real = str(folder.resolve())
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            title = (entry / "cmdline").read_bytes()
            if os.readlink(entry / "cwd") == real and (b"postgres" in title or b"valkey" in title):
                yield int(entry.name)


def _listener(socket_file: Path) -> int | None:
    """The pid of the process that listens at a socket (Linux), as the kernel noted it."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.connect(str(socket_file))
        return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return None


async def _until_free(path: Path, patience: float) -> bool:
    started = monotonic()
    while lives.held(path):
        if monotonic() - started > patience:
            return False
        await asyncio.sleep(0.005)
    return True
