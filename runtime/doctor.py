"""What is in force and what is wrong, found by looking: nothing here is repaired, moved or deleted.

A check is `ok`, a `note` (worth knowing, nothing to do) or `wrong`, and then it says what to do. Servers that others
run are asked what they promise: an acknowledged write is as safe as their settings, not ours. What cannot be asked,
because a managed server hides it, is a note that says so.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any, Literal, cast

from psycopg.rows import dict_row

from ..agents.llm import load as load_model
from ..infra.connections import Connections
from ..infra.errors import LousaError
from ..infra.settings import Settings
from ..infra.sql import load_queries
from ..infra.text import without_password
from ..memory_layers.conversation.keys import board_keys
from ..memory_layers.embedding import load as load_embedder
from .check import Check
from .deserted import deserted
from .doctor_postgres import postgres_checks
from .doctor_redis import redis_checks

Row = Mapping[str, Any]

TOO_LARGE = 10 * 1024
"""Bytes of a board value above which it should have been an artifact."""
LEAST_SPACE = 512 * 1024 * 1024
LONG_OWED = 3_600.0
PATIENCE = 5.0
"""Seconds that the relay of this very process gets before something is called owed."""

_QUERIES = load_queries(__package__ or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """One setting, its value, and who said so: the command line, the environment, or nobody."""

    variable: str
    value: str
    origin: Literal["command line", "environment", "default"]


def in_force(settings: Settings, given: frozenset[str]) -> list[InForce]:
    """The settings; `given` are those that the command line named. Passwords are left out."""
    lines: list[InForce] = []
    for name in type(settings).model_fields:
        value: object = getattr(settings, name)
        said = "environment" if name in settings.model_fields_set else "default"
        lines.append(
            InForce(
                variable=f"LOUSA_{name.upper()}",
                value=_readable(name, value),
                origin="command line" if name in given else said,
            )
        )
    return lines


def _readable(name: str, value: object) -> str:
    match value:
        case None:
            return ""
        case timedelta():
            return f"{value.total_seconds():g} s"
        case str() if name.endswith("_url"):
            return without_password(value)
        case _:
            return str(value)


async def examine(settings: Settings, connections: Connections) -> AsyncIterator[Check]:
    """Everything that can be looked at while the servers answer, but for debts (`owed`)."""
    yield _space(settings)
    if settings.model is not None:
        yield model_check(settings.model)
    async for check in redis_checks(settings, connections):
        yield check
    async for check in _postgres(settings, connections):
        yield check
    async for check in _work(connections):
        yield check
    async with connections.system_transaction("") as connection:
        cursor = await connection.cursor(row_factory=dict_row).execute(_QUERIES["consolidation"])
        for check in tended(settings, cast(Row, await cursor.fetchone())):
            yield check


def model_check(spec: str) -> Check:
    """Whether the language model that is set can be had; it is asked nothing."""
    try:
        model = load_model(spec)
    except LousaError as error:
        return Check(what="model", state="wrong", said=str(error))
    return Check(what="model", state="ok", said=f"{model.name if model else spec!r}: what it is asked goes to it")


def _space(settings: Settings) -> Check:
    free = shutil.disk_usage(settings.home if settings.home.exists() else settings.home.anchor).free
    said = f"{free / 1e9:.1f} GB are free at {str(settings.home)!r}"
    if free < LEAST_SPACE:
        return Check(what="disk", state="wrong", said=f"{said}: free some, a full disk refuses every write")
    return Check(what="disk", state="ok", said=said)


async def _postgres(settings: Settings, connections: Connections) -> AsyncIterator[Check]:
    async with connections.system_transaction("") as connection:
        cursor = connection.cursor(row_factory=dict_row)
        schema = cast(Row, await (await cursor.execute(_QUERIES["schema"])).fetchone())
        models = cast("list[Row]", await (await cursor.execute(_QUERIES["models"])).fetchall())
    for check in postgres_checks(settings, connections, schema):
        yield check
    yield embedder_check(settings, models)


def embedder_check(settings: Settings, models: Sequence[Row]) -> Check:
    """Whether the embedder that is set made the vectors that are stored."""
    try:
        ours = load_embedder(settings.embedder)
    except LousaError as error:
        return Check(what="embedder", state="wrong", said=str(error))
    there = {str(model["fingerprint"]): str(model["name"]) for model in models}
    said = f"{ours.name}, {ours.dimensions} dimensions, {ours.fingerprint}"
    if there and ours.fingerprint not in there:
        said = f"{said}; the vectors here are of {', '.join(there.values())}: set LOUSA_EMBEDDER to that"
        return Check(what="embedder", state="wrong", said=said)
    return Check(what="embedder", state="ok", said=said)


async def _work(connections: Connections) -> AsyncIterator[Check]:
    patience = monotonic() + PATIENCE
    while True:
        async with connections.system_transaction("") as connection:
            cursor = connection.cursor(row_factory=dict_row)
            standing = cast(Row, await (await cursor.execute(_QUERIES["standing"])).fetchone())
            boards = cast("list[Row]", await (await cursor.execute(_QUERIES["open_boards"])).fetchall())
            debts = cast("list[Row]", await (await cursor.execute(_QUERIES["debts"])).fetchall())
            rebuilds = cast("list[Row]", await (await cursor.execute(_QUERIES["rebuilds"])).fetchall())
        # What nobody worked off because nobody had it open is not wrong: the relay that came with us is on it.
        if monotonic() > patience or not (standing["undrained"] or any(map(_overdue, debts))):
            break
        await asyncio.sleep(0.1)
    said = f"{standing['open']} open, {standing['waiting']} of them wait for a person"
    yield Check(what="executions", state="note" if standing["waiting"] else "ok", said=said)
    for board in boards:
        if board["status"] == "running" and await deserted(connections, board["tenant"], board["id"]):
            said = f"nobody runs it: lousa resume {board['id']} --tenant {shlex.quote(board['tenant'])}"
            yield Check(what="interrupted", state="note", said=said)
    if standing["undrained"]:
        said = f"{standing['undrained']} ended executions have changes that the ledger still lacks"
        yield Check(what="audit", state="wrong", said=f"{said}: keep a process open, its relay copies them")
    for check in debts_owed(debts):
        yield check
    for check in under_way(rebuilds):
        yield check
    yield await _large_values(connections, boards)


def under_way(rebuilds: Sequence[Row]) -> Iterator[Check]:
    """What is being made anew, and whether somebody is at it."""
    for rebuild in rebuilds:
        towards = f" towards vectors of {rebuild['model']!r} in {rebuild['store']}" if rebuild["model"] else ""
        said = f"{rebuild['layer']} is made anew{towards}"
        if rebuild["alive"]:
            yield Check(what="rebuild", state="note", said=f"{said}, {rebuild['owed']} memories are left")
        elif rebuild["model"]:
            way_out = "'lousa rebuild context' under those settings goes on, with --abandon it gives that up"
            yield Check(what="rebuild", state="wrong", said=f"{said}, and nobody is at it: {way_out}")


def debts_owed(debts: Sequence[Row]) -> Iterator[Check]:
    """What layers lack, and whether it is only on its way."""
    for debt in debts:
        why = f", last error: {debt['error']}" if debt["error"] else ""
        since = f"the oldest for {max(0.0, debt['seconds']):.0f} s{why}"  # what is put off is due later
        if debt["layer"] == "shown":
            said = f"{debt['owed']} vectors wait in Postgres until their store shows them, {since}"
        else:
            said = f"layer {debt['layer']} is owed {debt['owed']} memories, {since}"
        yield Check(what="debts", state="wrong" if _overdue(debt) else "note", said=said)
    if not debts:
        yield Check(what="debts", state="ok", said="no layer is owed anything")


def tended(settings: Settings, job: Row) -> Iterator[Check]:
    """Whether memories are consolidated, and the ledger has room for what is to come."""
    days = job["seconds"] / 86_400
    if not settings.consolidate:
        said = "LOUSA_CONSOLIDATE is off: run `lousa consolidate` now and then"
        yield Check(what="consolidation", state="note", said=said)
    elif job["leads"]:
        yield Check(what="consolidation", state="ok", said="a run is under way")
    elif job["seconds"] > 2 * settings.consolidate_every.total_seconds():
        said = f"the last run was due {days:.0f} days ago: keep a process open, or run `lousa consolidate`"
        yield Check(what="consolidation", state="note", said=said)
    else:
        yield Check(what="consolidation", state="ok", said=f"the last run was due {days:.1f} days ago")
    if job["lacking"]:
        said = f"{job['lacking']} partitions are missing for this month and the next: run `lousa consolidate`"
        yield Check(what="ledger", state="wrong", said=said)


def _overdue(debt: Row) -> bool:
    return debt["seconds"] > LONG_OWED or debt["attempts"] >= 5


async def _large_values(connections: Connections, boards: list[Row]) -> Check:
    large: list[str] = []
    for board in boards:
        key = board_keys(board["tenant"], board["id"]).fields
        async for field, entry in connections.redis.hscan_iter(key, count=500):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # vague stubs
            if len(cast(bytes, entry)) > TOO_LARGE:
                large.append(f"{_text(cast(bytes, field))!r} of {board['id']}")
    if large:
        shown = ", ".join(large[:5]) + (f" and {len(large) - 5} more" if len(large) > 5 else "")
        return Check(what="boards", state="wrong", said=f"values above 10 KB that should be artifacts: {shown}")
    return Check(what="boards", state="ok", said="no value above 10 KB on the boards in use")


def _text(said: object) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
