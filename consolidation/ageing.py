"""Batches of what is too old, the oldest first: what `expire` and `archive` have in common.

Each batch goes on at the place where the last one ended, so that what is old and stays (a preference, what is in use)
is read once and not with every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import LiteralString
from uuid import UUID

from ..infra.connections import Connection
from ..memory_layers.records import MemoryKind
from .contract import Hour, Work
from .queries import QUERIES

BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
Placed = Sequence[tuple[UUID, datetime]]


async def counted(connection: Connection, query: LiteralString, parameters: Mapping[str, object]) -> tuple[int, int]:
    """The two numbers that a counting query gives: how many were looked at, and how many are to be changed."""
    row = await (await connection.execute(query, parameters)).fetchone()
    assert row is not None, "a count always gives a row"
    return int(row[0]), int(row[1])


async def age_out(work: Work, hour: Hour, kind: str, status: str) -> None:
    """Give every memory of a kind that has lapsed another status, and take it out of its layers."""
    latest = hour.latest(kind)
    if latest is None:
        return
    parameters = {**hour.limits(), "kind": kind, "status": status, "latest": latest}
    await in_batches(work, QUERIES["age_out"], parameters, MemoryKind(kind))


async def in_batches(
    work: Work, query: LiteralString, parameters: Mapping[str, object], kind: MemoryKind | None
) -> None:
    """Run a query that changes a batch and tells ids and places, until it finds fewer than a batch has room for.

    What was changed is taken out of the layers of its kind; without one it stays where it is, and was only marked.
    """
    after = BEGINNING
    while True:
        async with work.batch() as batch:
            given = {**parameters, "entry": work.entry, "limit": work.size, "after": after}
            rows: Placed = await (await batch.connection.execute(query, given)).fetchall()
            if kind is None:
                batch.flagged += len(rows)
            else:
                batch.changed += len(rows)
                await work.take_out(batch, kind, [identifier for identifier, _ in rows])
        if len(rows) < work.size:
            return
        after = max(place for _, place in rows)
