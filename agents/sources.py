"""What can be extracted from, as it is read from the record: memories and turns, with the lines just before each.

A line before is shown with another one only where both are for the same readers and about the same person, so that
nothing a model makes of the two is seen by anybody who may not see either. One that is not trusted is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast
from uuid import UUID

from psycopg.rows import dict_row

from ..infra.connections import Connection
from ..infra.identity import Principal
from ..infra.sql import load_queries
from ..memory_layers.conversation.window import Turn
from ..memory_layers.guard import commands
from ..memory_layers.records import QUARANTINE_BELOW, SHARED, Scope, ScopeKind, Source
from .extraction import Line, Text, text_of

_QUERIES = load_queries(__package__ or "", "extraction.sql")
_Row = Mapping[str, Any]


async def load(connection: Connection, ids: Collection[UUID]) -> dict[UUID, Text]:
    """Those of these sources that stand, by their ids."""
    found: dict[UUID, Text] = {}
    for query, text in (("memories", _remembered), ("turns", _said)):
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(_QUERIES[query], {"ids": [*ids]})
            for row in await cursor.fetchall():
                found[row["id"]] = text(row)
    return found


def witness(text: Text) -> Principal:
    """In whose name what is derived from a text is kept: whoever kept the text."""
    return Principal(tenant=text.tenant, agent=text.owner, session=text.session, execution=text.execution)


def _remembered(row: _Row) -> Text:
    scope = Scope(kind=ScopeKind(row["scope"]), readers=frozenset(row["readers"]), roles=frozenset(row["reader_roles"]))
    return Text(
        line=_line(row["id"], row, row["owner"]),
        before=_trusted(_line(UUID(one["id"]), one, row["owner"]) for one in reversed(row["before"])),
        tenant=row["tenant"],
        owner=row["owner"],
        session=row["session"],
        execution=row["execution"],
        scope=scope,
        subject=row["subject"],
        occurred_at=row["occurred_at"],
    )


def _said(row: _Row) -> Text:
    return Text(
        line=_turn(row["id"], row),
        before=_trusted(_turn(UUID(one["id"]), one) for one in reversed(row["before"])),
        tenant=row["tenant"],
        owner=row["agent"],
        session=row["session"],
        execution=row["execution"],
        scope=SHARED,
        subject=None,
        occurred_at=row["occurred_at"],
    )


def _line(identifier: UUID, row: _Row, owner: str) -> Line:
    return Line(
        id=identifier,
        speaker=row["speaker"] or _speaker(row["source"], owner),
        named=row["speaker"] is not None or row["source"] == "agent",
        text=row["text"],
        source=cast(Source, row["source"]),
        trust=float(row["trust"]),
    )


def _turn(identifier: UUID, row: _Row) -> Line:
    body = row["body"]
    turn = Turn(role=row["role"], body=body["said"], source=body.get("source"))
    return Line(
        id=identifier,
        speaker=_speaker(turn.comes_from, row["agent"]),
        named=turn.comes_from == "agent",
        text=text_of(turn.body),
        source=turn.comes_from,
        trust=turn.trust,
    )


def _speaker(source: str, agent: str) -> str:
    """What a line's speaker is called where nobody said: the user, a tool, or the agent by its name."""
    return agent if source == "agent" else source


def _trusted(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(
        line
        for line in lines
        if line.text.strip() and line.trust >= QUARANTINE_BELOW and (line.source == "user" or not commands(line.text))
    )
