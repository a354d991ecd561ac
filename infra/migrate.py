"""Numbered migrations: plain SQL files, run in order, once, by whoever owns the schema.

Two processes that open a new database at once take turns on a lock. A database that is newer than this program is
refused, because a program that does not know a column would write rows without it.
"""

from __future__ import annotations

import re
from importlib import resources

from psycopg import AsyncConnection
from psycopg.abc import Query

from .errors import SchemaMismatch

_LOCK = 0x6C6F757361  # "lousa"


def known() -> dict[int, str]:
    """The migrations in this program: number → SQL."""
    files = resources.files(__package__ or "").joinpath("migrations").iterdir()
    numbered = {int(found[1]): file for file in files if (found := re.fullmatch(r"(\d{4})_\w+\.sql", file.name))}
    return {number: numbered[number].read_text(encoding="utf-8") for number in sorted(numbered)}


async def migrate(connection: AsyncConnection[object]) -> list[int]:
    """Bring the schema up to date; returns the numbers that were run.

    Raises:
        SchemaMismatch: the database was made by a newer version.
    """
    wanted = known()
    if await _version(connection) == max(wanted):
        return []
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await connection.execute("CREATE SCHEMA IF NOT EXISTS lousa")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS lousa.migration"
            " (number integer PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        current = await _version(connection)
        if current > max(wanted):
            raise SchemaMismatch(
                f"this database has schema {current}, this version of Lousa knows up to {max(wanted)}:"
                " upgrade Lousa (pip install -U lousa) or point it at another home or database"
            )
        run = [number for number in wanted if number > current]
        for number in run:
            await connection.execute(_trusted(wanted[number]))
            await connection.execute("INSERT INTO lousa.migration (number) VALUES (%s)", (number,))
        return run


async def _version(connection: AsyncConnection[object]) -> int:
    cursor = await connection.execute("SELECT to_regclass('lousa.migration') IS NOT NULL")
    row = await cursor.fetchone()
    if row is None or not row[0]:  # pyright: ignore[reportIndexIssue]  # a plain tuple row
        return 0
    cursor = await connection.execute("SELECT coalesce(max(number), 0) FROM lousa.migration")
    row = await cursor.fetchone()
    return int(row[0])  # pyright: ignore  # a plain tuple row


def _trusted(sql: str) -> Query:
    """Our own files are the only SQL that is not a literal."""
    return sql.encode()
