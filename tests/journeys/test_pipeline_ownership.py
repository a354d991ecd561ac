"""One process runs an execution at a time; a dead one is known to be dead, a silent one is waited for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from lousa.agents.ownership import RUN, Heartbeat, Life, lives, take_run
from lousa.infra.connections import Connections
from lousa.infra.errors import ExecutionBusy, NotFound, Stale
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.board import ANY, Board
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.operations import Operations

OWNER = """
import sys, time
from pathlib import Path
from lousa.agents.ownership import Life
life = Life(Path(sys.argv[1]))
print(life.note, flush=True)
time.sleep(60)
"""


class NoArtifacts:
    """The values here are small; none is put away."""

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        raise NotFound("nothing is put away")

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")


@pytest.fixture
def board(connections: Connections, principal: Principal) -> Board:
    return Board(
        connections,
        principal,
        feed=Feed(connections),
        artifacts=NoArtifacts(),
        operations=Operations(principal.execution),
        reserved=True,
    )


async def test_a_second_runner_is_told_that_the_first_lives(board: Board, tmp_path: Path):
    first, second = Life(tmp_path), Life(tmp_path)
    claim = await take_run(board, first, 30)
    for life, who in ((second, "another living process runs"), (first, "this process runs")):
        with pytest.raises(ExecutionBusy, match=who):
            await take_run(board, life, 30)
    await claim.release()
    assert (await take_run(board, second, 30)).token > claim.token


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process with a life file, and where that is."""
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


async def test_a_killed_runner_is_replaced_at_once_and_its_file_removed(
    board: Board, tmp_path: Path, owner: tuple[subprocess.Popen[str], str]
):
    process, note = owner
    assert lives(note) is True
    await board.claim(RUN, 30, note=note)
    with pytest.raises(ExecutionBusy):
        await take_run(board, Life(tmp_path), 30)
    process.kill()
    process.wait()
    began = time.monotonic()
    await take_run(board, Life(tmp_path), 30)
    assert time.monotonic() - began < 2
    assert lives(note) is None


async def test_a_runner_of_whom_nothing_is_known_is_waited_for(board: Board, tmp_path: Path):
    await board.claim(RUN, 0.3, note="/on/another/machine.life")
    began = time.monotonic()
    await take_run(board, Life(tmp_path), 0.3)
    assert 0.1 < time.monotonic() - began < 2


async def test_two_who_find_a_runner_dead_do_not_both_take_over(board: Board, tmp_path: Path):
    await board.claim(RUN, 30, note="")
    holder = await board.holder(RUN)
    assert holder is not None
    taken = await asyncio.gather(*(board.claim(RUN, 30, over=holder.token) for _ in range(8)))
    assert sum(claim is not None for claim in taken) == 1


async def test_a_heartbeat_keeps_a_claim_past_its_lease_and_tells_when_it_is_lost(board: Board):
    heartbeat = Heartbeat(0.3)
    claim = await board.claim(RUN, 0.3)
    assert claim is not None
    held = heartbeat.keep(claim)
    beating = asyncio.create_task(heartbeat.beat())
    await asyncio.sleep(0.7)
    assert await board.claim(RUN, 0.3) is None
    assert await board.claim(RUN, 0.3, over=ANY) is not None
    await asyncio.wait_for(held.lost, 2)
    with pytest.raises(Stale):
        await claim.renew()
    beating.cancel()


async def test_a_folder_that_cannot_be_made_leaves_only_the_lease(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    assert Life(tmp_path / "file" / "lives").note == ""
    assert lives("") is None


async def test_a_life_that_ends_takes_its_file_along(tmp_path: Path):
    async with AsyncExitStack() as stack:
        life = Life(tmp_path)
        await life.start(stack)
        assert os.listdir(tmp_path) == []
        assert lives(life.note) is True
    assert os.listdir(tmp_path) == []
