"""Things, the facts between them, and the ways from one thing to another, read as sentences.

A path keeps the direction in which each of its facts was stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

_MOST_WAYS = 1_000


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing: `key` is compared, `name` is shown."""

    key: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A fact between two ends. `id` is its memory's; `leads_on` says that the object is a thing and not a value."""

    id: UUID
    subject_key: str
    subject: str
    predicate: str
    object_key: str
    object: str
    leads_on: bool
    contested: bool

    def sentence(self) -> str:
        """The fact as a line of text, in the direction in which it was stated."""
        return f"{self.subject} · {self.predicate} · {self.object}"

    def things(self) -> set[str]:
        """The ends from which one may go on: a value that two things happen to share does not connect them."""
        return {self.subject_key, self.object_key} if self.leads_on else {self.subject_key}

    def other(self, key: str) -> str:
        """The end that is not `key`."""
        return self.object_key if key == self.subject_key else self.subject_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Facts that lead from one thing to another, and how they read."""

    edges: tuple[Edge, ...]

    @property
    def sentence(self) -> str:
        """The facts one after the other: `Ana · works at · Acme → Acme · is based in · Recife`."""
        return " → ".join(edge.sentence() for edge in self.edges)


def shortest(edges_of: Mapping[str, Sequence[Edge]], start: str, goal: str, longest: int, most: int) -> list[Path]:
    """Breadth first, so that the first ways to arrive are the shortest."""
    ways: list[tuple[str, tuple[Edge, ...], frozenset[str]]] = [(start, (), frozenset({start}))]
    found: list[Path] = []
    for _ in range(longest):
        further: list[tuple[str, tuple[Edge, ...], frozenset[str]]] = []
        for end, edges, passed in ways:
            for edge in edges_of.get(end, []):
                other = edge.other(end)
                if other == goal:
                    found.append(Path(edges=(*edges, edge)))
                elif other not in passed and other in edges_of:
                    further.append((other, (*edges, edge), passed | {other}))
        if found:
            return found[:most]
        ways = further[:_MOST_WAYS]
    return found
