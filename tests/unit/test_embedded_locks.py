"""The locks and life files on which the embedded servers rest."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
from lousa.infra.embedded import life as lives
from lousa.infra.embedded.life import Life
from lousa.infra.embedded.lock import Flock, alone

LIFE = Life(pid=7, program="valkey-server", version="9", sockets="/tmp/somewhere", fsync="always")


def test_holders_in_one_process_count_like_processes(tmp_path: Path) -> None:
    first, second, third = (Flock(tmp_path / "lock") for _ in range(3))
    assert first.try_shared() and second.try_shared() and not third.try_alone()
    first.release()
    assert not third.try_alone()
    second.release()
    assert third.try_alone() and not Flock(tmp_path / "lock").try_shared()


def test_releasing_twice_does_no_harm(tmp_path: Path) -> None:
    lock, other = Flock(tmp_path / "lock"), Flock(tmp_path / "lock")
    assert lock.try_alone()
    lock.release()
    assert other.try_alone()
    lock.release()
    assert not lock.try_shared() and not Flock(tmp_path / "lock").try_shared()


def test_a_program_started_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = Flock(tmp_path / "lock")
    assert lock.try_alone()
    with subprocess.Popen(["sleep", "30"], close_fds=False) as child:
        lock._forget()  # pyright: ignore[reportPrivateUsage]  # as if we had died: nobody unlocks
        assert Flock(tmp_path / "lock").try_alone()
        child.kill()


def test_a_forked_child_neither_keeps_nor_takes_the_lock(tmp_path: Path) -> None:
    lock = Flock(tmp_path / "lock")
    assert lock.try_alone()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        lock.release()
        os.write(write, b"x")
        sleep(30)
        os._exit(0)
    try:
        os.read(read, 1)
        assert not Flock(tmp_path / "lock").try_shared(), "the child took its parent's lock"
        lock._forget()  # pyright: ignore[reportPrivateUsage]  # as if we had died
        assert Flock(tmp_path / "lock").try_alone(), "the child kept its parent's lock"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


async def test_a_cancelled_waiter_at_the_gate_leaves_it_free(tmp_path: Path) -> None:
    async def enter() -> None:
        async with alone(tmp_path / "gate", patience=30):
            raise AssertionError("entered a held gate")

    async with alone(tmp_path / "gate", patience=1):
        waiter = asyncio.create_task(enter())
        await asyncio.sleep(0.05)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    async with alone(tmp_path / "gate", patience=0):
        pass


async def test_a_gate_that_stays_shut_is_an_error_after_a_while(tmp_path: Path) -> None:
    async with alone(tmp_path / "gate", patience=1):
        began = monotonic()
        with pytest.raises(TimeoutError, match="gate"):
            async with alone(tmp_path / "gate", patience=0.1):
                pass
        assert monotonic() - began < 1


def test_a_life_is_read_as_it_was_marked_and_a_torn_line_is_none(tmp_path: Path) -> None:
    path = tmp_path / "valkey.life"
    assert lives.read(path) is None and not lives.held(path)
    path.write_text("x" * 4000)
    assert lives.read(path) is None
    marked = lives.mark(path, LIFE, stopping="asked", fsync="everysec")
    assert lives.read(path) == marked and (marked.stopping, marked.fsync, marked.pid) == ("asked", "everysec", 7)
    path.write_bytes(path.read_bytes()[:-5])
    assert lives.read(path) is None


def test_marking_a_life_does_not_free_it_and_probes_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "valkey.life"
    server = Flock(path)
    assert server.try_alone()
    lives.mark(path, LIFE)
    assert lives.held(path) and lives.held(path)
    server.release()
    assert not lives.held(path)
