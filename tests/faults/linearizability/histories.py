"""Histories: what clients asked when, and what they were answered when.

A recorder appends lines to a file as things happen, one before each call and one after it, so that what a client asked
is known even if its process is killed in the middle. Times are those of the machine's monotonic clock, which all its
processes share. An operation without an answer may have taken effect at any later time, or never.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import Any, Self

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call on one object: what was `given`, and the `answer`, None while there is none. Times in nanoseconds."""

    id: str
    object: str
    kind: str
    given: Facts
    invoked: int
    answer: Facts | None = None
    answered: int | None = None

    def __str__(self) -> str:
        took = "unanswered" if self.answered is None else f"{(self.answered - self.invoked) / 1e6:.2f} ms"
        return f"{self.id} {self.object}.{self.kind} {dict(self.given)} -> {self.answer} at {self.invoked}, {took}"


class Recorder:
    """Writes down the operations of one process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def invoked(self, id: str, object: str, kind: str, given: Facts) -> None:
        """It is about to be asked."""
        self._write({"id": id, "object": object, "kind": kind, "given": given, "invoked": monotonic_ns()})

    def tried(self, id: str, given: Facts) -> None:
        """The operation `id` goes on with these facts besides."""
        self._write({"id": id, "tried": given})

    def answered(self, id: str, answer: Facts) -> None:
        """It was answered."""
        self._write({"id": id, "answered": monotonic_ns(), "answer": answer})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _write(self, line: Facts) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(paths: Iterable[Path]) -> list[Operation]:
    """The operations that recorders wrote to these files."""
    begun: dict[str, dict[str, Any]] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            told: dict[str, Any] = json.loads(line)
            if "tried" in told:
                begun[told["id"]]["given"] |= told["tried"]
            else:
                begun.setdefault(told["id"], {}).update(told)
    return [Operation(**told) for told in begun.values()]
