"""`lousa migrate`: the schema by its owner, or as a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import psycopg
import pytest
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.migrate import known, script
from psycopg import sql

from .conftest import Lousa

ALL = [*known()]


@pytest.fixture
async def empty(servers: Endpoints) -> AsyncIterator[str]:
    """The address of an empty database."""
    name = f"empty_{uuid4().hex[:10]}"
    async with await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True) as owner:
        await owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield servers.postgres_url.replace("/lousa?", f"/{name}?")
        await owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_it_says_what_is_pending_prints_it_runs_it_and_is_done(
    lousa: Lousa, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUSA_POSTGRES_URL", empty)
    monkeypatch.setenv("LOUSA_REDIS_URL", "redis://127.0.0.1:1")  # which it does not need
    asked = lousa("migrate", "--check", "--json")
    assert (asked.code, asked.json) == (6, {"done": [], "ran": [], "pending": ALL})
    assert lousa("migrate", "--sql").out.strip() == script().strip()
    assert lousa("migrate", "--json").json == {"done": ALL, "ran": ALL, "pending": []}
    assert lousa("migrate").out == f"nothing is pending; the schema is at {max(ALL)}\n"
    asked = lousa("migrate", "--check")
    assert (asked.code, asked.out) == (0, f"nothing is pending; the schema is at {max(ALL)}\n")
    printed = lousa("migrate", "--sql", "--login", "running").out
    assert "nothing is pending" in printed and 'GRANT lousa_app, lousa_system TO "running";' in printed


def test_a_script_for_an_empty_database_needs_no_server(lousa: Lousa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOUSA_POSTGRES_URL")
    assert lousa("migrate", "--sql").out.strip() == script().strip()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--sql", "--check"), "--sql prints a script and nothing else"),
        (("--sql", "--json"), "leave out --json"),
        (("--check", "--login", "x"), "--check changes nothing"),
        (("--login", " "), "names nobody"),
    ],
)
def test_what_does_not_go_together_is_refused(lousa: Lousa, words: tuple[str, ...], why: str) -> None:
    ended = lousa("migrate", *words)
    assert ended.code == 2 and why in ended.err and ended.out == ""


def test_a_server_that_does_not_answer_is_named_without_its_password(
    lousa: Lousa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUSA_POSTGRES_URL", "postgresql://me:secret@127.0.0.1:1/lousa")
    ended = lousa("migrate")
    assert ended.code == 5 and "127.0.0.1" in ended.err and "secret" not in ended.err
