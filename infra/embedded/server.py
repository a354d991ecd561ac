"""One server under the gate: is it there, start it, send it away.

What differs between Valkey and PostgreSQL is a `Program`; what is the same is a `Server`. Every method that changes
something expects the caller to hold the home's gate, so none of them races with its like in another process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Literal, Protocol

from ..errors import HomeInUse, ServerUnavailable
from . import life as lives
from .life import Life
from .privileges import RunAs

logger = logging.getLogger(__name__)

State = Literal["ready", "busy", "gone"]
"""It answers; it lives and will answer (recovery, loading); nobody is behind the socket."""

LOADING_PATIENCE = 300.0
GONE_PATIENCE = 10.0
PROGRAMS = frozenset({"postgres", "valkey-server", "initdb"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command, the folder it starts in, and as whom."""

    command: tuple[str, ...]
    folder: Path
    who: RunAs
    version: str


class Program(Protocol):
    """What a `Server` must know about the program it runs."""

    @property
    def name(self) -> str:
        """Also the stem of its life file and its log."""
        ...

    @property
    def farewell(self) -> tuple[tuple[signal.Signals, float], ...]:
        """Signals that end it, mildest first, each with the seconds to wait before the next."""
        ...

    async def prepare(self, log: Path) -> Launch:
        """Make what it needs on disk; safe to repeat after a crash at any point of it."""
        ...

    def sockets_at(self, sockets: Path) -> tuple[str, ...]:
        """The words to add to the command so that it listens in `sockets`."""
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
        self.log = home / "logs" / f"{program.name}.log"

    async def running(self) -> Life | None:
        """Its life if it can be used at once. Needs no gate and starts no process."""
        life = lives.read(self.life)
        if life is None or life.stopping or not lives.held(self.life):
            return None
        return life if await self.program.state(life) == "ready" else None

    async def ensure(self, sockets: Path, fsync: str) -> tuple[Life, bool]:
        """Adopt the server that is there, or start one; True if one was started. Under the gate.

        Raises:
            ServerUnavailable: it does not start; the message ends with the last lines of its log.
            HomeInUse: something we cannot see holds the data.
        """
        if lives.held(self.life):
            life = lives.read(self.life)
            if life is not None and not life.stopping and life.program != "initdb" and await self._becomes_ready(life):
                return life, False
            await self.dismiss()
        launch = await self.program.prepare(self.log)
        line = {"program": Path(launch.command[0]).name, "version": launch.version}
        command = (*launch.command, *self.program.sockets_at(sockets))
        launch = Launch(command=command, folder=launch.folder, who=launch.who, version=launch.version)
        begun = self.log.stat().st_size if self.log.exists() else 0
        code, why = await _launch(
            launch, log=self.log, life=self.life, line={**line, "sockets": str(sockets), "fsync": fsync}
        )
        life = lives.read(self.life)
        if code or life is None or not await self._becomes_ready(life):
            raise self._failure(why, begun)
        return life, True

    async def dismiss(self, why: lives.Stopping = "last") -> bool:
        """End whatever holds the life file, and wait until it is gone. True if there was anything. Under the gate."""
        if not lives.held(self.life):
            return False
        life = lives.read(self.life)
        if life is None or not _is_ours(life):
            if await _until_free(self.life, 5.0):
                return True
            raise HomeInUse(
                f"a {self.program.name} server that this process cannot see (in another container?) holds "
                f"{str(self.life)!r}; stop it, or point LOUSA_HOME elsewhere"
            )
        life = lives.mark(self.life, life, stopping=why)
        for number, patience in self.program.farewell:
            try:
                os.kill(life.pid, number)
            except ProcessLookupError:
                patience = 5.0  # its children are still leaving
            except PermissionError as error:
                raise HomeInUse(f"the {self.program.name} server {life.pid} belongs to another user") from error
            if await _until_free(self.life, patience):
                return True
            logger.warning("%s (pid %s) did not end within %s s of %s", life.program, life.pid, patience, number.name)
        raise ServerUnavailable(f"the {self.program.name} server (pid {life.pid}) cannot be ended")

    async def _becomes_ready(self, life: Life) -> bool:
        started, pause = monotonic(), 0.002
        answered = started
        while True:
            state = await self.program.state(life)
            if state == "ready":
                return True
            now = monotonic()
            if state == "busy":
                answered = now
            if not lives.held(self.life) or now - answered > GONE_PATIENCE or now - started > LOADING_PATIENCE:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, 0.05)

    def _failure(self, why: str, begun: int) -> ServerUnavailable:
        said = why.strip() or tail(self.log, begun) or "it said nothing"
        way_out = "free some space and try again" if "No space left" in said else f"its whole log is {str(self.log)!r}"
        return ServerUnavailable(f"the embedded {self.program.name} server did not start; {way_out}; it said:\n{said}")


def tail(log: Path, begun: int = 0, lines: int = 12) -> str:
    """The last lines that a log got since it was `begun` bytes long."""
    try:
        with log.open("rb") as file:
            file.seek(max(begun, log.stat().st_size - 8192))
            return "\n".join(file.read().decode(errors="replace").strip().splitlines()[-lines:])
    except OSError:
        return ""


async def run_to_end(launch: Launch, *, log: Path, life: Path | None = None, words: str = "") -> int:
    """Run a program to its end, `words` on its input; its exit code. It holds `life` meanwhile, like a server."""
    line = {"program": "initdb", "version": "", "sockets": ""}
    code, _ = await _launch(launch, log=log, life=life, line=line, words=words, detach=False)
    return code


async def can_enter_namespace(log: Path) -> bool:
    """Whether this system lets root make a user namespace."""
    launch = Launch(command=(), folder=log.parent, who=RunAs(namespace=True), version="")
    return await run_to_end(launch, log=log) == 0


async def _launch(
    launch: Launch,
    *,
    log: Path,
    life: Path | None,
    line: dict[str, str],
    words: str = "",
    detach: bool = True,
) -> tuple[int, str]:
    spec = {
        "command": launch.command,
        "folder": str(launch.folder),
        "log": str(log),
        "life": {"path": str(life), "line": line} if life else None,
        "environment": _environment(),
        "detach": detach,
        "words": words,
        **asdict(launch.who),
    }
    script = str(Path(__file__).with_name("launch.py"))
    process = subprocess.Popen(  # noqa: ASYNC220  # a fork takes a millisecond; waiting is done below
        [sys.executable or "python3", "-I", "-S", script, json.dumps(spec)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
    )
    try:
        while (code := process.poll()) is None:
            await asyncio.sleep(0.003)
        assert process.stderr is not None
        return code, process.stderr.read().decode(errors="replace")
    finally:
        if process.poll() is None:  # cancelled
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _environment() -> dict[str, str]:
    """Little: variables such as PGDATA or PGPORT of the user's would be obeyed by the server."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _is_ours(life: Life) -> bool:
    """Whether the pid in a life file is (still) that program; without /proc the held lock must do."""
    if sys.platform != "linux":
        return True
    try:
        return Path(os.readlink(f"/proc/{life.pid}/exe")).name.removesuffix(" (deleted)") in PROGRAMS
    except OSError:
        return False


async def _until_free(path: Path, patience: float) -> bool:
    started = monotonic()
    while lives.held(path):
        if monotonic() - started > patience:
            return False
        await asyncio.sleep(0.005)
    return True
