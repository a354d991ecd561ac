"""Watching: every change once and in order, or a snapshot that says so; nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from lousa.infra.errors import BadInput
from lousa.memory_layers.conversation import feed as feeds
from lousa.memory_layers.conversation.board import ANY, Board
from lousa.memory_layers.conversation.changes import Change, Snapshot
from lousa.memory_layers.conversation.watch import Watch


async def take(watch: AsyncIterator[Change | Snapshot], count: int) -> list[Change]:
    """The next `count` changes, none of them a snapshot."""
    taken: list[Change] = []
    async with asyncio.timeout(10):
        while len(taken) < count:
            change = await anext(watch)
            assert isinstance(change, Change)
            taken.append(change)
    return taken


def readers() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("feed of")]


async def test_every_change_is_seen_once_and_in_order_by_every_watcher(new_room: Callable[[], Any]) -> None:
    here, there = new_room(), new_room()
    watchers: list[Watch] = [room.board().watch() for room in (here, here, here, there)]
    for watcher in watchers:
        await watcher.__aenter__()
    assert len(readers()) == 2
    writers: list[Board] = [here.board("a"), there.board("b")]
    await asyncio.gather(*(board.write(f"f{n}", n, expect=ANY) for board in writers for n in range(100)))
    seen = [await take(watcher, 200) for watcher in watchers]
    assert all(changes == seen[0] for changes in seen)
    assert [change.cursor for change in seen[0]] == [f"0-{n}" for n in range(1, 201)]
    for watcher in watchers:
        await watcher.aclose()
    await asyncio.sleep(0)
    assert readers() == []


async def test_a_watch_begins_where_its_cursor_says(room: Any) -> None:
    board: Board = room.board()
    for number in range(5):
        await board.write(f"f{number}", number)
    async with board.watch(since="0-2") as changes:
        assert [change.field for change in await take(changes, 3)] == ["f2", "f3", "f4"]
        await board.write("f5", 5)
        assert [change.field for change in await take(changes, 1)] == ["f5"]
    snapshot = await board.snapshot()
    await board.write("f6", 6)
    async with board.watch(since=snapshot.cursor) as changes:
        assert [change.field for change in await take(changes, 1)] == ["f6"]


async def test_a_watch_without_cursor_begins_when_it_is_entered(room: Any) -> None:
    board: Board = room.board()
    async with board.watch() as warm:
        await board.write("before", 1)
        async with board.watch() as changes:
            await board.write("after", 1)
            assert [change.field for change in await take(changes, 1)] == ["after"]
        assert len(await take(warm, 2)) == 2


async def test_a_watch_tells_who_did_what(room: Any) -> None:
    board: Board = room.board("ana", task="count-1")
    claim = await board.claim("count-1", 5)
    assert claim is not None
    fenced: Board = room.board("ana", fence=claim.fence)
    async with board.watch() as changes:
        await fenced.write("a", {"x": 1})
        await board.delete("a", expect=1)
        written, deleted = await take(changes, 2)
    assert (written.action, written.version, written.value, written.agent) == ("write", 1, {"x": 1}, "ana")
    assert (deleted.action, deleted.version, deleted.value, deleted.task) == ("delete", 2, None, None)
    assert written.task == "count-1"


async def test_a_watch_shows_only_what_it_asked_for(room: Any) -> None:
    board: Board = room.board()
    async with board.watch(fields="words/*") as words, board.watch(messages=True) as all_of_it:
        await board.write("sum", 1)
        await board.tell("words/x", "not a field")
        await board.write("words/a", 1)
        assert [change.field for change in await take(words, 1)] == ["words/a"]
        assert [change.action for change in await take(all_of_it, 3)] == ["write", "tell", "write"]


async def test_two_watchers_do_not_share_what_they_were_shown(room: Any) -> None:
    board: Board = room.board()
    async with board.watch() as one, board.watch() as two:
        await board.write("a", {"x": [1]})
        [change] = await take(one, 1)
        change.value["x"].append(2)  # pyright: ignore
        assert (await take(two, 1))[0].value == {"x": [1]}


async def test_a_slow_watcher_misses_nothing_holds_nobody_up_and_stays_small(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_QUEUE", 10)
    monkeypatch.setattr(feeds, "_PAGE", 7)
    board: Board = room.board()
    async with board.watch() as slow, board.watch() as quick:
        for number in range(100):
            await board.write(f"f{number}", number)
            assert (await take(quick, 1))[0].value == number
        place = slow._place  # pyright: ignore[reportPrivateUsage]
        assert place is not None
        assert len(place._queue) <= 10  # pyright: ignore[reportPrivateUsage]
        assert [change.value for change in await take(slow, 100)] == list(range(100))
        await board.write("last", 100)
        assert (await take(slow, 1))[0].value == 100


async def test_a_watcher_behind_the_kept_stream_is_told_by_a_snapshot(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_QUEUE", 2)
    board: Board = room.board()
    mine = (room.principal.tenant, board.execution)
    async with board.watch(fields="f*") as slow:
        for number in range(10):
            await board.write(f"f{number}", number)
        await board.write("other", 1)
        await board.delete("f0")
        assert await room.feed.trim(*mine, "0-12", keep=3) == 9
        assert [change.value for change in await take(slow, 2)] == [0, 1]
        snapshot = await anext(slow)
        assert snapshot == Snapshot(cursor="0-12", fields={f"f{number}": number for number in range(1, 10)})
        await board.write("f10", 10)
        assert (await take(slow, 1))[0].cursor == "0-13"
    async with board.watch(since="0-8") as too_old, board.watch(since="0-9") as just_kept:
        assert isinstance(await anext(too_old), Snapshot)
        assert (await take(just_kept, 4))[0].cursor == "0-10"


async def test_only_audited_changes_are_trimmed_and_the_newest_stay(room: Any) -> None:
    board: Board = room.board()
    mine = (room.principal.tenant, board.execution)
    for number in range(10):
        await board.write("a", number)
    assert await room.feed.trim(*mine, "0-0", keep=0) == 0
    assert await room.feed.trim(*mine, "0-4", keep=0) == 4
    assert await room.feed.trim(*mine, "0-9", keep=5) == 1
    assert [change.cursor for change in await room.feed.drain(*mine, "0-0")] == [f"0-{n}" for n in range(6, 11)]
    assert await room.feed.trim(*mine, "0-10", keep=0) == 5
    assert (await room.feed.drain(*mine, "0-0"), await room.feed.last(*mine)) == ([], 10)
    await board.write("a", "next")
    assert [change.cursor for change in await room.feed.drain(*mine, "0-10")] == ["0-11"]


async def test_a_watcher_of_a_board_that_is_gone_is_told_so(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "_BLOCK", 0.05)
    board: Board = room.board()
    await board.write("a", 1)
    async with board.watch() as changes:
        assert await room.feed.expire(room.principal.tenant, board.execution, "0-1", timedelta(milliseconds=100))
        async with asyncio.timeout(5):
            assert await anext(changes) == Snapshot(cursor="0-0", fields={})
    async with board.watch(since="0-1") as late:
        assert await anext(late) == Snapshot(cursor="0-0", fields={})


@pytest.mark.parametrize("cursor", ["", "0", "17", "1-0", "0-x", "0--1", "0-1-2", "0-²"])
async def test_what_is_no_cursor_is_refused(room: Any, cursor: str) -> None:
    with pytest.raises(BadInput, match="is no cursor of a board"):
        await anext(room.board().watch(since=cursor))


async def test_whoever_waits_gets_all_fields_of_one_moment(room: Any) -> None:
    board: Board = room.board("waiter")
    writer: Board = room.board("writer")
    waiting = asyncio.create_task(board.wait_for(["a", "b", "a"], 10))
    await asyncio.sleep(0.05)
    await writer.write("a", None)
    await writer.write("noise", 1)
    await writer.delete("a")
    await writer.write("b", 2)
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await writer.write("a", 3)
    assert await waiting == {"a": 3, "b": 2}
    assert isinstance(await board.write("a", 4), object)
    assert await writer.read("a") == 4
    assert await board.wait_for("a") == {"a": 4}
    assert await board.wait_for([]) == {}


async def test_a_field_with_the_value_none_is_there(room: Any) -> None:
    board: Board = room.board()
    await board.write("a", None)
    assert await board.wait_for("a", 1) == {"a": None}


async def test_waiting_in_vain_names_what_is_missing(room: Any) -> None:
    board: Board = room.board()
    await board.write("here", 1)
    with pytest.raises(TimeoutError, match=r"after 0\.1 s still missing on the board: 'b', 'a'$"):
        await board.wait_for(["b", "here", "a"], timedelta(seconds=0.1))
    await asyncio.sleep(0)
    assert readers() == []


async def test_no_change_slips_between_reading_and_waiting(new_room: Callable[[], Any]) -> None:
    room, other = new_room(), new_room()
    for number in range(100):
        waiting = asyncio.create_task(room.board().wait_for(f"f{number}", 5))
        for _ in range(number % 10):
            await asyncio.sleep(0)
        await other.board().write(f"f{number}", number)
        assert await waiting == {f"f{number}": number}


async def test_a_cancelled_watcher_leaves_nothing_and_loses_nothing(room: Any) -> None:
    board: Board = room.board()
    watch = board.watch()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(watch)
    await board.write("a", "x" * 20_000)
    slow = asyncio.Event()
    get = room.artifacts.get

    async def stuck(*arguments: Any) -> bytes:
        await slow.wait()
        return await get(*arguments)

    room.artifacts.get = stuck
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(watch)
    slow.set()
    assert (await take(watch, 1))[0].field == "a"
    await watch.aclose()
    waiting = asyncio.create_task(board.wait_for("never"))
    await asyncio.sleep(0.05)
    assert len(readers()) == 1
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert readers() == []


async def test_a_loop_that_is_left_leaves_nothing(room: Any) -> None:
    board: Board = room.board()
    await board.write("a", 1)
    async for change in board.watch(since="0-0"):
        assert change.cursor == "0-1"
        break
    async with asyncio.timeout(30):
        while readers():  # noqa: ASYNC110  # a connection that is being made ends a moment after it is cancelled
            await asyncio.sleep(0)


async def test_the_end_of_the_feed_is_the_end_of_its_watches(room: Any) -> None:
    async with AsyncExitStack() as stack:
        await room.feed.start(stack)
        watch = room.board().watch()
        waiting = asyncio.ensure_future(anext(watch, "ended"))
        await asyncio.sleep(0.05)
    assert await asyncio.wait_for(waiting, 5) == "ended"
    assert readers() == []
