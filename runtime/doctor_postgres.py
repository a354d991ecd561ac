"""What the doctor makes of Postgres: what it is, what it promises, who we are there, and whether there is room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..infra.connections import Connections, system_pool_size
from ..infra.migrate import known
from ..infra.settings import Settings
from ..infra.text import without_password
from .check import Check

Row = Mapping[str, Any]

FULL = 0.9
"""The share of the server's connections from which new ones may soon be refused."""


def postgres_checks(settings: Settings, connections: Connections, told: Row) -> Iterator[Check]:
    """From what the server told of itself."""
    where = "embedded" if settings.postgres_url is None else without_password(settings.postgres_url)
    said = f"PostgreSQL {told['version']} with pgvector {told['vector']}, {where}"
    yield Check(what="postgres", state="ok", said=said)
    yield _promise(told)
    newest = max(known())
    yield Check(
        what="schema", state="ok" if told["schema"] == newest else "wrong", said=f"{told['schema']} of {newest}"
    )
    if not told["cases"]:
        said = (
            "letters beyond ASCII have no case here, so Ж does not find ж: make the database anew with LOCALE 'C.UTF-8'"
        )
        yield Check(what="postgres locale", state="wrong", said=said)
    if settings.postgres_url is not None:
        yield _login(told)
        yield _room(settings, connections, told)
        yield _pooler(connections)


def _promise(told: Row) -> Check:
    off = [name for name in ("fsync", "synchronous_commit", "full_page_writes") if told[name] == "off"]
    if off:
        said = f"{', '.join(off)} off: a crash loses what was committed; set to on"
        return Check(what="postgres promises", state="wrong", said=said)
    return Check(what="postgres promises", state="ok", said="what is committed is on disk")


def _login(told: Row) -> Check:
    what = "is a superuser" if told["superuser"] else "owns the schema" if told["owns"] else ""
    if what:
        said = f"the login {told['login']!r} {what}; one that owns nothing is enough: lousa migrate --login NAME"
        return Check(what="postgres login", state="note", said=said)
    return Check(what="postgres login", state="ok", said=f"{told['login']!r} owns nothing")


def _room(settings: Settings, connections: Connections, told: Row) -> Check:
    wants = settings.pool_size + system_pool_size(settings.pool_size)
    said = f"{told['taken']} of {told['most']} connections are taken, a process of ours takes up to {wants}"
    if connections.pooled:
        return Check(what="postgres connections", state="ok", said=f"{said}, from the pooler")
    if told["most"] < wants:
        said = f"{said}: raise max_connections, or lower LOUSA_POOL_SIZE"
        return Check(what="postgres connections", state="wrong", said=said)
    if told["taken"] > told["most"] * FULL:
        said = f"{said}: raise max_connections, lower LOUSA_POOL_SIZE, or put a pooler before it"
        return Check(what="postgres connections", state="note", said=said)
    return Check(what="postgres connections", state="ok", said=said)


def _pooler(connections: Connections) -> Check:
    if not connections.pooled:
        return Check(what="postgres pooler", state="ok", said="none; statements are prepared under names")
    if connections.prepare:
        return Check(what="postgres pooler", state="ok", said="one that keeps prepared statements")
    said = (
        "one that keeps no prepared statements, so each is planned anew: PgBouncer 1.21 can (max_prepared_statements)"
    )
    return Check(what="postgres pooler", state="note", said=said)
