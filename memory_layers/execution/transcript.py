"""The transcript: every turn of a session, in order, kept by retention. A turn is appended once, by its id.

A session's transcript is read by the agents of that session alone; row-level security sees to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connections
from ...infra.identity import Principal
from ...infra.sql import load_queries
from ..records import Json, Source

_QUERIES = load_queries(__package__ or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One turn as it is kept: `role` says whose it was (user, assistant, tool, …).

    `calls` are the ids of the tool calls it made, `answers` the id of the call whose result it is; `source` says where
    it comes from, if its role does not. `recorded_at` is when it arrived, by the database's clock.
    """

    id: UUID
    agent: str
    role: str
    body: Json
    occurred_at: datetime
    execution: UUID | None = None
    calls: tuple[str, ...] = ()
    answers: str | None = None
    source: Source | None = None
    recorded_at: datetime | None = None


class Transcript:
    """The turns of sessions."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def append(self, principal: Principal, turns: Sequence[TranscriptTurn]) -> None:
        """Keep turns of the principal's session; those that are there already are left as they are."""
        if not turns:
            return
        rows = JsonParameter([_row(principal, turn) for turn in turns])
        async with self._connections.transaction(principal) as connection:
            await connection.execute(_QUERIES["append_turns"], {"rows": rows})

    async def last(self, principal: Principal, limit: int, *, before: UUID | None = None) -> list[TranscriptTurn]:
        """The newest turns of the principal's session, oldest first; `before` pages back from a turn."""
        parameters = {"session": principal.session, "limit": limit, "before": before}
        async with self._connections.transaction(principal) as connection, connection.cursor(row_factory=dict_row) as c:
            await c.execute(_QUERIES["last_turns"], parameters)
            return [_turn(row) for row in reversed(await c.fetchall())]

    async def after(
        self,
        principal: Principal,
        arrived: tuple[datetime, UUID] | None,
        limit: int,
        *,
        known: Sequence[UUID] = (),
        newest: bool = False,
    ) -> list[TranscriptTurn]:
        """Turns of the principal's session that are not `known`, in the order in which they arrived.

        The oldest of them, or the `newest`; of all, or of those after the turn that is named by when it arrived and its
        id.
        """
        after, last = arrived or (None, None)
        parameters = {
            "session": principal.session, "limit": limit, "after": after, "last": last, "known": [*known],
            "newest": newest,
        }  # fmt: skip
        async with self._connections.transaction(principal) as connection, connection.cursor(row_factory=dict_row) as c:
            await c.execute(_QUERIES["turns_after"], parameters)
            return sorted((_turn(row) for row in await c.fetchall()), key=lambda turn: (turn.recorded_at, turn.id))


def _row(principal: Principal, turn: TranscriptTurn) -> dict[str, Json]:
    return {
        "id": str(turn.id),
        "session": principal.session,
        "execution": str(turn.execution) if turn.execution else None,
        "agent": turn.agent,
        "role": turn.role,
        "body": {
            "said": turn.body,
            "calls": [*turn.calls],
            "answers": turn.answers,
            **({} if turn.source is None else {"source": turn.source}),
        },
        "occurred_at": turn.occurred_at.isoformat(),
    }


def _turn(row: Mapping[str, Any]) -> TranscriptTurn:
    body: dict[str, Any] = row["body"]
    return TranscriptTurn(
        id=row["id"],
        agent=row["agent"],
        role=row["role"],
        body=body["said"],
        occurred_at=row["occurred_at"],
        execution=row["execution"],
        calls=tuple(body["calls"]),
        answers=body["answers"],
        source=body.get("source"),
        recorded_at=row.get("recorded_at"),
    )
