"""Embedded servers are shared, survive whoever dies, and leave nothing behind: on the real ones, with real kills."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from uuid import uuid4

import psycopg
import pytest
from lousa.infra.embedded import life as lives
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints, Status, status, stop
from lousa.infra.errors import HomeInUse, ServerUnavailable
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was opened once: copying it spares each test the initialisation."""
    home = tmp_path_factory.mktemp("made") / "home"

    async def once() -> None:
        async with AsyncExitStack() as stack:
            await EmbeddedServers(home).start(stack)

    asyncio.run(once())
    return home


@pytest.fixture
async def home(made: Path) -> AsyncGenerator[Path]:
    """A home whose servers do not run; afterwards none may be left running."""
    yield made
    left = await status(made)
    await stop(made, force=True)
    assert left.servers == (), "servers were left behind"


@pytest.fixture(autouse=True)
def kept() -> None:
    Kept.test = uuid4().hex


@pytest.fixture
def spare(made: Path, tmp_path: Path) -> Path:
    """A home to be destroyed."""
    return Path(shutil.copytree(made, tmp_path / "spare"))


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


async def test_processes_share_one_pair_and_the_last_one_out_stops_it(home: Path) -> None:
    with User(home) as first, User(home) as second, User(home) as third:
        found = [await user.opened() for user in (first, second, third)]
        assert sum(each.started for each in found) == 1
        assert len({(each.redis_url, each.postgres_url) for each in found}) == 1
        before = await status(home)
        assert set(before.sharers) == {user.process.pid for user in (first, second, third)}
        for user in (first, third):
            await user.left()
            assert pids(await status(home)) == pids(before)
        await second.left()
    assert (await status(home)).servers == ()


async def test_processes_that_leave_at_once_leave_nothing_running(home: Path) -> None:
    users = [User(home) for _ in range(4)]
    for user in users:
        await user.opened()
    for user in users:
        user.tell_to_leave()
    for user in users:
        with user:
            await user.left()
    assert (await status(home)).servers == ()


async def test_processes_that_race_in_and_out_never_meet_a_dead_server_and_leave_none(home: Path) -> None:
    with User(home, rounds=30) as a, User(home, rounds=30) as b, User(home, rounds=30) as c, User(home, rounds=30) as d:
        codes = await asyncio.gather(*(asyncio.to_thread(user.process.wait, 50) for user in (a, b, c, d)))
    assert codes == [0, 0, 0, 0]
    assert (await status(home)).servers == ()


async def test_a_killed_first_owner_does_not_take_the_others_servers_along(home: Path) -> None:
    with User(home) as first:
        await first.opened()
        async with opened(home) as (_, found):
            assert not found.started
            before = pids(await status(home))
            first.kill()
            await asyncio.sleep(0.7)
            await write(found, "after")
            assert pids(await status(home)) == before
    assert (await status(home)).servers == ()


async def test_servers_of_a_killed_sole_owner_are_adopted_by_the_next_one(home: Path) -> None:
    with User(home) as owner:
        await write(await owner.opened(), "before")
        owner.kill()
    before = await status(home)
    assert before.running and not before.in_use
    async with opened(home) as (_, found):
        assert not found.started
        assert pids(await status(home)) == pids(before)
        assert await read(found) == (["before"], ["before"])


async def test_an_owner_killed_at_any_moment_leaves_what_the_next_one_can_open(home: Path) -> None:
    dice = random.Random(7)
    for number in range(8):
        with User(home) as owner:
            if number % 2:
                await owner.opened()
                owner.tell_to_leave()
                await asyncio.sleep(dice.uniform(0, 0.12))
            else:
                await asyncio.sleep(dice.uniform(0.1, 0.35))
            owner.kill()
        async with opened(home) as (_, found):
            await write(found, str(number))
            assert await read(found) == ([str(n) for n in range(number + 1)],) * 2


async def test_servers_that_were_on_their_way_out_are_not_adopted(home: Path) -> None:
    with User(home) as owner:
        await owner.opened()
        owner.kill()
    before = pids(await status(home))
    path = home / "valkey.life"
    life = lives.read(path)
    assert life is not None
    lives.mark(path, life, stopping="last")
    async with opened(home) as (_, found):
        after = pids(await status(home))
        assert found.started and after["valkey"] != before["valkey"] and after["postgres"] == before["postgres"]


@pytest.mark.parametrize("which", ["valkey", "postgres"])
async def test_a_killed_server_comes_back_by_itself_with_what_it_acknowledged(home: Path, which: str) -> None:
    async with opened(home) as (_, found):
        await write(found, "acknowledged")
        before = pids(await status(home))
        os.kill(before[which], signal.SIGKILL)
        began, now = monotonic(), await status(home)
        while not now.running or pids(now)[which] == before[which]:
            assert monotonic() - began < 5, "it was not back within five seconds"
            await asyncio.sleep(0.05)
            now = await status(home)
        assert await read(found) == (["acknowledged"], ["acknowledged"])


async def test_many_sharers_that_see_a_server_die_start_it_once(home: Path) -> None:
    log = home / "logs" / "postgres.log"
    starts = log.read_text().count("ready to accept")
    with User(home) as first, User(home) as second, User(home) as third:
        found, *_ = [await user.opened() for user in (first, second, third)]
        await write(found, "acknowledged")
        for pid in pids(await status(home)).values():
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(2)
        before = pids(await status(home))
        await asyncio.sleep(0.8)
        assert pids(await status(home)) == before
        assert await read(found) == (["acknowledged"], ["acknowledged"])
        after = log.read_text().count("ready to accept")
        for user in (first, second, third):
            await user.left()
        assert after - starts == 2  # when it was opened here, and once more


async def test_revive_waits_until_the_servers_answer(home: Path) -> None:
    async with opened(home) as (servers, found):
        await write(found, "acknowledged")
        for pid in pids(await status(home)).values():
            os.kill(pid, signal.SIGKILL)
            await eventually(lambda pid=pid: not runs(pid))
        await servers.revive()
        assert await read(found) == (["acknowledged"], ["acknowledged"])


async def test_a_query_that_outlives_its_postmaster_does_not_keep_the_server_down(home: Path) -> None:
    async with opened(home) as (servers, found):
        busy = await AsyncConnection.connect(found.postgres_url, autocommit=True)
        endless = asyncio.ensure_future(busy.execute("DO $$ BEGIN LOOP END LOOP; END $$"))
        await asyncio.sleep(0.3)
        before = pids(await status(home))["postgres"]
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: not runs(before))
        await servers.revive()
        await write(found, "after")
        with pytest.raises(psycopg.OperationalError):
            await endless
        await busy.close()


async def test_a_rewrite_that_outlives_its_valkey_does_not_keep_the_server_down(home: Path) -> None:
    async with opened(home) as (servers, found):
        await write(found, "acknowledged")
        async with valkey(found) as redis:
            await redis.config_set("rdb-key-save-delay", 2_000_000)  # pyright: ignore[reportUnknownMemberType]
            await redis.bgrewriteaof()  # pyright: ignore[reportUnknownMemberType]
            await asyncio.sleep(0.1)
        before = pids(await status(home))["valkey"]
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: not runs(before))
        assert lives.held(home / "valkey.life"), "no rewrite was under way"
        await servers.revive()
        await write(found, "and after")
        assert (await read(found))[0] == ["acknowledged", "and after"]


@pytest.mark.parametrize("which", ["valkey.sock", ".s.PGSQL.5432"])
async def test_a_server_whose_socket_was_removed_is_replaced(home: Path, which: str) -> None:
    async with opened(home) as (servers, found):
        await write(found, "acknowledged")
        (Path(found.redis_url.removeprefix("unix://")).parent / which).unlink()
        await servers.revive()
        assert await read(found) == (["acknowledged"], ["acknowledged"])


async def test_an_initialisation_killed_at_any_moment_is_done_again(tmp_path: Path) -> None:
    home, dice = tmp_path / "home", random.Random(3)
    for with_its_child in (False, True, False):
        with User(home) as owner:
            await eventually(lambda: any(home.glob("postgres.init-*")))
            await asyncio.sleep(dice.uniform(0.0, 0.25))
            life = lives.read(home / "postgres.life")
            owner.kill()
            if with_its_child and life is not None:
                with suppress(ProcessLookupError):
                    os.kill(life.pid, signal.SIGKILL)
    async with opened(home) as (_, found):
        await write(found, "whole")
        assert await read(found) == (["whole"], ["whole"])
        assert not list(home.glob("postgres.init-*"))
    assert (await status(home)).servers == ()


async def test_homes_may_be_deep_and_have_spaces_and_accents_and_stand_side_by_side(made: Path, tmp_path: Path) -> None:
    deep = tmp_path / "Área de Trabalho" / "çãé 'x' $y" / ("d" * 75) / ("e" * 75)
    other = tmp_path / "other"
    for place in (deep, other):
        shutil.copytree(made, place)
    async with opened(deep) as (_, one), opened(other) as (_, two):
        await write(one, "one")
        await write(two, "two")
        assert (await read(one), await read(two)) == ((["one"], ["one"]), (["two"], ["two"]))
        for found in (one, two):
            assert len(found.redis_url.removeprefix("unix://").encode()) < 100
    for place in (deep, other):
        assert (await status(place)).servers == ()


@pytest.mark.parametrize("how", ["fork", "exec"])
async def test_a_child_that_outlives_its_parent_keeps_nothing(home: Path, how: str) -> None:
    with User(home, fork=how) as parent:
        await parent.opened()
        await parent.left()
        assert (await status(home)).servers == ()


async def test_a_fork_of_a_killed_owner_does_not_count_as_a_user(home: Path) -> None:
    with User(home, fork="fork") as parent:
        await parent.opened()
        await asyncio.sleep(0.2)
        parent.kill()
        assert not (await status(home)).in_use
        assert sorted(await stop(home)) == ["postgres", "valkey"]


async def test_a_terminals_interrupt_reaches_its_processes_and_not_the_servers(home: Path) -> None:
    with User(home) as interrupted:
        await interrupted.opened()
        async with opened(home):
            before = pids(await status(home))
            os.killpg(interrupted.process.pid, signal.SIGINT)
            await asyncio.to_thread(interrupted.process.wait, 10)
            await asyncio.sleep(0.3)
            assert pids(await status(home)) == before


async def test_stop_refuses_while_somebody_uses_the_servers_unless_forced(home: Path) -> None:
    async with opened(home) as (servers, found):
        with pytest.raises(HomeInUse, match=str(os.getpid())):
            await stop(home)
        assert sorted(await stop(home, force=True)) == ["postgres", "valkey"]
        await asyncio.sleep(1.2)
        assert (await status(home)).servers == ()
        with pytest.raises(ServerUnavailable, match="on purpose"):
            await servers.revive()
        async with opened(home) as (_, again):
            assert again == found
            await write(found, "again")
    assert await stop(home) == []


def test_event_loops_in_threads_share_like_processes(home: Path) -> None:
    started: list[bool] = []
    meeting = threading.Barrier(3, timeout=20)

    async def use() -> None:
        async with opened(home) as (_, found):
            started.append(found.started)
            await asyncio.to_thread(meeting.wait)
            assert await setting(found, "port") == "0"

    threads = [threading.Thread(target=lambda: asyncio.run(use())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(started) == [False, False, True]


async def test_the_strictest_wish_for_syncing_wins(home: Path) -> None:
    async with AsyncExitStack() as stack:
        lax = EmbeddedServers(home, fsync="everysec")
        found = await lax.start(stack)
        assert await setting(found, "appendfsync") == "everysec"
        async with opened(home):
            assert await setting(found, "appendfsync") == "always"
            before = pids(await status(home))["valkey"]
            os.kill(before, signal.SIGKILL)
            await eventually(lambda: not runs(before))
            await lax.revive()
            assert await setting(found, "appendfsync") == "always"


async def test_joining_running_servers_starts_no_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(home) as (_, first):
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", None)
            began = monotonic()
            async with opened(home) as (_, second):
                took = monotonic() - began
            assert second.redis_url == first.redis_url and not second.started
            assert took < 0.1


async def test_servers_end_when_their_home_is_removed_in_use(spare: Path) -> None:
    async with opened(spare) as (_, found):
        left = pids(await status(spare)).values()
        shutil.rmtree(spare)
    await eventually(lambda: not any(map(runs, left)))
    sockets = Path(found.redis_url.removeprefix("unix://")).parent
    await eventually(lambda: not sockets.exists())


async def test_servers_that_outlived_their_home_give_way_to_the_next_ones(spare: Path, made: Path) -> None:
    with User(spare) as killed:
        await killed.opened()
        killed.kill()
    left = pids(await status(spare)).values()
    await asyncio.to_thread(empty, spare)  # the folder itself stays, and with it the place of the sockets
    shutil.copytree(made, spare, dirs_exist_ok=True)
    async with opened(spare) as (_, found):
        await write(found, "again")
        assert found.started and not any(map(runs, left))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_servers_inherit_nothing_of_ours_and_open_no_port(home: Path, tmp_path: Path) -> None:
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        async with opened(home) as (_, found):
            for pid in pids(await status(home)).values():
                seen = await asyncio.to_thread(descriptors, pid)
                assert not any(name.endswith(("ours", ".lock")) for name in seen)
            assert await setting(found, "port") == "0"
            async with await AsyncConnection.connect(found.postgres_url) as postgres:
                assert await (await postgres.execute("SHOW listen_addresses")).fetchone() == ("",)


async def test_logs_never_hold_what_was_in_a_statement(home: Path) -> None:
    async with opened(home) as (_, found):
        async with await AsyncConnection.connect(found.postgres_url, autocommit=True) as postgres:
            for statement in ("SELECT 'confidential' + 1", "SELEC confidential"):
                with pytest.raises(psycopg.Error):
                    await postgres.execute(statement)
        async with valkey(found) as redis:
            await redis.set("confidential", "confidential" * 200_000)
            assert await redis.eval("return redis.call('commandlog', 'len', 'large-request')", 0) == 0
    for log in (home / "logs").iterdir():
        assert "confidential" not in log.read_text()
