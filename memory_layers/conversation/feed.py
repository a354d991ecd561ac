"""The feed: one reader a board and process, fanned out to its watchers; and the stream's other end, for the relay.

A watcher owns a place in the stream, its number. While it keeps up it is handed changes by the reader; when its queue
is full, or it begins in the past, it reads pages of the stream by itself until it has caught up, so a slow one costs a
bounded queue and holds nobody up. Changes are numbered without gaps: a watcher to whom one is missing knows, and is
given a snapshot with a new cursor.

The reader starts with the first watcher and ends with the last. A server that is away is waited for, and reading goes
on where it stopped. Nothing is polled: a blocked read is woken by the change itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import cast
from uuid import UUID
from weakref import WeakValueDictionary

from ...infra.connections import Connections
from ...infra.errors import Overloaded, ServerUnavailable
from ...infra.tasks import end
from ..pressure import Brake, Marks
from .batch import Batch
from .changes import StoredChange, cursor_of, entries_of, number_of
from .keys import board_keys
from .script import Script, Word, at_once, command

log = logging.getLogger(__name__)
Wanted = Callable[[StoredChange], bool]

_FEED = Script("feed.lua")
_PAGE = 500
_QUEUE = 1_000
_BLOCK = 10.0
"""Seconds a read waits for a change before it asks whether the board is still the one it knew."""
_GRACE = 5.0
"""Seconds beyond those after which a silent connection counts as dead."""


class Feed:
    """The change streams of one process."""

    def __init__(self, connections: Connections, marks: Marks | None = None) -> None:
        self._connections = connections
        self.batch = Batch(connections)
        self.touched: set[tuple[str, UUID]] = set()
        """Boards that this process changed, for its relay, which takes them out."""
        self._brake = Brake(marks)
        self._readers: dict[tuple[str, UUID], _Reader] = {}
        self._turns: WeakValueDictionary[tuple[str, UUID, str], asyncio.Lock] = WeakValueDictionary()

    async def start(self, stack: AsyncExitStack) -> None:
        """Take part in a life: whoever still watches when it closes is told the end."""
        stack.push_async_callback(self._close)

    # For watchers

    async def subscribe(self, tenant: str, execution: UUID, wanted: Wanted, since: str | None = None) -> Subscription:
        """A place in the stream: after `since`, or after what there is now."""
        number = None if since is None else number_of(since)
        last = await self.last(tenant, execution)
        reader = self._readers.get((tenant, execution))
        if reader is None:
            reader = self._readers[tenant, execution] = _Reader(self, tenant, execution, last)
        return reader.join(wanted, last if number is None else number, lost=number is not None and number > last)

    async def last(self, tenant: str, execution: UUID) -> int:
        """The number of the last change."""
        return number_of(cast(bytes, await self._ask(tenant, execution, "last")).decode())

    async def snapshot(self, tenant: str, execution: UUID) -> tuple[int, dict[str, bytes]]:
        """The number of the last change, and all fields with their entries, of one moment."""
        last, flat = cast(tuple[bytes, list[bytes]], await self._ask(tenant, execution, "snapshot"))
        return number_of(last.decode()), {
            name.decode(): entry for name, entry in zip(flat[::2], flat[1::2], strict=True)
        }

    def turn(self, tenant: str, execution: UUID, field: str) -> asyncio.Lock:
        """Whose turn it is to update a field: within a process they queue, so that only processes compete."""
        lock = self._turns.get((tenant, execution, field))
        if lock is None:
            lock = self._turns[tenant, execution, field] = asyncio.Lock()
        return lock

    # For writers

    async def change(
        self, tenant: str, execution: UUID, script: Script, keys: Sequence[bytes], *arguments: Word
    ) -> list[bytes]:
        """One mutation, acknowledged as late as the board's debt to the ledger asks for; what the script answered.

        Raises:
            Overloaded: the ledger lacks as many changes of the board as it may, and did for as long as a write waits.
        """
        most = self._brake.marks.changes

        async def attempt() -> list[bytes]:
            answer = cast(list[bytes], await self.batch.run(script, keys, *arguments, most))
            if answer[0] == b"full":
                raise _full(tenant, execution, int(answer[1]), most)
            return answer

        answer = await self._brake.admitted(f"board {tenant}/{execution}", attempt)
        if answer[0] == b"written":
            self.touched.add((tenant, execution))
            await self._brake.held(int(answer.pop(3)) / most, "board")
        return answer

    # For the relay

    async def drain(self, tenant: str, execution: UUID, after: str, count: int = _PAGE) -> list[StoredChange]:
        """At most `count` changes after a cursor, in order."""
        key = board_keys(tenant, execution).changes
        reply = await command(self._connections.redis, "XRANGE", key, f"({after}", "+", "COUNT", count)
        return entries_of(reply)

    async def standing(self, boards: Sequence[tuple[str, UUID]]) -> list[tuple[int, int, bool]]:
        """Of each board the numbers of its last change and of the last that it knows to be audited, 0 for none.

        And whether its server lost some that nobody looked for yet.
        """
        asked = [("HMGET", board_keys(*board).operations, "last", "audited", "lost") for board in boards]
        replies = cast(list[list[bytes | None]], await at_once(self._connections.redis, *asked) if asked else [])
        return [(int(last or 0), int(audited or 0), lost is not None) for last, audited, lost in replies]

    async def trim(self, tenant: str, execution: UUID, audited_through: str, keep: int) -> int:
        """Tell the board how far it is audited, and remove audited changes but the newest `keep`; how many went."""
        return cast(int, await self._ask(tenant, execution, "trim", audited_through, keep))

    async def end(self, tenant: str, execution: UUID, audited_through: str) -> str:
        """Up to where a board counts as audited: with nothing after `audited_through`, to the last number it gave.

        The two differ once a board went ahead, and no change came yet. An earlier one means that the server lost some.
        """
        return cast(bytes, await self._ask(tenant, execution, "end", audited_through)).decode()

    async def expire(
        self, tenant: str, execution: UUID, audited_through: str, ttl: timedelta, operation: UUID | None = None
    ) -> bool:
        """Close an ended board and let it go after `ttl`; False, and nothing done, while a change is not audited yet.

        A closed board can be read and no longer written, so nothing unaudited ever has a time to live. `operation` is
        the one that the ledger has at `audited_through`, if any: a server that lost changes may have another there.
        """
        milliseconds = int(ttl.total_seconds() * 1000)
        known = operation.hex if operation else ""
        return bool(await self._ask(tenant, execution, "close", audited_through, milliseconds, known))

    async def reopen(self, tenant: str, execution: UUID, audited_through: str) -> bool:
        """Let the board of an execution that is taken up be written, and stay; False when there was none any more.

        One whose server lost it goes on with numbers and tokens that it cannot have given before.
        """
        return bool(await self._ask(tenant, execution, "reopen", audited_through))

    async def go_ahead(self, tenant: str, execution: UUID, audited_through: str) -> None:
        """The board's server lost changes: from now on it gives numbers and tokens that it cannot have given before."""
        await self._ask(tenant, execution, "ahead", audited_through)

    async def found(self, tenant: str, execution: UUID) -> None:
        """What the server was left with is in the ledger."""
        await command(self._connections.redis, "HDEL", board_keys(tenant, execution).operations, "lost")

    async def _ask(self, tenant: str, execution: UUID, verb: str, *arguments: str | int) -> object:
        return await _FEED(self._connections.redis, board_keys(tenant, execution).all(), verb, *arguments)

    async def _read(self, tenant: str, execution: UUID, number: int) -> list[StoredChange]:
        """The next changes after `number`, as soon as there are any; none after a while of silence."""
        key = board_keys(tenant, execution).changes
        words = ("XREAD", "COUNT", _PAGE, "BLOCK", int(_BLOCK * 1000), "STREAMS", key, cursor_of(number))
        try:
            async with asyncio.timeout(_BLOCK + _GRACE):
                reply = await command(self._connections.blocking_redis, *words)
        except TimeoutError as error:
            raise ServerUnavailable("a blocked read was not answered in time: the connection is dead") from error
        streams = cast(dict[bytes, list[object]] | None, reply)
        return entries_of(next(iter(streams.values()))[0]) if streams else []

    def _forget(self, reader: _Reader) -> None:
        if self._readers.get(reader.board) is reader:
            del self._readers[reader.board]

    async def _close(self) -> None:
        for reader in list(self._readers.values()):
            await reader.close()
        await self.batch.close()


def _full(tenant: str, execution: UUID, owed: int, most: int) -> Overloaded:
    return Overloaded(
        f"the ledger lacks {owed:,} changes of execution {execution} of tenant {tenant!r}, and {most:,} it may: this"
        " write was refused, nothing of it was done, and sending it again is safe. Is Postgres up, does a relay run?"
        " 'lousa doctor' says what waits and why; LOUSA_DEBT_CHANGES is the mark"
    )


class Subscription:
    """A watcher's place: `next` shows the change at its place, `step` goes past it.

    Showing and stepping are apart so that a watcher that is cancelled in between has lost nothing.
    """

    def __init__(self, reader: _Reader, wanted: Wanted, number: int, lost: bool) -> None:
        self.number = number
        self._reader = reader
        self._wanted = wanted
        self._queue: deque[StoredChange] = deque()
        self._live = not lost and number >= reader.number
        self._lost = lost
        self._closed = False
        self._failure: Exception | None = None
        self._woken = asyncio.Event()

    async def next(self) -> StoredChange | None:
        """The next wanted change; None when what came next is no longer kept.

        Raises:
            StopAsyncIteration: the feed was closed.
        """
        while not self._queue:
            if self._failure:
                raise self._failure
            if self._closed:
                raise StopAsyncIteration
            if self._lost:
                return None
            if not self._live:
                await self._catch_up()
                continue
            self._woken.clear()
            await self._woken.wait()
        return self._queue[0]

    def step(self) -> None:
        """Go past the change that `next` showed."""
        self._queue.popleft()

    def restart(self, number: int) -> None:
        """Go on after `number`: everything up to it is known from a snapshot."""
        self._queue.clear()
        self.number, self._lost = number, False
        self._live = number >= self._reader.number

    def leave(self) -> None:
        """Give the place up; the last to leave ends the reader."""
        self._reader.leave(self)

    def offer(self, change: StoredChange) -> None:
        """A change, from the reader; one that finds the queue full is read again later."""
        if not self._live or change.number <= self.number:
            return
        if self._wanted(change):
            if len(self._queue) >= _QUEUE:
                self._live = False
                return
            self._queue.append(change)
            self._woken.set()
        self.number = change.number

    def miss(self, lost: bool) -> None:
        """The reader could not go on without a gap."""
        self._live = False
        self._lost = self._lost or lost
        self._woken.set()

    def close(self, failure: Exception | None) -> None:
        """No more will come."""
        self._closed, self._failure = True, failure
        self._woken.set()

    async def _catch_up(self) -> None:
        """Read one page of the stream, and be live again once it is read to its end."""
        known = self._reader.number  # the reader may go on while the page is under way: only what it knew before counts
        page = await self._reader.page(self.number)
        if page and page[0].number == self.number + 1:
            for change in page:
                if change.number != self.number + 1:
                    break  # the board went ahead in the middle of the page, and the next one begins there
                self.number = change.number
                if self._wanted(change):
                    self._queue.append(change)
        elif page or self.number < known:
            self._lost = True
        else:
            self._live = self.number >= self._reader.number


class _Reader:
    """Reads one stream for all its subscriptions."""

    def __init__(self, feed: Feed, tenant: str, execution: UUID, number: int) -> None:
        self.board = (tenant, execution)
        self.number = number
        self._feed = feed
        self._subscriptions: set[Subscription] = set()
        self._left = False
        self._task = asyncio.create_task(self._run(), name=f"feed of {execution}")

    def join(self, wanted: Wanted, number: int, lost: bool) -> Subscription:
        subscription = Subscription(self, wanted, number, lost)
        self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._left = True
            self._feed._forget(self)  # pyright: ignore[reportPrivateUsage]  # the two are one thing
            self._task.cancel()

    async def page(self, number: int) -> list[StoredChange]:
        return await self._feed.drain(*self.board, cursor_of(number))

    async def close(self) -> None:
        """End, and wait for the end."""
        self._feed._forget(self)  # pyright: ignore[reportPrivateUsage]  # the two are one thing
        await end(self._task)
        self._end(None)

    async def _run(self) -> None:
        away = 0.0
        try:
            while not self._left:  # a cancellation may be lost with an answer that comes at the same moment
                try:
                    changes = await self._feed._read(*self.board, self.number)  # pyright: ignore[reportPrivateUsage]
                    if not changes and await self._feed.last(*self.board) < self.number:
                        self._begin_again()
                        continue
                except ServerUnavailable as error:
                    if not away:
                        log.warning("the feed of %s waits for its server: %s", self.board[1], error)
                    away = min(1.0, away * 2 or 0.05)
                    await asyncio.sleep(away)
                    continue
                away = 0.0
                for change in changes:
                    self._pass_on(change)
                await asyncio.sleep(0)  # whoever waits goes first, the next read second
        except Exception as error:
            self._feed._forget(self)  # pyright: ignore[reportPrivateUsage]  # the two are one thing
            self._end(error)  # whoever watches raises it

    def _pass_on(self, change: StoredChange) -> None:
        missed = change.number != self.number + 1
        self.number = change.number
        for subscription in self._subscriptions:
            if missed:
                subscription.miss(lost=False)
            else:
                subscription.offer(change)

    def _begin_again(self) -> None:
        """The board is not the one that was read: it expired, or its server lost what it had."""
        self.number = 0
        for subscription in self._subscriptions:
            subscription.miss(lost=True)

    def _end(self, failure: Exception | None) -> None:
        for subscription in self._subscriptions:
            subscription.close(failure)
