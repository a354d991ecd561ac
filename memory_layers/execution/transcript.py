"""The transcript: every turn of a session, in order, kept by retention. A turn is appended once, by its id.

A session's transcript is read by the agents of that session alone; row-level security sees to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connections
from ...infra.identity import Principal
from ...infra.sql import load_queries
from ..conversation.window import Turn
from ..records import Json

_QUERIES = load_queries(__package__ or "")


class Transcript:
    """The turns of one principal's session. `append` is the `Archive` that a window asks for."""

    def __init__(self, connections: Connections, principal: Principal) -> None:
        self._connections = connections
        self._principal = principal

    async def append(self, turns: Sequence[Turn]) -> None:
        """Keep turns; those that are there already are left as they are."""
        if not turns:
            return
        rows = JsonParameter([self._row(turn) for turn in turns])
        async with self._connections.transaction(self._principal) as connection:
            await connection.execute(_QUERIES["append_turns"], {"rows": rows})

    async def last(self, limit: int, *, before: UUID | None = None) -> list[Turn]:
        """The newest turns, oldest first; `before` pages back from a turn."""
        parameters = {"session": self._principal.session, "limit": limit, "before": before}
        async with (
            self._connections.transaction(self._principal) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            await cursor.execute(_QUERIES["last_turns"], parameters)
            return [_turn(row) for row in reversed(await cursor.fetchall())]

    def _row(self, turn: Turn) -> dict[str, Json]:
        return {
            "id": str(turn.id),
            "session": self._principal.session,
            "execution": str(self._principal.execution) if self._principal.execution else None,
            "agent": turn.agent,
            "role": turn.role,
            "body": {"said": turn.body, "calls": [*turn.calls], "answers": turn.answers},
            "occurred_at": turn.at.isoformat(),
        }


def _turn(row: Mapping[str, Any]) -> Turn:
    body: dict[str, Any] = row["body"]
    return Turn(
        id=row["id"],
        agent=row["agent"],
        role=row["role"],
        body=body["said"],
        calls=tuple(body["calls"]),
        answers=body["answers"],
        at=row["occurred_at"],
    )
