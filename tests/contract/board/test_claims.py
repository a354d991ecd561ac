"""Claims: one holder at a time, and no zombie on the board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lousa.infra.errors import BadInput, Stale
from lousa.memory_layers.conversation.board import ANY, Board, RunBoard, Written
from lousa.memory_layers.conversation.claims import Claim, Fence, FirstClaim, claim, shown
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.scratchpad import Scratchpad


async def claimed(board: Board, task: str, lease: float = 5.0) -> Claim:
    claim = await board.claim(task, lease)
    assert claim is not None
    return claim


async def test_of_many_who_claim_at_once_one_holds(new_room: Callable[[], Any]) -> None:
    boards: list[Board] = [new_room().board(f"agent-{number}") for number in range(20)]
    claims = await asyncio.gather(*(board.claim("t", 5) for board in boards))
    assert len([claim for claim in claims if claim is not None]) == 1


async def test_a_released_task_is_free_at_once_and_tokens_only_grow(room: Any) -> None:
    board: Board = room.board()
    tokens: list[int] = []
    for task in ("a", "b", "a", "a"):
        async with await claimed(board, task) as claim:
            assert await board.claim(task, 5) is None
            tokens.append(claim.token)
    assert tokens == [1, 2, 3, 4]


async def test_a_lease_runs_out_by_the_servers_clock(room: Any) -> None:
    board: Board = room.board()
    first = await claimed(board, "t", 0.15)
    assert abs((first.until - datetime.now(UTC)).total_seconds()) < 2
    assert await board.claim("t", 5) is None
    await asyncio.sleep(0.2)
    assert (await claimed(board, "t")).token == first.token + 1


async def test_a_renewed_lease_holds_on(room: Any) -> None:
    board: Board = room.board()
    claim = await claimed(board, "t", 0.2)
    for _ in range(4):
        await asyncio.sleep(0.1)
        await claim.renew()
        assert await board.claim("t", 5) is None
    before = claim.until
    await claim.renew(timedelta(seconds=60))
    assert claim.until > before + timedelta(seconds=50)


async def test_a_lease_that_ran_out_stops_its_holder_only_once_another_came(room: Any) -> None:
    board: Board = room.board()
    late = await claimed(board, "t", 0.05)
    await asyncio.sleep(0.1)
    assert isinstance(await room.board(fence=late.fence).write("a", 1), Written)
    await late.renew()
    await asyncio.sleep(0.1)
    await claimed(board, "t")
    with pytest.raises(Stale, match="was given to token 2, this is token 1"):
        await late.renew()


@pytest.mark.parametrize("lost", ["overtaken", "released"])
async def test_nothing_of_a_zombie_reaches_the_board(room: Any, lost: str) -> None:
    board: Board = room.board()
    await board.write("kept", "as it was")
    zombie = await claimed(board, "t", 0.05)
    fenced: Board = room.board("worker", fence=zombie.fence)
    notes = Scratchpad(room.connections, room.who("worker"), artifacts=room.artifacts, fence=zombie.fence)
    await notes.write("note", 1)
    assert isinstance(await fenced.write("mine", 1), Written)
    if lost == "released":
        await zombie.release()
    else:
        await asyncio.sleep(0.1)
        await claimed(board, "t")
    for call in (
        fenced.write("mine", 2),
        fenced.delete("mine"),
        fenced.update("kept", lambda _: "changed"),
        fenced.tell("*", "boo"),
        fenced.claim("other", 5),
        room.mailbox("worker", fence=zombie.fence).tell("*", "boo"),
        notes.write("note", 2),
        notes.delete("note"),
    ):
        with pytest.raises(Stale, match="stop, another attempt goes on"):
            await call
    assert await board.read_all() == {"kept": "as it was", "mine": 1}
    assert await notes.read("note") == 1
    assert len(await room.feed.drain(room.principal.tenant, board.execution, "0-0")) == 2


async def test_a_repeat_of_what_was_applied_is_answered_even_to_a_zombie(room: Any) -> None:
    first = await claimed(room.board(), "t", 0.05)
    await room.board(task="t", fence=first.fence).write("a", 1)
    await asyncio.sleep(0.1)
    await claimed(room.board(), "t")
    again = await room.board(task="t", fence=first.fence).write("a", 1)
    assert isinstance(again, Written)
    assert again.repeated


async def test_a_fence_that_nobody_gave_out_is_refused(room: Any) -> None:
    await claimed(room.board(), "t")
    for fence in (Fence(task="t", token=2), Fence(task="t", token=0), Fence(task="other", token=1)):
        with pytest.raises(Stale):
            await room.board(fence=fence).write("a", 1)


async def test_the_release_of_an_overtaken_claim_leaves_its_successor_alone(room: Any) -> None:
    board: Board = room.board()
    late = await claimed(board, "t", 0.05)
    await asyncio.sleep(0.1)
    now = await claimed(board, "t")
    await late.release()
    assert await board.claim("t", 5) is None
    await now.renew()
    await now.release()
    await now.release()


async def test_whoever_knows_that_a_holder_is_gone_takes_over_from_it_alone(room: Any) -> None:
    board: Board = room.board()
    gone = await board.claim("t", 60, note="process 7")
    assert gone is not None
    holder = await board.holder("t")
    assert holder is not None
    assert (holder.token, holder.note) == (gone.token, "process 7")
    assert await board.claim("t", 60, over=gone.token + 1) is None
    taken = await board.claim("t", 60, over=gone.token)
    assert taken is not None
    assert await board.claim("t", 60, over=gone.token) is None
    with pytest.raises(Stale):
        await gone.renew()
    await taken.release()
    assert await board.holder("t") is None


@pytest.mark.parametrize("lease", [0, -1, float("inf"), float("nan"), timedelta(0)])
async def test_a_lease_that_holds_nothing_is_refused(room: Any, lease: Any) -> None:
    with pytest.raises(BadInput, match="lease"):
        await room.board().claim("t", lease)


@pytest.mark.parametrize("task", ["", "x" * 513, "a\x00b"])
async def test_a_task_needs_a_name(room: Any, task: str) -> None:
    with pytest.raises(BadInput, match="a task's name"):
        await room.board().claim(task, 1)


def first_claim(room: Any, under: Fence | None = None) -> FirstClaim:
    board = RunBoard(
        room.connections,
        room.principal,
        feed=room.feed,
        artifacts=room.artifacts,
        operations=Operations(room.principal.execution),
        fence=under,
    )
    return board.first_claim("t", 30)


async def test_a_first_claim_is_granted_with_the_first_write(room: Any) -> None:
    run = await room.board().claim("run", 30)
    first = first_claim(room, run.fence)
    board: Board = room.board(fence=first)
    assert await room.board().holder("t") is None
    assert isinstance(await board.write("a", 1), Written)
    holder = await room.board().holder("t")
    assert first.fence is not None and holder is not None
    assert (first.fence.token, await shown(first)) == (holder.token, first.fence)
    assert isinstance(await board.write("a", 2), Written)
    assert (await room.board().holder("t")).token == holder.token


async def test_what_needs_a_fence_elsewhere_gets_the_first_claim_at_once(room: Any) -> None:
    first = first_claim(room)
    fence = await shown(first)
    assert fence is not None and (await room.board().holder("t")).token == fence.token


async def test_a_first_write_that_arrives_late_takes_the_task_from_nobody(room: Any) -> None:
    late, later = (first_claim(room) for _ in range(2))
    assert isinstance(await room.board(fence=later).write("a", 1), Written)
    with pytest.raises(Stale):
        await room.board(fence=late).write("b", 1)
    assert isinstance(await room.board(fence=later).write("c", 2), Written)
    await later.release()
    again = await room.board().claim("t", 30)
    with pytest.raises(Stale):
        await room.board(fence=later).write("a", 3)
    assert (await room.board().holder("t")).token == again.token
    assert await room.board().read("b") is None


async def test_a_first_claim_that_was_given_up_unasked_stays_given_up(room: Any) -> None:
    first = first_claim(room)
    on_its_way: Board = room.board(fence=first)
    await first.release()
    with pytest.raises(Stale):
        await on_its_way.write("a", 1)
    assert await room.board().holder("t") is None and await room.board().read("a") is None


async def test_a_run_that_was_overtaken_can_claim_nothing_by_writing(room: Any) -> None:
    run = await room.board().claim("run", 30)
    first = first_claim(room, run.fence)
    await room.board().claim("run", 30, over=ANY)
    with pytest.raises(Stale, match="'run'"):
        await room.board(fence=first).write("a", 1)
    with pytest.raises(Stale, match="'run'"):
        await shown(first)
    assert await room.board().holder("t") is None and await room.board().read("a") is None


async def test_a_claim_that_is_sent_again_gets_its_first_answer_and_is_not_granted_twice(room: Any) -> None:
    """As a driver does whose reply was lost, when the task was taken over in between, and let go."""
    board: Board = room.board()
    keys = board_keys(room.principal.tenant, board.execution).all()

    async def sent() -> Claim | None:
        return await claim(room.feed.batch, keys, "t", 60, None, holder="0123 of the one who sends twice")

    first = await sent()
    assert first is not None
    async with await claimed(board, "u"):
        second = await board.claim("t", 60, over=ANY)
        assert second is not None
        again = await sent()
        assert again is not None
        assert (again.token, again.until) == (first.token, first.until)
        await second.renew()
        await second.release()
        assert (await sent() or second).token == first.token
    assert await board.holder("t") is None
    with pytest.raises(Stale):
        await again.renew()
