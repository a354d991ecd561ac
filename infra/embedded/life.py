"""A server's life file: a lock that the server itself holds, and a line that says who it is.

The launcher locks the file and then becomes the server, so the lock is held exactly as long as the server, or any
process it forked, is alive. That is the one truth about "is it running" that survives crashes, reused pids, zombies
and containers; the line inside (pid, socket directory, how it syncs) is believed only while the lock is held.

`stopping` is written before a server is told to go. Whoever finds it knows that the server is on its way out and must
not be adopted, even if it still answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from .lock import Flock

Stopping = Literal["", "last", "asked"]
"""Why a server was told to go: the last process left, or somebody asked for it (and nobody shall revive it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What a server's life file says. `program` is the executable's file name, `sockets` the socket directory."""

    pid: int
    program: str
    version: str
    sockets: str
    fsync: str = ""
    stopping: Stopping = ""


def read(path: Path) -> Life | None:
    """The line in the file, believed or not; None if there is none or it is torn."""
    try:
        return Life(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def held(path: Path) -> bool:
    """Whether a server holds the file. Probing shares the lock for an instant, so probes do not mislead each other."""
    if not os.path.exists(path):
        return False
    probe = Flock(path)
    try:
        return not probe.try_shared()
    finally:
        probe.release()


def mark(path: Path, life: Life, *, stopping: Stopping | None = None, fsync: str | None = None) -> Life:
    """Write a changed line, in place because the inode carries the lock. Only under the gate."""
    new = replace(
        life,
        stopping=life.stopping if stopping is None else stopping,
        fsync=life.fsync if fsync is None else fsync,
    )
    line = json.dumps(asdict(new)).encode()
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.ftruncate(fd, os.pwrite(fd, line, 0))
    finally:
        os.close(fd)
    return new


class Watch:
    """Whether one life goes on, asked often and at no cost. A pid given to another does not deceive it (Linux)."""

    def __init__(self, life: Life, path: Path, socket_file: Path) -> None:
        self._pid, self._path, self._socket_file = life.pid, path, socket_file
        self._fd = -1

    def __enter__(self) -> Self:
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._fd = os.pidfd_open(self._pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def alive(self) -> bool:
        """Its process runs, its file is held, and clients can knock."""
        return self._process_runs() and held(self._path) and self._socket_file.exists()

    def _process_runs(self) -> bool:
        if self._fd >= 0:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            return not poll.poll(0)
        with contextlib.suppress(PermissionError):
            try:
                os.kill(self._pid, 0)
            except ProcessLookupError:
                return False
        return True
