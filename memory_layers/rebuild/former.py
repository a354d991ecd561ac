"""What a space left in a store outside, once another serves: cleared, where its store is the one that is at hand.

A space in Postgres goes with its table. Vectors in another store stay there until somebody clears them, and only
whoever has its address can: a rebuild that stays in one store does, after those who asked it last have their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...infra.errors import LousaError
from ..context.stores import context_layer
from .context import Progress, Space
from .work import QUERIES

if TYPE_CHECKING:
    from ...infra.connections import Connections
    from ..embedding import Vectors


@dataclass(frozen=True, slots=True)
class _Model:
    """A model of which only the vectors are left. Satisfies `Embedder`."""

    name: str
    fingerprint: str
    dimensions: int

    async def prepare(self) -> None:
        """Nothing to load."""

    async def documents(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError("only what this model made is known here")

    async def query(self, text: str) -> Vectors:
        raise NotImplementedError("only what this model made is known here")


async def cleared(
    space: Space,
    url: str | None,
    connections: Connections,
    tenants: Collection[str],
    tell: Callable[[Progress], object] = lambda _: None,
) -> bool:
    """Clear what a space holds for these tenants, if the store at `url` is the one it lies in.

    Raises:
        ServerUnavailable: the store is away.
        SettingsError: it refuses us.
    """
    from ..context.outside import OutsideContextLayer

    model = _Model(space.model, space.fingerprint, space.dimensions)
    there = context_layer(connections, model, url)
    if not isinstance(there, OutsideContextLayer) or there.store_name != space.store:
        return False
    store = there.opened_for(space.name)
    async with AsyncExitStack() as stack:
        await store.start(stack)
        for done, tenant in enumerate(tenants):
            tell(Progress(phase="clearing", done=done, total=len(tenants)))
            await store.clear(tenant)
    return True


async def left_over(
    spaces: Collection[Space],
    url: str | None,
    connections: Connections,
    tell: Callable[[Progress], object] = lambda _: None,
) -> list[str]:
    """Clear what can be, of spaces that lay outside; the stores that still hold some, and why."""
    left: list[str] = []
    async with connections.system_transaction("") as connection:
        tenants = [row[0] for row in await (await connection.execute(QUERIES["tenants"])).fetchall()]
    for space in spaces:
        if space.store == "postgres":
            continue
        try:
            if not await cleared(space, url, connections, tenants, tell):
                left.append(f"{space.store}: its address is not at hand")
        except LousaError as error:
            left.append(f"{space.store}: {error}")
    return left
