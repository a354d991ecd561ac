"""Decisions: what was asked, what was decided, why, and on what evidence, kept for seven years.

A decision is a memory of its own kind whose value says these four things; its row here is written in the memory's own
transaction and is read by whoever may see that memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection
from ...infra.sql import load_queries
from ..records import Json, Memory

_QUERIES = load_queries(__package__ or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision."""

    id: UUID
    execution: UUID | None
    agent: str
    question: str
    outcome: Json
    reasons: Json
    evidence: Json
    decided_at: datetime


def decision_value(question: str, outcome: Json, reasons: Sequence[Json] = (), evidence: Sequence[Json] = ()) -> Json:
    """The value that a memory of a decision carries."""
    return {"question": question, "outcome": outcome, "reasons": [*reasons], "evidence": [*evidence]}


async def insert(connection: Connection, memories: Sequence[Memory]) -> None:
    """Write the decisions that these memories are, in their transaction."""
    rows: list[Json] = []
    for memory in memories:
        told: Mapping[str, Json] = memory.value if isinstance(memory.value, dict) else {}
        rows.append(
            {
                "id": str(memory.id),
                "execution": str(memory.execution) if memory.execution else None,
                "agent": memory.owner,
                "question": told.get("question") or memory.text,
                "outcome": told.get("outcome", memory.text),
                "reasons": told.get("reasons") or [],
                "evidence": told.get("evidence") or [],
                "decided_at": memory.occurred_at.isoformat(),
            }
        )
    if rows:
        await connection.execute(_QUERIES["insert_decisions"], {"rows": JsonParameter(rows)})


async def recent(connection: Connection, *, execution: UUID | None = None, limit: int = 100) -> list[Decision]:
    """Decisions that the caller may see, the newest first."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES["list_decisions"], {"execution": execution, "limit": limit})
        return [Decision(**row) for row in await cursor.fetchall()]
