"""Backup and restore at the wrong moment: half dead, at once, full disks, homes in use, cursors from elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import lousa
import pytest
from campaign import household
from lousa.infra.connections import Connections
from lousa.infra.embedded import replacing
from lousa.infra.embedded.supervisor import status
from lousa.infra.errors import BadInput, HomeInUse, NotFound, ServerUnavailable
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import Written
from lousa.memory_layers.conversation.changes import Change, Snapshot
from lousa.runtime.app import Runtime
from lousa.runtime.backup import cut as cutting
from lousa.runtime.backup.archive import opened as checked
from lousa.runtime.backup.restoring import Restored, restore
from lousa.runtime.backup.taking import take

pytestmark = pytest.mark.timeout(180)
EMBEDDER = "campaign.embedder:hashing"
WATCHED, CLAIMED, ENDED = new_id(), new_id(), new_id()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short name, as a socket's has to be."""
    made = household.folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def file() -> Iterator[Path]:
    """The backup of a home with a memory, and running executions with twenty changes on their boards and a claim."""
    made = household.folder()

    async def prepare() -> None:
        async with lousa.open(home=made / "home", embedder=EMBEDDER) as runtime:
            desk = runtime.desk("writer")
            await desk.remember("the gate of São João opens at seven")
            for execution in (WATCHED, CLAIMED, ENDED):
                await runtime.services.executions.create(desk.principal, "any", {}, execution=execution)
                board = runtime.board(execution)
                for number in range(20):
                    await board.write(f"field/{number}", number)
                assert await board.claim("task", timedelta(minutes=10))
            await take(made / "home", made / "backup")

    asyncio.run(prepare())
    yield made / "backup"
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def restored(file: Path) -> Iterator[Restored]:
    """A home into which that was restored; tests share it, each with an execution of its own."""
    made = household.folder()
    yield asyncio.run(restore(file, made / "home"))
    shutil.rmtree(made, ignore_errors=True)


def opened(home: Path) -> Any:
    return lousa.open(home=home, embedder=EMBEDDER)


async def holds_all(runtime: Runtime) -> None:
    """What the backup of `file` holds."""
    assert len(await runtime.board(WATCHED).read_all("field/*")) == 20
    (hit,) = await runtime.desk("reader").recall("gate of São João", k=1)
    assert "São João" in hit.text


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def left_in(home: Path) -> set[str]:
    return {name for name in names_in(home) if name.startswith(("restoring", "replacing", "before"))}


# The cut


async def test_a_pause_that_may_have_ended_too_early_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed, late = cutting._flushed, [0.2]  # pyright: ignore[reportPrivateUsage]  # the seam of this test

    async def slowly(connections: Connections) -> None:
        await asyncio.sleep(late.pop() if late else 0)
        await flushed(connections)

    monkeypatch.setattr(cutting, "_flushed", slowly)
    monkeypatch.setattr(cutting, "PATIENCE", (0.1, 10.0))
    async with opened(folder / "home") as runtime:
        await runtime.desk("writer").remember("kept")
        taken = await take(folder / "home", folder / "backup")
        assert not late
        assert taken.counts["memories"] <= 1


async def test_a_backup_that_fails_in_its_pause_lets_writers_go_and_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(connections: Connections) -> None:
        raise ServerUnavailable("no disk")

    async with opened(folder / "home") as runtime:
        monkeypatch.setattr(cutting, "_flushed", fails)
        monkeypatch.setattr(cutting, "PATIENCE", (30.0,))
        with pytest.raises(ServerUnavailable, match="no disk"):
            await take(folder / "home", folder / "backup")
        begun = monotonic()
        await runtime.services.connections.redis.set("free", "1")
        assert monotonic() - begun < 20
        assert names_in(folder) == {"home"}


async def test_several_backups_of_a_home_at_once_are_each_whole(folder: Path) -> None:
    async with opened(folder / "home") as runtime:
        await runtime.desk("writer").remember("kept", kind="procedural")
        taken = await asyncio.gather(*(take(folder / "home", folder / f"backup-{number}") for number in range(3)))
    assert {each.counts["memories"] for each in taken} == {1}
    assert {checked(each.file, lambda _: None).seal for each in taken} == {each.sha256 for each in taken}


async def test_a_home_that_is_not_there_is_neither_backed_up_nor_made(folder: Path) -> None:
    with pytest.raises(NotFound, match="nothing to back up"):
        await take(folder / "home", folder / "backup")
    assert names_in(folder) == set()


# What the world outside remembers


async def test_a_cursor_from_after_the_backup_is_answered_with_a_snapshot_whatever_was_written_since(
    restored: Restored,
) -> None:
    async with opened(restored.home) as runtime:
        board = runtime.board(WATCHED)
        for number in range(10):
            await board.write(f"later/{number}", number)
        async with board.watch(since="0-25") as changes:
            first = await anext(changes)
        assert isinstance(first, Snapshot)
        assert len(first.fields) == 30
        shown: list[str] = []  # of those before the backup as many as are still kept
        async with board.watch(since="0-18") as changes:
            while isinstance(change := await anext(changes), Change):
                shown.append(change.cursor)
        assert shown in ([], ["0-19", "0-20"])


async def test_nobody_holds_a_claim_after_a_restore_and_a_new_one_has_a_new_token(restored: Restored) -> None:
    async with opened(restored.home) as runtime:
        claim = await runtime.board(CLAIMED).claim("task", timedelta(minutes=10))
        assert claim is not None and claim.token > 1_000_000


async def test_a_restore_stands_in_the_ledger_and_the_board_is_written_and_ended_as_ever(
    restored: Restored,
) -> None:
    assert {*restored.running} == {("default", execution) for execution in (WATCHED, CLAIMED, ENDED)}
    async with opened(restored.home) as runtime:
        await holds_all(runtime)
        assert isinstance(await runtime.board(ENDED).write("field/0", 100, expect=1), Written)
        who = runtime.desk("writer").principal
        await runtime.services.executions.finish(who, ENDED, "accepted", {})
        async with asyncio.timeout(20):
            while not (await runtime.execution(ENDED)).drained:  # noqa: ASYNC110  # another process does it
                await asyncio.sleep(0.05)
        async with runtime.services.connections.owner_transaction() as connection:
            query = "SELECT basis ->> 'backup' FROM lousa.ledger_entry WHERE action = 'backup.restore'"
            assert await (await connection.execute(query)).fetchall() == [(restored.sha256,)]


# Where to


async def test_a_home_with_data_is_refused_and_with_force_they_are_set_aside(file: Path, folder: Path) -> None:
    home = folder / "home"
    async with opened(home) as runtime:
        await runtime.desk("writer").remember("of before", kind="procedural")
    with pytest.raises(BadInput, match="there are data"):
        await restore(file, home)
    restored = await restore(file, home, force=True)
    async with opened(home) as runtime:
        await holds_all(runtime)
    assert restored.aside is not None and names_in(restored.aside) == {"postgres", "valkey"}
    async with opened(restored.aside) as runtime:
        assert [hit.text for hit in await runtime.desk("reader").recall("of before", k=3)] == ["of before"]


async def test_a_home_that_somebody_uses_is_never_restored_into(file: Path, folder: Path) -> None:
    async with opened(folder / "home"):
        with pytest.raises(HomeInUse, match="in use"):
            await restore(file, folder / "home", force=True)
    assert left_in(folder / "home") == set()


# Half dead


@pytest.mark.parametrize("moves", range(4))
async def test_a_restore_that_dies_while_it_moves_in_is_finished_by_whoever_comes_next(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    home, rename, left = folder / "home", Path.rename, [moves]
    for name in replacing.DATA:
        (home / name).mkdir(parents=True)
        (home / name / "of-before").touch()

    def dies(self: Path, target: Path) -> Path:
        if target.name in replacing.DATA:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", dies)
    with pytest.raises(KeyboardInterrupt):
        await _moved(home)
    monkeypatch.undo()
    replacement = replacing.finish(home)
    assert replacement is not None and replacement.source == "seal"
    assert replacing.finish(home) is None
    for name in replacing.DATA:
        assert (home / name / "new").exists()
        assert (home / "before-x" / name / "of-before").exists()
    assert left_in(home) == {"before-x"}


async def _moved(home: Path) -> None:
    for name in replacing.DATA:
        (home / "restoring-x" / name).mkdir(parents=True)
        (home / "restoring-x" / name / "new").touch()
    replacing.begin(home, replacing.Replacement(stage="restoring-x", aside="before-x", source="seal"))
    replacing.finish(home)


async def test_whoever_opens_a_home_after_a_restore_that_died_moving_in_finds_what_it_restored(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, finish = folder / "home", replacing.finish

    def dies(of: Path) -> None:
        if (of / replacing.NOTE).exists():
            (of / replacing.NOTE).rename(of / "kept")
            shutil.copytree(of, folder / "at-death", symlinks=True)
            (of / "kept").rename(of / replacing.NOTE)
            raise RuntimeError("killed")

    monkeypatch.setattr(replacing, "finish", dies)
    with pytest.raises(RuntimeError, match="killed"):
        await restore(file, home)
    monkeypatch.setattr(replacing, "finish", finish)
    shutil.rmtree(home)
    (folder / "at-death" / "kept").rename(folder / "at-death" / replacing.NOTE)
    async with opened(folder / "at-death") as runtime:
        await holds_all(runtime)
    assert left_in(folder / "at-death") == set()


async def test_a_restore_that_was_killed_is_run_again_and_leaves_nothing_of_the_first(file: Path, folder: Path) -> None:
    home = folder / "home"
    command = [sys.executable, "-m", "lousa", "--home", str(home), "restore", str(file)]
    with _begun(command) as process:
        stage = await _stage_of(home)
        while not (stage / "postgres" / "postmaster.pid").exists():
            assert process.poll() is None, "it ended by itself"
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert left_in(home) == {stage.name}
    await restore(file, home)
    assert left_in(home) == set()
    assert not (await status(stage)).servers
    async with opened(home) as runtime:
        await holds_all(runtime)


def _begun(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=_plain())


async def _stage_of(home: Path) -> Path:
    while not (found := left_in(home)):  # noqa: ASYNC110  # of a process
        await asyncio.sleep(0.01)
    return home / found.pop()


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LOUSA_")}


async def test_a_full_disk_leaves_no_half_backup(folder: Path) -> None:
    async with opened(folder / "home") as runtime:
        await runtime.desk("writer").remember("kept", kind="procedural")
        small = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        call = f"{small} from lousa.runtime.cli import main; main(sys.argv[1:])"
        words = ["--home", str(folder / "home"), "backup", str(folder / "backup")]
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", call, *words], capture_output=True, text=True, env=_plain()
        )
    assert done.returncode == 1, done.stderr
    assert "no space is left" in done.stderr
    assert names_in(folder) == {"home"}
