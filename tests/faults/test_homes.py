"""Homes that do not fit: a schema from the future, two homes at once, an address that nobody answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lousa
import pytest
from lousa.infra.errors import BadInput, SchemaMismatch, ServerUnavailable, SettingsError, WrongTenant


async def test_a_home_with_a_newer_schema_is_refused_and_an_older_one_beside_it_goes_on(tmp_path: Path) -> None:
    async with lousa.open(home=tmp_path / "from the future") as runtime:
        async with runtime.services.connections.owner_transaction() as connection:
            await connection.execute("INSERT INTO lousa.migration (number, digest) VALUES (9999, '')")
        async with lousa.open(home=tmp_path / "of today") as other:
            with pytest.raises(SchemaMismatch, match=r"schema 9999.*upgrade Lousa"):
                async with lousa.open(home=tmp_path / "from the future"):
                    pass
            receipt = await other.desk().remember("still here")
            assert (await receipt.settled()).state == "stored"


async def test_a_home_made_by_another_state_of_the_schema_is_refused(tmp_path: Path) -> None:
    async with lousa.open(home=tmp_path) as runtime:
        async with runtime.services.connections.owner_transaction() as connection:
            await connection.execute("UPDATE lousa.migration SET digest = 'another'")
        with pytest.raises(SchemaMismatch, match="LOUSA_HOME"):
            async with lousa.open(home=tmp_path):
                pass


async def test_another_model_on_the_same_home_is_refused_with_the_way_out(tmp_path: Path) -> None:
    async with lousa.open(home=tmp_path) as runtime:
        receipt = await runtime.desk().remember("a memory with a vector")
        assert (await receipt.settled()).owed == ()
    with pytest.raises(SchemaMismatch, match="LOUSA_EMBEDDER"):
        async with lousa.open(home=tmp_path, embedder="use"):
            pass


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("redis_url", "unix:///nowhere/at/all.sock", "Redis"),
        ("postgres_url", "postgresql://nobody@127.0.0.1:1/lousa?connect_timeout=1", "Postgres"),
    ],
)
async def test_a_server_that_does_not_answer_is_named(tmp_path: Path, name: str, value: str, says: str) -> None:
    elsewhere: dict[str, Any] = {name: value}
    with pytest.raises(ServerUnavailable, match=rf"{says} at .*LOUSA_{name.upper()}"):
        async with lousa.open(home=tmp_path, **elsewhere):
            pass


@pytest.mark.parametrize(
    ("variable", "value"),
    [("LOUSA_REDIS_URL", "http://x"), ("LOUSA_POOL_SIZE", "many"), ("LOUSA_LEASE", "soon"), ("LOUSA_TENANT", "  ")],
)
async def test_a_wrong_setting_is_refused_under_the_name_of_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=variable):
        async with lousa.open(home=tmp_path):
            pass


async def test_an_empty_tenant_and_both_ways_of_settings_are_refused(tmp_path: Path) -> None:
    async with lousa.open(home=tmp_path) as runtime:
        with pytest.raises(WrongTenant):
            runtime.desk(tenant=" ")
        with pytest.raises(BadInput, match="not both"):
            async with lousa.open(runtime.settings, home=tmp_path):
                pass
