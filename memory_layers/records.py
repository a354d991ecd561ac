"""The nouns that every layer shares, as values: what is kept, who may see it, and what a recall brings back.

All are frozen. Times are aware and in UTC. `Json` is what survives a round trip through JSON: tuples return as lists,
keys are strings, there is no NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, cast
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class MemoryKind(StrEnum):
    """The kinds of the router's table; each has a home layer and a policy."""

    WORKING = "working"
    SCRATCH = "scratch"
    TURN = "turn"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    FACT = "fact"
    PROCEDURAL = "procedural"
    BLOCK = "block"
    DECISION = "decision"

    @classmethod
    def parse(cls, name: str) -> MemoryKind:
        """The kind called `name`; an unknown one is refused with the list of those that exist."""
        try:
            return cls(name)
        except (ValueError, TypeError):
            raise BadInput(f"there is no memory kind {name!r}; the kinds are {', '.join(cls)}") from None


Source = Literal["user", "tool", "agent", "web"]
TRUST: Mapping[str, float] = {"user": 1.0, "tool": 0.7, "agent": 0.5, "web": 0.3}
QUARANTINE_BELOW = 0.5

Status = Literal["live", "superseded", "contested", "quarantined", "withdrawn", "expired", "archived"]


class ScopeKind(StrEnum):
    """How far a memory is seen."""

    PRIVATE = "private"
    """Its owner alone."""
    SHARED = "shared"
    """Everyone in its session or its execution."""
    HIERARCHICAL = "hierarchical"
    """The readers and the roles that it names."""
    TENANT = "tenant"
    """Everyone of the tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who may see a memory besides its owner."""

    kind: ScopeKind = ScopeKind.SHARED
    readers: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", ScopeKind(self.kind))
        except (ValueError, TypeError):
            raise BadInput(f"there is no scope {self.kind!r}; the scopes are {', '.join(ScopeKind)}") from None
        for what in ("readers", "roles"):
            object.__setattr__(self, what, frozenset(shape.texts(what, getattr(self, what))))
        named = bool(self.readers or self.roles)
        if named != (self.kind is ScopeKind.HIERARCHICAL):
            raise BadInput(f"readers and roles are for the scope 'hierarchical' and only there, not {self.kind!r}")

    @classmethod
    def parse(cls, scope: str | Scope) -> Scope:
        """A scope from its name; `hierarchical` needs a Scope, because it names its readers."""
        return scope if isinstance(scope, Scope) else cls(kind=cast(ScopeKind, scope))


PRIVATE = Scope(kind=ScopeKind.PRIVATE)
SHARED = Scope(kind=ScopeKind.SHARED)
TENANT = Scope(kind=ScopeKind.TENANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Subject, predicate, object, as written; true from `since` (default: when it was said).

    `many` says that it is one of several values that hold at a time; all facts of a key agree about that. `qualifier`
    keeps values of different contexts apart (an environment, a contract): only facts of the same qualifier, subject and
    predicate supersede one another.
    `object_is_entity` makes the object a node of the graph rather than a value.
    """

    subject: str
    predicate: str
    object: str
    since: datetime | None = None
    many: bool = False
    qualifier: str = ""
    object_is_entity: bool = False

    def __post_init__(self) -> None:
        for part in ("subject", "predicate", "object", "qualifier"):
            text = shape.text(f"a fact's {part}", getattr(self, part))
            if not text.strip() and part != "qualifier":
                raise BadInput(f"a fact needs a {part}, got {text!r}")
            if len(text) > 2_000:
                raise BadInput(f"a fact's {part} has at most 2,000 characters, got {len(text):,}")
        for part in ("many", "object_is_entity"):
            shape.flag(f"a fact's {part}", getattr(self, part))
        if self.since is not None:
            object.__setattr__(self, "since", shape.moment("a fact's since", self.since))

    def sentence(self) -> str:
        """The fact as a line of text."""
        return f"{self.subject} · {self.predicate} · {self.object}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One durable record. `id` is a UUIDv7; `trust` lies in 0…1; `scope` names who may see it besides `owner`.

    `speaker`: who said it, which makes it a turn of the conversation that its session is.

    `to_confirm`: a fact that nobody has stated again for longer than its category may be relied on. As far as they were
    read from the record: `confirmed_at`, when it was last confirmed; `told`, the values that its text tells (each a
    sort, a value, and whether the text says that it is so); `told_at`, when it was last said.
    """

    id: UUID
    tenant: str
    owner: str
    session: str | None
    execution: UUID | None
    scope: Scope
    kind: MemoryKind
    text: str
    value: Json = None
    fact: Fact | None = None
    category: str | None = None
    subject: str | None = None
    speaker: str | None = None
    source: Source = "agent"
    trust: float = TRUST["agent"]
    status: Status = "live"
    occurred_at: datetime
    recorded_at: datetime
    expires_at: datetime | None = None
    sources: tuple[UUID, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    to_confirm: bool = False
    confirmed_at: datetime | None = field(default=None, compare=False)
    told: Sequence[Sequence[Json]] | None = field(default=None, compare=False)
    told_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory that a recall found. `score` orders hits of one recall and means nothing beyond it.

    `also` are the ids of near-identical memories folded into this one; `via` names the ways it was found; `to_confirm`
    says that it may be outdated: a fact that was last stated too long ago to be relied on (`confirmed_at` is when), or
    an answer to which a later one tells another value.
    """

    id: UUID
    text: str
    kind: MemoryKind
    score: float
    owner: str
    session: str | None
    execution: UUID | None
    source: Source
    trust: float
    status: Status
    occurred_at: datetime
    value: Json = None
    speaker: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    also: tuple[UUID, ...] = ()
    via: tuple[str, ...] = ()
    fact: Fact | None = None
    to_confirm: bool = False
    confirmed_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What a recall found, best first, and what it could not say.

    `silent` names the layers that did not answer in time; `behind` says that writes of this session were acknowledged
    but not yet committed when the recall ran.
    """

    hits: tuple[Hit, ...]
    silent: tuple[str, ...] = ()
    behind: bool = False

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]
