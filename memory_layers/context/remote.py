"""A store of vectors outside Postgres: what layer 2 needs of Pinecone, or of any other.

It holds ids, kinds, marks of circles (`memory_layers.audience`) and vectors of length 1; no text and no names. It is
told what to hold by the relay, whose debts say what it lacks, and asked by recalls, whose hits are fetched from the
record and checked there.

A store may show a write later than it acknowledged it. Layer 2 keeps what is young in Postgres as well and reads it
back with `shown`, so a recall misses nothing meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from ..embedding import Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCapabilities:
    """What a store does; declared, and held to by the suite.

    `eventual`: what it acknowledged may show later. `counts`: it can say how many vectors a tenant has.
    """

    eventual: bool
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A memory as such a store holds it; `vector` has length 1, float32, [dimensions]."""

    id: UUID
    kind: str
    circles: Sequence[str]
    vector: Vectors


class VectorStore(Protocol):
    """Vectors of one embedding model, apart by tenant. Every verb may be repeated without harm.

    Each raises `ServerUnavailable` while the store is away, refuses us for now (throttled, over quota) or times out;
    whatever else it raises is about what it was given.
    """

    @property
    def name(self) -> str:
        """What it is and where, without secrets: two stores of one name are the same store."""
        ...

    @property
    def capabilities(self) -> StoreCapabilities: ...

    async def start(self, stack: AsyncExitStack) -> None:
        """Open clients, which the stack closes, and check that the store fits; make what can be made.

        Raises:
            ServerUnavailable: it does not answer.
            SettingsError: it cannot do what layer 2 needs (dimensions, metric, filters, deletion); says the way out.
        """
        ...

    async def put(self, tenant: str, points: Sequence[Point]) -> None:
        """Hold these, in place of what was held under their ids; any number, in as many requests as it takes."""
        ...

    async def remove(self, tenant: str, ids: Collection[UUID]) -> None:
        """Hold these no longer; ids that it never held are no error."""
        ...

    async def nearest(
        self, tenant: str, vector: Vectors, *, circles: Collection[str], kinds: Collection[str], k: int
    ) -> list[tuple[UUID, float]]:
        """The `k` likest that share a circle and, unless `kinds` is empty, are of one of these; with their cosines.

        Filtered in the store and before ranking.
        """
        ...

    async def shown(self, tenant: str, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` that `nearest` would find by now."""
        ...

    async def count(self, tenant: str) -> int | None:
        """How many it holds of a tenant; None when it cannot say."""
        ...

    async def clear(self, tenant: str) -> None:
        """Hold nothing of a tenant any more."""
        ...
