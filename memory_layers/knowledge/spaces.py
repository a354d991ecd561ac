"""Where the graph that is read lies: in Postgres, or in the one store outside that is owed whatever changes.

Postgres always has the graph, because facts are resolved there. So any process may read it there, whatever its settings
say, and does while a store outside is still being filled, or is another than its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...infra.connections import Connection
from ...infra.sql import load_queries

QUERIES = load_queries(__package__ or "", "spaces.sql")

Standing = Literal["serving", "filling", "elsewhere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """How a store stands. `other` names the one that is owed what changes instead; `stated`: anything ever was."""

    standing: Standing
    other: str | None
    stated: bool


async def whereabouts(connection: Connection, store: str) -> Whereabouts:
    """How this store stands by now."""
    cursor = await connection.execute(QUERIES["standing"], {"store": store})
    ((state, other, stated),) = await cursor.fetchall()
    return Whereabouts(standing=state or "elsewhere", other=other if state is None else None, stated=stated)


async def adopt(connection: Connection, store: str, patience: str) -> None:
    """From the end of this transaction on the store is owed what changes; 'postgres' says that none is.

    It needs a moment in which nobody writes (`memory_layers.moment`), which is waited for with this patience.
    """
    await connection.execute(QUERIES["adopt"], {"store": store, "patience": patience})


async def serve(connection: Connection, store: str) -> bool:
    """From the end of this transaction on the graph is read in it; False: another was named meanwhile."""
    ((done,),) = await (await connection.execute(QUERIES["serve"], {"store": store})).fetchall()
    return done
