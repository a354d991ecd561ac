"""Unattended: each due time is run once by one of all replicas, and by another when that one dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from lousa.consolidation.contract import ORDER, Hour, Work
from lousa.consolidation.expire import Expire
from lousa.consolidation.lease import QUIET, Lead
from lousa.consolidation.run import Consolidation
from lousa.consolidation.schedule import Schedule, entry_of
from lousa.infra.clock import Clock, ManualClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.ids import new_id
from lousa.memory_layers.policy import table

if TYPE_CHECKING:
    from lousa.infra.identity import Principal

    from .conftest import Tended

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
BEGIN = datetime(2030, 1, 1, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
async def nothing_was_run(connections: Connections) -> AsyncIterator[None]:
    """The schedule that all share, as if its last due time had been then; afterwards as it was."""
    query = "UPDATE lousa.consolidation_job SET last_run = %s, holder = NULL, held_until = NULL"
    async with connections.owner_transaction() as connection:
        await connection.execute(query, (BEGIN - DAY,))
    yield
    async with connections.owner_transaction() as connection:
        await connection.execute(query, (datetime.now(UTC),))


class Replicas:
    """Consolidations of one tenant alone, as of processes that know nothing of each other."""

    def __init__(self, servers: Endpoints, stack: AsyncExitStack, tenant: str) -> None:
        self._servers = servers
        self._stack = stack
        self._tenant = tenant

    async def open(self, clock: Clock | None = None, **parts: Any) -> Consolidation:
        connections = Connections(self._servers.redis_url, self._servers.postgres_url, 2)
        await connections.start(self._stack)
        replica = Consolidation(connections, table(), {}, clock=clock, **parts)

        async def tenants() -> list[str]:
            return [self._tenant]

        replica.tenants = tenants
        return replica


@pytest.fixture
async def replicas(servers: Endpoints, tenant: str) -> AsyncIterator[Replicas]:
    async with AsyncExitStack() as stack:
        yield Replicas(servers, stack, tenant)


async def test_eight_replicas_with_clocks_that_disagree_run_each_due_time_once(
    replicas: Replicas, tended: Tended, tenant: str
) -> None:
    clocks = [ManualClock(BEGIN + skew * HOUR) for skew in (-9, -3, -1, 0, 0, 1, 3, 9)]
    schedules = [Schedule(await replicas.open(clock), DAY) for clock in clocks]
    led: Counter[datetime] = Counter()
    for _ in range(30 * 2):
        for clock in clocks:
            clock.advance(DAY / 2)
        looks = await asyncio.gather(*(schedule.look() for schedule in schedules))
        led.update(due for due in looks if due is not None)
    assert set(led.values()) == {1}
    assert sorted(led) == [BEGIN + number * DAY for number in range(len(led))] and len(led) >= 30
    assert [outcome for _, outcome, _ in await tended.entries(tenant)] == ["done"] * len(led)


async def test_by_the_database_s_clock_many_short_times_are_each_led_once(replicas: Replicas) -> None:
    every = timedelta(milliseconds=40)
    leads = [Lead(one.connections, one.holder, every, HOUR) for one in [await replicas.open() for _ in range(8)]]
    taken: list[datetime] = []

    async def ask(lead: Lead) -> None:
        while len(taken) < 25:
            if (due := await lead.take()) is not None:
                taken.append(due)
                assert await lead.end()
            await asyncio.sleep(0.002)

    async with leads[0]._connections.owner_transaction() as connection:  # pyright: ignore[reportPrivateUsage]  # any
        await connection.execute("UPDATE lousa.consolidation_job SET last_run = clock_timestamp()")
    await asyncio.gather(*map(ask, leads))
    assert len(set(taken)) == len(taken) and taken == sorted(taken)
    assert all((due - QUIET) % every == timedelta(0) for due in taken)


async def test_due_times_that_nobody_was_there_for_are_made_up_for_once(replicas: Replicas) -> None:
    clock = ManualClock(BEGIN + 100 * DAY + HOUR)
    schedule = Schedule(await replicas.open(clock), DAY)
    assert [await schedule.look() for _ in range(3)] == [BEGIN + 100 * DAY, None, None]


async def test_a_leader_that_dies_is_followed_by_another_who_ends_the_same_run(
    replicas: Replicas, tended: Tended, principal: Principal
) -> None:
    clock = ManualClock(BEGIN)
    died = await replicas.open(clock, lease=timedelta(milliseconds=300))
    assert await Lead(died.connections, died.holder, DAY, died.lease, clock=clock).take() == BEGIN
    follower = Schedule(await replicas.open(clock), DAY)
    assert await follower.look() is None
    assert await _in_time(follower) == BEGIN
    assert await follower.look() is None
    assert len(await tended.entries(principal.tenant)) == 1


async def test_a_tenant_that_a_dead_leader_still_holds_is_waited_for_and_the_others_are_not(
    replicas: Replicas, tended: Tended, principal: Principal
) -> None:
    """Its lease on the tenant's run may end a little later than that on the lead."""
    clock = ManualClock(BEGIN)
    follower = Schedule(await replicas.open(clock), DAY)
    await follower.look()
    [(entry, _, _)] = await tended.entries(principal.tenant)
    assert entry is not None
    clock.advance(DAY)
    held = (await replicas.open(clock)).connections
    other = Schedule(await replicas.open(clock), DAY)
    run = "INSERT INTO consolidation_run (tenant, id, holder, held_until) VALUES (%s, %s, %s, clock_timestamp() + %s)"
    coming = entry_of(clock.now(), principal.tenant)
    async with held.system_transaction(principal.tenant) as connection:
        await connection.execute(run, (principal.tenant, coming, new_id(), timedelta(seconds=0.5)))
    assert await other.look() is None
    assert len(await tended.entries(principal.tenant)) == 1
    assert await _in_time(other) == BEGIN + DAY
    assert [id for id, _, _ in await tended.entries(principal.tenant)] == [entry, coming]


async def test_a_process_that_stays_open_looks_by_itself_and_closes_in_peace(
    replicas: Replicas, tended: Tended, principal: Principal
) -> None:
    async with AsyncExitStack() as stack:
        settling, look = timedelta(0), timedelta(milliseconds=50)
        await Schedule(await replicas.open(ManualClock(BEGIN)), DAY, settling=settling, look=look).start(stack)
        async with asyncio.timeout(20):
            while not await tended.entries(principal.tenant):  # noqa: ASYNC110  # it happens in a server
                await asyncio.sleep(0.02)
    assert not [task for task in asyncio.all_tasks() if "consolidation" in task.get_name()]
    [(_, outcome, steps)] = await tended.entries(principal.tenant)
    assert outcome == "done" and steps.keys() == set(ORDER)


async def test_one_that_closes_while_it_leads_leaves_the_run_to_the_next(
    replicas: Replicas, tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def endless(self: Expire, work: Work, hour: Hour) -> None:
        while True:
            async with work.batch():
                begun.set()

    clock = ManualClock(BEGIN)
    with monkeypatch.context() as patched:
        patched.setattr(Expire, "work", endless)
        async with AsyncExitStack() as stack:
            closing = Schedule(await replicas.open(clock), DAY, settling=timedelta(0))
            await closing.start(stack)
            await begun.wait()
    assert await closing.look() is None
    assert await tended.entries(principal.tenant) == []
    assert await _in_time(Schedule(await replicas.open(clock), DAY)) == BEGIN
    assert [outcome for _, outcome, _ in await tended.entries(principal.tenant)] == ["done"]


async def test_a_tenant_whose_run_fails_does_not_hold_up_the_others(
    replicas: Replicas, tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await replicas.open(ManualClock(BEGIN))
    broken = f"{principal.tenant}-broken"

    async def tenants() -> list[str]:
        return [broken, principal.tenant]

    replica.tenants = tenants
    examine = Expire.examine

    async def failing(self: Expire, connection: Any, hour: Hour) -> Any:
        row = await (await connection.execute("SELECT lousa.current_tenant()")).fetchone()
        if row[0] == broken:
            raise ValueError("not this one")
        return await examine(self, connection, hour)

    monkeypatch.setattr(Expire, "examine", failing)
    assert await Schedule(replica, DAY).look() == BEGIN
    assert [outcome for _, outcome, _ in await tended.entries(principal.tenant)] == ["done"]
    assert await tended.entries(broken) == []


async def _in_time(schedule: Schedule) -> datetime:
    """The due time that a schedule leads, once the leases of others are over."""
    async with asyncio.timeout(20):
        while (due := await schedule.look()) is None:  # noqa: ASYNC110  # what is waited for happens in a server
            await asyncio.sleep(0.02)
    return due
