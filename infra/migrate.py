"""Numbered migrations: plain SQL files, run in order, once, by whoever owns the schema.

`open` runs them where its login may, and otherwise names `lousa migrate`. `script` is the same as one file for psql,
for databases that only an administrator changes: it fits exactly the state for which it was written, and no other.

Two processes that open a new database at once take turns on a lock. A database that is newer than this program is
refused, because a program that does not know a column would write rows without it; so is one whose migrations were
not these files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from importlib import resources

from psycopg import Error
from psycopg.abc import Query
from psycopg.errors import FeatureNotSupported, InsufficientPrivilege, UndefinedFile, UndefinedObject

from .catalogue import QUERIES, Catalogue, look
from .connections import Connection
from .errors import SchemaMismatch

_LOCK = 0x6C6F757361  # "lousa"

_PREPARE = f"""\
-- A month is a month in UTC, whatever time zone the server, the database or the role is set to.
SET LOCAL timezone = 'UTC';
SELECT pg_advisory_xact_lock({_LOCK});
DO $$ BEGIN
    IF to_regnamespace('lousa') IS NULL THEN
        CREATE SCHEMA lousa;
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS lousa.migration
    (number integer PRIMARY KEY, digest text NOT NULL, run_at timestamptz NOT NULL DEFAULT clock_timestamp());
"""


def known() -> dict[int, str]:
    """The migrations in this program: number → SQL."""
    return {number: text for number, (_, text) in _files().items()}


async def migrate(connection: Connection, *, login: str | None = None) -> list[int]:
    """Bring the schema up to date; returns the numbers that were run.

    `login` is let in besides: a login that may then run Lousa and owns nothing.

    Raises:
        SchemaMismatch: the database was made by a newer version, or by another state of the same migrations; or it
            lacks something, or the login may not run what is pending. The message says who has to do what.
    """
    wanted = known()
    async with connection.transaction():
        found, done = await _state(connection, wanted)
        run = [number for number in wanted if number not in done]
        if run and not found.owns:
            raise SchemaMismatch(
                f"migrations are pending here ({_named(run)}), and the login {found.login!r} may not run them:"
                " run `lousa migrate` as the schema's owner, or have an administrator run what `lousa migrate --sql`"
                " prints"
            )
        if run:
            try:
                await connection.execute(_trusted(_PREPARE), prepare=False)
                run = await _run(connection, wanted)
            except (InsufficientPrivilege, FeatureNotSupported, UndefinedFile) as error:
                raise SchemaMismatch(
                    f"the database refused to the login {found.login!r} what a migration needs ({_primary(error)}):"
                    " docs/postgres.md says what its owner may have to be given, or what an administrator runs before"
                ) from error
        if login is not None:
            try:
                await connection.execute(_trusted(_grant(login)))
            except (InsufficientPrivilege, UndefinedObject) as error:
                raise SchemaMismatch(
                    f"the login {login!r} was not let in ({_primary(error)}): it has to exist, and whoever runs this"
                    " has to be an administrator of the roles lousa_app and lousa_system"
                ) from error
        return run


async def pending(connection: Connection) -> tuple[list[int], list[int]]:
    """The migrations that this database has had, and those it lacks.

    Raises:
        SchemaMismatch: as `migrate`, except that nothing is said of what this login may do.
    """
    wanted = known()
    async with connection.transaction():
        _, done = await _state(connection, wanted)
    return sorted(done), [number for number in wanted if number not in done]


def script(done: Collection[int] = (), *, login: str | None = None) -> str:
    """What `migrate` would do to a database that has had `done`, for psql: in one transaction, or not at all."""
    files = {number: file for number, file in _files().items() if number not in done}
    parts = [
        "-- Lousa's schema: "
        + (f"migrations {_named(list(files))}" if files else "nothing is pending")
        + f", for a database that has had {_named(sorted(done)) if done else 'none'}.",
        "-- Run it as the role that shall own the schema: psql --dbname=… --file=…",
        "\\set ON_ERROR_STOP on\nBEGIN;\nSET LOCAL client_min_messages = warning;",
    ]
    if files:
        has = "{" + ",".join(map(str, sorted(done))) + "}"
        parts += [
            _PREPARE.rstrip(),
            "DO $$ BEGIN\n"
            f"    IF ARRAY(SELECT number FROM lousa.migration ORDER BY number) <> '{has}' THEN\n"
            "        RAISE EXCEPTION 'this database has had other migrations: print the script anew';\n"
            "    END IF;\nEND $$;",
        ]
    for number, (name, text) in files.items():
        parts += [
            f"-- {name} {'-' * (115 - len(name))}",
            text.rstrip(),
            f"INSERT INTO lousa.migration (number, digest) VALUES ({number}, '{_digest(text)}');",
        ]
    if login is not None:
        parts += ["-- A login that may run Lousa and owns nothing.", _grant(login) + ";"]
    return "\n\n".join([*parts, "COMMIT;\n"])


async def _state(connection: Connection, wanted: Mapping[int, str]) -> tuple[Catalogue, dict[int, str]]:
    found = await look(connection)
    if flaws := found.flaws():
        raise SchemaMismatch(f"this database cannot be used: {'; '.join(flaws)}")
    done = await _done(connection, found) if found.migrated else {}
    _refuse_others(done, wanted)
    return found, done


async def _done(connection: Connection, found: Catalogue) -> dict[int, str]:
    """The migrations that this database has had: number → digest."""
    stranger = SchemaMismatch(
        f"the login {found.login!r} was not let in here: its owner runs `lousa migrate --login {found.login}`"
    )
    if not (found.reads or found.system):
        raise stranger
    if not found.reads:
        try:
            await connection.execute("SELECT set_config('role', 'lousa_system', true)")
        except InsufficientPrivilege as error:  # a member that may not act as the role
            raise stranger from error
    try:
        done = dict(await (await connection.execute(QUERIES["done"])).fetchall())
    except InsufficientPrivilege as error:  # before logins without the owner's rights were thought of
        raise SchemaMismatch(
            f"migrations are pending here that the login {found.login!r} may not even see: run `lousa migrate` as the"
            " schema's owner"
        ) from error
    if not found.reads:
        await connection.execute("SELECT set_config('role', 'none', true)")
    return done


async def _run(connection: Connection, wanted: Mapping[int, str]) -> list[int]:
    """Under the lock, what nobody has run meanwhile."""
    done = dict(await (await connection.execute(QUERIES["done"])).fetchall())
    _refuse_others(done, wanted)
    run = [number for number in wanted if number not in done]
    for number in run:
        await connection.execute(_trusted(wanted[number]), prepare=False)
        await connection.execute(
            "INSERT INTO lousa.migration (number, digest) VALUES (%s, %s)", (number, _digest(wanted[number]))
        )
    return run


def _refuse_others(done: Mapping[int, str], wanted: Mapping[int, str]) -> None:
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


def _files() -> dict[int, tuple[str, str]]:
    files = resources.files(__package__ or "").joinpath("migrations").iterdir()
    numbered = {int(found[1]): file for file in files if (found := re.fullmatch(r"(\d{4})_\w+\.sql", file.name))}
    return {
        number: (numbered[number].name, numbered[number].read_text(encoding="utf-8")) for number in sorted(numbered)
    }


def _grant(login: str) -> str:
    return 'GRANT lousa_app, lousa_system TO "{}"'.format(login.replace('"', '""'))


def _named(numbers: Collection[int]) -> str:
    """As a person counts them: 1 to 7."""
    ordered = sorted(numbers)
    if len(ordered) > 1 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def _primary(error: Error) -> str:
    return error.diag.message_primary or str(error)


def _digest(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()


def _trusted(sql: str) -> Query:
    """Our own files are the only SQL that is not a literal."""
    return sql.encode()
