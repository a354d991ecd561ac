"""Debts while servers are away, full, or have lost something: they are bounded, and what was acknowledged arrives."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import Overloaded
from lousa.infra.identity import Principal
from lousa.memory_layers.auditing import BoardAudit
from lousa.memory_layers.conversation.board import ANY, Board, Written
from lousa.memory_layers.conversation.changes import Snapshot
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.execution import ledger
from lousa.memory_layers.execution.artifacts import Artifacts
from lousa.memory_layers.execution.executions import Executions
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


class OwnBoard:
    """A board on a server that can lose it."""

    def __init__(self, connections: Connections, who: Principal) -> None:
        self.connections, self.who = connections, who
        self.feed = Feed(connections)
        self.audit = BoardAudit(connections, self.feed)
        assert who.execution is not None
        self.execution = who.execution

    def board(self) -> Board:
        artifacts, operations = Artifacts(self.connections), Operations(self.execution)
        return Board(self.connections, self.who, feed=self.feed, artifacts=artifacts, operations=operations)

    async def write(self, *values: int) -> list[str]:
        board = self.board()
        answers = [await board.write("field", value, expect=ANY) for value in values]
        return [cast(Written, answer).cursor for answer in answers]

    async def audited(self) -> list[int]:
        """The values that the ledger has, in the order of their writing, after a look at the board."""
        await self.audit.turn()
        async with self.connections.transaction(self.who) as connection:
            entries = await ledger.trail(connection, self.execution)
        return [cast(Any, entry.payload)["value"] for entry in entries if entry.action == "board.write"]


async def test_every_change_of_a_board_that_its_server_lost_and_that_is_taken_up_is_audited(
    servers: Endpoints, principal: Principal, tmp_path: Path
) -> None:
    valkey = Valkey(tmp_path)
    await valkey.start()
    try:
        async with AsyncExitStack() as stack:
            connections = Connections(valkey.url, servers.postgres_url)
            await connections.start(stack)
            ours = OwnBoard(connections, principal)
            await open_board(connections, principal.tenant, ours.execution)
            cursors = await ours.write(1, 2, 3)
            first = await ours.board().claim("task", 60)
            assert first is not None and await ours.audited() == [1, 2, 3]
            seen = (await ours.write(4))[0]  # acknowledged, seen by a watcher, and not audited yet

            await connections.redis.flushall()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
            row = await Executions(connections).get(principal, ours.execution)
            await ours.feed.reopen(principal.tenant, ours.execution, row.audited_through)
            later = await ours.write(5, 6, 7)
            assert not {*cursors, seen} & {*later}
            assert await ours.audited() == [1, 2, 3, 5, 6, 7]
            async with ours.board().watch(seen) as changes:
                assert isinstance(await anext(changes), Snapshot), "a watcher of what was lost is told so"
            again = await ours.board().claim("task", 60)
            assert again is not None and again.fence.token > first.fence.token

            # Taken up once more, and nothing is lost, nothing moves.
            row = await Executions(connections).get(principal, ours.execution)
            await ours.feed.reopen(principal.tenant, ours.execution, row.audited_through)
            assert int((await ours.write(8))[0][2:]) == int(later[-1][2:]) + 1
            assert await ours.audited() == [1, 2, 3, 5, 6, 7, 8]
    finally:
        await valkey.kill()


@pytest.mark.parametrize("written", [1, 2, 5], ids=["less than was lost", "as much as was lost", "more than was lost"])
async def test_every_change_after_a_tail_that_a_server_lost_is_audited(
    servers: Endpoints, principal: Principal, tmp_path: Path, written: int
) -> None:
    valkey = Valkey(tmp_path)
    await valkey.start()
    try:
        async with AsyncExitStack() as stack:
            connections = Connections(valkey.url, servers.postgres_url)
            await connections.start(stack)
            redis, ours = connections.redis, OwnBoard(connections, principal)
            await open_board(connections, principal.tenant, ours.execution)
            await ours.write(1, 2, 3)
            there = await redis.keys()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
            replica = {key: await redis.dump(key) for key in there}
            await ours.write(4, 5)
            assert await ours.audited() == [1, 2, 3, 4, 5]

            await redis.flushall()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
            for key, value in replica.items():
                await redis.restore(key, 0, cast(bytes, value))
            values = list(range(6, 6 + written))
            await ours.write(*values)
            assert await ours.audited() == [1, 2, 3, 4, 5, *values]
            await ours.write(100, 101)
            assert await ours.audited() == [1, 2, 3, 4, 5, *values, 100, 101]
    finally:
        await valkey.kill()
