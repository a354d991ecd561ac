"""A database comes up to date whatever it is set to, once, and is the same for all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import psycopg
import pytest
from lousa.infra.connections import Connection
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.migrate import known, migrate
from psycopg import sql


@pytest.fixture
async def empty(servers: Endpoints) -> AsyncIterator[Connection]:
    """A connection to a database of its own, whose time zone has a summer time."""
    name = f"empty_{uuid4().hex[:8]}"
    async with await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True) as owner:
        await owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        await owner.execute(sql.SQL("ALTER DATABASE {} SET timezone = 'Europe/Berlin'").format(sql.Identifier(name)))
        try:
            async with await psycopg.AsyncConnection.connect(servers.postgres_url, dbname=name, autocommit=True) as own:
                yield own
        finally:
            await owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def test_summer_time_makes_no_gap_between_the_months_of_the_ledger(empty: Connection) -> None:
    assert await migrate(empty) == [*known()]
    assert await migrate(empty) == []
    cursor = await empty.execute(
        "SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class"
        " WHERE relname ~ '^ledger_entry_standard_[0-9]{6}$' ORDER BY relname"
    )
    bounds = [row[1].split("'")[1::2] for row in await cursor.fetchall()]
    assert len(bounds) == 13
    assert [end for _, end in bounds[:-1]] == [begin for begin, _ in bounds[1:]]
    cursor = await empty.execute("SELECT count(*) FROM lousa.missing_partitions(12)")
    assert await cursor.fetchone() == (0,)
    await empty.execute("SELECT lousa.make_partition(class, month) FROM lousa.missing_partitions(24)")
    cursor = await empty.execute("SELECT count(*) FROM lousa.missing_partitions(24)")
    assert await cursor.fetchone() == (0,)
