"""A Cluster of real nodes: slots that move, nodes that die, journals on every node, and nothing lost or done twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lousa.infra.cluster import Cluster
from lousa.infra.errors import ServerUnavailable
from lousa.infra.ids import new_id
from lousa.infra.redis import server_of, servers_of
from lousa.memory_layers import fencing
from lousa.memory_layers.conversation import feed as feeds
from lousa.memory_layers.conversation.board import Board, Written
from lousa.memory_layers.conversation.claims import Fence
from lousa.memory_layers.conversation.keys import board_keys, journal_key
from lousa.memory_layers.conversation.script import at_once, command
from lousa.memory_layers.conversation.watch import Change
from lousa.memory_layers.fencing import grants, overtaken
from lousa.memory_layers.journal import Journal, Journaled
from lousa.memory_layers.records import SHARED, Memory, MemoryKind
from redis.crc import key_slot
from servers.valkey import Clustered, clustered, free_port, in_step, serving, wait_for

from .conftest import Entering, Process

COUNT = 60


def slot(board: Board, process: Process) -> int:
    return key_slot(board_keys(process.who.tenant, board.execution).fields.encode())


async def counted(board: Board, updates: int) -> None:
    for _ in range(updates):
        await board.update("sum", lambda old: int(str(old or 0)) + 1)
        await asyncio.sleep(0)


async def all_changes(board: Board, last: int) -> list[int]:
    numbers: list[int] = []
    async with board.watch(since="0-0") as changes:
        while not numbers or numbers[-1] < last:
            change = await anext(changes)
            assert isinstance(change, Change)
            numbers.append(int(change.cursor.rpartition("-")[2]))
    return numbers


async def test_a_board_whose_slot_moves_is_written_on_and_every_write_counts_once(
    cluster: Clustered, entering: Entering
) -> None:
    async with entering(cluster.url) as process:
        board, calm = await process.board(), await process.board()
        watching = asyncio.create_task(all_changes(board, 4 * COUNT + 1))
        await board.write("note", "before")
        writing = [asyncio.create_task(counted(board, COUNT)) for _ in range(4)]
        await asyncio.to_thread(cluster.move, slot(board, process), other(cluster, slot(board, process)))
        await asyncio.gather(*writing)
        assert await board.read_versioned("sum") == (4 * COUNT, 4 * COUNT)
        assert await board.read("note") == "before"
        assert await watching == list(range(1, 4 * COUNT + 2))
        assert isinstance(await calm.write("a", 1), Written)


async def test_a_key_that_is_on_its_way_is_found_on_either_node(cluster: Clustered, entering: Entering) -> None:
    async with entering(cluster.url) as process:
        redis, keys = process.connections.redis, [f"{{{new_id()}}}:{number}" for number in range(3)]
        for key in keys:
            await command(redis, "SET", key, key)
        steps = cluster.moving(key_slot(keys[0].encode()), other(cluster, key_slot(keys[0].encode())))
        while (await asyncio.to_thread(next, steps, None)) is not None:
            assert await at_once(redis, *(("GET", key) for key in keys)) == [key.encode() for key in keys]
            assert [await command(redis, "GET", key) for key in keys] == [key.encode() for key in keys]
        assert [await command(redis, "GET", key) for key in keys] == [key.encode() for key in keys]


async def test_a_node_that_has_no_slot_yet_is_asked_for_what_is_moving_to_it(entering: Entering) -> None:
    with clustered(2) as small:
        keys = [f"{{{new_id()}}}:{number}" for number in range(2)]
        empty, holder = small.nodes[1], small.nodes[0]
        for first, last, port in small.ranges(empty):
            if port == empty.port:
                empty.ask("CLUSTER", "DELSLOTSRANGE", str(first), str(last))
                holder.ask("CLUSTER", "DELSLOTSRANGE", str(first), str(last))
                holder.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
        wait_for("one node to serve all", lambda: small.whole() and not served_by(small, empty))
        async with entering(small.url) as process:
            redis = process.connections.redis
            for key in keys:
                await command(redis, "SET", key, key)
            steps = small.moving(key_slot(keys[0].encode()), empty)
            while (await asyncio.to_thread(next, steps, None)) is not None:
                assert await asyncio.gather(*(command(redis, "GET", key) for key in keys)) == [
                    key.encode() for key in keys
                ]


async def test_a_primary_that_dies_takes_nothing_along_that_its_replica_had(entering: Entering) -> None:
    with clustered(3, 1) as doomed:
        async with entering(doomed.url) as process:
            board = await process.board()
            for number in range(COUNT):
                assert isinstance(await board.write(f"before/{number}", number), Written)
            primary = doomed.holder(slot(board, process))
            wait_for("replicas in step", lambda: in_step(primary))
            watching = asyncio.create_task(all_changes(board, 2 * COUNT))
            primary.kill()
            answers = await asyncio.gather(*(board.write(f"after/{number}", number) for number in range(COUNT)))
            assert all(isinstance(answer, Written) for answer in answers)
            kept = await board.read_all()
            assert kept == {f"{when}/{number}": number for when in ("before", "after") for number in range(COUNT)}
            assert await watching == list(range(1, 2 * COUNT + 1))
            assert isinstance(await (await process.board()).write("a", 1), Written)


async def test_a_primary_that_hangs_is_left_by_those_who_write_and_those_who_watch(
    entering: Entering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_BLOCK", 1.0)
    monkeypatch.setattr(feeds, "_GRACE", 1.0)
    with clustered(3, 1) as doomed:
        async with entering(doomed.url) as process:
            board = await process.board()
            watching = asyncio.create_task(all_changes(board, 1 + COUNT))
            assert isinstance(await board.write("a", 1), Written)
            primary = doomed.holder(slot(board, process))
            wait_for("replicas in step", lambda: in_step(primary))
            primary.hang()
            try:
                await asyncio.gather(*(board.write(f"f{number}", number) for number in range(COUNT)))
                assert await watching == list(range(1, COUNT + 2))
            finally:
                primary.go_on()
            assert len(await board.read_all()) == COUNT + 1


async def test_journals_of_all_nodes_are_read_and_each_entry_is_got_once(
    cluster: Clustered, entering: Entering
) -> None:
    async with entering(cluster.url) as process:
        tenants = [f"{process.who.tenant}-{number}" for number in range(40)]
        homes = {await server_of(process.connections.redis, journal_key(tenant)) for tenant in tenants}
        assert len(homes) == 3
        journal, got = Journal(process.connections), Counter[bytes]()
        await journal.adopt(tenants)
        await asyncio.gather(*(journal.append(tenant, entry(tenant)) for tenant in tenants for _ in range(3)))
        for relay in ("one", "two"):
            for deliveries in (await journal.take(tenants, relay, 2)).values():
                got.update(delivery.fields[b"id"] for delivery in deliveries)
        assert len(got) == 3 * len(tenants) and set(got.values()) == {1}
        assert await journal.owing(tenants) == {
            tenant: (3, weight) for tenant, (_, weight) in (await journal.owing(tenants)).items()
        }
        assert all([await journal.oldest(tenant) is not None for tenant in tenants])


async def test_a_relay_that_waits_is_woken_by_an_entry_on_any_node(cluster: Clustered, entering: Entering) -> None:
    async with entering(cluster.url) as process:
        tenants = [f"{process.who.tenant}-{number}" for number in range(12)]
        journal, writer = Journal(process.connections), Journal(process.connections)
        await journal.adopt(tenants)
        for tenant in tenants:
            waiting = asyncio.create_task(journal.take(tenants, "relay", 10, timedelta(hours=1)))
            await asyncio.sleep(0.05)
            await writer.append(tenant, entry(tenant))
            assert list(await asyncio.wait_for(waiting, 20)) == [tenant]


async def test_a_journal_that_lost_its_group_gets_it_again(cluster: Clustered, entering: Entering) -> None:
    async with entering(cluster.url) as process:
        tenants = [f"{process.who.tenant}-{number}" for number in range(4)]
        journal = Journal(process.connections)
        await journal.adopt(tenants[:2])
        assert await journal.take(tenants, "relay", 10) == {}
        await journal.append(tenants[3], entry(tenants[3]))
        assert list(await journal.take(tenants, "relay", 10)) == [tenants[3]]


async def test_a_journal_that_lost_its_group_is_read_however_busy_others_are(
    cluster: Clustered, entering: Entering
) -> None:
    async with entering(cluster.url) as process:
        busy, lost = (f"{process.who.tenant}-{name}" for name in ("busy", "lost"))
        journal = Journal(process.connections)
        await journal.adopt([busy, lost])
        await command(process.connections.redis, "DEL", journal_key(lost))
        await journal.append(lost, entry(lost))
        got = set[str]()
        for _ in range(2):
            await journal.append(busy, entry(busy))
            got |= set(await journal.take([busy, lost], "relay", 10))
        assert got == {busy, lost}


async def test_all_keys_of_all_nodes_are_walked(cluster: Clustered, entering: Entering) -> None:
    async with entering(cluster.url) as process:
        redis, mark = process.connections.redis, new_id().hex
        keys = [f"{mark}:{number}".encode() for number in range(100)]
        await at_once(redis, *(("SET", key.decode(), 1) for key in keys))
        found: list[bytes] = [key async for key in redis.scan_iter(f"{mark}:*")]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # vague stubs
        assert sorted(found) == sorted(keys)
        assert len(await servers_of(redis)) == 3


async def test_one_failing_command_of_a_trip_is_told_and_the_others_are_answered(
    cluster: Clustered, entering: Entering
) -> None:
    async with entering(cluster.url) as process:
        redis, mark = process.connections.redis, new_id().hex
        asked: list[Any] = [("SET", f"{mark}:{number}", number) for number in range(30)]
        asked[7] = ("HSET", f"{mark}:6", "a", "b")
        replies = await at_once(redis, *asked, raising=False)
        assert "WRONGTYPE" in str(replies[7])
        assert [reply for number, reply in enumerate(replies) if number != 7] == [True] * 29


async def test_whoever_gave_up_waits_for_no_node(entering: Entering) -> None:
    with clustered(3) as doomed:
        async with entering(doomed.url) as process:
            board = await process.board()
            for node in doomed.nodes:
                node.kill()
            process.connections.give_up()
            async with asyncio.timeout(10):
                with pytest.raises(ServerUnavailable):
                    await board.write("a", 1)
                replies = await at_once(process.connections.redis, ("GET", "a"), ("GET", "b"), raising=False)
            assert all(isinstance(reply, Exception) for reply in replies)


async def test_a_cluster_that_was_never_made_is_said_so(entering: Entering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousa.infra.redis.PATIENCE", 0.1)
    expected = pytest.raises(ServerUnavailable, match=r"no node.*serves a slot.*LOUSA_REDIS_URL")
    with serving("--cluster-enabled", "yes", port=lambda: free_port(bus=True)) as (node,), expected:
        async with entering(node.url.replace("redis://", "redis+cluster://")):
            pass


async def test_however_many_wait_for_nodes_that_hang_all_are_told_when_patience_is_over(
    entering: Entering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lousa.infra.redis.PATIENCE", 0.5)
    monkeypatch.setattr("lousa.infra.cluster._NEAR", 0.2)
    with clustered(3) as doomed:
        async with entering(doomed.url) as process:
            redis = process.connections.redis
            assert isinstance(redis, Cluster)
            await redis.primaries()
            for node in doomed.nodes:
                node.hang()
            redis._stale = True  # pyright: ignore[reportPrivateUsage]  # as the first failure leaves it
            try:
                async with asyncio.timeout(30):  # one after the other, they would look for 60 s and more
                    asked = (command(redis, "GET", f"{number}") for number in range(100))
                    told = await asyncio.gather(*asked, return_exceptions=True)
            finally:
                for node in doomed.nodes:
                    node.go_on()
            assert {type(each) for each in told} == {ServerUnavailable}


@pytest.mark.parametrize("together", [False, True], ids=["one command", "a trip"])
async def test_those_who_give_up_soon_find_who_took_over_from_a_primary_that_hangs(
    entering: Entering, together: bool
) -> None:
    with clustered(3, 1) as doomed:
        async with entering(doomed.url) as process:
            redis, key = process.connections.redis, f"{new_id()}"
            await command(redis, "SET", key, 1)
            primary = doomed.holder(key_slot(key.encode()))
            wait_for("replicas in step", lambda: in_step(primary))
            primary.hang()
            try:
                async with asyncio.timeout(60):
                    while True:
                        with contextlib.suppress(TimeoutError, ServerUnavailable):
                            async with asyncio.timeout(1.0):
                                got = await (at_once(redis, ("GET", key)) if together else command(redis, "GET", key))
                            assert got in (b"1", [b"1"])
                            break
            finally:
                primary.go_on()


async def test_a_slot_that_nobody_serves_holds_up_no_other(entering: Entering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousa.infra.redis.PATIENCE", 0.2)
    with clustered(3, 0, "--cluster-require-full-coverage", "no") as nodes:
        async with entering(nodes.url) as process:
            redis, keys = process.connections.redis, [f"{new_id()}" for _ in range(20)]
            gone = key_slot(keys[7].encode())
            await at_once(redis, *(("SET", key, key) for key in keys))
            for node in nodes.nodes:
                node.ask("CLUSTER", "DELSLOTS", str(gone))
            assert isinstance(redis, Cluster)
            redis._stale = True  # pyright: ignore[reportPrivateUsage]  # as the first refusal leaves it
            replies = await at_once(redis, *(("GET", key) for key in keys), raising=False)
            others = [number for number in range(20) if key_slot(keys[number].encode()) != gone]
            assert [replies[number] for number in others] == [keys[number].encode() for number in others]
            assert isinstance(replies[7], ServerUnavailable)


async def test_a_write_is_not_called_overtaken_because_two_clocks_differ(
    cluster: Clustered, entering: Entering, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with entering(cluster.url) as process:
        connections, tenant = process.connections, process.who.tenant
        journal = await server_of(connections.redis, journal_key(tenant))
        while True:
            board = await process.board()
            claims = board_keys(tenant, board.execution).claims
            if await server_of(connections.redis, claims) is not journal:
                break
        # By the clock of the board the task passed on at 1,000,000; that of the journal is 9 s ahead.
        await command(connections.redis, "HSET", claims, grants("t"), "1:900000 2:1000000 ")

        async def told(client: Any, *_: Any) -> tuple[int, int]:
            return (1_000 + 9 * (client is journal), 0)

        monkeypatch.setattr(fencing, "command", told)
        fence = Fence(task="t", token=1)
        assert not await overtaken(connections, tenant, board.execution, fence, at=1_008_900)
        assert await overtaken(connections, tenant, board.execution, fence, at=1_019_000)


async def test_as_many_as_like_may_ask_at_once(cluster: Clustered, entering: Entering) -> None:
    async with entering(cluster.url) as process:
        redis, key = process.connections.redis, f"{new_id()}"
        assert isinstance(redis, Cluster)
        await asyncio.gather(*(command(redis, "INCR", key) for _ in range(500)))
        assert await command(redis, "GET", key) == b"500"


def other(cluster: Clustered, slot: int) -> Any:
    holder = cluster.holder(slot)
    return next(node for node in cluster.nodes if node is not holder and node.ask("ROLE")[0] == "master")


def served_by(cluster: Clustered, node: Any) -> bool:
    return any(port == node.port for each in cluster.nodes for _, _, port in cluster.ranges(each))


def entry(tenant: str) -> Journaled:
    identifier, now = new_id(), datetime.now(UTC)
    memory = Memory(
        id=identifier,
        tenant=tenant,
        owner="tester",
        session="s",
        execution=None,
        scope=SHARED,
        kind=MemoryKind.SEMANTIC,
        text="a memory",
        occurred_at=now,
        recorded_at=now,
    )
    return Journaled(operation=identifier, memory=memory, fence=None, trace_id=None, span_id=None)
