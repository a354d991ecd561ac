"""Who owns the schema migrates it; who runs Lousa owns nothing, and needs nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import lousa
import psycopg
import pytest
from lousa import Runtime
from lousa.infra.errors import SchemaMismatch
from lousa.infra.migrate import known
from lousa.infra.settings import load
from lousa.runtime.doctor import examine
from servers import postgres

from .conftest import OWNER, RUNTIME, Database

ROLES = ("lousa_app", "lousa_system", "lousa_search", "lousa_listing")


@asynccontextmanager
async def opened(database: Database, login: str, redis_url: str, home: Path) -> AsyncGenerator[Runtime]:
    settings = load(
        home=home,
        redis_url=redis_url,
        postgres_url=database.url(login),
        embedder="hashed:embeddings",
        consolidate=False,
        tenant=f"tenant-{database.name}",
    )
    async with lousa.open(settings) as runtime:
        yield runtime


async def test_an_owner_who_is_no_superuser_migrates(database: Database) -> None:
    assert await database.migrate() == [*known()]
    assert await database.migrate() == []
    owners = await database.run(
        OWNER,
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'lousa'::regnamespace"
        " UNION SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'lousa'",
    )
    assert owners == [(OWNER,)]


async def test_a_login_that_owns_nothing_writes_recalls_and_consolidates(
    database: Database, redis_url: str, tmp_path: Path
) -> None:
    await database.migrate(let_in=RUNTIME)
    [(last,)] = await database.run(
        OWNER, "SELECT max(relname) FROM pg_class WHERE relname ~ '^ledger_entry_standard_[0-9]{6}$'"
    )
    await database.run(OWNER, f"DROP TABLE lousa.{last}")
    async with opened(database, RUNTIME, redis_url, tmp_path) as runtime:
        desk = runtime.desk()
        receipt = await desk.remember("O gato dorme no telhado", kind="semantic")
        assert (await receipt.settled()).state == "stored"
        await desk.remember("Sempre responder em português", kind="procedural")
        await desk.state_fact("Acme", "telefone", "555-0100")
        found = await desk.recall("telhado")
        assert "O gato dorme no telhado" in [hit.text for hit in found] and found.silent == ()
        forgotten = next(hit for hit in found if "telhado" in hit.text)
        await desk.forget(forgotten.id, reason="a test")
        assert "O gato dorme no telhado" not in [hit.text for hit in await desk.recall("telhado")]
        report = await runtime.consolidate()
        assert report.steps["partitions"].changed == 1
    async with opened(database, RUNTIME, redis_url, tmp_path) as runtime:
        assert [hit.text for hit in await runtime.desk().recall("Acme telefone")]
    owned = "SELECT count(*) FROM pg_shdepend WHERE refobjid = '{}'::regrole AND deptype = 'o'"
    assert await database.run(postgres.SUPERUSER, owned.format(RUNTIME)) == [(0,)]


async def test_without_acting_as_somebody_a_login_sees_nothing_and_changes_nothing(database: Database) -> None:
    await database.migrate(let_in=RUNTIME)
    for statement in (
        "CREATE TABLE lousa.mine ()",
        "DROP TABLE lousa.memory",
        "ALTER TABLE lousa.memory DISABLE ROW LEVEL SECURITY",
        "TRUNCATE lousa.ledger_entry",
        "DELETE FROM lousa.migration",
        "SET ROLE lousa_search",
        f"SET ROLE {OWNER}",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await database.run(RUNTIME, statement)


THIS_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"


async def test_only_months_to_come_get_a_partition(database: Database) -> None:
    await database.migrate(let_in=RUNTIME)
    async with database.connected(RUNTIME) as connection:
        for name, month in (
            ("standard", f"{THIS_MONTH} + interval '3 days'"),
            ("standard", f"{THIS_MONTH} - interval '1 month'"),
            ("standard", "timestamptz '2300-01-01 00:00:00Z'"),
            ("standard", "NULL"),
            ("standard'; DROP TABLE lousa.memory; --", THIS_MONTH),
            ("memory", THIS_MONTH),
        ):
            await connection.execute("SET ROLE lousa_system")
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                await connection.execute(f"SELECT lousa.make_partition(%s, {month})", (name,))
            await connection.execute("SET ROLE lousa_app")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(f"SELECT lousa.make_partition(%s, {month})", (name,))


@pytest.mark.parametrize("had", [0, 3])
async def test_who_may_not_migrate_is_told_who_does(
    database: Database, redis_url: str, tmp_path: Path, had: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if had:
        with monkeypatch.context() as before:
            first = {number: sql for number, sql in known().items() if number <= had}
            before.setattr("lousa.infra.migrate.known", lambda: first)
            assert await database.migrate(let_in=RUNTIME) == [*first]
    with pytest.raises(SchemaMismatch, match="`lousa migrate` as the schema's owner"):
        async with opened(database, RUNTIME, redis_url, tmp_path):
            pass
    assert len(await database.migrate(let_in=RUNTIME)) == len(known()) - had
    async with opened(database, RUNTIME, redis_url, tmp_path) as runtime:
        assert await runtime.executions() == []


async def test_a_login_that_was_not_let_in_is_told_how(database: Database, redis_url: str, tmp_path: Path) -> None:
    await database.migrate()
    await database.run(OWNER, "CREATE ROLE stranger LOGIN")
    try:
        for grant in ("SELECT", "GRANT lousa_app, lousa_system TO stranger WITH SET FALSE, INHERIT FALSE"):
            await database.run(OWNER, grant)
            with pytest.raises(SchemaMismatch, match="lousa migrate --login stranger"):
                async with opened(database, "stranger", redis_url, tmp_path):
                    pass
    finally:
        await database.run(OWNER, "DROP ROLE stranger")


async def test_a_login_that_inherits_nothing_runs_all_the_same(
    database: Database, redis_url: str, tmp_path: Path
) -> None:
    await database.migrate()
    await database.run(OWNER, "CREATE ROLE aloof LOGIN NOINHERIT")
    await database.run(OWNER, "GRANT lousa_app, lousa_system TO aloof WITH INHERIT FALSE, SET TRUE")
    try:
        async with opened(database, "aloof", redis_url, tmp_path) as runtime:
            receipt = await runtime.desk().remember("O gato dorme", kind="procedural")
            assert receipt.state == "stored"
            said = [check async for check in examine(runtime.settings, runtime.services.connections)]
        assert [check.said for check in said if check.what == "postgres login"] == ["'aloof' owns nothing"]
    finally:
        await database.run(OWNER, "DROP ROLE aloof")


async def test_a_login_of_any_name_is_let_in(database: Database) -> None:
    name = "Zé 'do' \"Caixão\"; DROP TABLE lousa.memory"
    quoted = name.replace('"', '""')
    await database.run(OWNER, f'CREATE ROLE "{quoted}" LOGIN')
    try:
        await database.migrate(let_in=name)
        rows = await database.run(
            OWNER, f"SELECT pg_has_role('{name.replace(chr(39), chr(39) * 2)}', 'lousa_system', 'MEMBER')"
        )
        assert rows == [(True,)]
    finally:
        await database.run(OWNER, f'DROP ROLE "{quoted}"')


async def test_a_login_that_does_not_exist_changes_nothing(database: Database) -> None:
    with pytest.raises(SchemaMismatch, match="'nobody_here' was not let in"):
        await database.migrate(let_in="nobody_here")
    assert await database.run(OWNER, "SELECT to_regnamespace('lousa')") == [(None,)]


async def test_two_owners_at_once_run_each_migration_once(database: Database) -> None:
    ran = await asyncio.gather(*(database.migrate() for _ in range(4)))
    assert sorted(number for numbers in ran for number in numbers) == [*known()]


async def test_an_owner_who_may_not_make_roles_migrates_with_those_that_were_made_for_it(database: Database) -> None:
    login = "penniless"
    await database.migrate()  # the roles of the server exist by now
    administer = postgres.SUPERUSER
    await database.run(OWNER, "DROP SCHEMA lousa CASCADE")
    await database.run(administer, f"CREATE ROLE {login} LOGIN", f"GRANT CREATE ON DATABASE {database.name} TO {login}")
    try:
        with pytest.raises(SchemaMismatch, match=r"refused to the login 'penniless'.*docs/postgres.md"):
            await database.migrate(login)
        await database.run(administer, f"GRANT {', '.join(ROLES)} TO {login} WITH ADMIN OPTION")
        assert await database.migrate(login) == [*known()]
    finally:
        await database.run(administer, f"DROP OWNED BY {login} CASCADE", f"DROP ROLE {login}")
