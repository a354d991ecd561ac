"""The board: fields with versions that the agents of one execution share.

Every mutation is one script on one hash slot, one round trip: was this operation answered before? → does the fencing
token still hold? → is the version the expected one? → set → add to the change stream → publish a hint. The stream is
both what watchers follow and what the audit still owes, so no write is without its record.

A write says which version it replaces. Unless told, that is the version this board object last read or wrote, so two
agents never overwrite each other unseen: the later one gets a `Conflict`, with what is there. A deleted field keeps
its version, so a writer that missed the deletion conflicts too. A `Conflict` does not count as having read the field:
who wants to overwrite says so, with ``expect=conflict.version`` or ``expect=ANY``.

An operation that was applied answers the same for the execution's life, however often it is sent. A conflict is not
kept: versions only grow, so the same question conflicts again, with fresher news.

A field's name has 1 to 512 characters, any but NUL; ``lousa/…`` is the runtime's. In patterns ``*`` stands for any
characters, `/` included, and nothing else is special.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final, Literal, cast
from uuid import UUID

from ...infra.clock import Clock, SystemClock
from ...infra.connections import Connections
from ...infra.errors import BadInput
from ...infra.identity import Principal
from ...infra.text import flaw, told
from ..records import Json
from .changes import RESERVED, Action, Snapshot, StoredChange, author, cursor_of, matcher
from .claims import Claim, Fence, FirstClaim, Holder, claim, holder_of, shown, stale
from .feed import Feed
from .keys import A_FIELD, BoardKeys, board_keys, checked
from .opening import unknown
from .operations import Operations
from .script import Script, command
from .values import GONE, Artifacts, Values
from .watch import Watch

Version = int
_BOARD = Script("board.lua", "fence.lua")
_ENTRY = re.compile(rb"(\d+)([=@-])")
_NO_CLAIM = ("", "", "", "")
_MOST = 2**53
"""Below this Lua counts exactly."""


class Any_(Enum):
    """The type of `ANY`."""

    ANY = "any"


ANY: Final = Any_.ANY
"""As `expect`: write over whatever is there, knowingly."""
Expect = Version | Literal[Any_.ANY] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A mutation was applied; `repeated`: before already. `cursor` is its change, '' when none was needed."""

    field: str
    version: Version
    repeated: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Nothing was applied: the field is at `version` with `value`, not at the version expected."""

    field: str
    expected: Version
    version: Version
    value: Json


class Board:
    """The board of one execution as one agent uses it."""

    def __init__(
        self,
        connections: Connections,
        principal: Principal,
        *,
        feed: Feed,
        artifacts: Artifacts,
        operations: Operations,
        clock: Clock | None = None,
        fence: Fence | FirstClaim | None = None,
        reserved: bool = False,
        seen: Mapping[str, Version] | None = None,
    ) -> None:
        if principal.execution is None:
            raise BadInput(f"agent {principal.agent!r} is in no execution, and a board belongs to one")
        self.execution: UUID = principal.execution
        self._fence = fence
        self._principal = principal
        self._connections = connections
        self._feed = feed
        self._operations = operations
        self._clock = clock or SystemClock()
        self._reserved = reserved
        self._values = Values(principal, artifacts)
        self._names: BoardKeys = board_keys(principal.tenant, self.execution)
        self._keys = self._names.all()
        self._changed = self._names.of_a_change
        self._who = author(principal)
        self.seen: dict[str, Version] = dict(seen or {})
        """The versions last read or written, which a write replaces unless told otherwise."""
        self.wrote: set[str] = set()
        """The fields this object wrote."""

    # Reading

    async def read(self, field: str) -> Json:
        """The value of `field`, None when there is none."""
        return (await self.read_versioned(field))[0]

    async def read_versioned(self, field: str) -> tuple[Json, Version]:
        """The value of `field` and its version: 0 when it was never written; a deleted one keeps its version."""
        name = checked(field, A_FIELD)
        entry = cast(bytes | None, await command(self._connections.redis, "HGET", self._names.fields, name))
        return await self._read(field, entry)

    async def read_all(self, pattern: str = "*") -> dict[str, Json]:
        """The fields that `pattern` means, with their values, all of one moment, sorted by name."""
        return dict((await self.snapshot(pattern)).fields)

    async def snapshot(self, pattern: str = "*") -> Snapshot:
        """What `read_all` gives, with the cursor from which `watch` tells all that came later."""
        number, entries = await self._feed.snapshot(self._principal.tenant, self.execution)
        fields = await self._values_of(entries, matcher(pattern))
        return Snapshot(cursor=cursor_of(number), fields=fields)

    async def wait_for(self, fields: str | Sequence[str], timeout: timedelta | float | None = None) -> dict[str, Json]:  # noqa: ASYNC109  # its error names what is missing
        """The values of `fields`, once all of them are there at the same moment; `timeout` in seconds.

        Raises:
            TimeoutError: naming the fields that were missing.
        """
        wanted = {checked(field, A_FIELD): None for field in ([fields] if isinstance(fields, str) else fields)}
        names = list(wanted)
        found: dict[str, Json] = {}
        # The place in the stream comes first and the reading second: what is written in between is seen by one of them.
        async with Watch(self._feed, self._values, self._principal, lambda change: change.field in wanted) as changes:
            try:
                async with asyncio.timeout(_seconds(timeout)):
                    while True:
                        found = await self._present(names)
                        if len(found) == len(names):
                            return found
                        await changes.stir()
            except TimeoutError:
                missing = ", ".join(repr(field) for field in names if field not in found)
                raise TimeoutError(f"after {_seconds(timeout):g} s still missing on the board: {missing}") from None

    def watch(self, since: str | None = None, fields: str = "*", *, messages: bool = False) -> Watch:
        """The changes of `fields` after the cursor `since`, or from the moment of the first wait; as they happen.

        ``async with board.watch() as changes`` begins at once. `messages` tells of messages too.
        """
        meant = matcher(fields)

        def wanted(change: StoredChange) -> bool:
            return messages if change.action == "tell" else meant(change.field)

        return Watch(self._feed, self._values, self._principal, wanted, since=since, fields=meant)

    # Writing

    async def write(
        self, field: str, value: Json, *, expect: Expect = None, key: str | None = None, subject: str = ""
    ) -> Written | Conflict:
        """Write `value`; see the module for `expect`. `key` names the call where a task makes several in parallel.

        `subject` names the person the value is about, so that it can be erased.

        Raises:
            BadInput: the name or the value cannot be used, or the execution has ended.
            Stale: the task is run by somebody else now.
        """
        self._may_write(field)
        _check_subject(subject)
        payload = await self._values.payload(f"the value of {field!r}", value, subject)
        return await self._change("write", field, payload, expect, key, subject)

    async def delete(self, field: str, *, expect: Expect = None, key: str | None = None) -> Written | Conflict:
        """Delete `field`; what is not there needs no deleting and stays as it is."""
        self._may_write(field)
        return await self._change("delete", field, GONE, expect, key)

    async def update(
        self, field: str, fn: Callable[[Json], Json | Awaitable[Json]], *, key: str | None = None, subject: str = ""
    ) -> Written:
        """Write what `fn` makes of the value. It runs again when somebody else was faster, so it must only compute."""
        self._may_write(field)
        _check_subject(subject)
        operation = self._operations.next(key, of=f"{self._principal.agent} update {field}")
        async with self._feed.turn(self._principal.tenant, self.execution, field):
            value, version = await self.read_versioned(field)
            while True:
                made = fn(value)
                new = await made if inspect.isawaitable(made) else made
                payload = await self._values.payload(f"the new value of {field!r}", new, subject)
                match await self._apply(operation, "write", field, payload, version, subject):
                    case Written() as written:
                        return written
                    case Conflict() as conflict:
                        value, version = conflict.value, conflict.version

    async def tell(self, to: str, body: Json, *, key: str | None = None) -> str:
        """Put a message to `to` among the changes; its cursor. See `mailbox`."""
        payload = await self._values.payload(f"the message to {to!r}", body)
        answer = await self._change("tell", to, payload, ANY, key)
        assert isinstance(answer, Written)  # a message replaces nothing, so it cannot conflict
        return answer.cursor

    async def claim(
        self,
        task: str,
        lease: timedelta | float,
        *,
        over: int | Literal[Any_.ANY] | None = None,
        note: str = "",
        opening: bool = False,
    ) -> Claim | None:
        """Hold `task` for `lease` seconds, unless somebody holds it; None then. For `over` and `note` see `claims`.

        `opening` opens the board in the same trip, for whoever has just begun the execution.

        Raises:
            Stale: this board's own task is run by somebody else now.
        """
        self._may_claim(task)
        if over is not None and over is not ANY and (type(over) is not int or not 0 <= over < _MOST):
            raise BadInput(f"over={told(over)} is no token: pass that of a holder, ANY, or nothing")
        if (wrong := flaw(note)) is not None:
            raise BadInput(f"the note of the claim of {task!r} {wrong}")
        return await claim(
            self._feed.batch,
            self._keys,
            task,
            _seconds(lease) or 0.0,
            await shown(self._fence),
            over="any" if over is ANY else over,
            note=note,
            opening=opening,
        )

    async def holder(self, task: str) -> Holder | None:
        """Who holds `task`; None when nobody claimed it, or it was released."""
        return await holder_of(self._connections, self._names.claims, checked(task, "a task's name"))

    # Within

    async def _change(
        self, action: Action, field: str, payload: bytes, expect: Expect, key: str | None, subject: str = ""
    ) -> Written | Conflict:
        if expect is not None and expect is not ANY and (type(expect) is not int or not 0 <= expect < _MOST):
            raise BadInput(f"expect={told(expect)} is no version: pass what a read or a write gave, ANY, or nothing")
        operation = self._operations.next(key, of=f"{self._principal.agent} {action} {field}")
        expected = self.seen.get(field, 0) if expect is None else expect
        return await self._apply(operation, action, field, payload, expected, subject)

    async def _apply(
        self,
        operation: UUID,
        action: Action,
        field: str,
        payload: bytes,
        expected: Version | Literal[Any_.ANY],
        subject: str = "",
    ) -> Written | Conflict:
        """One run of the script, and its answer as a value."""
        first = self._fence if isinstance(self._fence, FirstClaim) else None
        if first is not None:
            first.check()
        fence = first.fence if first is not None else cast(Fence | None, self._fence)
        carried = fence or Fence(task=first.task if first else "", token=0)
        answer = await self._feed.change(
            self._principal.tenant,
            self.execution,
            _BOARD,
            self._changed,
            operation.hex,
            action,
            field,
            payload,
            "any" if expected is ANY else expected,
            carried.task,
            carried.token,
            self._who,
            int(self._clock.now().timestamp() * 1000),
            subject,
            *(first.words() if first is not None and fence is None else _NO_CLAIM),
        )
        match answer:
            case [b"written", version, cursor, *granted]:
                written = Written(field=field, version=int(version), cursor=cursor.decode())
                if first is not None and granted:
                    first.granted_with(int(granted[0]))
            case [b"repeated", kept]:
                version, cursor = kept.split()
                written = Written(field=field, version=int(version), cursor=cursor.decode(), repeated=True)
            case [b"conflict", version, entry]:
                value = await self._values.value(_parse(entry)[1]) if entry else None
                return Conflict(field=field, expected=int(cast(int, expected)), version=int(version), value=value)
            case [b"stale", holder]:
                raise stale(fence or (first.under if first else carried), holder)
            case [b"unknown"]:
                raise unknown(self._principal.tenant, self.execution)
            case _:
                raise BadInput(f"execution {self.execution} has ended: its board can be read, not written")
        if action != "tell":
            self.wrote.add(field)
            self.seen[field] = max(written.version, self.seen.get(field, 0))
        if payload[:1] == b"@":
            await self._values.taken(payload)
        return written

    async def _read(self, field: str, entry: bytes | None) -> tuple[Json, Version]:
        version, payload = _parse(entry) if entry else (0, GONE)
        value = await self._values.value(payload)
        self.seen[field] = version
        return value, version

    async def _values_of(self, entries: Mapping[str, bytes], meant: Callable[[str], bool]) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        for field in sorted(filter(meant, entries)):
            value, _ = await self._read(field, entries[field])
            if not _is_gone(entries[field]):
                fields[field] = value
        return fields

    async def _present(self, fields: Sequence[str]) -> dict[str, Json]:
        """Those of the fields that are there."""
        if not fields:
            return {}
        reply = await command(self._connections.redis, "HMGET", self._names.fields, *fields)
        entries = zip(fields, cast(list[bytes | None], reply), strict=True)
        there = {field: entry for field, entry in entries if entry and not _is_gone(entry)}
        return {field: (await self._read(field, entry))[0] for field, entry in there.items()}

    def _may_claim(self, task: str) -> None:
        if checked(task, "a task's name").startswith(RESERVED) and not self._reserved:
            raise BadInput(f"{task!r} cannot be claimed: tasks that begin with {RESERVED!r} are the runtime's")

    def _may_write(self, field: str) -> None:
        if checked(field, A_FIELD).startswith(RESERVED) and not self._reserved:
            raise BadInput(f"{field!r} cannot be written: fields that begin with {RESERVED!r} are the runtime's")


class RunBoard(Board):
    """The board as a run itself uses it, which may begin the tasks that are its own."""

    def first_claim(self, task: str, lease: float) -> FirstClaim:
        """The claim of a task that nobody claimed before, to be granted with the first write that needs it."""
        self._may_claim(task)
        assert not isinstance(self._fence, FirstClaim), "whoever claims so holds its own claim already"
        return FirstClaim(self._feed.batch, self._keys, task, lease, self._fence)


def _check_subject(subject: str) -> None:
    if subject != "":
        checked(subject, "the subject of a value", 200)


def _parse(entry: bytes) -> tuple[Version, bytes]:
    """Version and payload of a field's entry."""
    found = cast(re.Match[bytes], _ENTRY.match(entry))
    return int(found[1]), entry[found.end(1) :]


def _is_gone(entry: bytes) -> bool:
    return entry.endswith(GONE) and _parse(entry)[1] == GONE


def _seconds(span: timedelta | float | None) -> float | None:
    return span.total_seconds() if isinstance(span, timedelta) else span
