"""A run beside writers, readers and another run: nobody fails, nothing acknowledged is lost, nothing comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from lousa.infra.identity import Principal
from lousa.infra.settings import Settings
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.execution import memories
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import MemoryKind
from lousa.memory_layers.router import Router

if TYPE_CHECKING:
    from .conftest import Tended

DAY = timedelta(days=1)


@pytest.mark.usefixtures("to_the_letter")
async def test_a_run_beside_writers_recalls_and_another_run_loses_nothing(tended: Tended, principal: Principal) -> None:
    old = [tended.aged(principal, f"an old word {number}", 91 * DAY) for number in range(40)]
    equal = [
        tended.aged(principal, f"a word said twice, {number}{end}", DAY) for number in range(40) for end in ("", ".")
    ]
    episodes = [tended.aged(principal, f"episode {number}", 91 * DAY, kind=MemoryKind.EPISODIC) for number in range(40)]
    await tended.keep(principal, *old, *equal, *episodes)
    layers, feed = tended.layers, Feed(tended.connections)
    router = Router(tended.connections, table(), layers.context, layers.knowledge, layers.clock, Settings(), feed=feed)
    tasks: list[Awaitable[object]] = []

    async def again(times: int, act: Callable[[int], Awaitable[object]]) -> None:
        for number in range(times):
            await act(number)

    async def restate(number: int) -> None:
        """A rule, and what is expiring or folded at this moment, said again; both are acknowledged."""
        for text, kind in (
            (f"rule {number}", MemoryKind.PROCEDURAL),
            (f"An OLD word {number}", MemoryKind.BLOCK),
        ):
            memory = layers.memory(principal, text, kind=kind)
            await router.remember(principal, memory, operation=memory.id)

    async def confirm(number: int) -> None:
        memory = layers.memory(principal, f"An OLD word {number}")
        async with tended.connections.transaction(principal) as connection:
            acknowledged[number] = (await memories.insert(connection, [memory]))[memory.id]
            await layers.context.index_words(connection, [memory])

    acknowledged: dict[int, object] = {}
    tasks += [again(20, restate), again(40, confirm)]
    tasks += [again(10, lambda number: layers.recall(principal, f"old word {number}", touch=True)) for _ in range(2)]
    tasks += [again(3, lambda _: tended.run(principal.tenant)) for _ in range(2)]
    await asyncio.gather(*tasks)
    report = await tended.run(principal.tenant)
    assert all(each.skipped == 0 for each in report.steps.values())

    rows = await tended.rows(
        principal.tenant, "SELECT id, status FROM memory WHERE tenant = current_tenant() AND kind = 'semantic'"
    )
    standing = dict(rows)
    assert [standing[acknowledged[number]] for number in range(40)] == ["live"] * 40
    assert sum(standing[memory.id] == "live" for memory in equal) == 40
    assert set(await tended.statuses(principal, [one.id for one in episodes])) == {"archived"}
    words = await tended.rows(principal.tenant, "SELECT id FROM memory_words WHERE tenant = current_tenant()")
    live = await tended.rows(
        principal.tenant, "SELECT id FROM memory WHERE tenant = current_tenant() AND status = 'live'"
    )
    assert set(words) == set(live)
    outcomes = {outcome for _, outcome, _ in await tended.entries(principal.tenant)}
    assert outcomes == {"done"}


async def test_two_tenants_are_tended_at_once_and_apart(tended: Tended, principal: Principal) -> None:
    other = replace(principal, tenant=f"{principal.tenant}-other", execution=None)
    for who in (principal, other):
        await tended.keep(who, *(tended.aged(who, f"an old word {number}", 91 * DAY) for number in range(30)))
    mine, theirs = await asyncio.gather(tended.run(principal.tenant), tended.run(other.tenant))
    assert mine.steps["expire"].changed == theirs.steps["expire"].changed == 30
    for tenant, report in ((principal.tenant, mine), (other.tenant, theirs)):
        named = "SELECT DISTINCT consolidated_by FROM memory WHERE tenant = current_tenant()"
        assert await tended.rows(tenant, named) == [(report.entry,)]
        assert [entry for entry, _, _ in await tended.entries(tenant)] == [report.entry]
