"""What the doctor makes of a Postgres that somebody else runs."""

from __future__ import annotations

from typing import Any

import pytest
from lousa.infra.catalogue import Catalogue
from lousa.infra.connections import Connections
from lousa.infra.migrate import known
from lousa.infra.settings import load
from lousa.runtime.doctor_postgres import postgres_checks

FINE: dict[str, Any] = {
    "schema": max(known()),
    "vector": "0.8.1",
    "version": "16.11",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "login": "running",
    "superuser": False,
    "owns": False,
    "cases": True,
    "most": 97,
    "taken": 12,
}


def checks(*, pooled: bool = False, prepare: bool = True, **told: Any) -> dict[str, tuple[str, str]]:
    settings = load(postgres_url="postgresql://u:secret@db/lousa", pool_size=8)
    connections = Connections("redis://r", "postgresql://u:secret@db/lousa", prepare=prepare, pooled=pooled)
    return {check.what: (check.state, check.said) for check in postgres_checks(settings, connections, {**FINE, **told})}


def test_a_server_without_a_flaw_is_all_ok_and_no_password_is_shown() -> None:
    found = checks()
    assert {state for state, _ in found.values()} == {"ok"}
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("told", "what", "state", "words"),
    [
        ({"fsync": "off"}, "postgres promises", "wrong", "fsync off"),
        (
            {"synchronous_commit": "off", "full_page_writes": "off"},
            "postgres promises",
            "wrong",
            "synchronous_commit, full",
        ),
        ({"schema": 3}, "schema", "wrong", f"3 of {max(known())}"),
        ({"cases": False}, "postgres locale", "wrong", "C.UTF-8"),
        ({"superuser": True, "owns": True}, "postgres login", "note", "is a superuser"),
        ({"owns": True}, "postgres login", "note", "lousa migrate --login"),
        ({"most": 11}, "postgres connections", "wrong", "up to 12: raise max_connections"),
        ({"taken": 95}, "postgres connections", "note", "95 of 97"),
        ({"taken": 95, "pooled": True}, "postgres connections", "ok", "from the pooler"),
        ({"pooled": True}, "postgres pooler", "ok", "keeps prepared statements"),
        ({"pooled": True, "prepare": False}, "postgres pooler", "note", "max_prepared_statements"),
    ],
)
def test_each_flaw_is_named_with_its_way_out(told: dict[str, Any], what: str, state: str, words: str) -> None:
    found = checks(**told)
    assert found[what][0] == state and words in found[what][1]
    others = {name for name, (how, _) in found.items() if how != "ok"} - {what}
    assert others == set()


def catalogue(**told: Any) -> Catalogue:
    usual: dict[str, Any] = {
        "number": 150_004,
        "version": "15.4",
        "encoding": "UTF8",
        "login": "x",
        "schema": True,
        "migrated": True,
        "reads": True,
        "system": True,
        "owns": True,
        "extensions": {"vector": ("0.8.0", "public"), "unaccent": ("1.1", "public")},
        "available": {},
    }
    return Catalogue(**(usual | told))


@pytest.mark.parametrize(
    ("told", "flaws"),
    [
        ({}, []),
        ({"extensions": {"vector": ("0.10.1", "public"), "unaccent": ("1.1", "public")}}, []),
        ({"extensions": {}, "available": {"vector": "0.8.0", "unaccent": "1.1"}}, []),
        ({"number": 140_019, "version": "14.19"}, ["this is PostgreSQL 14.19"]),
        (
            {"extensions": {}, "encoding": "LATIN1"},
            ["in LATIN1", "no extension 'vector': have pgvector 0.8", "no extension 'unaccent'"],
        ),
        ({"extensions": {}, "available": {"vector": "0.5.1", "unaccent": "1.1"}}, ["pgvector 0.5.1: have 0.8"]),
        (
            {"extensions": {"vector": ("0.7.4", "public"), "unaccent": ("1.1", "public")}},
            ["pgvector 0.7.4: have 0.8 or newer installed there"],
        ),
        (
            {"extensions": {"vector": ("0.8.0", "extensions"), "unaccent": ("1.1", "extensions")}},
            ["ALTER EXTENSION vector SET SCHEMA public", "ALTER EXTENSION unaccent SET SCHEMA public"],
        ),
    ],
)
def test_what_a_database_lacks_is_said_with_who_has_to_do_what(told: dict[str, Any], flaws: list[str]) -> None:
    found = catalogue(**told).flaws()
    assert len(found) == len(flaws)
    assert all(words in flaw for words, flaw in zip(flaws, found, strict=True))
