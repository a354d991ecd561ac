"""Writes that share a trip to the server each get their own answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lousa.infra.errors import ServerUnavailable, Stale
from lousa.infra.redis import servers_of
from lousa.memory_layers.conversation import batch as batches
from lousa.memory_layers.conversation.board import ANY, Board, Conflict, Written
from lousa.memory_layers.conversation.claims import Fence


async def test_of_writes_under_way_at_once_each_gets_its_own_answer(room: Any) -> None:
    boards: list[Board] = [room.board(f"agent-{number}") for number in range(60)]
    stale: Board = room.board(fence=Fence(task="nobody's", token=1))
    await boards[0].write("taken", 1)
    answers = await asyncio.gather(
        *(board.write(f"f{number}", number) for number, board in enumerate(boards)),
        *(board.write("taken", 2) for board in boards[1:]),
        stale.write("f", 1),
        return_exceptions=True,
    )
    for number, answer in enumerate(answers[:60]):
        assert isinstance(answer, Written)
        assert (answer.field, answer.version) == (f"f{number}", 1)
    assert all(isinstance(answer, Conflict) and answer.value == 1 for answer in answers[60:-1])
    assert isinstance(answers[-1], Stale)


async def test_what_is_written_in_the_same_turn_of_the_loop_shares_one_trip(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    board: Board = room.board()
    trips: list[int] = []
    call_all = batches.call_all

    async def counted(client: Any, calls: Any) -> list[object]:
        trips.append(len(calls))
        return await call_all(client, calls)

    monkeypatch.setattr(batches, "call_all", counted)
    await asyncio.gather(*(board.write(f"f{number}", number) for number in range(10)))
    await board.write("alone", 1)
    assert trips == [10]


async def test_a_server_that_forgot_its_scripts_is_told_again(room: Any) -> None:
    board: Board = room.board()
    await board.write("warm", 1)
    for server in await servers_of(room.connections.redis):
        await server.script_flush()
    answers = await asyncio.gather(*(board.write(f"f{number}", number) for number in range(20)))
    assert all(isinstance(answer, Written) and not answer.repeated for answer in answers)
    assert len(await room.feed.drain(room.principal.tenant, board.execution, "0-0")) == 21


async def test_who_is_cancelled_while_waiting_holds_nobody_up(room: Any) -> None:
    board: Board = room.board()
    writes = [asyncio.create_task(board.write(f"f{number}", number, expect=ANY)) for number in range(50)]
    await asyncio.sleep(0)
    for write in writes[::2]:
        write.cancel()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(answer, Written) for answer in answers[1::2])
    there = set(await board.read_all())
    assert {f"f{number}" for number in range(1, 50, 2)} <= there
    assert isinstance(await board.write("after", 1), Written)


async def test_a_trip_that_fails_fails_for_all_who_shared_it_and_for_nobody_else(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    board: Board = room.board()

    async def lost(*_: object) -> list[object]:
        raise ServerUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(batches, "call_all", lost)
        alone = asyncio.create_task(board.write("alone", 1))
        for _ in range(5):  # then it has left, and nobody can come along any more
            await asyncio.sleep(0)
        writes = (board.write(f"f{number}", number) for number in range(10))
        answers = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ServerUnavailable] * 10
    assert isinstance(await alone, Written)
    answers = await asyncio.gather(*(board.write(f"f{number}", number, expect=ANY) for number in range(10)))
    assert all(isinstance(answer, Written) for answer in answers)
