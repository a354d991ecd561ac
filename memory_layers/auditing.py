"""Board changes into the ledger: the other half of "no write without its audit record".

A board's change stream holds every change until its entry is in the ledger. The copy goes in order, and how far it got
is written in the transaction of the entries themselves, on the execution's own row, so relays take turns and a crash
repeats nothing. Entry ids derive from the execution, the change's place and its operation, so even a repeat would meet
itself. An artifact that a change refers to is taken up in that same transaction.

Each relay copies at once what its own process changed. So that nothing is left behind by a process that died, each also
looks at every open board, one question to each server for a thousand of them; how often depends on what that costs.

A server that was replaced by a replica may have lost changes that the ledger has, and give their numbers a second time.
So the last change that was copied is compared with the ledger's before the copy goes on from there. Where they differ,
what the server was left with is looked through from its beginning, and the board goes on with numbers far beyond. The
copy follows it there when nothing is left to copy, whether a change comes or not.

Once an execution is over and its stream is in the ledger, its board is closed and given a day to live, or what
`Settings.board_kept` says. A failed one can be taken up again, so it is over only after a day.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from uuid import UUID

from ..infra import telemetry
from ..infra.connections import Connection, Connections
from ..infra.errors import ServerUnavailable
from ..infra.ids import derived_id
from ..infra.sql import load_queries
from .commit import QUERIES
from .conversation.changes import START, StoredChange, before, number_of
from .conversation.feed import Feed
from .conversation.values import decode
from .execution import artifacts, ledger
from .records import Json

_LOG = logging.getLogger(__name__)
_QUERIES = load_queries(__package__ or "")
_PAGE = 500
_BOARDS = 1_000
_KEPT_CHANGES = 10_000
_EVERY = 2.0
"""Seconds between two looks at all boards, at least; and looking takes a twentieth of the time at most, unless that
would mean more than `_AT_MOST` in between."""
_AT_MOST = 60.0
_REMEMBERED = 10_000
_LAST, _NOBODY = UUID(int=2**128 - 1), UUID(int=0)
Board = tuple[UUID, str, str, bool]
"""Execution, tenant, how far it is audited, and whether it is over."""


class BoardAudit:
    """Copies the changes of boards into the ledger. A board that is over and copied is `kept` for a while."""

    def __init__(self, connections: Connections, feed: Feed, *, kept: timedelta = timedelta(hours=24)) -> None:
        self._connections = connections
        self._feed = feed
        self._kept = kept
        self._look_at = 0.0
        self._copied: dict[UUID, tuple[str, UUID]] = {}
        """Of boards that this process copied last, the place of the last change and the ledger's operation there."""

    async def turn(self) -> None:
        """Copy what this process changed; now and then, what every board owes."""
        touched, self._feed.touched = self._feed.touched, set()
        try:
            ids = [execution for _, execution in touched]
            for board in await self._boards("boards_of", ids=ids) if ids else ():
                await self._attend(board)
        except BaseException:
            self._feed.touched |= touched
            raise
        if time.monotonic() >= self._look_at:
            looked = await self.round()
            self._look_at = time.monotonic() + min(_AT_MOST, max(_EVERY, 20 * looked))

    async def round(self) -> float:
        """Copy what every open board owes, and let go of those that are over; how long the looking took, by itself."""
        unaudited, working, begun = 0, 0.0, time.monotonic()
        async for board, number, audited, lost in self._standing():
            _, _, through, over = board
            unaudited += _lacking(board, number, audited)
            if over or lost or number != number_of(through):
                since = time.monotonic()
                await self._attend(board, lost=lost)
                working += time.monotonic() - since
        telemetry.level("lousa.board.unaudited", unaudited)
        return time.monotonic() - begun - working

    async def unaudited(self) -> dict[tuple[str, UUID], int]:
        """How many changes the ledger lacks, of those boards of which it lacks some."""
        found = [(board, _lacking(board, number, audited)) async for board, number, audited, _ in self._standing()]
        return {(tenant, execution): lacking for (execution, tenant, _, _), lacking in found if lacking}

    async def catch_up(self, tenant: str, execution: UUID, within: timedelta) -> bool:
        """Copy all that a board owes now; False when time is over while another relay is at it."""
        ends = time.monotonic() + within.total_seconds()
        while True:
            boards = await self._boards("boards_of", ids=[execution])
            if not boards or boards[0][1] != tenant or (await self.copy(tenant, execution, boards[0][2]))[1]:
                return True
            if time.monotonic() > ends:
                return False
            await asyncio.sleep(0.01)

    async def copy(self, tenant: str, execution: UUID, through: str) -> tuple[str, bool]:
        """Copy the changes after `through`; how far the ledger is now, and whether that is the end of the stream."""
        while changes := await self._feed.drain(tenant, execution, before(through), _PAGE):
            more = len(changes) == _PAGE
            if changes[0].cursor == through:
                if not await self._same(tenant, execution, changes.pop(0)):
                    await self._lost(tenant, execution, through)
                if not changes:
                    break
            if not await self._enter(tenant, execution, through, changes, changes[-1].cursor):
                return through, False  # another relay is at it
            through = changes[-1].cursor
            if len(self._copied) > _REMEMBERED:
                self._copied.clear()
            self._copied[execution] = (through, changes[-1].operation)
            await self._feed.trim(tenant, execution, through, _KEPT_CHANGES)
            if not more:
                return through, True
        end = await self._feed.end(tenant, execution, through)
        if 0 < number_of(end) < number_of(through):
            await self._lost(tenant, execution, through)
            end = await self._feed.end(tenant, execution, through)
        if number_of(end) <= number_of(through):
            return through, True
        gone = await self._enter(tenant, execution, through, (), end)
        return (end if gone else through), gone

    async def collect(self) -> None:
        """Remove artifacts that nothing referred to; to be called when every change so far was copied."""
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(QUERIES["tenants"])
            tenants = [row[0] for row in await cursor.fetchall()]
        for tenant in tenants:
            async with self._connections.system_transaction(tenant) as connection:
                await artifacts.collect(connection)

    async def _standing(self) -> AsyncGenerator[tuple[Board, int, int, bool]]:
        last = _LAST
        while boards := await self._boards("open_boards", before=last, limit=_BOARDS):
            last = boards[-1][0]
            standing = await self._feed.standing([(tenant, execution) for execution, tenant, _, _ in boards])
            for board, stands in zip(boards, standing, strict=True):
                yield board, *stands

    async def _boards(self, query: str, **parameters: object) -> list[Board]:
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(_QUERIES[query], parameters)
            return await cursor.fetchall()

    async def _attend(self, board: Board, *, lost: bool = False) -> None:
        """Do what a board needs; one for which that fails holds up no other, and is looked at again."""
        try:
            await self._serve(board, lost)
        except ServerUnavailable:
            raise
        except Exception as error:
            _LOG.warning("the board of execution %s cannot be audited (%s)", board[0], type(error).__name__)

    async def _serve(self, board: Board, lost: bool) -> None:
        execution, tenant, through, over = board
        if lost:
            await self._look_through(tenant, execution, through)
        through, complete = await self.copy(tenant, execution, through)
        if not over or not complete:
            return
        place, operation = self._copied.get(execution, ("", _NOBODY))
        known = operation if place == through else None
        if await self._feed.expire(tenant, execution, through, self._kept, known):
            async with self._connections.system_transaction(tenant, pipelined=True) as connection:
                await connection.execute(QUERIES["drained"], {"id": execution, "through": through})
            self._copied.pop(execution, None)

    async def _same(self, tenant: str, execution: UUID, change: StoredChange) -> bool:
        """Whether the change is the one that the ledger has in its place."""
        place, operation = self._copied.get(execution, ("", _NOBODY))
        if place != change.cursor:  # another process copied on from there
            entry = _id(execution, change)
            async with self._connections.system_transaction(tenant) as connection:
                found = await ledger.find(connection, [entry])
            operation = change.operation if entry in found else _NOBODY
            self._copied[execution] = (change.cursor, operation)
        return operation == change.operation

    async def _lost(self, tenant: str, execution: UUID, through: str) -> None:
        _LOG.warning("the server lost changes of execution %s that the ledger has; its board goes on", execution)
        await self._feed.go_ahead(tenant, execution, through)
        await self._look_through(tenant, execution, through)

    async def _look_through(self, tenant: str, execution: UUID, through: str) -> None:
        """Copy what stands in the stream up to `through` and not in the ledger: it came after what was lost."""
        after = START
        while changes := await self._feed.drain(tenant, execution, after, _PAGE):
            meant = [change for change in changes if change.number <= number_of(through)]
            if meant:
                async with self._connections.system_transaction(tenant) as connection:
                    await self._append(connection, tenant, execution, meant)
            if len(meant) < len(changes):
                break
            after = changes[-1].cursor
        self._copied.pop(execution, None)
        await self._feed.found(tenant, execution)

    async def _enter(
        self, tenant: str, execution: UUID, after: str, changes: Sequence[StoredChange], through: str
    ) -> bool:
        """Move the copy on from `after`; False when it is not there any more, or another relay is at it."""
        async with self._connections.system_transaction(tenant, pipelined=True) as connection:
            cursor = await connection.execute(QUERIES["lock_audit"], {"id": execution})
            row = await cursor.fetchone()
            if row is None or row[0] != after:
                return False
            await self._append(connection, tenant, execution, changes)
            await connection.execute(QUERIES["audited"], {"id": execution, "through": through})
            return True

    async def _append(
        self, connection: Connection, tenant: str, execution: UUID, changes: Sequence[StoredChange]
    ) -> None:
        await ledger.append(connection, [_entry(tenant, execution, change) for change in changes])
        taken = [(found.subject, found.digest) for change in changes if (found := change.artifact)]
        if taken:
            await artifacts.take_up(connection, tenant, taken)


def _lacking(board: Board, number: int, audited: int) -> int:
    return max(0, number - max(audited, number_of(board[2])))


def _id(execution: UUID, change: StoredChange) -> UUID:
    return derived_id(execution, "change", change.cursor, str(change.operation))


def _entry(tenant: str, execution: UUID, change: StoredChange) -> ledger.Entry:
    basis: dict[str, Json] = {"operation": str(change.operation)}
    if change.task is not None:
        basis["task"] = change.task
    if reference := change.artifact:
        basis["artifact"] = reference.digest.hex()
    return ledger.Entry(
        id=_id(execution, change),
        tenant=tenant,
        agent=change.agent,
        session=change.session,
        execution=execution,
        occurred_at=change.at,
        action=f"board.{change.action}",
        field=change.field,
        version_before=change.before,
        version_after=change.after,
        outcome="written",
        basis=basis,
        person=change.subject or None,
        payload={"value": decode(change.body)} if change.body is not None else {},
    )
