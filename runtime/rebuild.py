"""Rebuilds as the settings have them: what is to be made anew, opened without what serves.

A process that rebuilds is none that serves: it opens the servers and the new space and nothing else, because the
settings it has are those that everybody shall have afterwards. What serves goes on beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from ..infra.connections import Connections
from ..infra.settings import Settings
from ..memory_layers import embedding
from ..memory_layers.context.stores import context_layer
from ..memory_layers.knowledge.outside import OutsideKnowledgeLayer
from ..memory_layers.knowledge.stores import knowledge_layer
from ..memory_layers.policy import table
from ..memory_layers.rebuild.context import ContextRebuild, Progress, Rebuilt, Space
from ..memory_layers.rebuild.former import left_over
from ..memory_layers.rebuild.graph import Brought, Derived, KnowledgeRebuild
from .app import connected

Tell = Callable[[Progress], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a rebuild of layer 3 did: facts derived anew, and the graph outside that was brought up to date, if any.

    `ended` counts what was owed to a graph outside that the settings do not name any more.
    """

    derived: Derived
    brought: Brought | None
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a rebuild of layer 2 did, and the stores in which vectors were left that nobody asks any more."""

    rebuilt: Rebuilt
    left: list[str] = field(default_factory=list[str])


class Rebuilding:
    """What can be made anew, on open servers."""

    def __init__(self, settings: Settings, connections: Connections) -> None:
        self.connections = connections
        self._settings = settings

    async def context(self, *, keep_old: bool = False, tell: Tell = lambda _: None) -> Done:
        """Layer 2, with the embedder and the store of the settings. `keep_old` leaves what lay in a store outside.

        Raises:
            BadInput: one towards other settings is under way.
            ServerUnavailable: the store, or the model, gives no answer for too long.
            LousaError: another process is at it, or what was filled does not agree with the record.
        """
        rebuilt = await self._context(tell).run()
        outside = [space for space in rebuilt.former if space.store != "postgres"]
        if keep_old or not outside:
            return Done(rebuilt=rebuilt, left=[f"{space.store}: kept" for space in outside])
        # Who asked the former space in its last moment asks its store up to a deadline later.
        await asyncio.sleep(2 * self._settings.deadline.total_seconds())
        return Done(rebuilt=rebuilt, left=await self._clear(outside, tell))

    async def knowledge(self, tell: Tell = lambda _: None) -> Known:
        """Layer 3: its facts from the record, and the graph outside that the settings name; without one, none is read.

        Raises:
            ServerUnavailable: the graph gives no answer for too long.
            LousaError: another process is at it.
        """
        settings = self._settings
        async with AsyncExitStack() as stack:
            layer = knowledge_layer(self.connections, settings.graph_url, deadline=settings.deadline)
            await layer.start(stack)
            rebuild = KnowledgeRebuild(self.connections, layer, tell=tell)
            derived = await rebuild.derive()
            if isinstance(layer, OutsideKnowledgeLayer):
                return Known(derived=derived, brought=await rebuild.bring(layer), ended=0)
            return Known(derived=derived, brought=None, ended=await rebuild.release())

    async def abandon_context(self, tell: Tell = lambda _: None) -> tuple[Space, list[str]]:
        """Give up what was begun; the space, and where something of it was left.

        Raises:
            NotFound: nothing was.
            LousaError: another process is at it.
        """
        space = await self._context(tell).abandon()
        return space, await self._clear([space], tell)

    def _context(self, tell: Tell) -> ContextRebuild:
        settings = self._settings
        target = context_layer(self.connections, embedding.load(settings.embedder), settings.vector_url)
        return ContextRebuild(self.connections, target, table(), tell=tell)

    async def _clear(self, spaces: list[Space], tell: Tell) -> list[str]:
        return await left_over(spaces, self._settings.vector_url, self.connections, tell)


@asynccontextmanager
async def rebuilding(settings: Settings) -> AsyncGenerator[Rebuilding]:
    """What can be made anew, for as long as the block runs: servers are started or joined, and nothing serves."""
    async with AsyncExitStack() as stack:
        yield Rebuilding(settings, await connected(settings, stack))
