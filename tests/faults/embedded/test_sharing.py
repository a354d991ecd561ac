"""Embedded servers are shared by whoever needs them and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from embedded_home import User, descriptors, eventually, opened, pids, read, runs, setting, valkey, write
from lousa.infra.embedded.supervisor import EmbeddedServers, status, stop
from lousa.infra.errors import HomeInUse, ServerUnavailable
from psycopg import AsyncConnection


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


@pytest.mark.parametrize("which", ["valkey.sock", ".s.PGSQL.5432"])
async def test_a_server_whose_socket_was_removed_is_replaced(home: Path, which: str) -> None:
    async with opened(home) as (servers, found):
        await write(found, "acknowledged")
        (Path(found.redis_url.removeprefix("unix://")).parent / which).unlink()
        await servers.revive()
        assert await read(found) == (["acknowledged"], ["acknowledged"])


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
