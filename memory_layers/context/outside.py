"""Layer 2 with its vectors in a store outside Postgres; words stay, and so do vectors that the store does not show yet.

A memory is embedded, held in the space's own table, and given to the store; once the store shows it, which is read back
as a debt of its own, the table's copy goes. A recall looks at the table first and asks the store afterwards, so that
what has just left the one is in the other: it finds what was acknowledged, however late the store is.

The store is made to agree with the record: what is live is put, anything else is removed. Vectors are rounded to halves
before they leave, as Postgres does, so that either store finds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...infra.connections import Connection, Connections
from ...infra.identity import Principal
from ..asking import Elsewhere, Found, column_pair
from ..audience import circles_of, marks_of
from ..contract import Capabilities, Query
from ..embedding import Embedder
from ..records import Memory
from .late import LateStore
from .pgvector import BREADTH, ContextLayer
from .remote import Point, VectorStore
from .space import COUNTED, QUERIES

if TYPE_CHECKING:
    from ..embedding import Vectors


class OutsideContextLayer(ContextLayer):
    """Layer 2 with vectors in a store that `open_store` makes for a generation. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=False, past=False, likeness=True)
    _paid_with_put = ""
    _size_of = COUNTED

    def __init__(self, connections: Connections, embedder: Embedder, open_store: Callable[[int], VectorStore]) -> None:
        super().__init__(connections, embedder)
        self._open_store = open_store
        self.store = open_store(1)
        self._store = self.store.name

    async def _enter(self, space: str) -> None:
        """Open the store for this space; one that was used before may be away for now.

        Raises:
            ServerUnavailable: a store that is new here, or is being filled, does not answer.
            SettingsError: it cannot do what is needed.
        """
        store = self.opened_for(space)
        if not self._filling and await self._used(space):
            store = LateStore(store)
        await store.start(self._stack)
        await super()._enter(space)
        self.store = store

    async def _used(self, space: str) -> bool:
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["spaces"])
            return any(row[0] == space and row[5] for row in await cursor.fetchall())

    def opened_for(self, space: str) -> VectorStore:
        """The store as it is for the generation that a space's name tells, not yet started."""
        _, _, number = space.partition("_")
        return self._open_store(int(number or 1))

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Embed what is live, and make the store agree with the record."""
        await self.here(lambda: self._agree(tenant, memories))
        return ()

    async def _agree(self, tenant: str, memories: Sequence[Memory]) -> None:
        live = await self.at_hand(tenant, [memory.id for memory in memories])
        known = {identifier: vector for identifier, vector in live.items() if vector is not None}
        if new := [memory for memory in memories if memory.id in live.keys() - known.keys()]:
            vectors = _halved(await self._embedded(await self.told(tenant, new)))
            held = await self._hold(tenant, new, vectors)
            known |= {memory.id: vector for memory, vector in zip(new, vectors, strict=True) if memory.id in held}
        if sent := [memory for memory in memories if memory.id in known]:
            await self.store.put(tenant, [_point(memory, known[memory.id]) for memory in sent])
            await self._sent(tenant, [memory.id for memory in sent])
        if gone := [memory.id for memory in memories if memory.id not in known]:
            await self.store.remove(tenant, gone)

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold no longer what the record does not know any more, here and in the store."""

        async def dropped() -> None:
            await self.at_hand(tenant, ())  # a space that is closed is noticed by its table alone
            await self.store.remove(tenant, ids)

        await self.here(dropped)

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that should be found and lack words or a vector, young or shown."""
        lacking = await super().missing(connection, ids)
        if not lacking:
            return lacking
        ((tenant,),) = await (await connection.execute(QUERIES["tenant"])).fetchall()
        wordless = {row[0] for row in await (await connection.execute(QUERIES["wordless"], {"ids": [*ids]})).fetchall()}
        return wordless | (lacking - await self.store.shown(tenant, lacking))

    async def clear(self, tenant: str) -> None:
        """Drop a tenant's words and vectors, here and in the store."""
        await super().clear(tenant)
        await self.store.clear(tenant)

    def elsewhere(self, principal: Principal, query: Query, vector: Vectors) -> Elsewhere | None:
        """The likest memories that the store shows and the caller may see; the score is the cosine."""
        if self.estranged:
            return None

        async def ask() -> Found:
            found = await self.store.nearest(
                principal.tenant,
                _halved(vector),
                circles=circles_of(principal),
                kinds=sorted(query.kinds),
                k=max(BREADTH, query.k),
            )
            return column_pair("dense", found)

        return Elsewhere(ask)

    async def let_go(self, tenant: str, ids: Collection[UUID]) -> None:
        """Our own copies of what the store shows."""
        async with self._connections.system_transaction(tenant, pipelined=True, durable=False) as connection:
            await connection.execute(self._writing("shown"), {"ids": list(ids)})

    async def send_again(self, tenant: str, memories: Sequence[Memory], copies: Mapping[UUID, Vectors]) -> None:
        """To the store once more, from our own copies."""
        await self.store.put(tenant, [_point(memory, copies[memory.id]) for memory in memories])

    async def at_hand(self, tenant: str, ids: Sequence[UUID]) -> dict[UUID, Vectors | None]:
        """Those that are live, with the vector that was made before and is not shown yet, if there is one."""
        async with self._connections.system_transaction(tenant) as connection:
            cursor = connection.cursor(binary=True)
            await cursor.execute(self._writing("kept"), {"ids": list(ids)})
            return {row[0]: None if row[1] is None else _read(row[1]) for row in await cursor.fetchall()}

    async def _sent(self, tenant: str, ids: Sequence[UUID]) -> None:
        async with self._connections.system_transaction(tenant, pipelined=True, durable=False) as connection:
            await connection.execute(self._writing("sent"), {"ids": list(ids), "space": self.space})


class ReadBack:
    """What the debts called `shown` are paid to: our own copies go once the store shows theirs."""

    capabilities = OutsideContextLayer.capabilities

    def __init__(self, context: OutsideContextLayer) -> None:
        self._context = context

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Look which the store shows; the others are given to it once more and stay owed."""
        return await self._context.here(lambda: self._late(tenant, memories))

    async def _late(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        space = self._context.space
        live = await self._context.at_hand(tenant, [memory.id for memory in memories])
        copies = {identifier: vector for identifier, vector in live.items() if vector is not None}
        shown = await self._context.store.shown(tenant, copies.keys()) if copies else set[UUID]()
        if self._context.space != space:
            return [memory.id for memory in memories]  # what the former store shows says nothing about this one
        if shown:
            await self._context.let_go(tenant, shown)
        late = [memory for memory in memories if memory.id in copies.keys() - shown]
        if late:
            await self._context.send_again(tenant, late, copies)
        return [memory.id for memory in late]

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Nothing: copies of what left the record went with it."""


def _point(memory: Memory, vector: Vectors) -> Point:
    return Point(id=memory.id, kind=memory.kind, circles=marks_of(memory), vector=vector)


def _halved(vectors: Vectors) -> Vectors:
    import numpy

    return vectors.astype(numpy.float16).astype(numpy.float32)


def _read(halves: bytes) -> Any:
    import numpy

    return numpy.frombuffer(halves, dtype=">f2", offset=4).astype(numpy.float32)
