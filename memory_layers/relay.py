"""The relay: carries what was acknowledged to where it belongs, for as long as it takes. Every `open()` runs one.

Three tasks. One reads the journals and commits their entries in batches: record, words and ledger in one transaction,
and only then are they taken out of the journal. One pays what layers are owed. One copies board changes to the ledger.
Relays of several processes share the work; each renews a lease, and what a dead one had taken is taken over. A server
that is away is waited for. A batch that fails is committed one by one, so that an entry that cannot be committed holds
nobody up; after five deliveries it is buried with a ledger entry that says so.

A relay that closes takes nothing new, commits what this process had journaled if it can within a few seconds, and
leaves the rest where the next one finds it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta

from ..infra.clock import Clock
from ..infra.connections import Connections, is_flaw
from ..infra.errors import LousaError, ServerUnavailable
from ..infra.identity import Principal
from ..infra.ids import id_at, new_id
from ..infra.retry import retrying
from ..infra.tasks import end
from . import fencing
from .auditing import BoardAudit
from .commit import Committer, Write
from .debts import Debts
from .execution import ledger
from .journal import LEASE, MOST_DELIVERIES, Delivery, Journal, Journaled

_LOG = logging.getLogger(__name__)
_BATCH = 100
_BYTES = 500_000
"""A portion of a batch is not larger than this, or is one entry: longer work would keep the event loop from others."""
_TENANTS_AT_ONCE = 3
_BLOCK = timedelta(seconds=1)
_HOUSEKEEPING = 1.0
_COLLECTING = 600.0


class Relay:
    """Carries acknowledged writes to their layers."""

    def __init__(
        self,
        connections: Connections,
        journal: Journal,
        committer: Committer,
        debts: Debts,
        audit: BoardAudit,
        clock: Clock,
        *,
        drain_for: timedelta = timedelta(seconds=5),
    ) -> None:
        self.id = new_id().hex
        self.progress = asyncio.Event()
        """Set, and replaced by a new one, whenever entries were committed."""
        self._connections = connections
        self._journal = journal
        self._committer = committer
        self._debts = debts
        self._audit = audit
        self._clock = clock
        self._drain_for = drain_for.total_seconds()
        self._closing = asyncio.Event()
        self._tenants: set[str] = set()
        self._keep_house_at = 0.0
        self._collected_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, stack: AsyncExitStack) -> None:
        """Begin; the end is left on the stack."""
        await self._journal.renew(self.id)
        for what, work, pause in (
            ("relaying journals", self._serve, 0.0),
            ("paying debts", self._pay, 0.0),
            ("paying debts too", self._pay, 0.0),  # while the one waits for the model, the other writes
            ("auditing boards", self._copy, 1.0),
            ("renewing a relay's lease", self._renew, LEASE.total_seconds() / 3),
        ):
            self._tasks.append(asyncio.create_task(self._keep(what, work, pause), name=f"lousa relay: {what}"))
        stack.push_async_callback(self._close)

    # One round of each task

    async def _serve(self) -> None:
        if time.monotonic() >= self._keep_house_at:
            await self._keep_house()
        tenants = sorted(self._tenants)
        if not tenants:
            await self._first(self._journal.adopted.wait(), asyncio.sleep(_BLOCK.total_seconds()))
            self._adopt()
            return
        reading = asyncio.create_task(self._journal.take(tenants, self.id, _BATCH, _BLOCK))
        try:
            while not reading.done():
                await self._first(reading, self._journal.adopted.wait())
                if fresh := self._adopt():
                    await self._relay(await self._journal.take(sorted(fresh), self.id, _BATCH))
                if self._closing.is_set():
                    return  # what the read still gets is this relay's, and drained with the rest
            await self._relay(reading.result())
        finally:
            reading.cancel()

    async def _pay(self) -> None:
        self._debts.incurred.clear()
        while await self._debts.pay() and not self._closing.is_set():
            pass
        await self._first(self._debts.incurred.wait(), asyncio.sleep(1.0))

    async def _copy(self) -> None:
        await self._audit.turn()
        if time.monotonic() - self._collected_at > _COLLECTING:
            self._collected_at = time.monotonic()
            await self._audit.collect()

    async def _renew(self) -> None:
        await self._journal.renew(self.id)

    # Journals

    def _adopt(self) -> set[str]:
        """Tenants that this process wrote for and this relay did not read yet."""
        self._journal.adopted.clear()
        fresh = self._journal.known - self._tenants
        self._tenants |= fresh
        return fresh

    async def _keep_house(self) -> None:
        """Meet tenants of other processes, and take over what dead relays had and what failed here before."""
        begun = time.monotonic()
        await self._journal.adopt(await self._journal.tenants() - self._journal.known)
        self._tenants |= self._journal.known
        owing = await self._journal.owing(sorted(self._tenants))
        looked = time.monotonic() - begun
        for tenant in owing:
            await self._relay({tenant: await self._journal.take_over(tenant, self.id, _BATCH)})
        # With very many tenants, looking takes a while; it takes a twentieth of the time at most.
        self._keep_house_at = time.monotonic() + max(_HOUSEKEEPING, 20 * looked)

    async def _relay(self, batches: dict[str, list[Delivery]]) -> None:
        """Commit what was taken, and take it out of the journal; some tenants beside each other."""
        turns = asyncio.Semaphore(_TENANTS_AT_ONCE)

        async def carry(tenant: str, deliveries: Sequence[Delivery]) -> None:
            async with turns:
                for portion in _portions(deliveries):
                    await self._carry(tenant, portion)

        carried = [carry(tenant, deliveries) for tenant, deliveries in batches.items()]
        # Each to its end: what fails for one tenant leaves no other's transaction half way.
        for ended in await asyncio.gather(*carried, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def _carry(self, tenant: str, deliveries: Sequence[Delivery]) -> None:
        places = await self._store(tenant, await self._read(tenant, deliveries))
        await self._journal.settle(tenant, places)
        if places:
            self._debts.incurred.set()
            progress, self.progress = self.progress, asyncio.Event()
            progress.set()
            await self._committer.words.learn(tenant)
        for delivery in deliveries:
            if delivery.place not in places and delivery.deliveries + 1 >= MOST_DELIVERIES:
                await self._bury(tenant, delivery)

    async def _read(self, tenant: str, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Write]]:
        """The writes that entries are; what is none is left out."""
        read = [(delivery, entry) for delivery in deliveries if (entry := _parsed(tenant, delivery)) is not None]
        claims = {
            delivery.place: (entry.memory.execution, entry.fence, delivery.milliseconds)
            for delivery, entry in read
            if entry.fence is not None and entry.memory.execution is not None
        }
        overtaken = await fencing.stale_among(self._connections, tenant, claims)
        return [
            (
                delivery,
                Write(
                    operation=entry.operation,
                    memory=entry.memory,
                    stale=delivery.place in overtaken,
                    trace_id=entry.trace_id,
                    span_id=entry.span_id,
                    echo=entry.echo,
                    ruling=entry.ruling,
                ),
            )
            for delivery, entry in read
        ]

    async def _store(self, tenant: str, writes: Sequence[tuple[Delivery, Write]]) -> list[bytes]:
        """Commit a batch, or as much of it as can be; the places of what is in the record now."""
        if not writes:
            return []

        relay = Principal(tenant=tenant, agent="relay", session="relay")

        async def attempt() -> list[bytes]:
            await self._committer.commit(
                lambda: self._connections.system_transaction(tenant, pipelined=True),
                relay,
                [write for _, write in writes],
            )
            return [delivery.place for delivery, _ in writes]

        try:
            return await retrying(attempt, transient=self._outage, what="committing a batch of the journal")
        except Exception as error:
            if self._closing.is_set():
                raise
            if len(writes) == 1:
                place = writes[0][0].place.decode()
                _LOG.warning("journal entry %s cannot be committed (%s)", place, type(error).__name__)
                return []
        return [place for write in writes for place in await self._store(tenant, [write])]

    def _outage(self, error: BaseException) -> bool:
        """Whether waiting helps: the server is away, rather than the entry too large for it."""
        return isinstance(error, ServerUnavailable) and not (self._closing.is_set() or is_flaw(error))

    async def _bury(self, tenant: str, delivery: Delivery) -> None:
        """Give an entry up, on the record."""
        place = delivery.place.decode()
        entry = ledger.Entry(
            id=id_at(delivery.milliseconds, tenant, place, "buried"),
            tenant=tenant,
            agent=(delivery.fields.get(b"owner") or b"relay").decode(errors="replace"),
            session=(delivery.fields.get(b"session") or b"").decode(errors="replace") or None,
            retention="standard",
            occurred_at=self._clock.now(),
            action="memory.write",
            outcome="buried",
            basis={"place": place, "deliveries": delivery.deliveries + 1},
        )
        async with self._connections.system_transaction(tenant) as connection:
            await ledger.append(connection, [entry])
        await self._journal.bury(tenant, delivery)
        _LOG.error("journal entry %s was buried after %d deliveries", place, delivery.deliveries + 1)

    # Life

    async def _keep(self, what: str, work: Callable[[], Awaitable[None]], pause: float) -> None:
        while not self._closing.is_set():
            await retrying(work, transient=lambda _: not self._closing.is_set(), what=what)
            if pause:
                await self._first(asyncio.sleep(pause))

    async def _first(self, *awaited: Awaitable[object]) -> None:
        """Wait for the first of these, or for the closing."""
        own = [asyncio.ensure_future(each) for each in (*awaited, self._closing.wait())]
        try:
            await asyncio.wait(own, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each, given in zip(own, (*awaited, None), strict=True):
                if each is not given:
                    each.cancel()

    async def _close(self) -> None:
        self._closing.set()
        ends = time.monotonic() + self._drain_for
        _, late = await asyncio.wait(self._tasks, timeout=self._drain_for)
        await end(*late)
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                _LOG.warning("a task of the relay ended with %s", type(ended).__name__)
        with suppress(ServerUnavailable, TimeoutError):
            async with asyncio.timeout(max(0.1, ends - time.monotonic())):
                await self._drain()
        with suppress(ServerUnavailable):
            await self._journal.resign(self.id)

    async def _drain(self) -> None:
        """Commit what this process had journaled, and pay for it."""
        tenants = sorted(self._journal.written)
        if not tenants:
            return
        for tenant in tenants:
            await self._relay({tenant: await self._journal.taken(tenant, self.id)})
        while batches := await self._journal.take(tenants, self.id, _BATCH):
            await self._relay(batches)
        while await self._debts.pay(tenants):
            pass


def _portions(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """A batch in parts that are each a transaction of their own."""
    portion: list[Delivery] = []
    weight = 0
    for delivery in deliveries:
        size = len(delivery.fields.get(b"body", b""))
        if portion and weight + size > _BYTES:
            yield portion
            portion, weight = [], 0
        portion.append(delivery)
        weight += size
    if portion:
        yield portion


def _parsed(tenant: str, delivery: Delivery) -> Journaled | None:
    """What an entry says; None when it says nothing that can be written."""
    try:
        entry = Journaled.parse(delivery.fields)
        if entry.memory.tenant != tenant:
            raise ValueError("a write of another tenant")
    except (ValueError, KeyError, TypeError, LousaError) as error:
        _LOG.warning("journal entry %s cannot be read (%s)", delivery.place.decode(), type(error).__name__)
        return None
    return entry
