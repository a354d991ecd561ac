"""How a recall asks: several ways in one statement, and what they find side by side in arrays.

A way is a `Part`: a select of one row, whose columns are arrays of ids and of scores. Parts that are asked together are
ranked in the same statement, so what they find never leaves the database. Where a way leads out of it, or failed, what
was found is `given` back as a part of its own. Both are ranked by the same function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, LiteralString
from uuid import UUID

from ..infra.connections import Connection
from .contract import Candidate, Way

Found = Mapping[str, Any]
"""What some ways found, by the name of its column: arrays, and how many memories there are."""

WAYS: Mapping[Way, tuple[LiteralString, LiteralString]] = {
    "dense": ("likest", "likeness"),
    "words": ("worded", "shares"),
    "graph": ("stated", "nearness"),
}
"""The columns in which each way gives ids and scores."""
_NAMES: tuple[LiteralString, ...] = ("first", "second", "third")
_TOLD: tuple[LiteralString, ...] = ("told_0", "told_1", "told_2", "told_3", "told_4", "told_5")
_TYPES: Mapping[LiteralString, LiteralString] = {
    "size": "integer",
    "likest": "uuid[]",
    "likeness": "float8[]",
    "worded": "uuid[]",
    "shares": "float8[]",
    "matching": "text[]",
    "weights": "float8[]",
    "stated": "uuid[]",
    "nearness": "float8[]",
}
COLUMNS: tuple[LiteralString, ...] = tuple(_TYPES)
OF_WORDS: tuple[LiteralString, ...] = ("size", "matching", "weights")
"""What words say besides: how many memories there are, the terms that any holds, and what these weigh."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A way that asks a store outside Postgres, beside the statement and under the same deadline."""

    ask: Callable[[], Awaitable[Found]]


@dataclass(frozen=True, slots=True)
class Part:
    """A select of one row with these columns; equal names of parameters have equal values over all parts.

    `told` are further columns, which `learn` is handed once they are read.
    """

    select: LiteralString
    parameters: Mapping[str, object]
    columns: tuple[LiteralString, ...]
    told: tuple[LiteralString, ...] = ()
    learn: Callable[[tuple[Any, ...]], None] = field(default=lambda _row: None)


@dataclass(frozen=True, slots=True)
class Asked:
    """Parts as the head of a statement: what follows selects from `source`, and finds every column by its name."""

    head: LiteralString
    source: LiteralString
    columns: LiteralString
    told: tuple[tuple[LiteralString, LiteralString], ...]
    """Names for the further columns, and what each is selected by."""


def composed(parts: Sequence[Part]) -> Asked:
    """One statement of several parts; columns that no part has are NULL."""
    return _composed(tuple([(part.select, part.columns, part.told) for part in parts]))


@lru_cache(maxsize=64)
def _composed(
    parts: tuple[tuple[LiteralString, tuple[LiteralString, ...], tuple[LiteralString, ...]], ...],
) -> Asked:
    """The same of selects, columns and further columns; put together once, as every recall asks by one of a few."""
    names = _NAMES[: len(parts)]
    of: dict[LiteralString, LiteralString] = {}
    told: list[LiteralString] = []
    head: list[LiteralString] = []
    for name, (select, columns, further) in zip(names, parts, strict=True):
        of.update(dict.fromkeys(columns, name))
        asked_of: list[LiteralString] = [name + "." + column + " FROM " + name for column in further]
        told += asked_of
        head.append(name + " AS MATERIALIZED (" + select + ")")
    asked: list[LiteralString] = [_column(column, of.get(column)) for column in COLUMNS]
    return Asked(
        head=",\n".join(head),
        source=" CROSS JOIN ".join(names),
        columns=", ".join(asked),
        told=tuple(zip(_TOLD, told, strict=False)),
    )


def parameters(parts: Sequence[Part]) -> dict[str, object]:
    """The parameters of all of them."""
    return {name: value for part in parts for name, value in part.parameters.items()}


def learned(parts: Sequence[Part], told: tuple[Any, ...]) -> None:
    """Hand each part the further columns that it asked for, in the order in which `composed` names them."""
    for part in parts:
        if part.told:
            part.learn(told[: len(part.told)])
            told = told[len(part.told) :]


async def ask(connection: Connection, *parts: Part) -> dict[str, Any]:
    """What all of them find, in one statement and without a ranking."""
    asked = composed(parts)
    told: list[LiteralString] = [", (SELECT " + column + ")" for _, column in asked.told]
    cursor = connection.cursor(binary=True)
    select = "WITH " + asked.head + " SELECT " + asked.columns + "".join(told) + " FROM " + asked.source
    await cursor.execute(select, parameters(parts))
    (row,) = await cursor.fetchall()
    learned(parts, row[len(COLUMNS) :])
    return dict(zip(COLUMNS, row, strict=False))


def given(found: Found) -> Part:
    """What is at hand, as a part."""
    columns: tuple[LiteralString, ...] = tuple([column for column in COLUMNS if found.get(column)])
    select = ", ".join([_parameter(column) for column in columns])
    return Part("SELECT " + select, {column: found[column] for column in columns}, columns)


def of_way(way: Way, found: Found) -> dict[str, Any]:
    """What one way found, of what several did."""
    columns = (*WAYS[way], *(OF_WORDS if way == "words" else ()))
    return {column: found.get(column) for column in columns}


def column_pair(way: Way, found: Iterable[tuple[UUID, float]]) -> dict[str, Any]:
    """Ids and scores of a way as its columns."""
    ids, scores = WAYS[way]
    pairs = list(found)
    return {ids: [one for one, _ in pairs], scores: [score for _, score in pairs]}


def pairs(way: Way, found: Found) -> list[tuple[UUID, float]]:
    """Ids and scores of a way."""
    ids, scores = WAYS[way]
    return list(zip(found.get(ids) or (), found.get(scores) or (), strict=True))


def united(some: Found, others: Found, most: int) -> dict[str, Any]:
    """The best of two lists of likeness, each candidate once and with its higher score."""
    best: dict[UUID, float] = {}
    for identifier, score in (*pairs("dense", some), *pairs("dense", others)):
        best[identifier] = max(score, best.get(identifier, score))
    return column_pair("dense", sorted(best.items(), key=lambda one: (-one[1], one[0]))[:most])


def candidates(found: Found, *ways: Way) -> list[Candidate]:
    """The candidates of these ways, best first within each."""
    return [
        Candidate(identifier, score, way)
        for way in ways
        for identifier, score in sorted(pairs(way, found), key=lambda one: (-one[1], one[0]))
    ]


def texts(values: Sequence[str]) -> str:
    """An array of text as Postgres reads it; the driver's own way takes a regular expression a value."""
    joined = "\0".join(values)  # which no text in a database holds
    return '{"' + joined.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","') + '"}' if values else "{}"


def numbers(values: Iterable[int]) -> str:
    """An array of whole numbers, likewise."""
    return "{" + ",".join(map(str, values)) + "}"


def _column(column: LiteralString, part: LiteralString | None) -> LiteralString:
    return "NULL::" + _TYPES[column] + " AS " + column if part is None else part + "." + column


def _parameter(column: LiteralString) -> LiteralString:
    return "%(" + column + ")s::" + _TYPES[column] + " AS " + column
