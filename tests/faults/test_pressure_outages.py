"""Debts while servers are away, full, or have lost something: they are bounded, and what was acknowledged arrives."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import Overloaded
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.board import Board, Written
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.execution.artifacts import Artifacts
from lousa.memory_layers.journal import journal_keys
from lousa.memory_layers.pressure import Marks
from lousa.memory_layers.records import Memory
from lousa.memory_layers.router import Router
from outages import Valkey, memory, recorded, routing_by_a_gate

MB = 2**20
AT_ONCE = timedelta(milliseconds=20)


async def until_refused(router: Router, who: Principal, words: str = "") -> list[Memory]:
    """Write memories, many at a time, until one is refused; those that were acknowledged."""
    acknowledged: list[Memory] = []
    refused: list[Overloaded] = []

    async def write() -> None:
        while not refused:
            kept = memory(who, len(acknowledged), words=words)
            try:
                await router.remember(who, kept, operation=kept.id)
            except Overloaded as error:
                refused.append(error)
            else:
                acknowledged.append(kept)

    await asyncio.gather(*(write() for _ in range(10)))
    return acknowledged


async def used(connections: Connections) -> int:
    told: dict[str, Any] = await connections.redis.info("memory")  # pyright: ignore[reportUnknownMemberType]
    return int(told["used_memory"])


async def test_without_postgres_write_backs_go_on_to_the_mark_and_everything_acknowledged_is_there_once_afterwards(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    way = routing_by_a_gate(servers, tmp_path, debt_entries=150, debt_patience=AT_ONCE, debt_delay=0)
    async with way as (gate, connections, router):
        gate.close()
        acknowledged = await until_refused(router, principal)
        assert len(acknowledged) == await connections.redis.xlen(journal_keys(principal.tenant)[0]) == 150
        gate.shut = False
        assert await router.caught_up(principal, timedelta(seconds=20))
        assert await recorded(connections, principal) == {each.id: 1 for each in acknowledged}
        again = memory(principal, 1)
        assert (await router.remember(principal, again, operation=again.id)).state == "journaled"


async def test_a_server_without_memory_stays_within_it_refuses_as_a_whole_and_loses_nothing(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    valkey, most = Valkey(tmp_path, ("--maxmemory", "7mb")), 7 * MB
    await valkey.start()
    try:
        way = routing_by_a_gate(servers, tmp_path, redis_url=valkey.url, debt_patience=AT_ONCE, debt_delay=0)
        async with way as (gate, connections, router):
            redis, execution = connections.redis, cast(Any, principal.execution)
            await open_board(connections, principal.tenant, execution)
            feed = Feed(connections, Marks(patience=AT_ONCE))
            board = Board(
                connections,
                principal,
                feed=feed,
                artifacts=Artifacts(connections),
                operations=Operations(execution),
            )
            await board.write("field", "before")
            gate.close()
            acknowledged = await until_refused(router, principal, "x" * 5_000)
            assert len(acknowledged) > 100
            assert await used(connections) < most, "room is left for boards and leases"

            for number in range(10_000):  # somebody else fills what is left
                try:
                    await redis.set(f"else:{number}", b"x" * 10_000)
                except Exception as error:
                    assert "OOM" in str(error) or "maxmemory" in str(error)
                    break
            keys, journal = board_keys(principal.tenant, execution), journal_keys(principal.tenant)[0]

            async def standing() -> list[object]:
                fields, done = await redis.hgetall(keys.fields), await redis.hlen(keys.operations)  # pyright: ignore
                return [fields, done, await redis.xlen(keys.changes), await redis.xlen(journal)]

            before = await standing()
            one = memory(principal, 1)
            for attempt in (
                board.write("field", "after"),
                board.write("another", 1),
                router.remember(principal, one, operation=one.id),
            ):
                with pytest.raises(Overloaded, match=r"memory left|MB may"):
                    await attempt
            assert await standing() == before and before[-1] == len(acknowledged)
            assert await used(connections) < most + MB

            gate.shut = False  # a full server still lets go of what is committed
            assert await router.caught_up(principal, timedelta(seconds=20))
            assert await recorded(connections, principal) == {each.id: 1 for each in acknowledged}
            assert isinstance(await board.write("field", "after"), Written)
    finally:
        await valkey.kill()
