"""Through a real PgBouncer in transaction mode: nothing of one client ever meets another."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import lousa
import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import ServerUnavailable
from lousa.infra.migrate import migrate
from lousa.infra.settings import load
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier
from servers import pgbouncer

KEEPING = {
    "old": {},
    "translating": {"max_prepared_statements": "20"},
    "not translating": {"max_prepared_statements": "0"},
}

# What a session would keep: settings, roles, locks, statements, channels, temporary tables.
LEFT_BEHIND = """
SELECT current_setting('role'), coalesce(current_setting('lousa.tenant', true), ''), current_setting('plan_cache_mode'),
       current_setting('search_path'), current_setting('synchronous_commit'), current_setting('lock_timeout'),
       (SELECT count(*) FROM pg_prepared_statements WHERE name LIKE ANY ('{\\\\_pg3%,\\\\_lousa%}')),
       (SELECT count(*) FROM pg_listening_channels()),
       (SELECT count(*) FROM pg_cursors WHERE is_holdable),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
       (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema())
"""
CHILD = """
import asyncio, json, sys, lousa

async def main(home, redis_url, postgres_url, tenant, name):
    async with lousa.open(home=home, redis_url=redis_url, postgres_url=postgres_url, tenant=tenant,
                          embedder="hashed:embeddings", consolidate=False) as runtime:
        desk = runtime.desk(name)
        receipts = []
        for number in range(20):
            receipts.append(await desk.remember(f"{name} counted sheep {number}", scope="tenant"))
            await desk.remember(f"{name} keeps rule {number} private", kind="procedural", scope="private")
        states = {(await receipt.settled(20)).state for receipt in receipts}
        found = await desk.recall(f"{name} counted sheep", k=50)
        rules = await desk.recall("keeps rule private", k=200)
        print(json.dumps({
            "states": sorted(states), "silent": found.silent, "prepare": runtime.services.connections.prepare,
            "foreign": [hit.text for hit in rules if "keeps rule" in hit.text and not hit.text.startswith(name)],
            "own": len({hit.text for hit in rules if hit.text.startswith(f"{name} keeps rule")})}))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module", params=KEEPING)
def pooler(request: pytest.FixtureRequest, servers: Endpoints) -> Iterator[tuple[str, bool]]:
    """The address of a PgBouncer with few server connections, and whether it keeps prepared statements."""
    keeping = KEEPING[request.param]
    if bool(keeping) != (pgbouncer.version() >= (1, 21)):
        pytest.skip(f"this PgBouncer is {'.'.join(map(str, pgbouncer.version()))}: the other way is for the other kind")
    stack = AsyncExitStack()
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-")))
    sockets = servers.postgres_url.partition("?host=")[2].partition("&")[0]
    name = f"pooled_{uuid4().hex[:10]}"

    async def make() -> str:
        there = await stack.enter_async_context(
            pgbouncer.pooling(sockets, folder, size=3, settings={"query_wait_timeout": "20", **keeping})
        )
        url = f"postgresql://lousa@/{name}?host={there}&port={pgbouncer.PORT}"
        async with await AsyncConnection.connect(servers.postgres_url, autocommit=True) as administrator:
            await administrator.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        async with await AsyncConnection.connect(url, autocommit=True, prepare_threshold=None) as owner:
            await migrate(owner)
        return url

    async def remove() -> None:
        await stack.aclose()
        async with await AsyncConnection.connect(servers.postgres_url, autocommit=True) as administrator:
            await administrator.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))

    with asyncio.Runner() as runner:
        try:
            yield runner.run(make()), request.param == "translating"
        finally:
            runner.run(remove())


@asynccontextmanager
async def opened(redis_url: str, url: str, prepare: bool | None = None) -> AsyncGenerator[Connections]:
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, url, prepare=prepare)
        await connections.start(stack)
        yield connections


async def test_a_pooler_is_found_out_and_so_is_whether_it_keeps_statements(
    redis_url: str, pooler: tuple[str, bool]
) -> None:
    url, keeps = pooler
    async with opened(redis_url, url) as connections:
        assert (connections.pooled, connections.prepare) == (True, keeps)
    async with opened(redis_url, url) as connections:  # what the first asked for does not mislead the next
        assert (connections.pooled, connections.prepare) == (True, keeps)


async def test_who_says_that_statements_are_kept_or_not_is_believed(redis_url: str, pooler: tuple[str, bool]) -> None:
    url, _ = pooler
    async with opened(redis_url, url, prepare=False) as connections, connections.owner_transaction() as connection:
        assert connection.prepare_threshold is None
    async with opened(redis_url, url, prepare=True) as connections, connections.owner_transaction() as connection:
        assert connection.prepare_threshold == 1


async def test_several_processes_at_once_lose_nothing_and_see_nothing_of_each_other(
    redis_url: str, pooler: tuple[str, bool], tenant: str, tmp_path: Path
) -> None:
    url, keeps = pooler
    names = [f"agent{number}" for number in range(3)]

    async def run(name: str) -> dict[str, object]:
        words = (str(tmp_path), redis_url, url, tenant, name)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CHILD,
            *words,
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[2] / "support",
        )
        said, _ = await process.communicate()
        assert process.returncode == 0
        return json.loads(said)

    ended = await asyncio.gather(*map(run, names))
    wanted = {"states": ["stored"], "silent": [], "prepare": keeps, "foreign": [], "own": 20}
    assert ended == [wanted] * 3
    async with opened(redis_url, url) as connections, connections.system_transaction(tenant) as connection:
        cursor = await connection.execute("SELECT owner, count(*) FROM memory GROUP BY owner ORDER BY owner")
        assert await cursor.fetchall() == [(name, 40) for name in names]
    async with AsyncExitStack() as stack:  # as many as there are server connections: each is looked at
        for _ in range(3):
            other = await AsyncConnection.connect(url, prepare_threshold=None)
            await stack.enter_async_context(other)
            cursor = await other.execute(LEFT_BEHIND.encode())
            assert await cursor.fetchall() == [
                ("none", "", "auto", '"$user", public', "on", "0", 0, 0, 0, 0, 0),
            ]


async def test_what_the_pooler_refuses_is_said_in_its_own_words(redis_url: str, pooler: tuple[str, bool]) -> None:
    url, _ = pooler
    with pytest.raises(ServerUnavailable, match="unsupported startup parameter"):
        async with opened(redis_url, f"{url}&options=-cjit%3Doff"):
            pass


async def test_without_a_pooler_statements_are_prepared_unless_a_setting_says_otherwise(servers: Endpoints) -> None:
    if pgbouncer.wanted():
        pytest.skip("the servers of this run are behind a pooler")
    async with opened(servers.redis_url, servers.postgres_url) as connections:
        assert (connections.pooled, connections.prepare) == (False, True)
    settings = load(redis_url=servers.redis_url, postgres_url=servers.postgres_url, postgres_prepare=False)
    async with lousa.open(settings) as runtime, runtime.services.connections.owner_transaction() as connection:
        assert connection.prepare_threshold is None
