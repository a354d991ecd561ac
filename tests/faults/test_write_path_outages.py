"""Servers and processes die while memories are written: what was acknowledged is in the record, once."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import LedgerUnavailable
from lousa.infra.identity import Principal
from lousa.memory_layers.records import Memory, MemoryKind
from outages import Valkey, insist, memory, recorded, routing, routing_by_a_gate


async def test_a_redis_that_is_killed_loses_nothing_that_was_acknowledged(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    valkey = Valkey(tmp_path)
    await valkey.start()
    try:
        async with routing(valkey.url, servers.postgres_url) as (connections, router):
            kept = [memory(principal, number) for number in range(120)]

            async def write() -> None:
                for each in kept:
                    await insist(router, principal, each)

            writing = asyncio.create_task(write())
            for pause in (0.1, 0.3):
                await asyncio.sleep(pause)
                await valkey.kill()
                await asyncio.sleep(0.2)
                await valkey.start()
            await writing
            assert await router.caught_up(principal, timedelta(seconds=15))
            assert await recorded(connections, principal) == {each.id: 1 for each in kept}
    finally:
        await valkey.kill()


async def test_a_postgres_that_goes_away_delays_and_loses_nothing(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    async with routing_by_a_gate(servers, tmp_path) as (gate, connections, router):
        backs = [memory(principal, number) for number in range(60)]
        rules = [memory(principal, number, MemoryKind.PROCEDURAL) for number in range(20)]

        async def write(some: list[Memory]) -> None:
            for each in some:
                await insist(router, principal, each)
                await asyncio.sleep(0.01)

        writing = [asyncio.create_task(write(some)) for some in (backs, rules)]
        for pause in (0.1, 0.4):
            await asyncio.sleep(pause)
            gate.close()
            await asyncio.sleep(0.3)
            gate.shut = False
        await asyncio.gather(*writing)
        assert await router.caught_up(principal, timedelta(seconds=20))
        assert await recorded(connections, principal) == {each.id: 1 for each in [*backs, *rules]}


async def test_a_write_through_without_a_ledger_is_refused_in_seconds(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    async with routing_by_a_gate(servers, tmp_path) as (gate, connections, router):
        rule = memory(principal, 1, MemoryKind.PROCEDURAL)
        gate.close()
        with pytest.raises(LedgerUnavailable):
            async with asyncio.timeout(8):
                await router.remember(principal, rule, operation=rule.id)
        gate.shut = False
        assert (await insist(router, principal, rule)).state == "stored"
        assert await recorded(connections, principal) == {rule.id: 1}


async def test_a_ledger_that_hangs_refuses_a_write_through_in_time_and_takes_it_once_when_it_is_sent_again(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    way = routing_by_a_gate(servers, tmp_path, deadline=timedelta(milliseconds=400))
    async with way as (gate, connections, router):
        rule = memory(principal, 1, MemoryKind.PROCEDURAL)
        gate.hears.clear()
        try:
            with pytest.raises(LedgerUnavailable, match="did not confirm this write in 1 s"):
                async with asyncio.timeout(5):
                    await router.remember(principal, rule, operation=rule.id)
        finally:
            gate.hears.set()
        assert (await insist(router, principal, rule)).state == "stored"
        assert await recorded(connections, principal) == {rule.id: 1}


_WRITER = """
import asyncio, sys
from outages import memory, routing
from lousa.infra.identity import Principal
from lousa.memory_layers.records import MemoryKind

async def main(redis_url, postgres_url, tenant):
    who = Principal(tenant=tenant, agent="tester", session="session-1")
    async with routing(redis_url, postgres_url) as (_, router):
        for number in range(100_000):
            kept = memory(who, number, MemoryKind.PROCEDURAL if number % 5 == 0 else MemoryKind.SEMANTIC)
            receipt = await router.remember(who, kept, operation=kept.id)
            print(receipt.id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_process_that_is_killed_loses_nothing_that_it_had_acknowledged(
    servers: Endpoints, connections: Connections, principal: Principal
) -> None:
    acknowledged: list[UUID] = []
    random = Random(7)
    for _ in range(2):
        writer = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _WRITER, servers.redis_url, servers.postgres_url, principal.tenant),
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[1] / "support",
        )
        assert writer.stdout is not None
        try:
            first = await writer.stdout.readline()
            await asyncio.sleep(random.uniform(0.2, 0.6))
        finally:
            writer.kill()
        lines = (first + await writer.stdout.read()).decode().splitlines()
        acknowledged += [UUID(line) for line in lines if len(line) == 36]
        await writer.wait()
    outside = Principal(tenant=principal.tenant, agent="tester", session="session-1")
    async with routing(servers.redis_url, servers.postgres_url) as (_, router):
        assert await router.caught_up(outside, timedelta(seconds=40))
        found = await recorded(connections, principal)
    assert len(acknowledged) > 20
    assert {identifier: found.get(identifier) for identifier in acknowledged} == dict.fromkeys(acknowledged, 1)
    assert set(found.values()) == {1}
