"""Layer 2 in Postgres: likeness by pgvector, words by full text.

Words lie in the record's own transaction, so that a memory is found by them the moment it is committed. Vectors take
long to compute and are owed; each embedding model has a table of its own, named by its fingerprint, and a store that
holds another model's vectors is refused, because distances between two models mean nothing.

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
import math
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString, cast
from uuid import UUID

from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection, Connections
from ...infra.errors import SchemaMismatch
from ...infra.identity import Principal
from ...infra.sql import load_queries
from ..contract import Candidate, Capabilities, Query
from ..embedding import Embedder
from ..records import Json, Memory
from .halves import Halves
from .lexicon import Lexicon
from .recent import Recent
from .terms import terms

if TYPE_CHECKING:
    from ..embedding import Vectors

_QUERIES = load_queries(__package__ or "")
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
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class _Term:
    """How the database reads a term (None: not at all), and how many memories hold it."""

    query: str | None
    frequency: int


class ContextLayer:
    """Layer 2 in Postgres. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=True, past=False, likeness=True)

    def __init__(self, connections: Connections, embedder: Embedder) -> None:
        self._connections = connections
        self.embedder = embedder
        self._lexicon = Lexicon()
        self._batches = asyncio.Lock()
        self._halfvec = 0
        self._terms = Recent[tuple[Principal, str], _Term](age=_FRESH, most=_REMEMBERED)
        self._sizes = Recent[Principal, int](age=_FRESH, most=_REMEMBERED)

    async def start(self, stack: AsyncExitStack) -> None:
        """Attach to this model's table, making it in an empty store.

        Raises:
            SchemaMismatch: the store holds vectors of another model.
        """
        embedder = self.embedder
        async with self._connections.owner_transaction() as connection:
            cursor = await connection.execute(_QUERIES["type"])
            ((self._halfvec,),) = await cursor.fetchall()
            cursor = await connection.execute(_QUERIES["models"])
            models = await cursor.fetchall()
            holding = {fingerprint: name for fingerprint, name, _, used in models if used}
            if holding and embedder.fingerprint not in holding:
                raise SchemaMismatch(
                    f"this store holds vectors of {', '.join(map(repr, holding.values()))}, and LOUSA_EMBEDDER now"
                    f" names {embedder.name!r}: set LOUSA_EMBEDDER back, or make the vectors anew with 'lousa rebuild'"
                )
            if any(fingerprint == embedder.fingerprint for fingerprint, *_ in models):
                return
            await connection.execute(
                _QUERIES["make_table"],
                {"fingerprint": embedder.fingerprint, "name": embedder.name, "dimensions": embedder.dimensions},
            )

    # Writing -----------------------------------------------------------------------------------------------------

    async def index_words(self, connection: Connection, memories: Sequence[Memory]) -> None:
        """Make memories findable by their words, in the record's own transaction, after their rows are in."""
        await connection.execute(_QUERIES["index_words"], {"rows": await self._words(memories)})

    async def learn(self, tenant: str) -> None:
        """Ask for the stems of what came up more than once, so that indexing it again costs less."""
        if not (pieces := self._lexicon.noted()):
            return
        async with self._connections.system_transaction(tenant, pipelined=True) as connection:
            cursor = await connection.execute(_QUERIES["stems"], {"pieces": pieces})
            self._lexicon.learn(dict(await cursor.fetchall()))

    async def put(self, tenant: str, memories: Sequence[Memory]) -> None:
        """Embed memories and hold words and vectors of those that are live by then; what was owed is paid with it."""
        if not memories:
            return
        vectors = await self._embedded([memory.text for memory in memories])
        # Lost with the server, it would only be owed again: nobody waits for this one to reach the disk.
        async with self._connections.system_transaction(tenant, pipelined=True, durable=False) as connection:
            parameters = {
                "ids": [memory.id for memory in memories],
                "vectors": Halves(vectors, self._halfvec),
                "rows": await self._words(memories),
            }
            await connection.execute(self._query("put"), parameters)

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
            lexemes, rest = self._lexicon.read(memory.text)
            rows.append({"id": str(memory.id), "lexemes": [*lexemes], "rest": rest})
        return JsonParameter(rows, dumps=_JSON.encode)

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Take memories out of words and vectors, in the caller's transaction, after their status was changed there."""
        if ids:
            await connection.execute(_QUERIES["unindex"], {"ids": list(ids)})

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that should be found and lack words or a vector."""
        cursor = await connection.execute(self._query("missing"), {"ids": list(ids)})
        return {row[0] for row in await cursor.fetchall()}

    async def clear(self, tenant: str) -> None:
        """Drop a tenant's words and vectors."""
        async with self._connections.system_transaction(tenant) as connection:
            await connection.execute(_QUERIES["clear_words"])
            await connection.execute(self._query("clear_vectors"))

    # Finding -----------------------------------------------------------------------------------------------------

    async def find(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """Both ways, one after the other."""
        vector = await self.embedder.query(query.text)
        likest = await self.vectors(connection, principal, query, vector)
        return [*likest, *await self.words(connection, principal, query)]

    async def vectors(
        self, connection: Connection, principal: Principal, query: Query, vector: Vectors
    ) -> list[Candidate]:
        """The likest memories that the caller may see; the score is the cosine."""
        k = max(BREADTH, query.k)
        parameters = {"vector": _literal(vector), "kinds": _kinds(query), "k": k}
        if await self._size(connection, principal) < EXACT_BELOW:
            return await self._nearest(connection, "nearest_exact", parameters)
        found = await self._nearest(connection, "nearest", parameters)
        if len(found) < k:
            return await self._nearest(connection, "nearest_exact", parameters)
        return found

    async def words(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """The memories that hold most of what the question's terms weigh; the score is their share, plus the bonus."""
        asked = terms(query.text)
        known = await self._frequencies(connection, principal, [*asked.words, *asked.identifiers])
        if not any(term.frequency for term in known.values()):
            return []
        size = max(await self._size(connection, principal), *(term.frequency for term in known.values()))
        weight = {name: _idf(size, term.frequency) for name, term in known.items()}
        total = sum(weight.values())
        exact = [name for name in known if name in asked.identifiers]
        matching = {name: term for name, term in known.items() if term.frequency}
        rarest: list[str] = []
        candidates = 0
        for term in sorted(matching.values(), key=lambda term: term.frequency):
            if rarest and candidates + term.frequency > _ENOUGH:
                break
            rarest.append(cast(str, term.query))
            candidates += term.frequency
        cursor = await connection.execute(
            _QUERIES["words"],
            {
                "any_of": " | ".join(rarest),
                "queries": [term.query for term in matching.values()],
                "weights": [
                    weight[name] / total + (_IDENTIFIER_BONUS / len(exact) if name in exact else 0.0)
                    for name in matching
                ],
                "kinds": _kinds(query),
                "bound": _BOUND,
                "k": max(BREADTH, query.k),
            },
        )
        return [Candidate(identifier, score, "words") for identifier, score in await cursor.fetchall()]

    async def _nearest(self, connection: Connection, name: str, parameters: Mapping[str, object]) -> list[Candidate]:
        cursor = await connection.execute(self._query(name), parameters)
        found = [Candidate(identifier, likeness, "dense") for identifier, likeness in await cursor.fetchall()]
        # The relaxed order of an iterative scan is nearly, but not quite, by distance.
        return sorted(found, key=lambda candidate: -candidate.score)

    async def _frequencies(
        self, connection: Connection, principal: Principal, names: Sequence[str]
    ) -> dict[str, _Term]:
        """What the database makes of each term, without those that are function words to it."""
        now = time.monotonic()
        found = {name: self._terms.get((principal, name), now) for name in names}
        known = {name: term for name, term in found.items() if term is not None and _counts(term)}
        unknown = [name for name in names if name not in known]
        if unknown:
            cursor = await connection.execute(_QUERIES["frequencies"], {"terms": unknown, "cap": _CAP})
            counted = {name: _Term(query, frequency) for name, query, frequency in await cursor.fetchall()}
            for name in unknown:
                known[name] = counted.get(name, _Term(None, 0))
                self._terms.put((principal, name), known[name], now)
        return {name: known[name] for name in names if known[name].query is not None}

    async def _size(self, connection: Connection, principal: Principal) -> int:
        """How many vectors the caller may see, up to `EXACT_BELOW`; counted at most once a minute."""
        now = time.monotonic()
        size = self._sizes.get(principal, now)
        if size is None:
            cursor = await connection.execute(self._query("count_vectors"), {"bound": EXACT_BELOW})
            row = await cursor.fetchone()
            size = int(row[0]) if row else 0
            self._sizes.put(principal, size, now)
        return size

    def _query(self, name: str) -> LiteralString:
        # The fingerprint is 12 hexadecimal digits (the database checks it), so the name is as safe as a literal.
        table = cast(LiteralString, f"memory_vector_{self.embedder.fingerprint}")
        return _QUERIES[name].replace("{table}", table)


def _literal(vector: Vectors) -> str:
    """A vector as Postgres reads it, to the precision that half a float keeps."""
    return ("[" + "%.4g," * (len(vector) - 1) + "%.4g]") % tuple(vector.tolist())


def _kinds(query: Query) -> list[str] | None:
    return sorted(query.kinds) or None


def _idf(size: int, frequency: int) -> float:
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))


def _counts(term: _Term) -> bool:
    """Whether what was counted may still be used: what nobody had may have been written a moment ago."""
    return term.query is None or term.frequency > 0
