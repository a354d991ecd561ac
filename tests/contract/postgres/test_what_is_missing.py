"""A database that cannot be used is refused in words that say who has to do what, before anything is changed."""

from __future__ import annotations

import pytest
from lousa.infra.errors import SchemaMismatch
from lousa.infra.migrate import pending
from servers import postgres

from .conftest import OWNER, Cluster, Database, fresh_database

ADMINISTRATOR = postgres.SUPERUSER


async def test_an_extension_that_only_an_administrator_may_create_is_named(cluster: Cluster) -> None:
    async with fresh_database(cluster, extensions=False) as database:
        with pytest.raises(
            SchemaMismatch, match=r"permission denied to create extension \"vector\"\): docs/postgres.md"
        ):
            await database.migrate()
        assert await database.run(OWNER, "SELECT to_regnamespace('lousa')") == [(None,)]


async def test_what_is_wrong_with_an_extension_is_said_before_and_after_the_migrations(database: Database) -> None:
    moved = "the extension 'vector' lies in schema 'elsewhere': run ALTER EXTENSION vector SET SCHEMA public"
    old = "the database has pgvector 0.7.4: run ALTER EXTENSION vector UPDATE"
    age = "UPDATE pg_extension SET extversion = '{}' WHERE extname = 'vector'"
    [(version,)] = await database.run(OWNER, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    for _ in ("empty", "migrated"):
        await database.run(ADMINISTRATOR, age.format("0.7.4"))
        await refused(database, old)
        await database.run(ADMINISTRATOR, age.format(version))
        await database.run(
            ADMINISTRATOR, "CREATE SCHEMA IF NOT EXISTS elsewhere", "ALTER EXTENSION vector SET SCHEMA elsewhere"
        )
        await refused(database, moved)
        await database.run(ADMINISTRATOR, "ALTER EXTENSION vector SET SCHEMA public")
        await database.migrate()


async def test_a_database_in_another_encoding_is_refused(cluster: Cluster) -> None:
    how = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    how = how if (await version(cluster)) < 17 else f"{how} LOCALE_PROVIDER libc"
    async with fresh_database(cluster, how, extensions=False) as database:
        await refused(database, "the database holds text in LATIN1: create one with ENCODING 'UTF8'")


async def refused(database: Database, why: str) -> None:
    async with database.connected(OWNER) as connection:
        with pytest.raises(SchemaMismatch) as caught:
            await pending(connection)
    assert str(caught.value) == f"this database cannot be used: {why}"
    with pytest.raises(SchemaMismatch) as caught:
        await database.migrate()
    assert str(caught.value) == f"this database cannot be used: {why}"


async def version(cluster: Cluster) -> int:
    [(number,)] = await cluster.run(ADMINISTRATOR, "lousa", "SELECT current_setting('server_version_num')::integer")
    return number // 10_000
