"""Layer 2 in Postgres: likeness by pgvector, words by full text.

Words lie in the record's own transaction, so that a memory is found by them the moment it is committed. Vectors take
long to compute and are owed; they lie in a space (`space`).

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
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection, Connections
from ...infra.identity import Principal
from ..asking import OF_WORDS, WAYS, Elsewhere, Found, Part, ask, candidates, numbers, texts, united
from ..contract import Candidate, Capabilities, Query
from ..directives import reported_directive
from ..embedding import Embedder
from ..execution.memories import folded
from ..records import Json, Memory
from ..truth.outdated import asks_for_conduct
from ..truth.rules import FIRST_RULES, LIKER, told_as
from .halves import Half, Halves
from .lexicon import Lexicon
from .recent import Recent
from .space import QUERIES, InSpace
from .spoken import Before, asks, embedded, ends, indexed, names, telling
from .terms import terms

if TYPE_CHECKING:
    from ..embedding import Vectors

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

EXACT_BELOW = 10_000
BREADTH = 100
"""How many candidates each way proposes, and how wide the vector index walks."""
_AT_A_STRETCH = 100_000
"""How many characters are read for their words without a pause."""
_CAP = 2_000
_ENOUGH = 100
_BOUND = 400
_IDENTIFIER_BONUS = 1.0
_MOST_RULES = 500
"""Rules, and texts that may be some, that a question is compared with by themselves."""
_FRESH = 60.0
_SETTLED = 3_600.0
_UNKNOWN = -1
_REMEMBERED = 20_000


class ContextLayer(InSpace):
    """Layer 2 in Postgres. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=True, past=False, likeness=True)

    def __init__(self, connections: Connections, embedder: Embedder) -> None:
        super().__init__(connections, embedder)
        self._lexicon = Lexicon()
        self._batches = asyncio.Lock()
        self._readings = Recent[str, str](age=_SETTLED, most=_REMEMBERED)
        """How the database reads a term, whoever asks; '' is a function word to it."""
        self._frequencies = Recent[tuple[Principal, str], int](age=_FRESH, most=_REMEMBERED)
        self._sizes = Recent[Principal, int](age=_FRESH, most=_REMEMBERED)

    # Writing -----------------------------------------------------------------------------------------------------

    async def index_words(self, connection: Connection, memories: Sequence[Memory]) -> None:
        """Make memories findable by their words, in the record's own transaction, after their rows are in."""
        await connection.execute(QUERIES["index_words"], {"rows": await self._words(memories)})

    async def told_by_user(self, connection: Connection, memories: Mapping[UUID, Memory]) -> None:
        """A user said again what is kept under these ids, so it counts for what it says."""
        rules, general = zip(*map(told_as, memories.values()), strict=True)
        parameters = {"ids": [*memories], "rules": [*rules], "general": [*general]}
        await connection.execute(QUERIES["told_by_user"], parameters)

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
            rule, general = told_as(memory)
            rows.append(
                {
                    "id": str(memory.id),
                    "lexemes": [*lexemes],
                    "rest": rest,
                    "speaker": speaker,
                    "rule": rule,
                    "general": general,
                    "directs": await reported_directive(memory),
                    "asks": None if speaker is None else asks(memory.text),
                    "telling": None if speaker is None else telling(memory.text, speaker),
                    "names": [*names(memory.text)],
                    "ends": [*ends(memory)],
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
            "most_rules": _MOST_RULES,
            "first_rules": FIRST_RULES,
            "liker": LIKER,
        }
        columns = (*WAYS["dense"], *WAYS["words"], *OF_WORDS)
        rules = self._query("likest_rules") if asks_for_conduct(query.text) else ""
        select = self._query("find").replace("{rules}", rules)
        return Part(select, parameters, columns, ("size", "queries", "frequencies"), learn)
