"""What a projection of the durable record is: the contract of layers 2 and 3.

A projection can be dropped and rebuilt from layer 4. It holds ids and what it needs to find them, and it answers with
candidates: ids and scores, which the recall fetches from layer 4 under the caller's identity and checks again. A
projection that lags can therefore miss a memory, and never leak one; it filters by tenant, visibility and kind all the
same, in its store and before it ranks, because what is filtered after ranking crowds out what should be found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, get_args
from uuid import UUID

from ..infra import shape
from ..infra.connections import Connection
from ..infra.errors import BadInput
from ..infra.identity import Principal
from .records import Memory, MemoryKind

Layer = Literal["context", "knowledge"]
Way = Literal["dense", "words", "graph"]
Freshness = Literal["acknowledged", "eventual"]

MOST = 200
"""The most hits that one recall may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a projection can do beyond the six verbs; declared, never discovered.

    `transactional`: it lives in layer 4's own database, so that `remove` takes effect with the record's transaction;
    otherwise what it does is owed, and paid by the relay. `past`: it can say what was true at a moment gone by.
    `likeness`: it finds what is alike, not only what is named.
    """

    transactional: bool
    past: bool
    likeness: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """An id that a layer proposes. `score` compares candidates of the same `via`, and nothing else."""

    id: UUID
    score: float
    via: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of a recall.

    `k` hits at most, and with `budget` no more than that many tokens of them (a token counts as four characters);
    `kinds` limits what comes back; `as_of` asks what was known to hold at that moment; `freshness="eventual"` does not
    wait for acknowledged writes to be committed; `touch` says that the hits are used, which later rankings may count.
    """

    text: str
    k: int = 8
    budget: int | None = None
    kinds: frozenset[MemoryKind] = frozenset()
    as_of: datetime | None = None
    freshness: Freshness = "acknowledged"
    touch: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise BadInput(f"the query is text, got {shape.shown(self.text)}")
        # What no server takes (NUL, half a character) is not worth refusing a question for.
        object.__setattr__(self, "text", self.text.encode(errors="replace").decode().replace("\0", " "))
        if not self.text.strip():
            raise BadInput("a recall needs a text to look for, got an empty one")
        if not 1 <= shape.whole("k", self.k) <= MOST:
            raise BadInput(f"a recall gives 1 to {MOST} hits, got k={self.k}")
        if self.budget is not None and shape.whole("budget", self.budget) < 1:
            raise BadInput(f"a budget is a number of tokens above 0, got {self.budget}")
        if self.as_of is not None:
            object.__setattr__(self, "as_of", shape.moment("as_of", self.as_of))
        if self.freshness not in get_args(Freshness):
            raise BadInput(f"freshness is one of {', '.join(get_args(Freshness))}, got {self.freshness!r}")
        shape.flag("touch", self.touch)
        kinds = frozenset(MemoryKind.parse(kind) for kind in shape.texts("kinds", self.kinds))
        object.__setattr__(self, "kinds", kinds)


class Projection(Protocol):
    """A layer that can be rebuilt from the record. Six verbs.

    Every `connection` is a transaction of `Connections`, which says who acts; a projection keeps no identity itself.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    async def start(self, stack: AsyncExitStack) -> None:
        """Attach to the store, making what is missing; quick, since every `open()` does it.

        Raises:
            SchemaMismatch: the store belongs to another model or version; the message names the way out.
        """
        ...

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Agree with the record about these memories, in a transaction of its own; the ids that it could not take yet.

        Putting twice changes nothing. What is no longer live in layer 4 when the transaction commits is left out, even
        if it was live when it was handed over: a late relay brings nothing back. A `transactional` layer takes what it
        was owed for them off the debts in that same transaction; for another, whoever calls does so afterwards, unless
        the record has changed meanwhile.

        Raises:
            ServerUnavailable: its store is away.
        """
        ...

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold no longer what the record does not know any more; for layers that are not `transactional`."""
        ...

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Hold them no longer; ids that it never held are no error."""
        ...

    async def find(self, connection: Connection, principal: Principal, query: Query) -> list[Candidate]:
        """What it proposes for a query, best first within each `via`.

        Only ids that `principal` may see, who is the one that `connection` acts for.
        """
        ...

    async def missing(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that it does not hold, of those that the acting principal may see in layer 4."""
        ...

    async def clear(self, tenant: str) -> None:
        """Hold nothing of a tenant any more: the first half of a rebuild."""
        ...
