"""The doctor finds what is wrong, says what to do, and touches nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings, load
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.script import command
from lousa.memory_layers.journal import TENANTS, Journal, dead_letters, journal_keys
from lousa.memory_layers.pressure import Marks
from lousa.runtime import doctor
from lousa.runtime.check import Check
from lousa.runtime.doctor import debts_owed, examine, in_force, tended
from lousa.runtime.doctor_redis import eviction, redis_promise
from lousa.runtime.owed import Debts, Owed, findings, look


@pytest.mark.parametrize(
    ("told", "state", "words"),
    [
        ({"appendonly": "yes", "appendfsync": "always"}, "ok", "on disk"),
        ({"appendonly": "yes", "appendfsync": "everysec"}, "note", "last second"),
        ({"appendonly": "yes", "appendfsync": "no"}, "wrong", "set appendfsync"),
        ({"appendonly": "no", "appendfsync": "everysec"}, "wrong", "set appendonly"),
    ],
)
def test_a_server_is_told_apart_by_what_it_promises(told: dict[str, str], state: str, words: str) -> None:
    check = redis_promise(told)
    assert check.state == state and words in check.said


def test_a_server_that_throws_away_when_it_is_full_is_wrong() -> None:
    assert eviction({"maxmemory-policy": "allkeys-lru", "maxmemory": "1000000"}).state == "wrong"
    assert eviction({"maxmemory-policy": "allkeys-lru", "maxmemory": "0"}).state == "ok"
    assert eviction({"maxmemory-policy": "noeviction", "maxmemory": "1000000"}).state == "ok"


def test_a_debt_is_wrong_only_when_it_is_old_or_was_tried_often() -> None:
    fresh = {"layer": "context", "owed": 3, "seconds": 2.0, "attempts": 1, "error": None}
    assert [check.state for check in debts_owed([fresh])] == ["note"]
    assert [check.state for check in debts_owed([fresh | {"seconds": 7_200.0}])] == ["wrong"]
    (tried,) = debts_owed([fresh | {"attempts": 5, "error": "no model"}])
    assert tried.state == "wrong" and "no model" in tried.said
    assert [check.state for check in debts_owed([])] == ["ok"]


def test_consolidation_is_told_by_when_it_was_last_due(tmp_path: Path) -> None:
    on, off = load(home=tmp_path), load(home=tmp_path, consolidate=False)
    fresh = {"seconds": 3_600.0, "leads": False, "lacking": 0}
    assert [check.state for check in tended(on, fresh)] == ["ok"]
    assert [check.state for check in tended(on, fresh | {"seconds": 864_000.0})] == ["note"]
    assert [check.state for check in tended(on, fresh | {"seconds": 864_000.0, "leads": True})] == ["ok"]
    assert "now and then" in next(check.said for check in tended(off, fresh))
    *_, full = tended(on, fresh | {"lacking": 3})
    assert full.what == "ledger" and full.state == "wrong" and "lousa consolidate" in full.said


async def test_the_schedule_is_looked_at(settings: Settings, connections: Connections) -> None:
    (check,) = await found(settings, connections, "consolidation")
    assert check.state == "ok" and "last run" in check.said


def test_a_language_model_is_looked_at_where_one_is_set() -> None:
    check = doctor.model_check("scripted:from_nowhere")
    assert check.state == "wrong" and "LOUSA_MODEL='scripted:from_nowhere' cannot be used" in check.said
    assert doctor.model_check("scripted:silent").state == "ok"


def test_passwords_are_left_out_and_origins_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOUSA_REDIS_URL", "redis://me:secret@example.org")
    lines = {line.variable: line for line in in_force(load(home=tmp_path), frozenset({"home"}))}
    assert "secret" not in lines["LOUSA_REDIS_URL"].value and "example.org" in lines["LOUSA_REDIS_URL"].value
    assert lines["LOUSA_HOME"].origin == "command line"
    assert lines["LOUSA_DEADLINE"].value == "2 s" and lines["LOUSA_TASK_TIMEOUT"].value == "600 s"
    assert lines["LOUSA_REDIS_URL"].origin == "environment" and lines["LOUSA_POOL_SIZE"].origin == "default"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(doctor, "PATIENCE", 0.0)
    return load(home=tmp_path, lease=timedelta(seconds=1))


async def found(settings: Settings, connections: Connections, what: str) -> list[Check]:
    return [check async for check in examine(settings, connections) if check.what == what]


async def test_letters_that_could_not_be_delivered_are_shown(connections: Connections, tenant: str) -> None:
    await command(connections.redis, "SADD", TENANTS, tenant)
    await command(connections.redis, "XADD", dead_letters(tenant), "*", "place", "1-0")
    try:
        (check,) = [each for each in findings(await look(connections), Marks()) if each.what == "dead letters"]
        assert check.state == "wrong" and f"1 of tenant {tenant!r}" in check.said
    finally:
        await command(connections.redis, "DEL", dead_letters(tenant))
        await command(connections.redis, "SREM", TENANTS, tenant)


async def test_a_value_that_should_have_been_an_artifact_and_a_run_that_nobody_runs_are_shown(
    settings: Settings, connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    keys = board_keys(principal.tenant, principal.execution)
    await command(connections.redis, "HSET", keys.fields, "large", "1=" + "x" * 20_000)
    try:
        (boards,) = await found(settings, connections, "boards")
        assert boards.state == "wrong" and "'large'" in boards.said and str(principal.execution) in boards.said
        interrupted = await found(settings, connections, "interrupted")
        assert any(f"resume {principal.execution} --tenant {principal.tenant}" in check.said for check in interrupted)
    finally:
        await command(connections.redis, "DEL", keys.fields)


async def lacking(settings: Settings, connections: Connections) -> int:
    return sum(int(check.said.split()[0]) for check in await found(settings, connections, "audit"))


@pytest.mark.parametrize(
    ("status", "ago", "owes"),
    [
        ("failed", timedelta(minutes=5), 0),
        ("failed", timedelta(hours=23), 0),
        ("failed", timedelta(hours=25), 1),
        ("accepted", timedelta(minutes=5), 1),
        ("accepted", timedelta(seconds=5), 0),
    ],
)
async def test_a_failed_run_whose_board_is_kept_for_a_day_owes_nothing(
    settings: Settings, connections: Connections, principal: Principal, status: str, ago: timedelta, owes: int
) -> None:
    before = await lacking(settings, connections)
    async with connections.system_transaction(principal.tenant) as connection:
        await connection.execute(
            "UPDATE execution SET status = %s, ended_at = clock_timestamp() - %s WHERE id = %s",
            (status, ago, principal.execution),
        )
    assert await lacking(settings, connections) - before == owes


def test_a_store_of_another_model_is_wrong(settings: Settings) -> None:
    row = {"fingerprint": "0" * 12, "name": "another model", "dimensions": 3}
    ours = doctor.embedder_check(settings, [])
    assert ours.state == "ok"
    theirs = doctor.embedder_check(settings, [row])
    assert theirs.state == "wrong" and "another model" in theirs.said and "LOUSA_EMBEDDER" in theirs.said
    missing = doctor.embedder_check(load(embedder="no.such:thing"), [])
    assert missing.state == "wrong"


async def test_what_each_tenant_owes_is_counted_and_nothing_is_changed_by_looking(
    connections: Connections, principal: Principal
) -> None:
    tenant, execution, journal = principal.tenant, principal.execution, Journal(connections)
    assert execution is not None
    await journal.renew("a-relay-that-lives")
    await journal.adopt([tenant])
    for _ in range(3):
        await command(connections.redis, "XADD", journal_keys(tenant)[0], "*", "body", "x")
    await command(connections.redis, "SET", journal_keys(tenant)[1], 15)
    await command(connections.redis, "HSET", board_keys(tenant, execution).operations, "last", 7, "audited", 2)
    async with connections.system_transaction(tenant) as connection:
        await connection.execute(
            "INSERT INTO debt (tenant, memory, layer) VALUES (%s, %s, 'context')", (tenant, new_id())
        )
    for _ in range(2):
        debts = await look(connections)
        (owed,) = [each for each in debts.tenants if each.tenant == tenant]
        assert debts.relays >= 1
        assert (owed.entries, owed.bytes, owed.vectors, owed.unaudited, owed.most_unaudited) == (3, 15, 1, 5, 5)
        assert owed.oldest is not None and 0 <= owed.oldest < 60
    await journal.resign("a-relay-that-lives")


@pytest.mark.parametrize(
    ("debt", "state", "words"),
    [
        ({"entries": 40}, [], ""),
        ({"entries": 60, "oldest": 61.0}, ["wrong"], "60 acknowledged writes wait for the record, the oldest for 61 s"),
        ({"bytes": 100}, ["wrong"], "writes are refused"),
        ({"vectors": 60}, ["wrong"], "use a faster embedder"),
        ({"unaudited": 500, "most_unaudited": 40}, [], ""),
        ({"unaudited": 60, "most_unaudited": 60}, ["wrong"], "writers are slowed"),
    ],
)
def test_a_debt_over_its_soft_mark_is_wrong_and_says_the_way_out(
    debt: dict[str, Any], state: list[str], words: str
) -> None:
    none: dict[str, Any] = {"entries": 0, "bytes": 0, "oldest": None, "vectors": 0, "unaudited": 0, "most_unaudited": 0}
    owed = Owed(tenant="acme", dead_letters=0, **{**none, **debt})
    marks = Marks(entries=100, bytes=100, vectors=100, changes=100)
    told = [each for each in findings(Debts(relays=1, tenants=[owed]), marks) if each.what == "back-pressure"]
    assert [each.state for each in told] == state
    assert all(words in each.said and "'acme'" in each.said and "LOUSA_DEBT_" in each.said for each in told)


def test_no_relay_is_wrong() -> None:
    (relay, _) = findings(Debts(relays=0, tenants=[]), Marks())
    assert (relay.what, relay.state) == ("relay", "wrong")
