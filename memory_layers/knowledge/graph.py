"""A graph outside Postgres: what layer 3 needs of Neo4j, or of any other.

Facts are resolved in Postgres, whatever reads them. A graph outside holds what came of it: things, the facts between
them and how long each held, who knows it and in which session, decisions and what they rest on. It is told by the
relay, whose debts say what it lacks, and asked by recalls, whose hits are fetched from the record and checked there.

A fact carries the revision of its row: a newer one is never overwritten by an older one, however late that comes. What
is in quarantine or withdrawn is not in the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFact:
    """A fact as a graph holds it. `circles` are the marks of who may see it (`memory_layers.audience`).

    `thing` is the name of the object where that is a thing, from which one may go on, and no mere value.
    `superseded_by` took its place with another value; `contested_with` say otherwise of the same moment.
    """

    id: UUID
    revision: int
    subject_key: str
    subject: str
    predicate: str
    object_key: str
    object: str
    thing: str | None
    status: str
    trust: float
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    expires_at: datetime | None
    agent: str
    session: str | None
    circles: Sequence[str]
    superseded_by: UUID | None
    contested_with: Sequence[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDecision:
    """A decision as a graph holds it; `evidence` are the facts that it cites."""

    id: UUID
    revision: int
    question: str
    decided_at: datetime
    agent: str
    session: str | None
    circles: Sequence[str]
    evidence: Sequence[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Words of a question that may name a thing, and the places where they stand, as numbers of words."""

    key: str
    places: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Who asks, and when: the tenant, the circles it is in, now, and the moment at which facts shall hold."""

    tenant: str
    circles: Sequence[str]
    now: datetime
    at: datetime


class GraphStore(Protocol):
    """Facts and decisions of many tenants. Every verb may be repeated without harm.

    Each raises `ServerUnavailable` while the store is away, refuses us for now or times out; whatever else it raises is
    about what it was given. Reading sees only what shares a circle with the asker, has not expired and holds at the
    moment, and gives at most `most` facts a step, the latest recorded first.
    """

    @property
    def name(self) -> str:
        """What it is and where, without secrets: two stores of one name are the same store."""
        ...

    async def start(self, stack: AsyncExitStack) -> None:
        """Open a client, which the stack closes; make constraints and indexes that are missing.

        Raises:
            ServerUnavailable: it does not answer; the client stays open, and what is asked once it does is answered.
            SettingsError: it lets nobody in with what the address says.
            SchemaMismatch: it was made by a newer version.
        """
        ...

    async def put(
        self,
        tenant: str,
        facts: Sequence[GraphFact],
        decisions: Sequence[GraphDecision],
        gone: Collection[UUID],
        things: Collection[str],
    ) -> Mapping[UUID, int]:
        """Hold these, all or nothing, in place of older revisions; hold `gone` no longer.

        `things` are keys that have become things, where the graph knows them. Answers which revision of each stands.
        """
        ...

    async def within_two(
        self, sight: Sight, runs: Sequence[Run], *, named: bool, most: int
    ) -> tuple[list[UUID], list[UUID]]:
        """The facts at the things that these runs name, and those one step further.

        `named`: a run counts where it names a thing of which the asker may see a fact, and no longer name before it in
        `runs` has its place. Otherwise all keys are meant as they are.
        """
        ...

    async def touching(self, sight: Sight, keys: Collection[str], *, most: int) -> list[UUID]:
        """The facts that have one of these keys as subject or as object."""
        ...

    async def alike(self, sight: Sight, beginnings: Sequence[str], *, most: int) -> list[str]:
        """The keys of things in whose names a word begins with each of these, the shortest names first."""
        ...

    async def revisions(self, tenant: str, ids: Collection[UUID]) -> dict[UUID, int]:
        """Those of `ids` that are held, with their revisions."""
        ...

    async def held(self, tenant: str, *, after: UUID | None, most: int) -> list[tuple[UUID, int]]:
        """A page of what is held of a tenant, by id, with revisions."""
        ...

    async def count(self, tenant: str) -> int:
        """How many facts and decisions are held of a tenant."""
        ...

    async def clear(self, tenant: str) -> None:
        """Hold nothing of a tenant any more."""
        ...
