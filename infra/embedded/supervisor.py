"""One pair of servers a home, shared by every process that needs it, and never in anyone's way.

Three locks make it so. Whoever uses the servers shares `sharers.lock`; whoever changes their state holds `gate.lock`
alone; each server holds its own life file (see `life`). To enter: share, and if both servers answer that is all, with
no process started and nothing waited for; if not, take the gate and start what is missing. To leave: take the gate,
let go, and try to hold `sharers.lock` alone; who succeeds was the last one out and stops the servers. Since a newcomer
who shares makes that attempt fail, and one who comes later waits at the gate, nobody is left with a stopping server.

A server belongs to no process: it is in a session of its own, its parent's death does not reach it, and the next
process to come adopts it. While servers are in use each sharer watches them, and the first to notice that one died
starts it again on the same data and at the same address.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import HomeInUse, LousaError, ServerUnavailable, SettingsError
from . import life as lives
from .life import Life
from .lock import Flock, alone
from .postgres import DATABASE, ROLE, Postgres
from .privileges import owner_of
from .server import Server
from .valkey import Valkey, sync_strictly

logger = logging.getLogger(__name__)

Fsync = Literal["always", "everysec"]

GATE_PATIENCE = 330.0
"""Longer than the longest thing done under the gate: a start that loads or recovers a large store."""
WATCH_EVERY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the servers of a home listen; empty for one that was not needed."""

    redis_url: str
    postgres_url: str
    started: bool
    """True when this call started a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One server. `version` is that of the wheel it came from."""

    name: str
    pid: int
    version: str
    answers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is up in a home. `sharers` are the pids of the processes that use it, where the system tells (Linux)."""

    home: Path
    running: bool
    servers: tuple[ServerStatus, ...]
    data: tuple[Path, ...]
    sockets: Path | None
    in_use: bool
    sharers: tuple[int, ...]


class EmbeddedServers:
    """The servers of `home`, from the point of view of one user of them."""

    def __init__(
        self,
        home: Path,
        *,
        fsync: Fsync = "always",
        need: frozenset[str] = frozenset({"valkey", "postgres"}),
    ) -> None:
        self.home = home
        self.fsync: Fsync = fsync
        self._servers = {name: server for name, server in _servers(home, fsync).items() if name in need}
        self._sharing: Flock | None = None

    async def start(self, stack: AsyncExitStack) -> Endpoints:
        """Use the servers until `stack` closes, starting what does not run.

        Raises:
            SettingsError: the home cannot be used.
            ServerUnavailable: a server does not start; the message ends with what it said.
            HomeInUse: the home is held by another user, version or container.
        """
        _make_home(self.home)
        self._sharing = Flock(self.home / "sharers.lock")
        stack.push_async_callback(self._leave, os.getpid())
        found = await self._found() if self._sharing.try_shared() else None
        started = False
        if found is None:
            async with _gate(self.home):
                self._sharing.try_shared()  # whoever held it alone did so under the gate, so this succeeds
                found, started = await self._ensure()
        watcher = asyncio.create_task(self._watch(found), name=f"watch over the servers of {self.home}")
        stack.push_async_callback(_end, watcher)
        return _endpoints(found, started)

    async def revive(self) -> None:
        """Return when every server answers, having started again what did not. Call it upon a connection failure.

        Raises:
            ServerUnavailable: a server does not start, or somebody stopped it on purpose.
        """
        if await self._found() is not None:
            return
        async with _gate(self.home):
            if self._asked_to_stop():
                raise ServerUnavailable(
                    f"the servers of {str(self.home)!r} were stopped on purpose (`lousa stop`); open it again to start them"
                )
            await self._ensure()

    async def _found(self) -> dict[str, Life] | None:
        """The lives of the servers if all of them can be used as they are."""
        found: dict[str, Life] = {}
        for name, server in self._servers.items():
            life = await server.running()
            if life is None or (name == "valkey" and life.fsync != self.fsync == "always"):
                return None
            found[name] = life
        return found

    async def _ensure(self) -> tuple[dict[str, Life], bool]:
        sockets = _sockets_of(self.home)
        (self.home / "logs").mkdir(mode=0o700, exist_ok=True)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    name: group.create_task(server.ensure(sockets, self.fsync if name == "valkey" else ""))
                    for name, server in self._servers.items()
                }
        except* LousaError as several:
            raise several.exceptions[0] from None
        except* OSError as several:
            raise _in_words(self.home, several.exceptions[0]) from several
        lived = {name: task.result() for name, task in tasks.items()}
        found = {name: life for name, (life, _) in lived.items()}
        valkey = found.get("valkey")
        if valkey is not None and valkey.fsync != self.fsync == "always":
            server = self._servers["valkey"]
            await sync_strictly(server.program.socket_file(valkey))
            found["valkey"] = lives.mark(server.life, valkey, fsync="always")
        return found, any(new for _, new in lived.values())

    def _asked_to_stop(self) -> bool:
        seen = (lives.read(server.life) for server in self._servers.values())
        return any(life is not None and life.stopping == "asked" for life in seen)

    async def _watch(self, found: dict[str, Life]) -> None:
        pause = WATCH_EVERY
        while True:
            with contextlib.ExitStack() as held:
                watches = [
                    (held.enter_context(_pid_watch(life.pid)), self._servers[name].program.socket_file(life))
                    for name, life in found.items()
                ]
                while all(watch.alive() and socket_file.exists() for watch, socket_file in watches):
                    await asyncio.sleep(WATCH_EVERY)
            if self._asked_to_stop():
                return
            try:
                await self.revive()
                found = await self._found() or found
                pause = WATCH_EVERY
            except LousaError as error:
                logger.warning("a server of %s died and is not back yet: %s", self.home, error)
                pause = min(pause * 2, 5.0)
                await asyncio.sleep(pause)

    async def _leave(self, pid: int) -> None:
        sharing, self._sharing = self._sharing, None
        if sharing is None or pid != os.getpid():
            return
        try:
            async with _gate(self.home):
                sharing.release()
                last = Flock(self.home / "sharers.lock")
                try:
                    if last.try_alone():
                        await _dismiss_all(self.home)
                finally:
                    last.release()
        finally:
            sharing.release()


async def stop(home: Path, *, force: bool = False) -> list[str]:
    """Stop the servers of a home; the names of those that ran.

    Raises:
        HomeInUse: somebody uses them, and `force` is not set.
    """
    if not home.is_dir():
        return []
    async with _gate(home):
        last = Flock(home / "sharers.lock")
        try:
            used = not last.try_alone()
            if used and not force:
                pids = _sharers(home / "sharers.lock")
                who = f" (pids {', '.join(map(str, pids))})" if pids else ""
                raise HomeInUse(f"the servers of {str(home)!r} are in use{who}; end those processes, or force the stop")
            return await _dismiss_all(home, "asked" if used else "last")
        finally:
            last.release()


async def status(home: Path) -> Status:
    """What is up in a home. Starts, stops and creates nothing."""
    seen: list[ServerStatus] = []
    sockets: Path | None = None
    for name, server in _servers(home, "always").items():
        life = lives.read(server.life)
        if life is not None and lives.held(server.life):
            answers = await server.program.state(life) == "ready"
            seen.append(ServerStatus(name=name, pid=life.pid, version=life.version, answers=answers))
            sockets = Path(life.sockets)
    lock = home / "sharers.lock"
    return Status(
        home=home,
        running=len(seen) == 2 and all(server.answers for server in seen),
        servers=tuple(seen),
        data=tuple(folder.resolve() for name in ("valkey", "postgres") if (folder := home / name).exists()),
        sockets=sockets,
        in_use=_in_use(lock),
        sharers=_sharers(lock),
    )


def _servers(home: Path, fsync: Fsync) -> dict[str, Server]:
    programs = (Valkey(home=home, fsync=fsync), Postgres(home=home))
    return {program.name: Server(program, home) for program in programs}


async def _dismiss_all(home: Path, why: lives.Stopping = "last") -> list[str]:
    servers = _servers(home, "always")
    ended = await asyncio.gather(*(server.dismiss(why) for server in servers.values()), return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    return [name for name, outcome in zip(servers, ended, strict=True) if outcome]


@contextlib.asynccontextmanager
async def _gate(home: Path) -> AsyncIterator[None]:
    try:
        async with alone(home / "gate.lock", patience=GATE_PATIENCE):
            yield
    except TimeoutError as error:
        raise HomeInUse(f"another process has been starting or stopping the servers for too long: {error}") from error


def _endpoints(found: dict[str, Life], started: bool) -> Endpoints:
    valkey, postgres = found.get("valkey"), found.get("postgres")
    return Endpoints(
        redis_url=f"unix://{valkey.sockets}/valkey.sock" if valkey else "",
        postgres_url=f"postgresql://{ROLE}@/{DATABASE}?host={postgres.sockets}" if postgres else "",
        started=started,
    )


def _make_home(home: Path) -> None:
    try:
        if not home.is_dir():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "gate.lock").touch(mode=0o600)
    except OSError as error:
        raise _in_words(home, error) from error


def _in_words(home: Path, error: BaseException) -> LousaError:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EEXIST, errno.ENOTDIR):
        return SettingsError(f"the home {str(home)!r} is or lies under a file; point LOUSA_HOME at a folder")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SettingsError(f"the home {str(home)!r} cannot be written ({error}); point LOUSA_HOME at a folder of yours")
    if number in (errno.ENOSPC, errno.EDQUOT):
        return ServerUnavailable(f"no space is left for {str(home)!r} ({error}); free some, or point LOUSA_HOME elsewhere")
    return ServerUnavailable(f"the home {str(home)!r} cannot be used: {error}")


def _sockets_of(home: Path) -> Path:
    """A short folder for the sockets, closed to others, named after the home's inode and so the same for all sharers.

    A socket's path holds some 100 bytes, a home's may be longer; and what is only in use needs no backup.
    """
    seen, who = home.stat(), owner_of(home)
    uid = os.geteuid() if who.uid is None else who.uid
    for attempt in range(8):
        folder = Path(f"/tmp/lousa-{uid}-{seen.st_dev:x}-{seen.st_ino:x}{f'-{attempt}' if attempt else ''}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            who.give(folder)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077:
            return folder
    raise ServerUnavailable("every folder under '/tmp' that could hold the sockets belongs to somebody else")


class _PidWatch:
    """Whether one process lives, immune to its pid being given to another where the system has pidfds."""

    def __init__(self, pid: int) -> None:
        self._pid, self._fd = pid, -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._fd = os.pidfd_open(pid)

    def alive(self) -> bool:
        if self._fd >= 0:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            return not poll.poll(0)
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _pid_watch(pid: int) -> contextlib.closing[_PidWatch]:
    return contextlib.closing(_PidWatch(pid))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _in_use(lock: Path) -> bool:
    if not lock.exists():
        return False
    probe = Flock(lock)
    try:
        return not probe.try_alone()
    finally:
        probe.release()


def _sharers(lock: Path) -> tuple[int, ...]:
    """The pids that share the lock, as the kernel lists them; empty where it does not."""
    try:
        seen = lock.stat()
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return ()
    where = f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"
    fields = (line.split() for line in lines)
    return tuple(sorted({int(field[4]) for field in fields if len(field) > 5 and field[1] == "FLOCK" and field[5] == where}))
