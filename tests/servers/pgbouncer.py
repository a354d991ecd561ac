"""A real PgBouncer in transaction mode before a PostgreSQL server, for tests.

It hands each transaction to whichever of a few server connections is free, so whatever a client leaves behind on a
connection meets another client. `LOUSA_TEST_PGBOUNCER` names its program; otherwise it is looked for where programs are.
`LOUSA_TEST_POOLER=1 pytest …` puts one before the server of a whole test run.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest
from lousa.infra.embedded import privileges
from lousa.infra.embedded.launcher import Launch, launch

from .postgres import PATIENCE, SUPERUSER, stop, who_runs

PORT = 6432


def wanted() -> bool:
    """Whether the tests are asked to run through a pooler."""
    return bool(os.environ.get("LOUSA_TEST_POOLER"))


def program() -> str:
    """PgBouncer's program; skips the test where there is none."""
    told = os.environ.get("LOUSA_TEST_PGBOUNCER")
    found = told or shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("no PgBouncer: install it (apt-get install pgbouncer), or name it in LOUSA_TEST_PGBOUNCER")
    return found


def version() -> tuple[int, ...]:
    """Which PgBouncer it is; from 1.21 on it can be told to keep prepared statements."""
    said = subprocess.run([program(), "--version"], check=True, capture_output=True, text=True, timeout=10).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found is not None, said
    return int(found[1]), int(found[2])


@asynccontextmanager
async def pooling(
    server_sockets: str, folder: Path, *, logins: tuple[str, ...] = (SUPERUSER,), size: int = 4, **settings: str
) -> AsyncGenerator[str]:
    """A pooler before the server that listens in `server_sockets`, while the block lasts; the folder it listens in."""
    folder.chmod(0o711)
    users, file, log, pid_file = (folder / name for name in ("users", "pgbouncer.ini", "log", "pid"))
    users.write_text("".join(f'"{login}" ""\n' for login in logins), encoding="utf-8")
    told = {
        "pool_mode": "transaction",
        "listen_addr": "",
        "listen_port": str(PORT),
        "unix_socket_dir": str(folder),
        "auth_type": "trust",
        "auth_file": str(users),
        "max_client_conn": "500",
        "default_pool_size": str(size),
        "pidfile": str(pid_file),
        **settings,
    }
    lines = ("[databases]", f"* = host={server_sockets} port=5432", "[pgbouncer]")
    file.write_text("\n".join((*lines, *(f"{name} = {value}" for name, value in told.items()), "")), encoding="utf-8")
    who = await who_runs(folder)
    for path in (folder, users, file):
        who.give(path)
    run = Launch(command=(program(), str(file)), folder=folder, who=privileges.with_a_name(who))
    code, why = await launch(run, log=log, life=None, line=None)
    assert code == 0, why
    try:
        deadline = monotonic() + PATIENCE
        while not _answers(folder):  # noqa: ASYNC110  # a process of its own does
            assert monotonic() < deadline, log.read_text()
            await asyncio.sleep(0.02)
        yield str(folder)
    finally:
        if pid_file.exists():
            await stop(int(pid_file.read_text()), pid_file)


def _answers(folder: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(folder / f".s.PGSQL.{PORT}"))
        except OSError:
            return False
    return True
