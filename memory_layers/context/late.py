"""A store of vectors that may be away when its process starts.

A process that is restarted in an outage serves without the store, as one that was there before: memories are found by
words and facts, and what the store is owed waits. The store is tried again until it answers. One that turns out not to
fit is as good as away, and the log says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from uuid import UUID

from ...infra.errors import ServerUnavailable, SettingsError
from ...infra.retry import retrying
from ...infra.tasks import end
from .remote import Point, StoreCapabilities, VectorStore

if TYPE_CHECKING:
    from ..embedding import Vectors

_LOG = logging.getLogger(__name__)


class LateStore:
    """Another store, from the moment on that it answers; away until then. Satisfies `VectorStore`."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._opened = False
        self._why = ""

    @property
    def name(self) -> str:
        return self._store.name

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._store.capabilities

    async def start(self, stack: AsyncExitStack) -> None:
        """Open it now, or, where it is away, as soon as it answers.

        Raises:
            SettingsError: it answers, and does not fit.
        """
        try:
            await self._open(stack)
        except ServerUnavailable as error:
            self._why = str(error)
            _LOG.warning("%s is away at the start, until it answers it is done without: %s", self.name, error)
            opening = asyncio.create_task(self._keep_trying(stack), name="lousa: a store of vectors that is away")
            stack.push_async_callback(end, opening)

    async def put(self, tenant: str, points: Sequence[Point]) -> None:
        await self._there.put(tenant, points)

    async def remove(self, tenant: str, ids: Collection[UUID]) -> None:
        await self._there.remove(tenant, ids)

    async def nearest(
        self, tenant: str, vector: Vectors, *, circles: Collection[str], kinds: Collection[str], k: int
    ) -> list[tuple[UUID, float]]:
        return await self._there.nearest(tenant, vector, circles=circles, kinds=kinds, k=k)

    async def shown(self, tenant: str, ids: Collection[UUID]) -> set[UUID]:
        return await self._there.shown(tenant, ids)

    async def count(self, tenant: str) -> int | None:
        return await self._there.count(tenant)

    async def clear(self, tenant: str) -> None:
        await self._there.clear(tenant)

    @property
    def _there(self) -> VectorStore:
        if not self._opened:
            raise ServerUnavailable(self._why)
        return self._store

    async def _keep_trying(self, stack: AsyncExitStack) -> None:
        try:
            await retrying(
                lambda: self._open(stack),
                transient=lambda error: isinstance(error, ServerUnavailable),
                what="opening a store of vectors that was away at the start",
            )
        except SettingsError as error:
            self._why = str(error)
            _LOG.error("%s answers by now, and cannot be used: %s", self.name, error)
        else:
            _LOG.warning("%s answers by now", self.name)

    async def _open(self, stack: AsyncExitStack) -> None:
        async with AsyncExitStack() as attempt:  # what failed leaves nothing behind
            await self._store.start(attempt)
            stack.push_async_callback(attempt.pop_all().aclose)
            self._opened = True
