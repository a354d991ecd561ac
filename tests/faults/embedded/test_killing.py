"""Whoever dies, process or server: what was acknowledged is there, and the next one can go on."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from embedded_home import User, empty, eventually, opened, pids, read, runs, valkey, write
from lousa.infra.embedded import life as lives
from lousa.infra.embedded.supervisor import status, stop
from psycopg import AsyncConnection


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


async def test_a_fork_of_a_killed_owner_does_not_count_as_a_user(home: Path) -> None:
    with User(home, fork="fork") as parent:
        await parent.opened()
        await asyncio.sleep(0.2)
        parent.kill()
        assert not (await status(home)).in_use
        assert sorted(await stop(home)) == ["postgres", "valkey"]


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
