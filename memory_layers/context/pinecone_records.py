"""A memory as Pinecone takes it: records and requests within its limits.

A request carries at most 1,000 records and 2 MB, a record at most 40 KB of metadata. A memory with more readers than
fit is held under shortened marks, so that some who are not among them share one: they are offered a candidate that the
record then refuses. None of its readers misses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy

from .remote import Point

if TYPE_CHECKING:
    from pinecone import Vector

    from ..embedding import Vectors

RECORDS = 1_000
"""How many records, or ids, a request carries at most."""
_BYTES, _METADATA = 1_900_000, 38_000  # of a request; of a record's marks
_DECIMALS = 8  # of a number between -1 and 1: beyond what float32 holds, and half as long as all that float64 prints
_NUMBER = _DECIMALS + 4  # bytes: a sign, "0.", the decimals, a comma
_DIGITS = (None, 4, 3)  # that a mark is shortened to, until a record's marks fit: 4,096 marks of three always do


def batches(points: Sequence[Point]) -> Iterator[list[Vector]]:
    """The points as Pinecone takes them, in as few requests as its limits allow."""
    from pinecone import Vector

    batch: list[Vector] = []
    size = 0
    for point in points:
        identifier, marks = str(point.id), _fitting(point.circles)
        length = _NUMBER * point.vector.size + _length(marks) + len(point.kind) + 3 * len(identifier) + 100
        if batch and (len(batch) == RECORDS or size + length > _BYTES):
            yield batch
            batch, size = [], 0
        metadata = {"id": identifier, "kind": point.kind, "circles": marks}
        batch.append(Vector(id=identifier, values=numbers(point.vector), metadata=metadata))
        size += length
    if batch:
        yield batch


def numbers(vector: Vectors) -> list[float]:
    """A vector as Pinecone is told it."""
    return numpy.round(vector.astype(numpy.float64), _DECIMALS).tolist()


def _fitting(circles: Sequence[str]) -> list[str]:
    """The marks of a record, shortened where they would not fit."""
    marks: list[str] = []
    for digits in _DIGITS:
        marks = sorted({_shortened(circle, digits) for circle in circles})
        if _length(marks) <= _METADATA:
            break
    return marks


def forms(circle: str) -> Iterator[str]:
    """How a mark may be written in records that share it."""
    return (_shortened(circle, digits) for digits in _DIGITS)


def _shortened(circle: str, digits: int | None) -> str:
    return circle if digits is None else f"~{circle[:digits]}"


def _length(marks: Sequence[str]) -> int:
    return sum(map(len, marks)) + 3 * len(marks)
