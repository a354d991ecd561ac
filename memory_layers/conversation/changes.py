"""Changes: what the stream of a board keeps of every mutation, and what a watcher is shown.

`StoredChange` is the entry as it is kept: all that its audit record needs, and the payload. `Change` is the same for
eyes: its value resolved. Changes of a board are numbered without gaps, and the number is the cursor: ``0-17`` is the
seventeenth change. So whoever reads can tell that something is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, cast
from uuid import UUID

from ...infra.errors import BadInput
from ...infra.identity import Principal
from ..records import Json
from .values import Reference, encode

Action = Literal["write", "delete", "tell"]
START = "0-0"
"""The cursor before the first change."""
RESERVED = "lousa/"
"""Fields and claims that begin so are the runtime's own."""
TASK = RESERVED + "task/"
"""A claim of the runtime for a task of a plan; what follows is the task's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One mutation, as a watcher sees it. `value` is None when the field was deleted; for a message, its body."""

    cursor: str
    field: str
    version: int
    value: Json
    action: Action
    agent: str
    task: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The whole board at a cursor, for a watcher that fell behind the kept stream; what lies between is not told."""

    cursor: str
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """One mutation as the stream keeps it. `subject` is the data subject the value is about, '' when nobody."""

    number: int
    operation: UUID
    action: Action
    field: str
    before: int
    after: int
    agent: str
    session: str
    task: str | None
    at: datetime
    subject: str
    payload: bytes

    @property
    def cursor(self) -> str:
        return cursor_of(self.number)

    @property
    def body(self) -> bytes | None:
        """The JSON that was written, None when it was deleted or lives in an artifact."""
        return self.payload[1:] if self.payload.startswith(b"=") else None

    @property
    def artifact(self) -> Reference | None:
        """Where the value lives, when it was too large for the stream."""
        return Reference.of(self.payload)

    @classmethod
    def parse(cls, cursor: bytes, fields: Mapping[bytes, bytes]) -> StoredChange:
        """An entry of the stream."""
        agent, session = _author_of(fields[b"who"])
        action: Action = fields[b"action"].decode()  # pyright: ignore[reportAssignmentType]  # only board.lua writes it
        return cls(
            number=number_of(cursor.decode()),
            operation=UUID(fields[b"operation"].decode()),
            action=action,
            field=fields[b"field"].decode(),
            before=int(fields[b"before"]),
            after=int(fields[b"after"]),
            agent=agent,
            session=session,
            task=_task_of(fields[b"task"].decode()),
            at=datetime.fromtimestamp(int(fields[b"at"]) / 1000, UTC),
            subject=fields[b"subject"].decode(),
            payload=fields[b"payload"],
        )


@lru_cache(maxsize=1_000)
def author(principal: Principal) -> bytes:
    """Who makes a change, as it is kept with each."""
    return encode({"agent": principal.agent, "session": principal.session}, "the principal")


@lru_cache(maxsize=1_000)
def _author_of(who: bytes) -> tuple[str, str]:
    told = cast(dict[str, str], json.loads(who))
    return told["agent"], told["session"]


def _task_of(fence: str) -> str | None:
    """The task under whose fence a change was made; the runtime's own steps are none."""
    task = fence.removeprefix(TASK)
    return None if not task or task.startswith(RESERVED) else task


def number_of(cursor: str) -> int:
    """The number of a change.

    Raises:
        BadInput: that is no cursor of a board.
    """
    head, dash, number = cursor.partition("-")
    if head != "0" or not dash or not number.isascii() or not number.isdigit() or len(number) > 18:
        raise BadInput(f"{cursor[:60]!r} is no cursor of a board: pass the one of a change, a snapshot or a message")
    return int(number)


def cursor_of(number: int) -> str:
    """The cursor of a change."""
    return f"0-{number}"


def before(cursor: str) -> str:
    """The cursor before that of a change."""
    return cursor_of(max(0, number_of(cursor) - 1))


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a field is meant by `pattern`: a name, in which ``*`` stands for any characters, `/` included.

    Nothing else is special. The runtime's own fields are meant only by a pattern that begins as they do.
    """
    if pattern == "*":
        return lambda field: not field.startswith(RESERVED)
    if "*" not in pattern:
        return pattern.__eq__
    first, *middle, last = pattern.split("*")
    own = first.startswith(RESERVED)

    def meant(field: str) -> bool:
        if not (field.startswith(first) and field.endswith(last)) or (field.startswith(RESERVED) and not own):
            return False
        at, end = len(first), len(field) - len(last)
        for piece in middle:
            found = field.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return at <= end

    return meant


def entries_of(reply: object) -> list[StoredChange]:
    """The entries of a stream, as the driver gives them, as changes."""
    return [StoredChange.parse(*entry) for entry in cast(list[tuple[bytes, dict[bytes, bytes]]], reply)]
