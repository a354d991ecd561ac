"""Unattended: every `open()` asks once a minute whether a run is due, and one of all replicas leads it.

The asking is APScheduler's, in memory; what is due, and who leads, is decided in the database (`lease`). A process that
is over within seconds never asks, and never loads the scheduler: the first look comes a little later. Whoever closes
while it leads lets the batch end that is under way, and leaves the run to the next.

A tenant whose run fails does not hold up the others; what it did is entered by its next run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from uuid import UUID

from ..infra.errors import ServerUnavailable
from ..infra.ids import id_at
from ..infra.tasks import end
from .lease import Lead
from .run import Consolidation, Overtaken

_LOG = logging.getLogger(__name__)
SETTLING = timedelta(seconds=20)
LOOK = timedelta(seconds=60)
MISSED_AT_MOST = 3_600
CLOSING = 10.0
"""Seconds that a batch which is under way may take to its end when the process closes."""


class Schedule:
    """Asks and leads, from `start` until the stack closes. `every` is how often a run is due."""

    def __init__(
        self,
        consolidation: Consolidation,
        every: timedelta,
        *,
        settling: timedelta = SETTLING,
        look: timedelta = LOOK,
    ) -> None:
        self._consolidation = consolidation
        self._lead = Lead(
            consolidation.connections,
            consolidation.holder,
            every,
            consolidation.lease,
            clock=consolidation.clock,
        )
        self._settling = settling.total_seconds()
        self._every_look = min(look, every).total_seconds()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, stack: AsyncExitStack) -> None:
        """Begin to ask, a little later; the end is left on the stack."""
        asking = asyncio.create_task(self._ask(), name="lousa: consolidation")

        async def close() -> None:
            self._stopping.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING):
                    await self._idle.wait()
            await end(asking)
            for ended in await asyncio.gather(asking, return_exceptions=True):
                if isinstance(ended, Exception):
                    _LOG.warning("the schedule of consolidation had ended with %s", type(ended).__name__)

        stack.push_async_callback(close)

    async def look(self) -> datetime | None:
        """Lead the run that is due, if one is and nobody else does; its due time, else None."""
        if self._stopping.is_set():
            return None
        self._idle.clear()
        try:
            return await self._look()
        finally:
            self._idle.set()

    async def _look(self) -> datetime | None:
        try:
            due = await self._lead.take()
            if due is None:
                return None
            async with self._leading():
                await self._every_tenant(due)
        except Overtaken as error:
            _LOG.info("consolidation: %s", error)
            return None
        except ServerUnavailable as error:
            _LOG.warning("consolidation waits for its server: %s", error)
            return None
        return due

    async def _every_tenant(self, due: datetime) -> None:
        held: Overtaken | None = None
        for tenant in await self._consolidation.tenants():
            try:
                await self._consolidation.run(tenant, entry=entry_of(due, tenant), stopping=self._stopping)
            except ServerUnavailable:
                raise
            except Overtaken as error:
                if self._stopping.is_set():
                    raise
                held = error
            except Exception as error:
                _LOG.warning("the consolidation of a tenant failed (%s): its next run goes on", type(error).__name__)
        if held is not None:
            raise held  # one that died a moment ago may still hold it: there is another look

    @asynccontextmanager
    async def _leading(self) -> AsyncGenerator[None]:
        """Keep the lead while the block runs; give it back at its end, or leave it to the next."""
        renewing = asyncio.create_task(self._renew(), name="lousa: leading a consolidation")
        try:
            yield
            await self._lead.end()
        except BaseException:
            with suppress(ServerUnavailable):  # the lease ends by itself
                await self._lead.leave()
            raise
        finally:
            renewing.cancel()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lead.lease.total_seconds() / 3)
            with suppress(ServerUnavailable):  # asked again in time, or overtaken
                if not await self._lead.renew():
                    return

    async def _ask(self) -> None:
        await asyncio.sleep(self._settling)
        # In a thread, because loading it takes a while and somebody is working here.
        schedulers = await asyncio.to_thread(import_module, "apscheduler.schedulers.asyncio")
        triggers = await asyncio.to_thread(import_module, "apscheduler.triggers.interval")
        scheduler = schedulers.AsyncIOScheduler(timezone=UTC)
        scheduler.add_job(
            self.look,
            triggers.IntervalTrigger(seconds=self._every_look, timezone=UTC),
            next_run_time=datetime.now(UTC),
            misfire_grace_time=MISSED_AT_MOST,
            coalesce=True,
            max_instances=1,
        )
        scheduler.start()
        try:
            await asyncio.Event().wait()
        finally:
            scheduler.shutdown(wait=False)


def entry_of(due: datetime, tenant: str) -> UUID:
    """The ledger entry of the run that was due then; whoever runs it, it is this one."""
    return id_at(int(due.timestamp() * 1_000), "consolidate", due.isoformat(), tenant)
