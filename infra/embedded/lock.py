"""Locks on files that the kernel keeps, and lets go of whenever their holder dies.

A `Flock` is one open file description. Two of them exclude each other even inside one process, so sharing between
event loops, threads and processes is counted by the kernel alone and no counter of ours can be wrong after a crash.

Two things could make such a lock outlive its holder, and both are closed here: a program started by exec never sees
the descriptor (Python opens it close-on-exec), and a forked child closes its copy at once. It closes and does not
unlock, because unlocking through a copy would take the lock from its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import weakref
from collections.abc import AsyncGenerator
from pathlib import Path
from time import monotonic


class Flock:
    """A lock on `path`, not yet taken. The file is made if it is missing and never removed: its inode is the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _living.add(self)

    def try_shared(self) -> bool:
        """Hold the lock together with others; False if somebody holds it alone."""
        return self._try(fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Hold the lock alone; False if anybody else holds it. A shared hold of this lock may be lost by trying."""
        return self._try(fcntl.LOCK_EX)

    def _try(self, kind: int) -> bool:
        if self._fd < 0:
            return False
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let go of the lock, whoever else still has a copy of the descriptor. May be called twice."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._forget()

    def _forget(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self._forget()


_living: weakref.WeakSet[Flock] = weakref.WeakSet()


def _forget_in_child() -> None:
    for lock in list(_living):
        lock._forget()  # pyright: ignore[reportPrivateUsage]  # the fork handler is part of the lock


os.register_at_fork(after_in_child=_forget_in_child)


@contextlib.asynccontextmanager
async def alone(path: Path, *, patience: float) -> AsyncGenerator[None]:
    """Hold `path` alone for the block; waits by polling, so that a cancelled waiter leaves nothing behind.

    Raises:
        TimeoutError: somebody held it for more than `patience` seconds.
    """
    lock = Flock(path)
    try:
        started, pause = monotonic(), 0.001
        while not lock.try_alone():
            if monotonic() - started > patience:
                raise TimeoutError(f"{str(path)!r} stayed locked for {patience:.0f} s")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        yield
    finally:
        lock.release()
