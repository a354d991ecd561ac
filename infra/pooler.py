"""Whether a pooler stands before Postgres, and whether a prepared statement keeps its name behind it.

A pooler in transaction mode hands each transaction to whichever server connection is free, so nothing of ours may stay
on one. We leave nothing but prepared statements, which have names: behind an old or plainly configured PgBouncer the
next client meets them, or misses its own. Newer ones translate the names (`max_prepared_statements`), and then
they are safe, and worth much.

Both is found out by asking, once a process. A client of a pooler is told another backend's number than the server
itself gives, because the pooler has to take cancel requests; and a statement whose name was translated lies in the
server under a name that is not ours.
"""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from psycopg.errors import DuplicatePreparedStatement
from psycopg.sql import SQL, Identifier

_PROBE = "SELECT 'does a statement keep its name here?'"
_OURS = "_pg3_"
"""How the driver's names begin."""


async def stands_before(connection: AsyncConnection[Any]) -> bool:
    """Whether somebody else answers for the server."""
    async with connection.transaction():
        cursor = await connection.execute("SELECT pg_backend_pid()", prepare=False)
        return await cursor.fetchone() != (connection.pgconn.backend_pid,)


async def keeps_statements(connection: AsyncConnection[Any]) -> bool:
    """Whether statements may be prepared under names all the same; leaves nothing behind."""
    try:
        async with connection.transaction():  # on one server connection, whichever
            await connection.execute(_PROBE, prepare=True)
            cursor = await connection.execute(
                "SELECT name FROM pg_prepared_statements WHERE statement = %s", (_PROBE,), prepare=False
            )
            there = [name for (name,) in await cursor.fetchall() if name.startswith(_OURS)]
            for name in there:
                await connection.execute(SQL("DEALLOCATE {}").format(Identifier(name)), prepare=False)
    except DuplicatePreparedStatement:  # another client's, who was killed while it asked
        return False
    return not there
