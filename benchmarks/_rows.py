"""A tenant's rows, read to be written once more without Lousa, and taken out again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.AsyncConnection[Any]


async def written(connection: Connection, tenant: str, *names: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a tenant by table, every column as text."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name in names:
        source = sql.SQL("FROM {} WHERE tenant = {}").format(sql.Identifier(name), tenant)
        cursor = await connection.execute(sql.SQL("SELECT * {} LIMIT 0").format(source))
        columns = [sql.SQL("{}::text").format(sql.Identifier(column.name)) for column in cursor.description or ()]
        cursor = await connection.execute(sql.SQL("SELECT {} {}").format(sql.SQL(", ").join(columns), source))
        rows[name] = await cursor.fetchall()
    return rows


async def emptied(connection: Connection, tenant: str, names: Iterable[str]) -> None:
    """Take a tenant's rows out again, as only the owner of the database can; nothing of it is timed."""
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        for name in names:
            await connection.execute(sql.SQL("DELETE FROM {} WHERE tenant = {}").format(sql.Identifier(name), tenant))
