"""Clusters with an administrator, an owner who is no superuser, and databases that a test makes in them."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast
from uuid import uuid4

import pytest
from lousa.infra.embedded.programs import postgres_folder
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.migrate import migrate
from psycopg import AsyncConnection
from servers import postgres

Connection = AsyncConnection[Any]

OWNER, RUNTIME = "owner", "running"
"""Logins: one that may make roles and owns the databases; one that owns nothing."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server of its own: roles belong to a whole server, so those of other tests would be in the way."""

    programs: Path
    sockets: str

    def url(self, login: str, database: str) -> str:
        return f"postgresql://{login}@/{database}?host={self.sockets}"

    @asynccontextmanager
    async def connected(self, login: str, database: str) -> AsyncGenerator[Connection]:
        async with await AsyncConnection.connect(self.url(login, database), autocommit=True) as connection:
            yield connection

    async def run(self, login: str, database: str, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        async with self.connected(login, database) as connection:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor = await connection.execute(cast(LiteralString, statement))
                rows = await cursor.fetchall() if cursor.description else []
            return rows

    def program(self, name: str, *words: str, login: str, database: str, given: str = "") -> tuple[int, str, str]:
        """Run one of the server's own programs against a database: its code, what it printed, its complaints."""
        command = [str(self.programs / "bin" / name), "--dbname", self.url(login, database), *words]
        ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=50)
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(scope="package", params=["18", "16"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A fresh server of that major, with the two logins."""
    stack = AsyncExitStack()

    def folder() -> Path:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-")))

    async def start() -> Cluster:
        programs = (
            postgres_folder(await postgres.who_runs(folder()))
            if request.param == "18"
            else postgres.installation(folder(), request.param)
        )
        sockets = folder()
        await stack.enter_async_context(postgres.serving(programs, sockets, fsync="off"))
        made = Cluster(programs, str(sockets))
        await made.run(
            postgres.SUPERUSER,
            "lousa",
            f"CREATE ROLE {OWNER} LOGIN NOSUPERUSER CREATEROLE",
            f"CREATE ROLE {RUNTIME} LOGIN NOSUPERUSER",
        )
        return made

    with asyncio.Runner() as runner:
        try:
            yield runner.run(start())
        finally:
            runner.run(stack.aclose())


@pytest.fixture(scope="package")
def redis_url() -> Iterator[str]:
    """A Valkey of these tests' own: a relay takes up whatever journals it finds, for the database that it has."""
    stack = AsyncExitStack()
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-")))
    with asyncio.Runner() as runner:
        try:
            yield runner.run(EmbeddedServers(home, need=frozenset({"valkey"})).start(stack)).redis_url
        finally:
            runner.run(stack.aclose())


@dataclass(frozen=True, slots=True)
class Database:
    """A database of the cluster's owner."""

    cluster: Cluster
    name: str

    def url(self, login: str) -> str:
        return self.cluster.url(login, self.name)

    def connected(self, login: str) -> Any:
        return self.cluster.connected(login, self.name)

    async def run(self, login: str, *statements: str) -> list[tuple[Any, ...]]:
        return await self.cluster.run(login, self.name, *statements)

    async def migrate(self, login: str = OWNER, *, let_in: str | None = None) -> list[int]:
        async with self.connected(login) as connection:
            return await migrate(connection, login=let_in)

    def psql(self, script: str, *, login: str = OWNER) -> tuple[int, str]:
        code, _, complaints = self.cluster.program(
            "psql", "--no-psqlrc", "--quiet", login=login, database=self.name, given=script
        )
        return code, complaints

    def schema(self) -> str:
        """All that there is in it, as text, without what differs from dump to dump."""
        code, dumped, complaints = self.cluster.program(
            "pg_dump", "--schema-only", login=postgres.SUPERUSER, database=self.name
        )
        assert code == 0, complaints
        return "\n".join(line for line in dumped.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))


@asynccontextmanager
async def fresh_database(cluster: Cluster, how: str = "", *, extensions: bool = True) -> AsyncGenerator[Database]:
    """An empty database of the owner's, for as long as the block lasts."""
    made = Database(cluster, f"db_{uuid4().hex[:10]}")
    administer = postgres.SUPERUSER, "lousa"
    await cluster.run(*administer, f"CREATE DATABASE {made.name} OWNER {OWNER} {how}")
    try:
        if extensions:  # which need an administrator
            await made.run(postgres.SUPERUSER, "CREATE EXTENSION vector", "CREATE EXTENSION unaccent")
        yield made
    finally:
        await cluster.run(*administer, f"DROP DATABASE {made.name} WITH (FORCE)")


@pytest.fixture
async def database(cluster: Cluster) -> AsyncGenerator[Database]:
    """An empty database with the extensions."""
    async with fresh_database(cluster) as made:
        yield made
