"""Numbered migrations: plain SQL files, run in order, once, by whoever owns the schema.

Two processes that open a new database at once take turns on a lock. A database that is newer than this program is
refused, because a program that does not know a column would write rows without it; so is one whose migrations were
not these files.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources

from psycopg.abc import Query

from .connections import Connection
from .errors import SchemaMismatch

_LOCK = 0x6C6F757361  # "lousa"


def known() -> dict[int, str]:
    """The migrations in this program: number → SQL."""
    files = resources.files(__package__ or "").joinpath("migrations").iterdir()
    numbered = {int(found[1]): file for file in files if (found := re.fullmatch(r"(\d{4})_\w+\.sql", file.name))}
    return {number: numbered[number].read_text(encoding="utf-8") for number in sorted(numbered)}


async def migrate(connection: Connection) -> list[int]:
    """Bring the schema up to date; returns the numbers that were run.

    Raises:
        SchemaMismatch: the database was made by a newer version, or by another state of the same migrations.
    """
    wanted = known()
    if max(done := await _done(connection), default=0) == max(wanted):
        _refuse_others(done, wanted)
        return []
    async with connection.transaction():
        # A month is a month in UTC, whatever time zone the server, the database or the role is set to.
        await connection.execute("SET LOCAL timezone = 'UTC'")
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await connection.execute("CREATE SCHEMA IF NOT EXISTS lousa")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS lousa.migration"
            " (number integer PRIMARY KEY, digest text NOT NULL, run_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        done = await _done(connection)
        _refuse_others(done, wanted)
        run = [number for number in wanted if number not in done]
        for number in run:
            await connection.execute(_trusted(wanted[number]))
            await connection.execute(
                "INSERT INTO lousa.migration (number, digest) VALUES (%s, %s)", (number, _digest(wanted[number]))
            )
        return run


async def _done(connection: Connection) -> dict[int, str]:
    """The migrations that this database has had: number → digest."""
    cursor = await connection.execute("SELECT to_regclass('lousa.migration') IS NOT NULL")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return {}
    cursor = await connection.execute("SELECT number, digest FROM lousa.migration")
    return dict(await cursor.fetchall())


def _refuse_others(done: dict[int, str], wanted: dict[int, str]) -> None:
    newest = max(done, default=0)
    if newest > max(wanted):
        raise SchemaMismatch(
            f"this database has schema {newest}, this version of Lousa knows up to {max(wanted)}:"
            " upgrade Lousa (pip install -U lousa) or point it at another home or database"
        )
    for number, digest in done.items():
        if digest != _digest(wanted[number]):
            raise SchemaMismatch(
                f"this database was made by another state of migration {number} (a version in the making):"
                " point LOUSA_HOME or LOUSA_POSTGRES_URL at a new home or database"
            )


def _digest(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()


def _trusted(sql: str) -> Query:
    """Our own files are the only SQL that is not a literal."""
    return sql.encode()
