"""A board is written only when the execution it belongs to is known, so no write is without its audit record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from lousa.infra.connections import Connections
from lousa.infra.errors import BadInput, NotFound, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.scratchpad import Scratchpad
from lousa.memory_layers.execution import executions
from lousa.memory_layers.execution.executions import Executions

WRITES: dict[str, Callable[[Board, Scratchpad], Awaitable[object]]] = {
    "write": lambda board, notes: board.write("field", 1),
    "write anew": lambda board, notes: board.write("field", 1, key="again"),
    "delete": lambda board, notes: board.delete("field"),
    "update": lambda board, notes: board.update("field", lambda old: 1),
    "tell": lambda board, notes: board.tell("*", "hello"),
    "claim": lambda board, notes: board.claim("task", 5),
    "note": lambda board, notes: notes.write("note", 1),
    "forget a note": lambda board, notes: notes.delete("note"),
}
WAYS = pytest.mark.parametrize("way", WRITES)


async def keys_there(connections: Connections, who: Principal) -> int:
    assert who.execution is not None
    return sum([await connections.redis.exists(key) for key in board_keys(who.tenant, who.execution).all()])


async def written(room: Any, who: Principal, way: str) -> object:
    board = Board(room.connections, who, feed=room.feed, artifacts=room.artifacts, operations=Operations(who.execution))
    return await WRITES[way](board, Scratchpad(room.connections, who, artifacts=room.artifacts))


@WAYS
async def test_the_board_of_an_execution_that_nobody_began_takes_nothing(room: Any, way: str) -> None:
    nobody = replace(room.principal, execution=new_id())
    with pytest.raises(NotFound, match="has no execution"):
        await written(room, nobody, way)
    assert await keys_there(room.connections, nobody) == 0


@WAYS
async def test_another_tenant_has_no_board_there(room: Any, way: str) -> None:
    stranger = replace(room.principal, tenant=room.principal.tenant + "x")
    with pytest.raises(NotFound, match="has no execution"):
        await written(room, stranger, way)
    assert await keys_there(room.connections, stranger) == 0
    await written(room, room.principal, way)


@WAYS
async def test_a_board_that_was_let_go_does_not_begin_anew(room: Any, way: str) -> None:
    board = room.board()
    await board.write("field", "before")
    assert await room.feed.expire(room.principal.tenant, board.execution, "0-1", timedelta(milliseconds=1))
    while await keys_there(room.connections, room.principal):
        pass
    with pytest.raises(NotFound):
        await written(room, room.principal, way)
    assert await keys_there(room.connections, room.principal) == 0


async def test_an_execution_is_open_once_it_is_created_and_not_before(room: Any, connections: Connections) -> None:
    who = replace(room.principal, execution=new_id())
    runs = Executions(connections)
    with pytest.raises(NotFound):
        await written(room, who, "write")
    await runs.create(who, "test", {}, execution=who.execution)
    await written(room, who, "write")
    await runs.create(who, "test", {}, execution=who.execution)
    with pytest.raises(NotFound):  # it is another tenant's: nothing is opened there
        await runs.create(replace(who, tenant=who.tenant + "x"), "test", {}, execution=who.execution)
    with pytest.raises(NotFound):
        await written(room, replace(who, tenant=who.tenant + "x"), "write")


async def test_what_was_cut_off_between_its_row_and_its_board_can_be_taken_up(
    room: Any, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = replace(room.principal, execution=new_id())
    runs = Executions(connections)

    async def gone(*_: object) -> None:
        raise ServerUnavailable("gone")

    with monkeypatch.context() as cut, pytest.raises(ServerUnavailable) as told:
        cut.setattr(executions, "open_board", gone)
        await runs.create(who, "test", {}, execution=who.execution)
    assert str(who.execution) in told.value.__notes__[0]
    with pytest.raises(NotFound):
        await written(room, who, "write")
    await room.feed.reopen(who.tenant, who.execution, "0-0")
    await written(room, who, "write")


async def test_creating_one_that_has_ended_does_not_open_its_board_again(room: Any, connections: Connections) -> None:
    who = replace(room.principal, execution=new_id())
    assert who.execution is not None
    runs, feed = Executions(connections), Feed(connections)
    await runs.create(who, "test", {}, execution=who.execution)
    await runs.finish(who, who.execution, "accepted")
    assert await feed.expire(who.tenant, who.execution, "0-0", timedelta(hours=24))
    assert await connections.redis.pttl(board_keys(who.tenant, who.execution).operations) > 0
    await runs.create(who, "test", {}, execution=who.execution)
    with pytest.raises(BadInput, match="has ended"):
        await written(room, who, "write")
    await connections.redis.delete(*board_keys(who.tenant, who.execution).all())
    await runs.create(who, "test", {}, execution=who.execution)
    with pytest.raises(NotFound):
        await written(room, who, "write")
    assert await keys_there(connections, who) == 0


async def test_a_closed_board_that_is_taken_up_stays(room: Any) -> None:
    board, principal = room.board(), room.principal
    await board.write("field", 1)
    await room.feed.expire(principal.tenant, board.execution, "0-1", timedelta(hours=24))
    assert await room.feed.reopen(principal.tenant, board.execution, "0-1")
    await board.write("field", 2)
    for key in board_keys(principal.tenant, board.execution).all():
        assert await room.connections.redis.pttl(key) in (-1, -2)
