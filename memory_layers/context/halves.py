"""Vectors as pgvector's own bytes: a `halfvec[]` parameter in Postgres' binary format.

Written as text, a vector of 384 numbers takes 3 KB and longer to write and to read than the row it belongs to; as bytes
it takes 772 and one call of numpy a batch. A `halfvec` is two numbers of 16 bits, its dimensions and nothing, and then
its values as halves of floats, all big-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from ..embedding import Vectors


@dataclass(frozen=True, slots=True)
class Halves:
    """Vectors, one a row, and what this database calls the type `halfvec`."""

    vectors: Vectors
    type: int

    def bytes(self) -> bytes:
        """As Postgres reads an array: how deep, without nulls, of what, how many, counted from one; then each."""
        import numpy

        count, dimensions = self.vectors.shape
        row = numpy.dtype([("size", ">i4"), ("dimensions", ">i2"), ("nothing", ">i2"), ("values", ">f2", dimensions)])
        rows = numpy.zeros(count, row)
        rows["size"] = row.itemsize - 4
        rows["dimensions"] = dimensions
        rows["values"] = self.vectors
        return struct.pack(">iiIii", 1, 0, self.type, count, 1) + rows.tobytes()


@dataclass(frozen=True, slots=True)
class Half:
    """One vector: a `halfvec` parameter."""

    vector: Vectors

    def bytes(self) -> bytes:
        """As Postgres reads it."""
        return struct.pack(">hh", len(self.vector), 0) + self.vector.astype(">f2").tobytes()


class _HalvesDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return obj.bytes()


psycopg.adapters.register_dumper(Halves, _HalvesDumper)
psycopg.adapters.register_dumper(Half, _HalvesDumper)
