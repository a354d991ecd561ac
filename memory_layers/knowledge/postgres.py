"""Layer 3 in Postgres: things, the facts between them, and the ways from one to another.

A question names things; the facts within two steps of them are candidates. A thing is known only through facts that
the caller may see.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from ...infra.clock import Clock, SystemClock
from ...infra.connections import Connection, Connections
from ...infra.errors import WrongTenant
from ...infra.identity import Principal
from ..asking import WAYS, Elsewhere, Part, ask, candidates, numbers, texts
from ..contract import Candidate, Capabilities, Query
from ..records import Fact, Memory
from . import naming, resolution
from .facts import name_key
from .paths import Edge, Entity, Path, shortest
from .resolution import QUERIES, FactOutcome, entity_id

_SIGN = 1 << 63
MOST_FACTS = 200
NEAR, FAR = 1.0, 0.5


class KnowledgeLayer:
    """Layer 3 in tables of layer 4's own database. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=True, past=True, likeness=False)

    def __init__(self, connections: Connections, *, clock: Clock | None = None, retires: bool = True) -> None:
        self._connections = connections
        self._clock = clock or SystemClock()
        self._retires = retires
        """Whether a newer value of a key retires the older one; without, for comparison, both hold."""

    async def start(self, stack: AsyncExitStack) -> None:
        """Nothing to do: its tables are the migrations' affair, and they always have the graph."""

    @property
    def payable(self) -> bool:
        """Whether what layer 3 is owed can be paid with these settings."""
        return True

    # Writing -----------------------------------------------------------------------------------------------------

    async def state(
        self, connection: Connection, principal: Principal, memories: Sequence[Memory]
    ) -> list[FactOutcome]:
        """State the facts of memories whose rows are in, in the record's own transaction.

        Resolves each key anew, writes the standing of every memory that it changes, and takes what is superseded out
        of words and vectors. Memories without a fact are left alone.

        Raises:
            WrongTenant: a memory of another tenant than the principal's.
        """
        for memory in memories:
            if memory.tenant != principal.tenant:
                raise WrongTenant(f"memory {memory.id} is not of the tenant {principal.tenant!r}")
        stated = _with_facts(memories)
        if not stated:
            return []
        return await resolution.state(connection, stated, now=self._clock.now(), trusted=False, retires=self._retires)

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Hold the facts of memories, as a rebuild does: the record's status says what is in quarantine."""
        async with self._connections.system_transaction(tenant) as connection:
            await self.derive(connection, memories)
        return ()

    async def derive(self, connection: Connection, memories: Sequence[Memory]) -> None:
        """The same, in the caller's transaction."""
        stated = [(memory, fact) for memory, fact in _with_facts(memories) if memory.status != "withdrawn"]
        if stated:
            await resolution.state(connection, stated, now=self._clock.now(), trusted=True)

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold no longer what the record does not know any more."""
        async with self._connections.system_transaction(tenant) as connection:
            await self.remove(connection, ids)

    async def confirm(self, connection: Connection, ids: Collection[UUID]) -> list[FactOutcome]:
        """Let facts out of quarantine: from now on they take part in their keys, whatever their trust."""
        return await resolution.release(connection, ids, now=self._clock.now()) if ids else []

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Delete facts; what they had retired holds again, and is owed to layer 2."""
        if ids:
            await resolution.remove(connection, ids, now=self._clock.now())

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that state a fact which is not held."""
        cursor = await connection.execute(QUERIES["missing"], {"ids": list(ids)})
        return {row[0] for row in await cursor.fetchall()}

    async def clear(self, tenant: str) -> None:
        """Drop a tenant's facts and things."""
        async with self._connections.system_transaction(tenant) as connection:
            await connection.execute(QUERIES["clear_facts"])
            await connection.execute(QUERIES["clear_entities"])

    # Finding -----------------------------------------------------------------------------------------------------

    async def find(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """The facts within two steps of the things that a question names; nearer ones score higher."""
        return candidates(await ask(connection, self._part(query)), "graph")

    def part(self, principal: Principal, query: Query) -> Part | Elsewhere:
        """The same, as a recall asks it."""
        return self._part(query)

    def _part(self, query: Query) -> Part:
        places = naming.runs(query.text)
        # The longest names first; where each stands is a bit a word, in a number that has a sign.
        runs = [(name, span) for name in naming.in_turn(places) for span in places[name]]
        parameters = {
            "names": texts([name for name, _ in runs]),
            "places": numbers([((1 << span.stop) - (1 << span.start) ^ _SIGN) - _SIGN for _, span in runs]),
            "now": self._clock.now(),
            "as_of": query.as_of,
            "near": NEAR,
            "far": FAR,
            "most": MOST_FACTS,
        }
        return Part(QUERIES["find"], parameters, WAYS["graph"])

    async def named(self, connection: Connection, text: str) -> list[Entity]:
        """The things that a text names, the longest names first; a name inside a longer one does not count."""
        places = naming.runs(text)
        cursor = await connection.execute(QUERIES["named"], {"keys": list(places), "now": self._clock.now()})
        found: dict[str, str] = dict(await cursor.fetchall())
        taken: set[int] = set()
        entities: list[Entity] = []
        for key in naming.in_turn(found):
            free = [span for span in places[key] if taken.isdisjoint(span)]
            if free:
                taken.update(*free)
                entities.append(Entity(key, found[key]))
        return entities

    async def alike(self, connection: Connection, principal: Principal, name: str, *, most: int = 10) -> list[Entity]:
        """The things in whose names a word begins like each word of `name`, the shortest names first."""
        if not (beginnings := naming.beginnings(name)):
            return []
        words = " & ".join(f"'{beginning}':*" for beginning in beginnings)
        parameters = {"words": words, "now": self._clock.now(), "most": most}
        cursor = await connection.execute(QUERIES["alike"], parameters)
        return [Entity(*row) for row in await cursor.fetchall()]

    async def neighbourhood(
        self,
        connection: Connection,
        principal: Principal,
        entities: Sequence[Entity],
        *,
        hops: int = 2,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        """The facts within `hops` steps of some things, the nearest first."""
        steps = await self._steps(connection, principal, entities, hops=hops, at=as_of)
        return [edge for edges in steps for edge in edges]

    async def paths(
        self,
        connection: Connection,
        principal: Principal,
        a: str,
        b: str,
        *,
        longest: int = 4,
        most: int = 5,
        as_of: datetime | None = None,
    ) -> list[Path]:
        """The shortest ways from `a` to `b` (names), of at most `longest` facts; `most` of them at most."""
        start, goal = name_key(a), name_key(b)
        if start == goal:
            return []
        edges_of: dict[str, list[Edge]] = {}
        frontier = {start}
        for _ in range(longest):
            edges = await self._touching(connection, principal, frontier, as_of)
            for edge in edges:
                for end in {edge.subject_key, edge.object_key} & frontier:
                    edges_of.setdefault(end, []).append(edge)
            if any(edge.other(end) == goal for end in frontier for edge in edges_of.get(end, [])):
                return shortest(edges_of, start, goal, longest, most)
            frontier = {end for edge in edges for end in edge.things()} - edges_of.keys()
            if not frontier:
                break
        return []

    async def _steps(
        self,
        connection: Connection,
        principal: Principal,
        entities: Sequence[Entity],
        *,
        hops: int,
        at: datetime | None,
    ) -> list[list[Edge]]:
        """The facts at each step, each where it is first reached."""
        reached = {entity.key for entity in entities}
        frontier, seen, steps = set(reached), set[UUID](), list[list[Edge]]()
        for _ in range(hops):
            edges = [edge for edge in await self._touching(connection, principal, frontier, at) if edge.id not in seen]
            steps.append(edges)
            seen |= {edge.id for edge in edges}
            frontier = {end for edge in edges for end in edge.things()} - reached
            reached |= frontier
            if not frontier:
                break
        return steps

    async def _touching(
        self, connection: Connection, principal: Principal, keys: Collection[str], at: datetime | None
    ) -> list[Edge]:
        """The facts that hold and have one of these things at an end, the latest recorded first."""
        parameters = {
            "keys": list(keys),
            "subjects": [entity_id(principal.tenant, key) for key in keys],
            "now": self._clock.now(),
            "at": at or self._clock.now(),
            "most": MOST_FACTS,
        }
        async with connection.cursor(row_factory=class_row(Edge)) as cursor:
            await cursor.execute(QUERIES["touching"], parameters)
            return await cursor.fetchall()


def _with_facts(memories: Sequence[Memory]) -> list[tuple[Memory, Fact]]:
    return [(memory, memory.fact) for memory in memories if memory.fact is not None]
