"""A master that dies or hangs: its replica takes over, work goes on there, and what was acknowledged is there once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from lousa.infra.errors import ServerUnavailable
from lousa.memory_layers.conversation.board import Board, Written
from lousa.memory_layers.conversation.watch import Change
from lousa.memory_layers.journal import Journal
from servers.valkey import Watched, wait_for

from .conftest import Entering
from .test_cluster import all_changes, entry

COUNT = 60


async def test_a_master_that_dies_takes_nothing_along_that_its_replica_had(doomed: Watched, entering: Entering) -> None:
    async with entering(doomed.url) as process:
        board, journal, tenant = await process.board(), Journal(process.connections), process.who.tenant
        for number in range(COUNT):
            assert isinstance(await board.write(f"before/{number}", number, key=f"b{number}"), Written)
        await journal.append(tenant, entry(tenant))
        claim = await board.claim("task", 60)
        wait_for("the replica to be in step", doomed.in_step)
        watching = asyncio.create_task(all_changes(board, 2 * COUNT))
        waiting = asyncio.create_task(board.wait_for("after/0", timedelta(seconds=50)))
        await asyncio.sleep(0.05)
        old = doomed.master()
        old.kill()
        answers = await asyncio.gather(*(board.write(f"after/{number}", number) for number in range(COUNT)))
        assert all(isinstance(answer, Written) and not answer.repeated for answer in answers)
        assert await board.read_all() == {
            f"{when}/{number}": number for when in ("before", "after") for number in range(COUNT)
        }
        # Whoever heard nothing and asks again meets the answers of the old master.
        again = [await board.write(f"before/{number}", number, key=f"b{number}") for number in range(COUNT)]
        assert all(isinstance(answer, Written) and answer.repeated for answer in again)
        assert await watching == list(range(1, 2 * COUNT + 1))
        await waiting
        assert claim is not None and await board.claim("task", 60) is None
        assert len((await journal.take([tenant], "relay", 10))[tenant]) == 1
        assert doomed.master() is not old


async def test_a_master_that_hangs_is_left_and_does_not_come_back_with_what_was(
    doomed: Watched, entering: Entering
) -> None:
    async with entering(doomed.url) as process:
        board: Board = await process.board()
        await board.write("a", 1)
        wait_for("the replica to be in step", doomed.in_step)
        old = doomed.master()
        old.hang()
        try:
            written = await asyncio.gather(*(board.write(f"f{number}", number) for number in range(20)))
        finally:
            old.go_on()
        assert all(isinstance(answer, Written) for answer in written)
        async with board.watch(since="0-0") as changes:
            seen = [await anext(changes) for _ in range(21)]
        assert all(isinstance(change, Change) for change in seen)
        answers = await asyncio.gather(*(board.write(f"g{number}", number) for number in range(20)))
        assert all(isinstance(answer, Written) for answer in answers)
        assert len(await board.read_all()) == 41


async def test_one_sentinel_that_answers_is_enough(group: Watched, entering: Entering) -> None:
    url = group.url.replace("sentinel://", "sentinel://127.0.0.1:1,localhost:2,")
    async with entering(url) as process:
        assert isinstance(await (await process.board()).write("a", 1), Written)


async def test_a_master_that_nobody_knows_is_said_so_without_a_password(
    group: Watched, entering: Entering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lousa.infra.redis.PATIENCE", -5.0)
    url = group.url.replace("sentinel://", "sentinel://:hidden@").replace("/lousa", "/nobody")
    with pytest.raises(ServerUnavailable, match="'nobody'") as told:
        async with entering(url):
            pass
    assert "hidden" not in str(told.value) and "LOUSA_REDIS_URL" in str(told.value)
