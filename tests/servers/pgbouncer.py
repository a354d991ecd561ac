"""A real PgBouncer in transaction mode before a PostgreSQL server, for tests.

It hands each transaction to whichever of a few server connections is free, so whatever a client leaves behind on a
connection meets another client. `LOUSA_TEST_PGBOUNCER` names its program, or it is looked for where programs lie.
`LOUSA_TEST_POOLER=1 pytest …` puts one before the server of a whole test run, `=auto` does where there is a program.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from lousa.infra.embedded import privileges
from lousa.infra.embedded.launcher import Launch, launch
from lousa.infra.embedded.privileges import RunAs

from .postgres import SUPERUSER, missing, outlived_by_none, stop, until, who_runs

PORT = 6432


def wanted() -> bool:
    """Whether the tests are asked to run through a pooler."""
    told = os.environ.get("LOUSA_TEST_POOLER", "")
    return _found() is not None if told == "auto" else bool(told)


def program() -> str:
    """PgBouncer's program; skips the test where there is none, or fails where LOUSA_TEST_REQUIRE names pgbouncer."""
    found = _found()
    if found is None:
        missing("pgbouncer", "no PgBouncer: apt-get install pgbouncer, or name it in LOUSA_TEST_PGBOUNCER")
    return found


def _found() -> str | None:
    told = os.environ.get("LOUSA_TEST_PGBOUNCER")
    return told or shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


def version() -> tuple[int, ...]:
    """Which PgBouncer it is; from 1.21 on it can be told to keep prepared statements."""
    said = subprocess.run([program(), "--version"], check=True, capture_output=True, text=True, timeout=10).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found is not None, said
    return int(found[1]), int(found[2])


@asynccontextmanager
async def pooling(
    server_sockets: str,
    folder: Path,
    *,
    logins: tuple[str, ...] = (SUPERUSER,),
    size: int = 4,
    settings: Mapping[str, str] | None = None,
) -> AsyncGenerator[str]:
    """A pooler before the server that listens in `server_sockets`, while the block lasts; the folder it listens in."""
    pid_file, log = folder / "pid", folder / "log"
    told = {
        "pool_mode": "transaction",
        "listen_addr": "",
        "listen_port": str(PORT),
        "unix_socket_dir": str(folder),
        "auth_type": "trust",
        "auth_file": str(folder / "users"),
        "max_client_conn": "500",
        "default_pool_size": str(size),
        "pidfile": str(pid_file),
        **(settings or {}),
    }
    who = await who_runs(folder)
    file = _write(folder, who, server_sockets, logins, told)
    run = Launch(command=(program(), str(file)), folder=folder, who=privileges.with_a_name(who))
    code, why = await launch(run, log=log, life=None, line=None)
    assert code == 0, why
    try:
        await until(lambda: _answers(folder) and _pid(pid_file) > 0, log)
        with outlived_by_none(_pid(pid_file)):
            yield str(folder)
    finally:
        if pid := _pid(pid_file):
            await stop(pid, pid_file)


def _write(folder: Path, who: RunAs, server_sockets: str, logins: tuple[str, ...], told: Mapping[str, str]) -> Path:
    users, file = folder / "users", folder / "pgbouncer.ini"
    users.write_text("".join(f'"{login}" ""\n' for login in logins), encoding="utf-8")
    lines = ("[databases]", f"* = host={server_sockets} port=5432", "[pgbouncer]")
    file.write_text("\n".join((*lines, *(f"{name} = {value}" for name, value in told.items()), "")), encoding="utf-8")
    folder.chmod(0o711)
    for path in (folder, users, file):
        who.give(path)
    return file


def _pid(file: Path) -> int:
    return int(file.read_text() or 0) if file.exists() else 0


def _answers(folder: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(folder / f".s.PGSQL.{PORT}"))
        except OSError:
            return False
    return True
