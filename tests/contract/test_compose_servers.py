"""The production stack's own flags, users and roles are tried: on the servers that the wheels bring, without Docker."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import lousa
import psycopg
import pytest
from compose import Stack
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Task
from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import postgres_folder, valkey_server
from lousa.infra.migrate import migrate
from lousa.infra.settings import load
from lousa.runtime import doctor
from lousa.runtime.check import Check
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, BusyLoadingError, NoPermissionError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from servers.pgbouncer import PORT, pooling, version
from servers.postgres import serving, who_runs

STACK = Stack.read()
PASSWORDS = {
    "VALKEY_PASSWORD": "valkeySecret1",
    "VALKEY_ADMIN_PASSWORD": "valkeyAdminSecret1",
    "POSTGRES_PASSWORD": "postgresSecret1",
    "POSTGRES_OWNER_PASSWORD": "postgresOwnerSecret1",
    "POSTGRES_ADMIN_PASSWORD": "adminSecret1",
    "NEO4J_PASSWORD": "neo4jSecret1",
}
ROLE = "stack"
"""The superuser of a test's Postgres is called lousa, so the stack's logins and database go by another name."""


class Valkey:
    """The Valkey of the stack: its flags, its users, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        users = folder / "users.acl"
        users.write_text(STACK.config("valkey_users", PASSWORDS), encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        flags = STACK.flags("valkey") | {"aclfile": str(users), "dir": str(folder), "port": str(self.port)}
        words = [word for name, value in flags.items() for word in (f"--{name}", value)]
        self._command = [str(valkey_server(OURSELVES)), *words, "--bind", "127.0.0.1"]
        self._log = folder / "valkey.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        while not self._well():
            assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
            time.sleep(0.02)

    def _well(self) -> bool:
        try:
            return self.ask("health", "PING") is True
        except (RedisConnectionError, BusyLoadingError):
            return False

    def stop(self) -> int:
        """As Docker does."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(30)

    def ask(self, user: str | None, *words: str) -> Any:
        """One command, as the user; as nobody for None."""
        known = {"lousa": PASSWORDS["VALKEY_PASSWORD"], "admin": PASSWORDS["VALKEY_ADMIN_PASSWORD"], "health": "none"}
        password = known[user] if user else None
        at_once = Retry(NoBackoff(), 0)  # a wrong password is a lost connection to the driver, and tried again
        client: Any = Redis(
            host="127.0.0.1", port=self.port, username=user, password=password, decode_responses=True, retry=at_once
        )
        with client:
            return client.execute_command(*words)


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The Postgres of the stack: its settings, and the role that its script makes; the folder where it listens."""
    with tempfile.TemporaryDirectory(prefix="lousa-") as name, asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> None:
            folder = Path(name)
            programs = postgres_folder(await who_runs(folder))
            admin = await stack.enter_async_context(serving(programs, folder, **STACK.flags("postgres")))
            async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
                await connection.execute(f"CREATE DATABASE {ROLE}".encode())
            script = STACK.config("postgres_roles", PASSWORDS).replace("lousa", ROLE)
            await asyncio.to_thread(_run, script, admin.replace("/lousa?", f"/{ROLE}?"))
            async with await psycopg.AsyncConnection.connect(at(name, who=f"{ROLE}_owner")) as owner:
                await migrate(owner, login=ROLE)

        try:
            runner.run(start())
            yield name
        finally:
            runner.run(stack.aclose())


def _run(script: str, url: str) -> None:
    """As the image's entry point does: by psql, which stops at an error."""
    psql = postgres_folder(OURSELVES) / "bin/psql"
    secrets = {
        "LOUSA_OWNER_PASSWORD": PASSWORDS["POSTGRES_OWNER_PASSWORD"],
        "LOUSA_RUNTIME_PASSWORD": PASSWORDS["POSTGRES_PASSWORD"],
    }
    done = subprocess.run(
        [psql, "--set", "ON_ERROR_STOP=1", "--no-psqlrc", url],
        input=script,
        text=True,
        capture_output=True,
        env=os.environ | secrets,
    )
    assert done.returncode == 0, done.stderr


def at(folder: str, port: int = 5432, who: str = ROLE) -> str:
    """The address of whatever listens in a folder, as Lousa would be told it."""
    return f"postgresql://{who}@/{ROLE}?host={folder}&port={port}"


async def planner(desk: Desk, goal: Any) -> list[Task]:
    return [Task("count", file) for file in goal]


async def count(desk: Desk, task: Task) -> Finding:
    name = str(task.input)
    await desk.board.write(f"size/{task.id}", len(name))
    await desk.remember(f"{name} was counted")
    await desk.state_fact(name, "has length", str(len(name)))
    found = await desk.recall(name)
    return Finding([hit.text for hit in found])


async def critic(desk: Desk, findings: Outcomes) -> Accept:
    return Accept(len(findings.found))


async def run(valkey: Valkey, postgres_url: str, home: Path) -> list[Check]:
    """A pipeline on those servers, and what the doctor says of them."""
    url = f"redis://lousa:{PASSWORDS['VALKEY_PASSWORD']}@127.0.0.1:{valkey.port}"
    settings = load(home=home, redis_url=url, postgres_url=postgres_url)
    async with lousa.open(settings) as runtime:
        result = await runtime.run(Pipeline(planner, workers=[count], critic=critic), ["março.txt", "june.txt"])
        assert result.decision == 2
        assert await result.board.read_all("size/*")
        return [check async for check in doctor.examine(settings, runtime.services.connections)]


async def test_lousa_runs_on_the_stack_as_users_that_may_little(valkey: Valkey, postgres: str, tmp_path: Path) -> None:
    checks = await run(valkey, at(postgres), tmp_path / "lousa")
    said = {check.what: check.state for check in checks}
    assert said["redis promises"] == said["redis rights"] == "ok" and "wrong" not in said.values(), checks


async def test_lousa_runs_behind_the_pooler_of_the_stack(valkey: Valkey, postgres: str, tmp_path: Path) -> None:
    """With its settings, but for how clients are known; one that an older PgBouncer lacks is left out."""
    told = STACK.services["pgbouncer"]["environment"]
    apart = ("DB_", "AUTH_", "MAX_PREPARED" if version() < (1, 21) else "DB_")
    settings = {name.lower(): value for name, value in told.items() if not name.startswith(apart)}
    with tempfile.TemporaryDirectory(prefix="lousa-") as name:
        async with pooling(postgres, Path(name), logins=(ROLE,), settings=settings) as folder:
            checks = await run(valkey, at(folder, PORT), tmp_path / "lousa")
    assert "wrong" not in {check.state for check in checks}, checks


def test_nobody_comes_in_without_a_password_and_lousa_may_change_no_setting(valkey: Valkey) -> None:
    with pytest.raises(AuthenticationError):
        valkey.ask(None, "SET", "lousa:x", "1")
    with pytest.raises(NoPermissionError):
        valkey.ask("health", "GET", "lousa:x")
    for refused in (("CONFIG", "SET", "appendonly", "no"), ("FLUSHALL",), ("SET", "others", "1"), ("KEYS", "*")):
        with pytest.raises(NoPermissionError):
            valkey.ask("lousa", *refused)


def test_an_administrator_may_hold_writes_for_a_backup(valkey: Valkey) -> None:
    assert valkey.ask("admin", "CLIENT", "PAUSE", "100", "WRITE") and valkey.ask("admin", "CLIENT", "UNPAUSE")


def test_a_valkey_that_is_stopped_as_docker_stops_it_has_everything_again(valkey: Valkey) -> None:
    valkey.ask("lousa", "SET", "lousa:kept", "olá")
    assert valkey.stop() == 0
    valkey.start()
    assert valkey.ask("lousa", "GET", "lousa:kept") == "olá"


async def test_the_login_of_the_stack_is_no_superuser_and_owns_nothing(postgres: str) -> None:
    async with await psycopg.AsyncConnection.connect(at(postgres)) as connection:
        cursor = await connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, (SELECT count(*) FROM pg_class WHERE relowner = r.oid)"
            " + (SELECT count(*) FROM pg_database WHERE datdba = r.oid) FROM pg_roles AS r WHERE rolname = current_user"
        )
        assert await cursor.fetchone() == (False, False, False, 0)


async def test_postgres_runs_with_every_setting_of_the_stack(postgres: str) -> None:
    async with await psycopg.AsyncConnection.connect(at(postgres)) as connection:
        for name, value in STACK.flags("postgres").items():
            query = "SELECT current_setting(name), source FROM pg_settings WHERE lower(name) = %s"
            assert await (await connection.execute(query, (name,))).fetchone() == (value, "command line"), name
