"""Layer 2 in Postgres: likeness by pgvector, words by full text.

Words lie in the record's own transaction, so that a memory is found by them the moment it is committed. Vectors take
long to compute and are owed; they lie in a space, which belongs to one embedding model and one store, and a database
that serves another space is refused, because distances between two models mean nothing.

A space may be closed while it is used, once another was filled beside it (`memory_layers.rebuild`). Every space has a
table of its own, so whoever works on a closed one meets no table, and goes on in the one that serves. Where that is of
another model, or in another store, than this process was set to, layer 2 is estranged: it finds by words, and leaves
vectors to those that can make them.

Both are filtered in the store. Likeness: below `EXACT_BELOW` rows of a tenant every row is looked at, which is exact
and fast enough; above it the HNSW index walks on (iterative scan) until the filters left enough, and where it still
comes back short every row is looked at after all. Words: a memory's score is the share of the question's weight that it
holds, Σ idf(terms it holds) / Σ idf(all terms), plus a bonus for exact identifiers; it stays low when little matches,
which is what lets it be summed with a likeness. Frequencies are counted under the caller's own visibility, so that no
score tells of memories it may not see, up to a cap, and remembered for a minute. Candidates come from the rarest terms.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, LiteralString, TypeVar, cast
from uuid import UUID

from psycopg.errors import UndefinedTable
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection, Connections
from ...infra.errors import SchemaMismatch
from ...infra.identity import Principal
from ...infra.sql import load_queries
from ..asking import OF_WORDS, WAYS, Elsewhere, Found, Part, ask, candidates, numbers, texts, united
from ..contract import Candidate, Capabilities, Layer, Query
from ..embedding import Embedder
from ..execution.memories import folded
from ..records import Json, Memory
from .halves import Half, Halves
from .lexicon import Lexicon
from .recent import Recent
from .spoken import Before, asks, embedded, ends, indexed, names
from .terms import terms

if TYPE_CHECKING:
    from ..embedding import Vectors

QUERIES = load_queries(__package__ or "")
_LOG = logging.getLogger(__name__)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

EXACT_BELOW = 10_000
BREADTH = 100
"""How many candidates each way proposes, and how wide the vector index walks."""
_AT_A_STRETCH = 100_000
"""How many characters are read for their words without a pause."""
_CAP = 2_000
_ENOUGH = 250
_BOUND = 2_000
_IDENTIFIER_BONUS = 1.0
_FRESH = 60.0
_SETTLED = 3_600.0
_UNKNOWN = -1
_REMEMBERED = 20_000
COUNTED: LiteralString = (
    "(SELECT tenant FROM memory WHERE tenant = current_tenant() AND status IN ('live', 'contested')"
    " AND kind NOT IN ('block', 'decision')) AS held"
)

T = TypeVar("T")


class ContextLayer:
    """Layer 2 in Postgres. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=True, past=False, likeness=True)
    _store = "postgres"
    _paid_with_put: Layer | Literal["", "rebuild"] = "context"
    _size_of: LiteralString = "{table}"
    """Where the number of a tenant's memories is counted, which says how rare a word is."""

    def __init__(self, connections: Connections, embedder: Embedder) -> None:
        self._connections = connections
        self.embedder = embedder
        self._lexicon = Lexicon()
        self._batches = asyncio.Lock()
        self._halfvec = 0
        self.space = embedder.fingerprint
        """Where vectors are sought and put: the name of a space, which is part of its table's."""
        self.estranged = ""
        """Why layer 2 finds by words alone: what serves by now is not what this process was set to."""
        self._filling = False
        self._stack = AsyncExitStack()
        self._following = asyncio.Lock()
        self._readings = Recent[str, str](age=_SETTLED, most=_REMEMBERED)
        """How the database reads a term, whoever asks; '' is a function word to it."""
        self._frequencies = Recent[tuple[Principal, str], int](age=_FRESH, most=_REMEMBERED)
        self._sizes = Recent[Principal, int](age=_FRESH, most=_REMEMBERED)

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

    # Writing -----------------------------------------------------------------------------------------------------

    async def index_words(self, connection: Connection, memories: Sequence[Memory]) -> None:
        """Make memories findable by their words, in the record's own transaction, after their rows are in."""
        await connection.execute(QUERIES["index_words"], {"rows": await self._words(memories)})

    async def learn(self, tenant: str) -> None:
        """Ask for the stems of what came up more than once, so that indexing it again costs less."""
        if not (pieces := self._lexicon.noted()):
            return
        async with self._connections.system_transaction(tenant, pipelined=True) as connection:
            cursor = await connection.execute(QUERIES["stems"], {"pieces": pieces})
            self._lexicon.learn(dict(await cursor.fetchall()))

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Embed memories and hold words and vectors of those that are live by then; what was owed is paid with it."""
        if memories:
            vectors = await self._embedded(await self.told(tenant, memories))
            await self.here(lambda: self._hold(tenant, memories, vectors))
        return ()

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold no longer what the record does not know any more."""
        async with self._connections.system_transaction(tenant) as connection:
            await self.remove(connection, ids)

    async def _hold(self, tenant: str, memories: Sequence[Memory], vectors: Vectors) -> set[UUID]:
        """Write words and vectors of those that are live when they are written; which these are."""
        # Lost with the server, it would only be owed again: nobody waits for this one to reach the disk.
        async with self._connections.system_transaction(tenant, pipelined=True, durable=False) as connection:
            parameters = {
                "ids": [memory.id for memory in memories],
                "vectors": Halves(vectors, self._halfvec),
                "rows": await self._words(memories),
                "layer": self._paid_with_put,
            }
            cursor = await connection.execute(self._writing("put"), parameters)
            return {row[0] for row in await cursor.fetchall()}

    async def told(self, tenant: str, memories: Sequence[Memory]) -> list[str]:
        """The texts that are embedded: of a turn, behind the one before it."""
        before: dict[UUID, Before] = {}
        if turns := [memory.id for memory in memories if memory.speaker is not None]:
            async with self._connections.system_transaction(tenant) as connection:
                cursor = await connection.execute(QUERIES["before"], {"ids": turns})
                before = {row[0]: Before(row[1], row[2]) for row in await cursor.fetchall()}
        return [embedded(memory, before.get(memory.id)) for memory in memories]

    async def _embedded(self, texts: Sequence[str]) -> Vectors:
        """Batches take turns, so that one is written while the next is embedded; a lone text waits for none."""
        async with self._batches if len(texts) > 1 else nullcontext():
            return await self.embedder.documents(texts)

    async def _words(self, memories: Sequence[Memory]) -> JsonParameter:
        rows: list[Json] = []
        read = 0
        for memory in memories:
            read += len(memory.text)
            if read > _AT_A_STRETCH:
                read = 0
                await asyncio.sleep(0)  # whatever else waits for the event loop has its turn
            lexemes, rest = self._lexicon.read(indexed(memory))
            speaker = None if memory.speaker is None else folded(memory.speaker)
            rows.append(
                {
                    "id": str(memory.id),
                    "lexemes": [*lexemes],
                    "rest": rest,
                    "speaker": speaker,
                    "asks": None if speaker is None else asks(memory.text),
                    "names": [*names(memory.text)],
                    "ends": [*ends(memory)],
                    "sources": [] if memory.fact is None else [str(source) for source in memory.sources],
                }
            )
        return JsonParameter(rows, dumps=_JSON.encode)

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Take memories out of words and vectors, in the caller's transaction, after their status was changed there."""
        if ids:
            await connection.execute(QUERIES["unindex"], {"ids": list(ids)})

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that should be found and lack words or a vector."""
        cursor = await connection.execute(self._query("missing"), {"ids": list(ids)})
        return {row[0] for row in await cursor.fetchall()}

    async def clear(self, tenant: str) -> None:
        """Drop a tenant's words and vectors."""
        async with self._connections.system_transaction(tenant) as connection:
            await connection.execute(QUERIES["clear_words"])
            await connection.execute(self._query("clear_vectors"))

    # Finding -----------------------------------------------------------------------------------------------------

    async def find(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """Both ways at once."""
        vector = await self.embedder.query(query.text)
        return candidates(await self._found(connection, principal, query, vector), "dense", "words")

    async def vectors(
        self, connection: Connection, principal: Principal, query: Query, vector: Vectors
    ) -> list[Candidate]:
        """The likest memories that the caller may see; the score is the cosine."""
        return candidates(await self._found(connection, principal, query, vector, words=False), "dense")

    async def words(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """The memories that hold most of what the question's terms weigh; the score is their share, plus the bonus."""
        return candidates(await ask(connection, self.part(principal, query, None)), "words")

    async def _found(
        self, connection: Connection, principal: Principal, query: Query, vector: Vectors, *, words: bool = True
    ) -> Found:
        found = await ask(connection, self.part(principal, query, vector, words=words))
        if (outside := self.elsewhere(principal, query, vector)) is None:
            return found
        return {**found, **united(found, await outside.ask(), max(BREADTH, query.k))}

    def elsewhere(self, principal: Principal, query: Query, vector: Vectors) -> Elsewhere | None:
        """Likeness in a store outside; None where all of it is a part of the statement."""
        return None

    def part(self, principal: Principal, query: Query, vector: Vectors | None, *, words: bool = True) -> Part:
        """Likeness, unless there is no vector, and words, as a part of a statement."""
        now = time.monotonic()
        vector = None if self.estranged else vector
        found = terms(query.text)
        names = (*found.words, *found.identifiers) if words else ()
        read_as = {name: self._readings.get(name, now) for name in names}
        asked = [name for name, reading in read_as.items() if reading != ""]
        known = [self._frequencies.get((principal, name), now) for name in asked]
        size = self._sizes.get(principal, now)

        def learn(told: tuple[Any, ...]) -> None:
            counted, queries, frequencies = told
            if size is None:
                self._sizes.put(principal, counted, now)
            for name, before, reading, frequency in zip(asked, known, queries, frequencies, strict=True):
                if read_as[name] is None:
                    self._readings.put(name, reading or "", now)
                if before is None and frequency:  # what nobody had may be written in a moment
                    self._frequencies.put((principal, name), frequency, now)

        parameters = {
            "vector": None if vector is None else Half(vector),
            "kinds": sorted(query.kinds) or None,
            "k": max(BREADTH, query.k),
            "size": _UNKNOWN if size is None else size,
            "exact_below": EXACT_BELOW,
            "terms": texts(asked),
            "queries": texts([read_as[name] or "" for name in asked]),
            "frequencies": numbers([_UNKNOWN if frequency is None else frequency for frequency in known]),
            "cap": _CAP,
            "enough": _ENOUGH,
            "bound": _BOUND,
            "bonus": _IDENTIFIER_BONUS,
        }
        columns = (*WAYS["dense"], *WAYS["words"], *OF_WORDS)
        return Part(self._query("find"), parameters, columns, ("size", "queries", "frequencies"), learn)

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
