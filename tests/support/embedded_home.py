"""Processes that use the servers of a home, and what tests of the embedded servers ask about them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType

from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints, Status
from psycopg import AsyncConnection
from redis.asyncio import Redis

USER = """
import asyncio, json, os, random, sys
from contextlib import AsyncExitStack
from pathlib import Path
from lousa.infra.embedded.supervisor import EmbeddedServers

async def main(home, rounds, fork):
    for _ in range(rounds):
        async with AsyncExitStack() as stack:
            found = await EmbeddedServers(Path(home)).start(stack)
            print(json.dumps([found.redis_url, found.postgres_url, found.started]), flush=True)
            if fork and os.fork() == 0:
                os.close(0), os.close(1)
                os.execvp("sleep", ["sleep", "60"]) if fork == "exec" else __import__("time").sleep(60)
                os._exit(0)
            if rounds > 1:
                reader, writer = await asyncio.open_unix_connection(found.redis_url[7:])
                writer.write(b"PING\\r\\n")
                assert await reader.readline() == b"+PONG\\r\\n"
                writer.close()
            else:
                told = asyncio.Event()
                asyncio.get_running_loop().add_reader(0, told.set)
                await told.wait()
        await asyncio.sleep(random.uniform(0, 0.03 if rounds > 1 else 0))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
"""


class User:
    """Another process that uses the servers of a home until it is told to leave, or is killed."""

    def __init__(self, home: Path, *, rounds: int = 1, fork: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home), str(rounds), fork],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    async def opened(self) -> Endpoints:
        assert self.process.stdout is not None
        line = await asyncio.to_thread(self.process.stdout.readline)
        assert line, f"ended with {self.process.wait()} before it was open"
        redis_url, postgres_url, started = json.loads(line)
        return Endpoints(redis_url=redis_url, postgres_url=postgres_url, started=started)

    def tell_to_leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def left(self) -> None:
        self.tell_to_leave()
        assert await asyncio.to_thread(self.process.wait, 20) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> User:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Kept:
    """Under which name the running test keeps what it writes."""

    test = ""


def pids(seen: Status) -> dict[str, int]:
    return {server.name: server.pid for server in seen.servers}


async def eventually(holds: Callable[[], bool], within: float = 5.0) -> None:
    deadline = monotonic() + within
    while not holds():
        assert monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(home: Path) -> AsyncGenerator[tuple[EmbeddedServers, Endpoints]]:
    async with AsyncExitStack() as stack:
        servers = EmbeddedServers(home)
        yield servers, await servers.start(stack)


def valkey(found: Endpoints) -> Redis:
    return Redis.from_url(found.redis_url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType]


async def setting(found: Endpoints, name: str) -> str | None:
    async with valkey(found) as redis:
        return (await redis.config_get(name))[name]  # pyright: ignore[reportUnknownMemberType]


def empty(folder: Path) -> None:
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def descriptors(pid: int) -> set[str]:
    return {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}


def runs(pid: int) -> bool:
    """Zombies do not."""
    with suppress(OSError):
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


async def write(found: Endpoints, value: str) -> None:
    async with valkey(found) as redis, await AsyncConnection.connect(found.postgres_url) as postgres:
        await redis.rpush(Kept.test, value)
        await postgres.execute("CREATE TABLE IF NOT EXISTS kept (test text, value text)")
        await postgres.execute("INSERT INTO kept VALUES (%s, %s)", (Kept.test, value))


async def read(found: Endpoints) -> tuple[list[str], list[str]]:
    async with valkey(found) as redis, await AsyncConnection.connect(found.postgres_url) as postgres:
        listed = await redis.lrange(Kept.test, 0, -1)
        answer = await postgres.execute("SELECT value FROM kept WHERE test = %s ORDER BY value", (Kept.test,))
        rows = await answer.fetchall()
        return sorted(str(value) for value in listed), [row[0] for row in rows]
