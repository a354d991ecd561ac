"""Statements in one trip: one transaction of its own, and a connection that is as good afterwards as it was before."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any, LiteralString

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.infra.trip import at_once
from psycopg import AsyncConnection, errors

Connection = AsyncConnection[Any]
PREPARED = "SELECT count(*)::integer AS kept FROM pg_prepared_statements WHERE name LIKE '\\_lousa%'"


@pytest.fixture
async def connection(servers: Endpoints) -> AsyncGenerator[Connection]:
    async with await AsyncConnection.connect(servers.postgres_url, autocommit=True) as connection:
        yield connection


async def test_statements_of_one_trip_are_one_transaction_and_leave_nothing(connection: Connection):
    rows = await at_once(
        connection,
        ("SELECT set_config('lousa.tenant', %s, true), pg_current_xact_id()", ("of this trip",)),
        ("SELECT current_setting('lousa.tenant') AS tenant, pg_current_xact_id() AS one", ()),
        ("SELECT current_setting('lousa.tenant') AS tenant, pg_current_xact_id() AS one", ()),
    )
    assert rows[0]["tenant"] == "of this trip"
    (after,) = await at_once(
        connection,
        ("SELECT coalesce(current_setting('lousa.tenant', true), '') AS tenant, pg_current_xact_id() AS one", ()),
    )
    assert after["tenant"] == "" and after["one"] != rows[0]["one"]


async def test_what_fails_in_a_trip_undoes_all_of_it_and_the_next_one_works(connection: Connection):
    await connection.execute("CREATE TEMPORARY TABLE said (word text)")
    for _ in range(2):
        with pytest.raises(errors.DivisionByZero):
            await at_once(
                connection, ("INSERT INTO said VALUES (%s)", ("a",)), ("SELECT 1 / %(by)s::integer", {"by": 0})
            )
    with pytest.raises(errors.UndefinedTable):
        await at_once(connection, ("INSERT INTO said VALUES (%s)", ("b",)), ("SELECT FROM nowhere", ()))
    with pytest.raises(errors.DataError):
        await at_once(connection, ("INSERT INTO said VALUES (%s)", ("no \0 in a text",)))
    assert await at_once(connection, ("SELECT count(*) AS said FROM said", ())) == [{"said": 0}]


async def test_values_of_a_trip_arrive_as_they_were(connection: Connection):
    asked = (
        "SELECT %(one)s::text AS one, %(two)s::float8 AS two, %(one)s::text = %(one)s AS same, %(none)s::uuid AS none"
    )
    for one in ("ação", "it's %s", ""):
        given = {"none": None, "two": 0.1, "one": one, "unused": 5}
        assert await at_once(connection, (asked, given)) == [{"one": one, "two": 0.1, "same": True, "none": None}]


async def test_statements_are_prepared_once_and_only_where_they_may_be(connection: Connection):
    for number in range(3):
        await at_once(connection, ("SELECT %s::integer + 1", (number,)))
    (prepared,) = await at_once(connection, (PREPARED, ()))
    assert prepared["kept"] == 2  # this one, too
    connection.prepare_threshold = None
    for number in range(3):
        await at_once(connection, ("SELECT %s::integer + 2", (number,)))
    assert await at_once(connection, (PREPARED, ())) == [prepared]


@pytest.mark.parametrize("let_go", ["DEALLOCATE ALL", "DISCARD ALL"])
async def test_a_connection_that_lost_what_was_prepared_goes_on(connection: Connection, let_go: LiteralString):
    asked = ("SELECT %s::integer + 3 AS three", (0,))
    for _ in range(2):
        assert await at_once(connection, asked) == [{"three": 3}]
        await connection.execute(let_go)  # as the driver does after a rollback
        assert await at_once(connection, asked, asked) == [{"three": 3}]
    (prepared,) = await at_once(connection, (PREPARED, ()))
    assert prepared["kept"] == 2  # this one, too


async def test_a_connection_that_made_trips_is_forgotten_with_its_last_user(servers: Endpoints):
    connection = await AsyncConnection.connect(servers.postgres_url, autocommit=True)
    await at_once(connection, ("SELECT %s::timestamptz AS at, %s::text[] AS words", (datetime.now(UTC), ["a"])))
    await connection.close()
    gone = weakref.ref(connection)
    del connection
    gc.collect()
    assert gone() is None


async def test_a_trip_that_is_given_up_leaves_the_next_one_its_own_answers(
    connections: Connections, principal: Principal
):
    async def slow() -> None:
        await connections.read(principal, "SELECT pg_sleep(%(long)s) AS slept", {"long": 60})

    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await slow()
        rows = await connections.read(principal, "SELECT current_tenant() AS tenant, %(n)s::integer AS n", {"n": 5})
        assert rows == [{"tenant": principal.tenant, "n": 5}]
