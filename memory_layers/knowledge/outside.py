"""Layer 3 with the graph that is read in a store outside Postgres; facts are resolved in Postgres all the same.

Every fact that changes is owed to the store, and every decision. Paying makes it agree with the record about an id:
what is in good standing is put with the revision of its row, anything else is removed. Whoever comes late overwrites
nothing that is newer, and is owed again what was taken off meanwhile (`memory_layers.debts`).

It is read here once it has everything (`memory_layers.rebuild.graph`); until then, and while another store is the one
that is owed what changes, the graph is read in Postgres, which always has it.

What the store answers are ids. Recalls fetch them from the record; the other questions read them from it under the
caller's identity, with the same conditions as in Postgres. A store that lags can therefore miss a fact, never leak one.
While it is away, recalls name it silent, and the other questions are answered from Postgres.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from psycopg.rows import class_row, dict_row

from ...infra.clock import Clock
from ...infra.connections import Connection, Connections
from ...infra.errors import SchemaMismatch, ServerUnavailable
from ...infra.identity import Principal
from ..asking import Elsewhere, Found, Part, candidates, column_pair
from ..audience import circles_of, marks_of
from ..contract import Candidate, Capabilities, Query
from ..moment import in_a_moment
from ..records import Memory, MemoryKind, Scope, ScopeKind
from . import naming
from .graph import GraphDecision, GraphFact, GraphStore, Run, Sight
from .paths import Edge, Entity
from .postgres import FAR, MOST_FACTS, NEAR, KnowledgeLayer
from .resolution import QUERIES
from .spaces import Standing, Whereabouts, adopt, serve, whereabouts

_LOG = logging.getLogger(__name__)
_NOBODY = UUID(int=0)
_LEFT_ALONE = 1.0
_Answer = TypeVar("_Answer")


@dataclass(kw_only=True)
class _Row:
    """What says who may see a row of the record."""

    owner: str
    session: str | None
    execution: UUID | None
    scope_kind: str
    readers: list[str]
    reader_roles: list[str]

    @property
    def scope(self) -> Scope:
        readers, roles = frozenset(self.readers), frozenset(self.reader_roles)
        return Scope(kind=ScopeKind(self.scope_kind), readers=readers, roles=roles)

    @cached_property
    def circles(self) -> list[str]:
        return marks_of(self)


_ABOUT = ("owner", "session", "execution", "scope_kind", "readers", "reader_roles")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the record says about some ids."""

    facts: list[GraphFact]
    decisions: list[GraphDecision]
    gone: set[UUID]
    things: set[str]


class OutsideKnowledgeLayer(KnowledgeLayer):
    """Layer 3 that is read in a `GraphStore`. Satisfies `Projection`."""

    capabilities = Capabilities(transactional=False, past=True, likeness=False)

    def __init__(
        self, connections: Connections, graph: GraphStore, *, clock: Clock | None = None, retires: bool = True
    ) -> None:
        super().__init__(connections, clock=clock, retires=retires)
        self.graph = graph
        self.standing: Standing = "elsewhere"
        self._away = 0.0
        """Until when a store that was away is not asked about things and paths."""

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the store; where nothing was ever stated, it has everything, and is read from now on.

        One that is read here already may be away for now: what it has to be was made when it was first opened.

        Raises:
            ServerUnavailable: a store that is new here does not answer.
        """
        try:
            await self.graph.start(stack)
        except ServerUnavailable as error:
            await self.look()
            if self.standing != "serving":
                raise
            _LOG.warning("the graph is away at the start, until it answers facts are read in Postgres: %s", error)
            return
        await in_a_moment(self._serve_nothing)
        await self.look()

    async def _serve_nothing(self, patience: str) -> None:
        async with self._connections.system_transaction("") as connection:
            found = await whereabouts(connection, self.graph.name)
            if found.standing != "serving" and not found.stated:
                await adopt(connection, self.graph.name, patience)
                await serve(connection, self.graph.name)

    @property
    def payable(self) -> bool:
        return self.standing != "elsewhere"

    async def look(self) -> None:
        """See whether the graph is read here by now."""
        async with self._connections.system_transaction("") as connection:
            self._found(await whereabouts(connection, self.graph.name))

    def _found(self, now: Whereabouts) -> None:
        if now.other is not None and self.standing == "serving":
            _LOG.warning("the graph is brought to %s: this process reads it in Postgres from now on", now.other)
        self.standing = now.standing

    # Writing -----------------------------------------------------------------------------------------------------

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Make the store agree with the record about these."""
        ids = {one.id for one in memories if one.fact is not None or one.kind is MemoryKind.DECISION}
        if ids:
            await self._agree(tenant, ids)
        return ()

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold no longer what the record does not know any more."""
        await self._agree(tenant, ids)

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Delete facts from the record's own tables; the store is owed that, and that decisions go."""
        await super().remove(connection, ids)
        if ids:
            await connection.execute(QUERIES["owe_decisions"], {"ids": list(ids)})

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that should be held, and are not, or not as the record has them."""
        unresolved = await super().missing(connection, ids)
        ((tenant,),) = await (await connection.execute(QUERIES["tenant"])).fetchall()
        wanted = await _revisions(connection, ids)
        held = await self.graph.revisions(tenant, wanted)
        return unresolved | {identifier for identifier in wanted if held.get(identifier) != wanted[identifier]}

    async def clear(self, tenant: str) -> None:
        """Hold nothing of a tenant in the store any more; its facts stay in the record."""
        await self.graph.clear(tenant)

    async def expected(self, tenant: str, *, after: UUID | None, most: int) -> list[tuple[UUID, int]]:
        """A page of what the store shall hold of a tenant, by id, with revisions."""
        async with self._connections.system_transaction(tenant) as connection:
            parameters = {"after": after or _NOBODY, "most": most}
            cursor = await connection.execute(QUERIES["expected"], parameters)
            return [(row[0], row[1]) for row in await cursor.fetchall()]

    async def _agree(self, tenant: str, ids: Collection[UUID]) -> None:
        """Make the store agree with the record about these."""
        told = await self._told(tenant, ids)
        stand = await self.graph.put(tenant, told.facts, told.decisions, told.gone, told.things)
        ahead = [fact.id for fact in told.facts if stand[fact.id] > fact.revision]
        if not ahead:
            return
        # Either we are late, or the record was made anew, after a restore, and counts from one again.
        async with self._connections.system_transaction(tenant) as connection:
            now = await _revisions(connection, ahead)
        if anew := {identifier for identifier in ahead if stand[identifier] > now.get(identifier, 0)}:
            await self.graph.put(tenant, [], [], anew, [])
            await self._agree(tenant, anew)

    async def _told(self, tenant: str, ids: Collection[UUID]) -> _Told:
        told = _Told(facts=[], decisions=[], gone=set(ids), things=set())
        async with self._connections.system_transaction(tenant) as connection:
            self._found(await whereabouts(connection, self.graph.name))
            if not self.payable:
                raise SchemaMismatch(
                    f"the graph that LOUSA_GRAPH_URL names, {self.graph.name}, is not the one that is kept up to date:"
                    " set LOUSA_GRAPH_URL as others have it, or bring the graph here with 'lousa rebuild knowledge'"
                )
            await _tell_facts(connection, ids, told)
            if told.gone:
                await _tell_decisions(connection, told)
        return told

    # Finding -----------------------------------------------------------------------------------------------------

    async def find(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """The facts within two steps of the things that a question names; nearer ones score higher."""
        if self.standing != "serving":
            return await super().find(connection, principal, query)
        return candidates(await self._candidates(principal, query), "graph")

    def part(self, principal: Principal, query: Query) -> Part | Elsewhere:
        """The same, as a recall asks it."""
        if self.standing != "serving":
            return super().part(principal, query)
        return Elsewhere(lambda: self._candidates(principal, query))

    async def alike(self, connection: Connection, principal: Principal, name: str, *, most: int = 10) -> list[Entity]:
        """The things in whose names a word begins like each word of `name`, the shortest names first."""
        if self.standing != "serving":
            return await super().alike(connection, principal, name, most=most)
        if not (beginnings := naming.beginnings(name)):
            return []
        sight = self._sight(principal, None)
        keys = await self._reached(lambda: self.graph.alike(sight, beginnings, most=most))
        if keys is None:
            return await super().alike(connection, principal, name, most=most)
        cursor = await connection.execute(QUERIES["named"], {"keys": keys, "now": self._clock.now()})
        known: dict[str, str] = dict(await cursor.fetchall())
        return [Entity(key, known[key]) for key in keys if key in known]

    async def _candidates(self, principal: Principal, query: Query) -> Found:
        places = naming.runs(query.text)
        runs = [Run(key=key, places=[[*span] for span in places[key]]) for key in naming.in_turn(places)]
        sight = self._sight(principal, query.as_of)
        near, far = await self.graph.within_two(sight, runs, named=True, most=MOST_FACTS)
        return column_pair("graph", [*((one, NEAR) for one in near), *((one, FAR) for one in far)])

    async def _steps(
        self,
        connection: Connection,
        principal: Principal,
        entities: Sequence[Entity],
        *,
        hops: int,
        at: datetime | None,
    ) -> list[list[Edge]]:
        if hops != 2 or self.standing != "serving":
            return await super()._steps(connection, principal, entities, hops=hops, at=at)
        runs = [Run(key=entity.key, places=[[place]]) for place, entity in enumerate(entities)]
        sight = self._sight(principal, at)
        found = await self._reached(lambda: self.graph.within_two(sight, runs, named=False, most=MOST_FACTS))
        if found is None:
            return await super()._steps(connection, principal, entities, hops=hops, at=at)
        near, far = found
        first = {*near}
        edges = await self._edges(connection, [*near, *far], sight)
        steps = [[edge for edge in edges if edge.id in first], [edge for edge in edges if edge.id not in first]]
        # What the record does not confirm leads nowhere.
        reached = {end for edge in steps[0] for end in edge.things()}
        return [steps[0], [edge for edge in steps[1] if not reached.isdisjoint((edge.subject_key, edge.object_key))]]

    async def _touching(
        self, connection: Connection, principal: Principal, keys: Collection[str], at: datetime | None
    ) -> list[Edge]:
        if self.standing != "serving":
            return await super()._touching(connection, principal, keys, at)
        sight = self._sight(principal, at)
        ids = await self._reached(lambda: self.graph.touching(sight, keys, most=MOST_FACTS))
        if ids is None:
            return await super()._touching(connection, principal, keys, at)
        return await self._edges(connection, ids, sight)

    async def _reached(self, answer: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """What the store answers; None while it is away, which is not tried again for a second."""
        if time.monotonic() < self._away:
            return None
        try:
            return await answer()
        except ServerUnavailable as error:
            self._away = time.monotonic() + _LEFT_ALONE
            _LOG.warning("the graph is read in Postgres for a moment: %s", error)
            return None

    async def _edges(self, connection: Connection, ids: Sequence[UUID], sight: Sight) -> list[Edge]:
        """The facts of these ids, as the record shows them to the caller."""
        if not ids:
            return []
        async with connection.cursor(row_factory=class_row(Edge)) as cursor:
            await cursor.execute(QUERIES["edges"], {"ids": list(ids), "now": sight.now, "at": sight.at})
            return await cursor.fetchall()

    def _sight(self, principal: Principal, at: datetime | None) -> Sight:
        now = self._clock.now()
        return Sight(tenant=principal.tenant, circles=circles_of(principal), now=now, at=at or now)


async def _tell_facts(connection: Connection, ids: Collection[UUID], told: _Told) -> None:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(QUERIES["facts_for_graph"], {"ids": list(ids)})
        rows = await cursor.fetchall()
    for row in rows:
        about = _about(row)
        if row.pop("stands"):
            told.gone.discard(row["id"])
            told.facts.append(GraphFact(agent=about.owner, session=about.session, circles=about.circles, **row))
        else:
            # A name that is told of only there becomes known to nobody, but is a thing where it is known already.
            told.things.update({row["subject_key"], *([row["object_key"]] if row["thing"] else [])})


async def _tell_decisions(connection: Connection, told: _Told) -> None:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(QUERIES["decisions_for_graph"], {"ids": list(told.gone)})
        rows = await cursor.fetchall()
    cited = {fact for row in rows for fact in row["evidence"]} - {fact.id for fact in told.facts}
    for row in rows:
        about = _about(row)
        if row.pop("stands"):
            told.gone.discard(row["id"])
            told.decisions.append(
                GraphDecision(revision=1, agent=about.owner, session=about.session, circles=about.circles, **row)
            )
    if told.decisions and cited:
        await _tell_facts(connection, cited, told)


def _about(row: dict[str, Any]) -> _Row:
    return _Row(**{name: row.pop(name) for name in _ABOUT})


async def _revisions(connection: Connection, ids: Collection[UUID]) -> dict[UUID, int]:
    cursor = await connection.execute(QUERIES["revisions"], {"ids": list(ids)})
    return {row[0]: row[1] for row in await cursor.fetchall()}
