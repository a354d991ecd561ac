"""A run over one tenant: its steps in their order, then one entry in the ledger that says what they did.

The entry's id is known from the beginning. Every row that a batch changes gets it, and the batch's transaction also
writes how far the run is to `consolidation_run`; the entry and the end of that row commit together. So whatever moment
a run is killed at, each change is attributed and counted: either the run is taken up again under the same id and ends
with its entry, or the next run over the tenant enters what it had done, as `interrupted`, before it begins its own.

Whoever runs holds a lease on the run, by the server's clock, which every batch renews. One that was overtaken finds out
at its next batch, of which nothing is committed.

A dry run reads and never writes: it tells what each step would count, if those before it had been done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from psycopg.types.json import Json as JsonParameter

from ..infra.clock import Clock
from ..infra.connections import Connection, Connections
from ..infra.errors import BadInput, LousaError, ServerUnavailable
from ..infra.ids import new_id
from ..memory_layers.execution import ledger
from ..memory_layers.policy import Policy
from ..memory_layers.records import Json, MemoryKind
from .archive import Archive
from .contract import BATCH, ORDER, Batch, Counts, Hour, Removing, Report, Step
from .deduplicate import Deduplicate
from .expire import Expire
from .partitions import Partitions
from .promote import Promote
from .queries import QUERIES

AGENT = "consolidation"
LEASE = timedelta(seconds=60)


class Overtaken(LousaError):
    """Somebody else goes on with this run, or it was told to stop; what was committed stays."""


class Consolidation:
    """Runs steps over tenants. `layers` are those that memories are taken out of, by their number, `promote`
    is the step that puts others in.

    Without a `clock` the hour is the database server's, so that a machine whose clock is wrong expires nothing early.
    """

    def __init__(
        self,
        connections: Connections,
        policy: Mapping[MemoryKind, Policy],
        layers: Mapping[int, Removing],
        *,
        promote: Promote | None = None,
        clock: Clock | None = None,
        batch: int = BATCH,
        lease: timedelta = LEASE,
    ) -> None:
        if batch < 2:
            raise BadInput(f"a batch has at least 2 rows, or nothing could be folded, got {batch}")
        self.connections = connections
        self.policy = policy
        self.layers = layers
        self.clock = clock
        self.size = batch
        self.lease = lease
        self.holder = new_id()
        self._steps: Mapping[str, Step] = {
            step.name: step
            for step in (Expire(), Archive(), Deduplicate(), promote or Promote(), Partitions(connections))
        }

    async def tenants(self) -> list[str]:
        """Everyone who has memories."""
        async with self.connections.system_transaction("") as connection:
            return [row[0] for row in await (await connection.execute(QUERIES["tenants"])).fetchall()]

    async def examine(self, tenant: str, steps: Sequence[str] = ()) -> Report:
        """What a run would do now. Nothing is written, and the database sees to it."""
        counts: dict[str, Counts] = {}
        chosen = in_order(steps)
        async with self.connections.system_transaction(tenant) as connection:
            await connection.execute("SET TRANSACTION READ ONLY")
            now = await self.now(connection)
            for place, name in enumerate(chosen):
                hour = Hour(now=now, policy=self.policy, before=frozenset(chosen[:place]))
                counts[name] = await self._steps[name].examine(connection, hour)
        return Report(tenant=tenant, entry=None, steps=counts)

    async def run(
        self,
        tenant: str,
        steps: Sequence[str] = (),
        *,
        entry: UUID | None = None,
        by: str | None = None,
        stopping: asyncio.Event | None = None,
    ) -> Report | None:
        """Run steps, all of them unless told otherwise; None when this very run was done before.

        `entry` names the run, so that whoever takes it up ends the same one; `by` is on whose behalf.

        Raises:
            BadInput: there is no such step.
            Overtaken: somebody else is at it, or `stopping` was set.
            ServerUnavailable: the run was broken off and can be taken up.
        """
        chosen = in_order(steps)
        run = _Run(self, tenant, entry or new_id(), stopping or asyncio.Event())
        if not await run.begin():
            return None
        try:
            for name in chosen:
                await run.step(self._steps[name])
            await run.end(by)
        except BaseException:
            with suppress(ServerUnavailable):  # its lease will end by itself
                await run.let_go()
            raise
        return Report(tenant=tenant, entry=run.entry, steps=run.counts)

    async def now(self, connection: Connection) -> datetime:
        """The hour that a run takes for now."""
        if self.clock is not None:
            return self.clock.now()
        row = await (await connection.execute(QUERIES["hour"])).fetchone()
        assert row is not None, "the server knows what time it is"
        return cast(datetime, row[0]).astimezone(UTC)


class _Run:
    """One run over one tenant, while it is under way. Satisfies `Work`."""

    def __init__(self, owner: Consolidation, tenant: str, entry: UUID, stopping: asyncio.Event) -> None:
        self.entry = entry
        self.size = owner.size
        self.counts: dict[str, Counts] = {}
        self._owner = owner
        self._tenant = tenant
        self._stopping = stopping
        self._step = ""
        self._begun_at = self._now = datetime.min
        self._ours = {"entry": entry, "holder": owner.holder, "lease": owner.lease}

    async def begin(self) -> bool:
        """Make it ours, and enter what was broken off before; False when it was done."""
        async with self._transaction() as connection:
            await self._close_broken_off(connection)
            row = await (await connection.execute(QUERIES["begin_run"], self._ours)).fetchone()
            self._now = await self._owner.now(connection)
            done = row is None and await ledger.find(connection, [self.entry])
        if row is None:
            if not done:
                raise self._overtaken()
            return False
        self.counts = _counts(row[0])
        self._begun_at = row[1]
        return True

    async def step(self, step: Step) -> None:
        """Do one step, and say what it had to leave."""
        self._step = step.name
        hour = Hour(now=self._now, policy=self._owner.policy)
        async with self._transaction() as connection:
            found = await step.examine(connection, hour)
        before = self.counts.get(step.name, Counts(examined=found.examined))
        self.counts[step.name] = before
        await step.work(self, hour)
        done, left = self.counts[step.name], Counts()
        if _touched(done) - _touched(before) < _touched(found):  # somebody held some, or was quicker
            async with self._transaction() as connection:
                left = await step.examine(connection, hour)
        self.counts[step.name] = replace(done, skipped=_touched(left))

    @asynccontextmanager
    async def batch(self) -> AsyncGenerator[Batch]:
        """One transaction of the step, with how far the run is after it."""
        if self._stopping.is_set():
            raise Overtaken(f"the consolidation of tenant {self._tenant!r} was told to stop")
        async with self._transaction() as connection:
            batch = Batch(connection)
            yield batch
            counts = dict(self.counts)
            counts[self._step] += Counts(changed=batch.changed, flagged=batch.flagged, told=batch.told)
            told = JsonParameter({name: each.to_json() for name, each in counts.items()})
            cursor = await connection.execute(QUERIES["advance"], {**self._ours, "counts": told})
            if cursor.rowcount == 0:
                raise self._overtaken()
        self.counts = counts

    async def take_out(self, batch: Batch, kind: MemoryKind, ids: Sequence[UUID]) -> None:
        """Out of the layers of its kind, in the batch's transaction."""
        if not ids:
            return
        await batch.connection.execute(QUERIES["forgiven"], {"ids": list(ids)})
        for number in self._owner.policy[kind].also:
            if (layer := self._owner.layers.get(number)) is not None:
                await layer.remove(batch.connection, ids)

    async def end(self, by: str | None) -> None:
        """The entry, and the run is over."""
        async with self._transaction() as connection:
            cursor = await connection.execute(QUERIES["end_run"], self._ours)
            if await cursor.fetchone() is None:
                raise self._overtaken()
            told: Json = {name: each.to_json() for name, each in self.counts.items()}
            basis: dict[str, Json] = {"steps": told, "now": self._now.isoformat()}
            await ledger.append(connection, [self._entry(self.entry, "done", self._begun_at, basis, by)])

    async def let_go(self) -> None:
        """Whoever comes next need not wait for the lease."""
        async with self._transaction() as connection:
            await connection.execute(QUERIES["let_go"], self._ours)

    def _overtaken(self) -> Overtaken:
        return Overtaken(f"somebody else goes on with this consolidation of tenant {self._tenant!r}")

    async def _close_broken_off(self, connection: Connection) -> None:
        rows = await (await connection.execute(QUERIES["broken_off"], self._ours)).fetchall()
        entries = [self._entry(row[0], "interrupted", row[2], {"steps": row[1]}, None) for row in rows]
        await ledger.append(connection, entries)

    def _entry(
        self, entry: UUID, outcome: str, begun_at: datetime, basis: dict[str, Json], by: str | None
    ) -> ledger.Entry:
        return ledger.Entry(
            id=entry,
            tenant=self._tenant,
            agent=AGENT,
            on_behalf_of=by,
            retention="standard",
            occurred_at=begun_at,
            action="consolidate",
            outcome=outcome,
            basis=basis,
        )

    def _transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self._owner.connections.system_transaction(self._tenant)


def in_order(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps in the order they run in; all of them when none is named.

    Raises:
        BadInput: there is no such step; the message names those that exist.
    """
    for name in steps:
        if name not in ORDER:
            raise BadInput(f"there is no step {name!r}; the steps are {', '.join(ORDER)}")
    return tuple(name for name in ORDER if not steps or name in steps)


def _touched(counts: Counts) -> int:
    return counts.changed + counts.flagged


def _counts(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, Counts]:
    return {name: Counts(**each) for name, each in stored.items()}
