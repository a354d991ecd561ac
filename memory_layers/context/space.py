"""Where the vectors of layer 2 lie: a space, which belongs to one embedding model and one store.

A database that serves another space than the settings name is refused, because distances between two models mean
nothing. A space may be closed while it is used, once another was filled beside it (`memory_layers.rebuild`). Every
space has a table of its own, so whoever works on a closed one meets no table, and goes on in the one that serves. Where
that is of another model, or in another store, than this process was set to, layer 2 is estranged: it finds by words,
and leaves vectors to those that can make them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Literal, LiteralString, TypeVar, cast

from psycopg.errors import UndefinedTable

from ...infra.connections import Connection, Connections
from ...infra.errors import SchemaMismatch
from ...infra.sql import load_queries
from ..contract import Layer
from ..embedding import Embedder

QUERIES = load_queries(__package__ or "")
_LOG = logging.getLogger(__name__)
COUNTED: LiteralString = (
    "(SELECT tenant FROM memory WHERE tenant = current_tenant() AND status IN ('live', 'contested')"
    " AND kind NOT IN ('block', 'decision')) AS held"
)

T = TypeVar("T")


class InSpace:
    """What layer 2 is wherever its vectors lie."""

    _store = "postgres"
    _paid_with_put: Layer | Literal["", "rebuild"] = "context"
    _size_of: LiteralString = "{table}"
    """Where the number of a tenant's memories is counted, which says how rare a word is."""

    def __init__(self, connections: Connections, embedder: Embedder) -> None:
        self._connections = connections
        self.embedder = embedder
        self._halfvec = 0
        self.space = embedder.fingerprint
        """Where vectors are sought and put: the name of a space, which is part of its table's."""
        self.estranged = ""
        """Why layer 2 finds by words alone: what serves by now is not what this process was set to."""
        self._filling = False
        self._stack = AsyncExitStack()
        self._following = asyncio.Lock()

    @property
    def store_name(self) -> str:
        """Which store the vectors lie in, and which of the spaces there."""
        return self._store

    @property
    def store_address(self) -> str:
        """Which store the vectors lie in, as the settings name it."""
        return _address(self._store)

    async def start(self, stack: AsyncExitStack) -> None:
        """Attach to the space that serves, making it where none does or where it never held anything.

        Raises:
            SchemaMismatch: it is one of another model, or in another store.
        """
        self._stack = stack
        async with self._connections.system_transaction("") as connection:
            await self._know_types(connection)
            if not (space := await self._attached(connection)):
                await connection.execute(QUERIES["take_turns"])
                space = await self._attached(connection) or await self._open_space(connection)
        await self._enter(space)

    async def fill(self, stack: AsyncExitStack, space: str) -> None:
        """Work on a space that is being filled: what is put is paid to the rebuild, and nothing else is followed."""
        self._stack, self._filling = stack, True
        self._paid_with_put = self._paid_with_put and "rebuild"
        async with self._connections.system_transaction("") as connection:
            await self._know_types(connection)
        await self._enter(space)

    async def follow(self) -> None:
        """Go on in the space that serves by now; where it is of another model or store, by words alone."""
        async with self._following:
            async with self._connections.system_transaction("") as connection:
                try:
                    space, estranged = await self._attached(connection), ""
                except SchemaMismatch as error:
                    space, estranged = await self._serving(connection), str(error)
            if estranged:
                if not self.estranged:
                    _LOG.warning(
                        "layer 2 was rebuilt under other settings than this process was given at its start: until it"
                        " is restarted with the new ones it recalls by words, and leaves vectors to others (%s)",
                        estranged,
                    )
                self.space, self.estranged, self._size_of = space, estranged, COUNTED
            elif space:
                await self._enter(space)

    async def here(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it in the space that serves; one that was closed meanwhile is followed.

        Raises:
            SchemaMismatch: layer 2 is estranged.
        """
        try:
            if not self.estranged:
                return await work()
        except UndefinedTable:
            if self._filling:
                raise
            await self.follow()
        if self.estranged:
            raise SchemaMismatch(self.estranged)
        return await work()

    async def _enter(self, space: str) -> None:
        """Seek and put there from now on."""
        self.space, self.estranged, self._size_of = space, "", type(self)._size_of

    async def _know_types(self, connection: Connection) -> None:
        ((self._halfvec,),) = await (await connection.execute(QUERIES["type"])).fetchall()

    async def _serving(self, connection: Connection) -> str:
        cursor = await connection.execute(QUERIES["spaces"])
        return next((row[0] for row in await cursor.fetchall() if row[4] == "serving"), self.space)

    async def _attached(self, connection: Connection) -> str:
        """The space of this model in this store that serves; '' where none does, or one that was never used."""
        cursor = await connection.execute(QUERIES["spaces"])
        spaces = await cursor.fetchall()
        ours = (self._store, self.embedder.fingerprint)
        way_out = "'lousa rebuild context'"
        if any(row[1:3] == ours and row[4] == "filling" for row in spaces):
            way_out += ", which was begun and is not done yet"
        for space, store, fingerprint, model, state, used in spaces:
            if state != "serving":
                continue
            if (store, fingerprint) == ours:
                return space
            if used and fingerprint != self.embedder.fingerprint:
                raise SchemaMismatch(
                    f"this store holds vectors of {model!r}, and LOUSA_EMBEDDER now names {self.embedder.name!r}:"
                    f" set LOUSA_EMBEDDER back, or make the vectors anew with {way_out}"
                )
            if used:
                raise SchemaMismatch(
                    f"the vectors lie in {_address(store)}, and the settings now name {self.store_address}:"
                    f" set LOUSA_VECTOR_URL back, or bring them there with {way_out}"
                )
        return ""

    async def _open_space(self, connection: Connection) -> str:
        cursor = await connection.execute(QUERIES["spaces"])
        taken: set[str] = set()
        for space, _, _, _, state, _ in await cursor.fetchall():
            if state == "serving":
                await connection.execute(QUERIES["close_space"], {"space": space})
            else:
                taken.add(space)
        space = next(name for name in _names(self.embedder.fingerprint) if name not in taken)
        parameters = {
            "space": space,
            "store": self._store,
            "fingerprint": self.embedder.fingerprint,
            "model": self.embedder.name,
            "dimensions": self.embedder.dimensions,
        }
        await connection.execute(QUERIES["open_space"], parameters)
        return space

    def _writing(self, name: str) -> LiteralString:
        """A query that writes, or reads what is written on; never into another model's space.

        Raises:
            SchemaMismatch: layer 2 is estranged.
        """
        if self.estranged:
            raise SchemaMismatch(self.estranged)
        return self._query(name)

    def _query(self, name: str) -> LiteralString:
        # A space's name is hexadecimal digits and `_` (the database checks it), so it is as safe as a literal.
        table = cast(LiteralString, f"memory_vector_{self.space}")
        return QUERIES[name].replace("{counted}", self._size_of).replace("{table}", table)


def _address(store: str) -> str:
    """A store as the settings name it, without what tells one space in it from another."""
    return store.partition("#")[0] if store != "postgres" else "Postgres (no LOUSA_VECTOR_URL)"


def _names(fingerprint: str) -> Iterator[str]:
    """What a space of a model may be called: as its fingerprint, or with a number behind it."""
    yield fingerprint
    for number in count(2):
        yield f"{fingerprint}_{number}"
