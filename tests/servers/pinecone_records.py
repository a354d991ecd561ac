"""What the emulator of Pinecone holds: namespaces, their logs, and metadata filters as Pinecone defines them.

A write gets the next number of its namespace's log (the LSN) and is acknowledged at once; what a query sees follows the
log at a distance, and what a fetch sees at another. Ranking is exact.
"""

from __future__ import annotations

import json
import math
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy
from numpy.typing import NDArray
from pinecone import ScoredVector, Vector

Metadata = Mapping[str, Any]
Predicate = Callable[[Metadata], bool]
Array = NDArray[numpy.float32]

METADATA_BYTES = 40_960
VALUES_IN_A_LIST = 10_000


class Refused(Exception):
    """An answer that is no success: an HTTP status and what Pinecone says with it (with gRPC's code)."""

    def __init__(self, status: int, message: str, code: int = 3, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.retry_after = status, message, code, retry_after


@dataclass(frozen=True, slots=True)
class Record:
    """A vector as it is held, with its length for cosines."""

    id: str
    values: Array
    length: float
    metadata: Metadata

    def told(self) -> Vector:
        return Vector(id=self.id, values=self.values.tolist(), metadata=dict(self.metadata))


@dataclass
class _Write:
    """An entry of a namespace's log."""

    number: int
    due: float
    records: Sequence[Record] = ()
    ids: Sequence[str] = ()
    everything: bool = False


class _View:
    """What one kind of reader sees: the log up to some entry."""

    def __init__(self) -> None:
        self.pending: deque[_Write] = deque()
        self.held: dict[str, Record] = {}
        self.reached = 0

    def catch_up(self, now: float) -> None:
        while self.pending and self.pending[0].due <= now:
            write = self.pending.popleft()
            for identifier in list(self.held) if write.everything else write.ids:
                if self.held.pop(identifier, None) is not None:
                    self.taken_out(identifier)
            for record in write.records:
                self.held[record.id] = record
                self.put_in(record)
            self.reached = write.number

    def put_in(self, record: Record) -> None:
        return

    def taken_out(self, identifier: str) -> None:
        return


class _Ranked(_View):
    """A view with its vectors in one matrix, whose rows are used again."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, int] = {}
        self.lengths: Array = numpy.ones(0, dtype=numpy.float32)
        self.matrix: Array = numpy.zeros((0, 0), dtype=numpy.float32)
        self._free: list[int] = []

    def put_in(self, record: Record) -> None:
        if record.id not in self.rows:
            if not self._free:
                before = len(self.matrix)
                more = max(before, 64)
                empty = numpy.zeros((more, record.values.size), dtype=numpy.float32)
                self.matrix = numpy.concatenate([self.matrix, empty]) if before else empty
                self.lengths = numpy.concatenate([self.lengths, numpy.ones(more, dtype=numpy.float32)])
                self._free = list(range(before + more - 1, before - 1, -1))
            self.rows[record.id] = self._free.pop()
        self.matrix[self.rows[record.id]] = record.values
        self.lengths[self.rows[record.id]] = record.length

    def taken_out(self, identifier: str) -> None:
        self._free.append(self.rows.pop(identifier))


class Namespace:
    """A log, and two views of it: what queries see, and what fetches see."""

    def __init__(self) -> None:
        self._number = 0
        self._queried, self._fetched = _Ranked(), _View()
        self._lock = threading.Lock()

    def write(self, *, query_delay: float, fetch_delay: float, **what: Any) -> int:
        with self._lock:
            self._number += 1
            now = time.monotonic()
            self._queried.pending.append(_Write(self._number, now + query_delay, **what))
            self._fetched.pending.append(_Write(self._number, now + fetch_delay, **what))
            return self._number

    def fetch(self, ids: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            self._fetched.catch_up(time.monotonic())
            held = self._fetched.held
            return {identifier: held[identifier].told() for identifier in ids if identifier in held}

    def count(self) -> int:
        with self._lock:
            self._queried.catch_up(time.monotonic())
            return len(self._queried.held)

    def show(self) -> None:
        with self._lock:
            for view in (self._queried, self._fetched):
                view.catch_up(math.inf)

    def ids(self) -> set[str]:
        """What queries see once they have caught up: for tests, no reader is told this."""
        with self._lock:
            held: set[str] = set(self._queried.held)
            for write in self._queried.pending:
                held = held - (held if write.everything else set(write.ids))
                held |= {record.id for record in write.records}
            return held

    def query(
        self, vector: Sequence[float], wanted: Predicate | None, top_k: int, metric: str
    ) -> tuple[list[ScoredVector], int]:
        """The best of those that pass the filter, and how far the log was seen."""
        with self._lock:
            view = self._queried
            view.catch_up(time.monotonic())
            passing = [one for one in view.held.values() if wanted is None or wanted(one.metadata)]
            if not passing:
                return [], view.reached
            rows = [view.rows[one.id] for one in passing]
            scores = _scores(view, numpy.asarray(vector, dtype=numpy.float32), metric)[rows]
            reached = view.reached
        nearest_first = scores if metric == "euclidean" else -scores
        best: list[int] = numpy.argsort(nearest_first, kind="stable")[:top_k].tolist()
        return [
            ScoredVector(id=passing[at].id, score=float(scores[at]), metadata=dict(passing[at].metadata)) for at in best
        ], reached


def _scores(view: _Ranked, asked: Array, metric: str) -> Array:
    if metric == "euclidean":
        return ((view.matrix - asked) ** 2).sum(axis=1)
    products = view.matrix @ asked
    return products / (view.lengths * numpy.linalg.norm(asked)) if metric == "cosine" else products


def checked(vector: Vector, dimension: int) -> Record:
    """A vector as it may be stored, without empty metadata values; or why it may not."""
    if len(vector.values) != dimension:
        raise Refused(
            400, f"Vector dimension {len(vector.values)} does not match the dimension of the index {dimension}"
        )
    values = numpy.asarray(vector.values, dtype=numpy.float32)
    if not values.any():
        raise Refused(400, "Dense vectors must contain at least one non-zero value.")
    if not vector.id or len(vector.id) > 512 or not vector.id.isascii():
        raise Refused(400, f"Vector ID {vector.id!r} must be ASCII, 1-512 characters")
    metadata = {name: value for name, value in (vector.metadata or {}).items() if value is not None}
    for name, value in metadata.items():
        strings = isinstance(value, list) and all(isinstance(one, str) for one in cast(list[object], value))
        if name.startswith("$") or not (strings or isinstance(value, str | bool | int | float)):
            raise Refused(
                400,
                "Metadata value must be a string, number, boolean or list of strings,"
                f" got '{json.dumps(value)[:16]}' for field '{name}'",
            )
    size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
    if size > METADATA_BYTES:
        raise Refused(
            400, f"Metadata size is {size} bytes, which exceeds the limit of {METADATA_BYTES} bytes per vector"
        )
    return Record(vector.id, values, float(numpy.linalg.norm(values)), metadata)


def predicate(wanted: Any) -> Predicate:
    """A filter as a function, or why Pinecone would not take it."""
    if not isinstance(wanted, dict) or not wanted:
        raise Refused(400, "Filter must be a non-empty object")
    parts = [_clause(name, told) for name, told in cast(dict[str, Any], wanted).items()]
    return lambda metadata: all(part(metadata) for part in parts)


def _clause(name: str, told: Any) -> Predicate:
    if name in {"$and", "$or"}:
        if not isinstance(told, list) or not told:
            raise Refused(400, f"{name} needs a non-empty list of filters")
        parts = [predicate(one) for one in cast(list[Any], told)]
        some = all if name == "$and" else any
        return lambda metadata: some(part(metadata) for part in parts)
    if name.startswith("$"):
        raise Refused(400, f"{name} is not allowed at the top level: nest it under a field")
    if not isinstance(told, dict):
        return _test(name, "$eq", told)
    if not told:
        raise Refused(400, f"Filter of field '{name}' is empty")
    tests = [_test(name, operator_, value) for operator_, value in cast(dict[str, Any], told).items()]
    return lambda metadata: all(test(metadata) for test in tests)


_NUMBERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def _test(name: str, operator_: str, told: Any) -> Predicate:
    """One operator on one field; of a list of strings, any may satisfy it, and none may for `$ne` and `$nin`."""
    if operator_ == "$exists" and isinstance(told, bool):
        return lambda metadata: (name in metadata) is told
    if operator_ in _NUMBERS and isinstance(told, int | float) and not isinstance(told, bool):
        compare = _NUMBERS[operator_]
        return lambda metadata: isinstance(metadata.get(name), int | float) and compare(metadata[name], told)
    listed = cast(list[Any], told) if isinstance(told, list) else None
    wanted: frozenset[Any]
    if operator_ in {"$eq", "$ne"} and isinstance(told, str | bool | int | float):
        wanted = frozenset([told])
    elif operator_ in {"$in", "$nin"} and listed is not None and all(isinstance(v, str | int | float) for v in listed):
        if len(listed) > VALUES_IN_A_LIST:
            raise Refused(400, f"{operator_} takes at most {VALUES_IN_A_LIST} values, got {len(listed)}")
        wanted = frozenset(listed)
    else:
        raise Refused(400, f"{operator_} with {json.dumps(told)[:16]} is not a valid operator of field '{name}'")
    within = operator_ in {"$eq", "$in"}

    def test(metadata: Metadata) -> bool:
        held = metadata.get(name)
        values = cast(list[Any], held) if isinstance(held, list) else () if held is None else (held,)
        return wanted.isdisjoint(values) is not within

    return test
