"""Debts: what a layer is still owed for a memory, paid until there is none.

A debt commits with its memory and is deleted once the layer has it, so whoever dies in between leaves it to the next.
Each is taken by one relay at a time: taking it puts off when it is due again, longer with every attempt. Batches grow
and shrink towards two seconds of work. One memory that a layer refuses does not hold up the others: a batch that fails
is paid one by one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from ..infra import telemetry
from ..infra.connections import Connections
from ..infra.errors import ServerUnavailable
from .commit import QUERIES
from .contract import Capabilities
from .execution import memories
from .records import Memory

_LOG = logging.getLogger(__name__)
_WORK = 2.0
_LARGEST = 200


class Layer(Protocol):
    """What a debt is paid to: the part of `Projection` that this needs."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def put(self, tenant: str, memories: Sequence[Memory]) -> None: ...


class Debts:
    """What the layers are owed, over all tenants."""

    def __init__(self, connections: Connections, layers: Mapping[str, Layer]) -> None:
        self._connections = connections
        self._layers = layers
        self._batch = 16
        self.incurred = asyncio.Event()
        """Set when this process has just made one that is due."""

    async def put(self, tenant: str, layer: str, batch: Sequence[Memory]) -> None:
        """Give memories to a layer, and take off what it was owed for them."""
        await self._layers[layer].put(tenant, batch)
        if not self._layers[layer].capabilities.transactional:
            await self._settle(tenant, layer, [memory.id for memory in batch])

    async def _settle(self, tenant: str, layer: str, ids: Sequence[UUID]) -> None:
        async with self._connections.system_transaction(tenant, pipelined=True) as connection:
            # Lost with the server, it would only be paid again: nobody waits for this one to reach the disk.
            await connection.execute("SET LOCAL synchronous_commit = off")
            await connection.execute(QUERIES["paid"], {"ids": list(ids), "layer": layer})

    async def pay(self, tenants: Sequence[str] | None = None) -> bool:
        """Pay a batch for each of these tenants and each layer, or for whoever is due; whether there may be more."""
        more = False
        for tenant in await self._debtors() if tenants is None else tenants:
            for layer in self._layers:
                more |= await self._pay(tenant, layer)
        return more

    async def _debtors(self) -> list[str]:
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["debtors"])
            return [row[0] for row in await cursor.fetchall()]

    async def _pay(self, tenant: str, layer: str) -> bool:
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(QUERIES["take_debts"], {"layer": layer, "limit": self._batch})
            taken = [row[0] for row in await cursor.fetchall()]
            held = await memories.get(connection, taken) if taken else {}
        if not taken:
            return False
        begun = time.monotonic()
        telemetry.spread("lousa.relay.batch", len(taken), {"lousa.layer": layer})
        await self._put(tenant, layer, list(held.values()))
        affordable = int(len(taken) * _WORK / max(0.001, time.monotonic() - begun))
        self._batch = max(1, min(_LARGEST, affordable, self._batch * 2))
        if gone := [identifier for identifier in taken if identifier not in held]:
            await self._settle(tenant, layer, gone)  # what is no longer in the record is owed to nobody
        return True

    async def _put(self, tenant: str, layer: str, batch: Sequence[Memory]) -> None:
        try:
            await self.put(tenant, layer, batch)
        except ServerUnavailable:
            raise
        except Exception as error:
            if len(batch) > 1:
                for memory in batch:
                    await self._put(tenant, layer, [memory])
                return
            ids, why = [batch[0].id], type(error).__name__
            _LOG.warning("layer %r refused memory %s (%s), trying again later", layer, ids[0], why)
            async with self._connections.system_transaction(tenant) as connection:
                await connection.execute(QUERIES["note_debts"], {"ids": ids, "layer": layer, "error": why})
