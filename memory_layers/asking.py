"""How a recall asks: several ways in one statement, and candidates as the database packs them.

A way is a `Part`: a select that gives one row. Parts asked together share a trip to the server, which costs as much as
many a search. Candidates come packed in one value, 24 bytes each (id and score, big-endian), because a driver takes
longer over 200 rows than the database over finding them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, LiteralString
from uuid import UUID

from ..infra.connections import Connection
from .contract import Candidate, Way

Packed = Mapping[Way, bytes | None]
"""Candidates by way; None where there are none."""

_CANDIDATE = Struct(">16sd")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A way that asks a store outside Postgres, beside the statement and under the same deadline."""

    ask: Callable[[], Awaitable[Packed]]


@dataclass(frozen=True, slots=True)
class Part:
    """A select of one row of so many columns, and how to read them; equal names of parameters have equal values."""

    select: LiteralString
    parameters: Mapping[str, object]
    columns: int
    read: Callable[[tuple[Any, ...]], Packed]


async def ask(connection: Connection, *parts: Part) -> dict[Way, bytes | None]:
    """What all of them find, in one statement."""
    text = parts[0].select
    if len(parts) > 1:
        text = "SELECT * FROM (" + ") AS part CROSS JOIN (".join([part.select for part in parts]) + ") AS last"
    parameters = {name: value for part in parts for name, value in part.parameters.items()}
    cursor = connection.cursor(binary=True)
    await cursor.execute(text, parameters)
    (row,) = await cursor.fetchall()
    found: dict[Way, bytes | None] = {}
    for part in parts:
        found |= part.read(row[: part.columns])
        row = row[part.columns :]
    return found


def texts(values: Sequence[str]) -> str:
    """An array of text as Postgres reads it; the driver's own way takes a regular expression a value."""
    joined = "\0".join(values)  # which no text in a database holds
    return '{"' + joined.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","') + '"}' if values else "{}"


def numbers(values: Iterable[int]) -> str:
    """An array of whole numbers, likewise."""
    return "{" + ",".join(map(str, values)) + "}"


def packed(found: Iterable[tuple[UUID, float]]) -> bytes:
    """Ids and scores as the database packs them."""
    return b"".join(_CANDIDATE.pack(identifier.bytes, score) for identifier, score in found)


def unpacked(packed: bytes | None) -> Iterable[tuple[bytes, float]]:
    """Ids, as bytes, and scores."""
    return _CANDIDATE.iter_unpack(packed or b"")


def united(some: bytes | None, others: bytes | None, most: int) -> bytes:
    """The best of two lists of one way, each candidate once and with its higher score."""
    best: dict[bytes, float] = {}
    for identifier, score in (*unpacked(some), *unpacked(others)):
        best[identifier] = max(score, best.get(identifier, score))
    ranked = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:most]
    return b"".join(_CANDIDATE.pack(*one) for one in ranked)


def candidates(found: Packed, *ways: Way) -> list[Candidate]:
    """The candidates of these ways, best first within each."""
    return [
        Candidate(UUID(bytes=identifier), score, way)
        for way in ways
        for identifier, score in sorted(unpacked(found.get(way)), key=lambda one: (-one[1], one[0]))
    ]
