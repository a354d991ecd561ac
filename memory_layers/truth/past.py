"""The past: what gave way is found by what took its place.

A memory that was superseded has no words and no vector any more. A question about an earlier moment is answered by the
present first; behind each hit stands what it took the place of, and that is put beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from ...infra.connections import Connection
from .examination import QUERIES


async def before(connection: Connection, ids: Sequence[UUID], as_of: datetime) -> dict[UUID, UUID]:
    """What was still told at a moment and gave way to one of these since, each with what it is found by."""
    cursor = await connection.execute(QUERIES["before"], {"ids": list(ids), "as_of": as_of})
    return dict(await cursor.fetchall())
