"""What `lousa migrate --sql` prints makes the same database as `lousa migrate`, by psql, or nothing."""

from __future__ import annotations

import pytest
from lousa.infra.migrate import known, script

from .conftest import OWNER, RUNTIME, Cluster, Database, fresh_database

HISTORY = "SELECT number, digest FROM lousa.migration ORDER BY number"
LET_IN = f"SELECT pg_has_role('{RUNTIME}', 'lousa_system', 'MEMBER')"


@pytest.mark.parametrize("had", [0, 5])
async def test_the_script_makes_the_database_that_migrate_makes(
    cluster: Cluster, database: Database, had: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if had:
        with monkeypatch.context() as before:
            first = {number: sql for number, sql in known().items() if number <= had}
            before.setattr("lousa.infra.migrate.known", lambda: first)
            await database.migrate()
    code, complaints = database.psql(script(range(1, had + 1), login=RUNTIME))
    assert (code, complaints) == (0, "")
    assert await database.migrate() == []
    async with fresh_database(cluster) as other:
        await other.migrate()
        assert database.schema() == other.schema()
        assert await database.run(OWNER, HISTORY) == await other.run(OWNER, HISTORY)
    assert await database.run(OWNER, LET_IN) == [(True,)]


async def test_a_script_for_another_state_changes_nothing(database: Database) -> None:
    code, complaints = database.psql(script([1, 2]))
    assert code != 0 and "print the script anew" in complaints
    assert await database.run(OWNER, "SELECT to_regnamespace('lousa')") == [(None,)]
    assert database.psql(script())[0] == 0
    before = database.schema()
    code, complaints = database.psql(script())
    assert code != 0 and "print the script anew" in complaints
    assert database.schema() == before


async def test_a_script_that_its_role_may_not_run_changes_nothing(database: Database) -> None:
    code, complaints = database.psql(script(), login=RUNTIME)
    assert code != 0 and "permission denied" in complaints
    assert await database.run(OWNER, "SELECT to_regnamespace('lousa')") == [(None,)]
