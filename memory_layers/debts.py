"""Debts: what a layer is still owed for a memory, paid until there is none.

A debt commits with its memory and is deleted once the layer has it, so whoever dies in between leaves it to the next.
Each is taken by one relay at a time: taking it puts off when it is due again, longer with every attempt. Batches grow
and shrink towards two seconds of work. One memory that a layer refuses does not hold up the others: a batch that fails
is paid one by one.

A layer in a store outside cannot be asked within the record's transaction. It is told what the record said a moment
before, so a debt is taken off only as it was read: what changes meanwhile raises the debt's revision, and it is paid
once more. A store that is away is left alone for a moment, and keeps no other layer waiting. What this process cannot
pay, because a layer lies elsewhere than it was set to, it leaves to those who can.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from ..infra import telemetry
from ..infra.connections import Connections
from ..infra.errors import SchemaMismatch, ServerUnavailable
from .commit import QUERIES
from .contract import Capabilities
from .execution import memories
from .records import Memory

_LOG = logging.getLogger(__name__)
_WORK = 2.0
_LARGEST = 200
_FIRST = 16
_AWAY = 1.0
"""Seconds for which a store that is away is left alone."""


class Layer(Protocol):
    """What a debt is paid to: the part of `Projection` that this needs."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]: ...

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None: ...


class Debts:
    """What the layers are owed, over all tenants. `unpayable` names those of `layers` that others must pay for now."""

    def __init__(
        self, connections: Connections, layers: Mapping[str, Layer], unpayable: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._connections = connections
        self._layers = layers
        self._unpayable = unpayable
        self._batch: defaultdict[str, int] = defaultdict(lambda: _FIRST)
        self._away: dict[str, float] = {}
        """Until when a store that was away, and was not heard of since, is left alone."""
        self.incurred = asyncio.Event()
        """Set when this process has just made one that is due."""

    async def put(
        self, tenant: str, layer: str, batch: Sequence[Memory], owing: Mapping[UUID, int] | None = None
    ) -> Collection[UUID]:
        """Give memories to a layer, and take off what it was owed for them; `owing` says at which revisions.

        Returns those that it could not take yet, which stay owed.
        """
        held = self._layers[layer]
        if held.capabilities.transactional:
            return await held.put(tenant, batch)
        read = await self._owing(tenant, layer, batch) if owing is None else owing
        late = await held.put(tenant, batch)
        await self._settle(tenant, layer, {one.id: read[one.id] for one in batch if one.id in read}, but=late)
        return late

    async def _owing(self, tenant: str, layer: str, batch: Sequence[Memory]) -> dict[UUID, int]:
        async with self._connections.system_transaction(tenant) as connection:
            ids = [memory.id for memory in batch]
            cursor = await connection.execute(QUERIES["owing"], {"ids": ids, "layer": layer})
            return dict(await cursor.fetchall())

    async def _settle(self, tenant: str, layer: str, owing: Mapping[UUID, int], *, but: Collection[UUID] = ()) -> None:
        if not (settled := {identifier: revision for identifier, revision in owing.items() if identifier not in but}):
            return
        # Lost with the server, it would only be paid again: nobody waits for this one to reach the disk.
        async with self._connections.system_transaction(tenant, pipelined=True, durable=False) as connection:
            parameters = {"ids": list(settled), "revisions": list(settled.values()), "layer": layer}
            await connection.execute(QUERIES["paid"], parameters)

    async def pay(self, tenants: Sequence[str] | None = None) -> bool:
        """Pay a batch for each of these tenants and each layer, or for whoever is due; whether there may be more."""
        more = False
        for tenant in await self._debtors() if tenants is None else tenants:
            unpayable = self._unpayable()
            for layer in self._layers:
                if layer not in unpayable and time.monotonic() >= self._away.get(layer, 0.0):
                    more |= await self._pay(tenant, layer)
        return more

    async def _debtors(self) -> list[str]:
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["debtors"])
            return [row[0] for row in await cursor.fetchall()]

    async def _pay(self, tenant: str, layer: str) -> bool:
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(QUERIES["take_debts"], {"layer": layer, "limit": self._batch[layer]})
            taken: dict[UUID, int] = dict(await cursor.fetchall())
            held = await memories.get(connection, list(taken)) if taken else {}
        if not taken:
            return False
        begun = time.monotonic()
        telemetry.spread("lousa.relay.batch", len(taken), {"lousa.layer": layer})
        gone = {identifier: revision for identifier, revision in taken.items() if identifier not in held}
        try:
            await self._put(tenant, layer, list(held.values()), taken)
            if gone:
                if not self._layers[layer].capabilities.transactional:
                    await self._layers[layer].drop(tenant, list(gone))
                await self._settle(tenant, layer, gone)  # what is no longer in the record is owed to nobody
        except SchemaMismatch:
            await self._give_back(tenant, layer, taken, after="0")
            return False
        except ServerUnavailable as error:
            if self._layers[layer].capabilities.transactional:
                raise
            await self._leave_alone(tenant, layer, taken, error)
            return False
        if self._away.pop(layer, None) is not None:
            _LOG.warning("layer %r answers again, its debts are paid", layer)
        affordable = int(len(taken) * _WORK / max(0.001, time.monotonic() - begun))
        self._batch[layer] = max(1, min(_LARGEST, affordable, self._batch[layer] * 2))
        return True

    async def _leave_alone(self, tenant: str, layer: str, taken: Collection[UUID], why: ServerUnavailable) -> None:
        if layer not in self._away:
            _LOG.warning("layer %r is away, its debts wait: %s", layer, why)
        self._away[layer] = time.monotonic() + _AWAY
        await self._give_back(tenant, layer, taken, after=f"{_AWAY} seconds")

    async def _give_back(self, tenant: str, layer: str, taken: Collection[UUID], *, after: str) -> None:
        async with self._connections.system_transaction(tenant) as connection:
            parameters = {"ids": list(taken), "layer": layer, "after": after}
            await connection.execute(QUERIES["put_off"], parameters)

    async def _put(self, tenant: str, layer: str, batch: Sequence[Memory], owing: Mapping[UUID, int]) -> None:
        if not batch:
            return
        try:
            await self.put(tenant, layer, batch, owing)
        except (ServerUnavailable, SchemaMismatch):
            raise
        except Exception as error:
            if len(batch) > 1:
                for memory in batch:
                    await self._put(tenant, layer, [memory], owing)
                return
            ids, why = [batch[0].id], type(error).__name__
            _LOG.warning("layer %r refused memory %s (%s), trying again later", layer, ids[0], why)
            async with self._connections.system_transaction(tenant) as connection:
                await connection.execute(QUERIES["note_debts"], {"ids": ids, "layer": layer, "error": why})
