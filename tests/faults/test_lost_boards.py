"""Boards that a server lost, or their tail: all that was written is audited, and they are let go once they are over."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
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
from outages import Valkey


class OwnBoard:
    """A board on a server that can lose it."""

    def __init__(self, connections: Connections, who: Principal) -> None:
        self.connections, self.who = connections, who
        self.use(Feed(connections))
        assert who.execution is not None
        self.execution = who.execution
        self.keys = board_keys(who.tenant, who.execution)

    def use(self, feed: Feed) -> None:
        """Go on as another process, with this feed."""
        self.feed = feed
        self.audit = BoardAudit(self.connections, feed)

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
        return await self.in_the_ledger()

    async def in_the_ledger(self) -> list[int]:
        async with self.connections.transaction(self.who) as connection:
            entries = await ledger.trail(connection, self.execution)
        return [cast(Any, entry.payload)["value"] for entry in entries if entry.action == "board.write"]

    async def reopen(self) -> None:
        """Do what taking an execution up does to its board."""
        row = await Executions(self.connections).get(self.who, self.execution)
        await self.feed.reopen(self.who.tenant, self.execution, row.audited_through)

    async def replica(self) -> dict[bytes, bytes]:
        """What a replica has that gets nothing from now on."""
        there = [key for key in self.keys.all() if await self.connections.redis.exists(key)]
        return {cast(bytes, key): cast(bytes, await self.connections.redis.dump(key)) for key in there}

    async def lose(self, left: dict[bytes, bytes] | None = None) -> None:
        """The server is replaced by one that has this alone."""
        await self.connections.redis.flushall()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        for key, value in (left or {}).items():
            await self.connections.redis.restore(key, 0, value)

    async def end(self) -> None:
        await Executions(self.connections).finish(self.who, self.execution, "accepted")

    async def let_go(self) -> bool:
        """Whether the record says that the board is done with, after looks at it; then no key of it lives for ever."""
        for _ in range(3):
            await self.audit.round()
        drained = (await Executions(self.connections).get(self.who, self.execution)).drained
        assert drained != (-1 in await self.lives())
        return drained

    async def lives(self) -> list[int]:
        """Milliseconds that each key that is there still has, -1 for ever."""
        lives = [await self.connections.redis.pttl(key) for key in self.keys.all()]
        return [life for life in lives if life != -2]


@pytest.fixture
async def ours(servers: Endpoints, principal: Principal, tmp_path: Path) -> AsyncGenerator[OwnBoard]:
    valkey = Valkey(tmp_path)
    await valkey.start()
    try:
        async with AsyncExitStack() as stack:
            connections = Connections(valkey.url, servers.postgres_url)
            await connections.start(stack)
            board = OwnBoard(connections, principal)
            await open_board(connections, principal.tenant, board.execution)
            yield board
    finally:
        await valkey.kill()


async def test_every_change_of_a_board_that_its_server_lost_and_that_is_taken_up_is_audited(ours: OwnBoard) -> None:
    cursors = await ours.write(1, 2, 3)
    first = await ours.board().claim("task", 60)
    assert first is not None and await ours.audited() == [1, 2, 3]
    seen = (await ours.write(4))[0]  # acknowledged, seen by a watcher, and not audited yet

    await ours.lose()
    await ours.reopen()
    later = await ours.write(5, 6, 7)
    assert not {*cursors, seen} & {*later}
    assert await ours.audited() == [1, 2, 3, 5, 6, 7]
    async with ours.board().watch(seen) as changes:
        assert isinstance(await anext(changes), Snapshot), "a watcher of what was lost is told so"
    again = await ours.board().claim("task", 60)
    assert again is not None and again.fence.token > first.fence.token

    # Taken up once more, and nothing is lost, nothing moves.
    await ours.reopen()
    assert int((await ours.write(8))[0][2:]) == int(later[-1][2:]) + 1
    assert await ours.audited() == [1, 2, 3, 5, 6, 7, 8]


@pytest.mark.parametrize("written", [1, 2, 5], ids=["less than was lost", "as much as was lost", "more than was lost"])
async def test_every_change_after_a_tail_that_a_server_lost_is_audited(ours: OwnBoard, written: int) -> None:
    await ours.write(1, 2, 3)
    replica = await ours.replica()
    await ours.write(4, 5)
    assert await ours.audited() == [1, 2, 3, 4, 5]

    await ours.lose(replica)
    values = list(range(6, 6 + written))
    await ours.write(*values)
    assert await ours.audited() == [1, 2, 3, 4, 5, *values]
    await ours.write(100, 101)
    assert await ours.audited() == [1, 2, 3, 4, 5, *values, 100, 101]


@pytest.mark.parametrize("taken_up", [False, True], ids=["left alone", "taken up"])
async def test_a_board_that_was_lost_whole_and_ends_without_a_further_change_is_let_go(
    ours: OwnBoard, taken_up: bool
) -> None:
    await ours.write(1, 2, 3)
    assert await ours.audited() == [1, 2, 3]
    await ours.lose()
    if taken_up:
        await ours.reopen()
    await ours.audit.round()
    await ours.end()
    assert await ours.let_go()
    assert await ours.in_the_ledger() == [1, 2, 3]


@pytest.mark.parametrize("noticed", [False, True], ids=["lost after the end", "lost before the end"])
@pytest.mark.parametrize("written", [0, 1, 2, 5], ids=["nothing", "less", "as much", "more"])
async def test_a_board_that_lost_its_tail_and_ends_without_a_further_change_is_let_go(
    ours: OwnBoard, written: int, noticed: bool
) -> None:
    await ours.write(1, 2, 3)
    replica = await ours.replica()
    await ours.write(4, 5)
    assert await ours.audited() == [1, 2, 3, 4, 5]
    values = list(range(6, 6 + written))
    if noticed:
        await ours.lose(replica)
        await ours.write(*values)
        await ours.audit.round()
        await ours.end()
    else:
        await ours.end()
        await ours.lose(replica)
        await ours.write(*values)
    assert await ours.let_go()
    assert await ours.in_the_ledger() == [1, 2, 3, 4, 5, *values]


async def test_a_board_that_went_on_far_beyond_is_looked_at_no_more_often_than_others(ours: OwnBoard) -> None:
    await ours.write(1, 2, 3)
    assert await ours.audited() == [1, 2, 3]
    await ours.lose()
    await ours.reopen()
    await ours.audit.round()
    row = await Executions(ours.connections).get(ours.who, ours.execution)
    assert int(row.audited_through[2:]) == await ours.feed.last(ours.who.tenant, ours.execution)
    await ours.write(4)
    assert await ours.audited() == [1, 2, 3, 4]


async def test_a_board_that_loses_its_going_ahead_as_well_goes_ahead_once_more(ours: OwnBoard) -> None:
    await ours.write(1, 2, 3)
    replica = await ours.replica()
    await ours.write(4, 5)
    assert await ours.audited() == [1, 2, 3, 4, 5]
    await ours.lose(replica)
    await ours.audit.round()
    await ours.lose(replica)
    await ours.write(6, 7, 8)
    assert await ours.audited() == [1, 2, 3, 4, 5, 6, 7, 8]
    await ours.write(9)
    await ours.end()
    assert await ours.let_go()
    assert await ours.in_the_ledger() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


class Dying(Feed):
    """The feed of a relay that dies once a board was sent ahead."""

    async def go_ahead(self, tenant: str, execution: UUID, audited_through: str) -> None:
        await super().go_ahead(tenant, execution, audited_through)
        raise KeyboardInterrupt


@pytest.mark.parametrize("further", [False, True], ids=["no further change", "a further change"])
async def test_a_board_is_not_let_go_before_what_it_was_left_with_is_in_the_ledger(
    ours: OwnBoard, further: bool
) -> None:
    await ours.write(1, 2, 3)
    replica = await ours.replica()
    await ours.write(4, 5)
    assert await ours.audited() == [1, 2, 3, 4, 5]
    await ours.lose(replica)
    await ours.write(6)
    ours.use(Dying(ours.connections))
    with pytest.raises(KeyboardInterrupt):
        await ours.audit.round()

    ours.use(Feed(ours.connections))
    values = [7] if further else []
    await ours.write(*values)
    await ours.end()
    ours.feed.touched.add((ours.who.tenant, ours.execution))
    ours.audit._look_at = float("inf")  # pyright: ignore[reportPrivateUsage]  # this relay serves its own boards first
    await ours.audit.turn()
    assert await ours.in_the_ledger() == [1, 2, 3, 4, 5, 6, *values] or set(await ours.lives()) == {-1}
    assert await ours.let_go()
    assert sorted(await ours.in_the_ledger()) == [1, 2, 3, 4, 5, 6, *values]


class Replaced(Feed):
    """A feed whose server is replaced when a board is to be let go, and somebody writes there at once."""

    board: OwnBoard
    left: dict[bytes, bytes]
    values: list[int]

    async def expire(self, *of: Any, **known: Any) -> bool:
        if self.left:
            await self.board.lose(self.left)
            await self.board.write(*self.values)
            self.left = {}
        return await super().expire(*of, **known)


@pytest.mark.parametrize("written", [0, 1, 2, 3], ids=["nothing", "less", "as much", "more"])
async def test_a_tail_that_is_lost_just_before_a_board_is_let_go_leaves_nothing_unaudited(
    ours: OwnBoard, written: int
) -> None:
    await ours.write(1, 2, 3)
    replica = await ours.replica()
    await ours.write(4, 5)
    assert await ours.audited() == [1, 2, 3, 4, 5]
    await ours.end()
    values = list(range(6, 6 + written))
    feed = Replaced(ours.connections)
    feed.board, feed.left, feed.values = ours, replica, values
    ours.use(feed)
    assert await ours.let_go()
    assert await ours.in_the_ledger() == [1, 2, 3, 4, 5, *values]
