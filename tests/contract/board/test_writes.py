"""What a write on the board promises, on the real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, cast

import pytest
from lousa.infra.errors import BadInput, NotFound
from lousa.memory_layers.conversation.board import ANY, Board, Conflict, Written
from lousa.memory_layers.conversation.keys import HINTS, board_keys, board_of
from lousa.memory_layers.records import Json


def one_more(old: Json) -> Json:
    return cast(int, old or 0) + 1


KINDS: list[Json] = [None, True, 0, -1, 2**70, 1.5, "", "maçã 🍏 \x00", [], {}, [[1], {"a": [None]}], {"": {"b": 1}}]


@pytest.mark.parametrize("value", KINDS, ids=repr)
async def test_what_is_written_is_read(room: Any, value: Json) -> None:
    board: Board = room.board()
    assert isinstance(await board.write("field", value), Written)
    assert await board.read("field") == value


@pytest.mark.parametrize(
    "field",
    ["a/b", "{a}", "%2F", "a{b}c", "*", "?[x]", " ", "x" * 512, "🧵", "-", "a:b", "closed", "çã", "1=2"],
)
async def test_any_name_is_one_field_of_its_own(room: Any, field: str) -> None:
    board: Board = room.board()
    await board.write("other", "untouched")
    await board.write(field, "mine")
    assert await board.read_all() == {"other": "untouched", field: "mine"}
    await board.delete(field)
    assert await board.read_all() == {"other": "untouched"}


@pytest.mark.parametrize("field", ["", "x" * 513, "x" * 2_000, "a\x00b", "\ud800", 7, None], ids=repr)
async def test_a_name_that_cannot_be_one_is_refused_and_nothing_is_done(room: Any, field: Any) -> None:
    board: Board = room.board()
    for call in (board.write(field, 1), board.read(field), board.delete(field), board.wait_for([field], 0.1)):
        with pytest.raises(BadInput, match="a field's name"):
            await call
    assert await board.read_all() == {}


async def test_the_fields_of_the_runtime_are_read_by_all_and_written_by_it_alone(room: Any) -> None:
    board: Board = room.board()
    for call in (board.write("lousa/plan", 1), board.delete("lousa/plan"), board.update("lousa/plan", lambda _: 1)):
        with pytest.raises(BadInput, match="runtime"):
            await call
    runtime = Board(
        room.connections, room.who("runtime"), feed=room.feed, artifacts=room.artifacts,
        operations=board._operations, reserved=True,  # pyright: ignore[reportPrivateUsage]
    )  # fmt: skip
    await runtime.write("lousa/plan", ["a"])
    assert await board.read("lousa/plan") == ["a"]
    assert await board.read_all() == {}
    assert await board.read_all("lousa/*") == {"lousa/plan": ["a"]}


async def test_a_value_that_is_not_json_is_refused_by_its_place(room: Any) -> None:
    board: Board = room.board()
    circle: list[Any] = []
    circle.append(circle)
    refused: list[tuple[Any, str]] = [
        ({"a": [1, {"b": float("nan")}]}, r"\['a'\]\[1\]\['b'\] is nan"),
        ([float("inf")], r"\[0\] is inf"),
        ({"a": {1: 2}}, r"\['a'\] has the key 1"),
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, r"\['when'\] is datetime"),
        ({1, 2}, "is set"),
        (b"raw", "is bytes"),
        (circle, "nested deeper than 100, or holds itself"),
        ("\ud83d", "half a character"),
    ]
    for value, why in refused:
        with pytest.raises(BadInput, match=why):
            await board.write("field", value)
    assert await board.read_versioned("field") == (None, 0)


async def test_a_write_replaces_only_the_version_its_writer_has_seen(room: Any) -> None:
    one: Board = room.board("one")
    two: Board = room.board("two")
    assert await one.write("plan", "first") == Written(field="plan", version=1, cursor="0-1")
    assert await two.write("plan", "blind") == Conflict(field="plan", expected=0, version=1, value="first")
    assert await two.read("plan") == "first"
    assert isinstance(await two.write("plan", "second"), Written)
    assert await one.write("plan", "late") == Conflict(field="plan", expected=1, version=2, value="second")
    assert await one.read_all() == {"plan": "second"}
    assert isinstance(await one.write("plan", "third"), Written)


async def test_a_conflict_is_no_reading_and_overwriting_is_said(room: Any) -> None:
    one: Board = room.board("one")
    two: Board = room.board("two")
    await one.write("plan", "first")
    for _ in range(2):
        assert isinstance(await two.write("plan", "blind"), Conflict)
    assert await two.write("plan", "knowing", expect=1) == Written(field="plan", version=2, cursor="0-2")
    assert isinstance(await one.write("plan", "whatever", expect=ANY), Written)
    assert await two.read_versioned("plan") == ("whatever", 3)


@pytest.mark.parametrize("expect", [-1, "1", 1.0, "any"])
async def test_an_expectation_that_is_no_version_is_refused(room: Any, expect: Any) -> None:
    with pytest.raises(BadInput, match="is no version"):
        await room.board().write("plan", 1, expect=expect)


async def test_a_deleted_field_keeps_its_version_so_that_no_stale_write_matches(room: Any) -> None:
    one: Board = room.board("one")
    two: Board = room.board("two")
    await one.write("plan", "a")
    assert await one.delete("plan") == Written(field="plan", version=2, cursor="0-2")
    assert await two.write("plan", "new") == Conflict(field="plan", expected=0, version=2, value=None)
    assert await two.read_versioned("plan") == (None, 2)
    assert isinstance(await two.write("plan", "new"), Written)
    assert isinstance(await one.write("plan", "stale", expect=1), Conflict)
    assert await one.read_versioned("plan") == ("new", 3)


async def test_deleting_what_is_not_there_changes_nothing(room: Any) -> None:
    board: Board = room.board()
    assert await board.delete("nothing") == Written(field="nothing", version=0)
    await board.write("plan", 1)
    await board.delete("plan")
    assert await board.delete("plan") == Written(field="plan", version=2)
    assert len(await room.feed.drain(room.principal.tenant, board.execution, "0-0")) == 2


async def test_a_task_that_runs_again_meets_its_first_answers(room: Any) -> None:
    first: Board = room.board(task="count-1")
    assert await first.write("words", 3) == Written(field="words", version=1, cursor="0-1")
    assert await first.write("words", 4) == Written(field="words", version=2, cursor="0-2")
    await room.board("other").write("words", 99, expect=ANY)
    again: Board = room.board(task="count-1")
    assert await again.write("words", 3) == Written(field="words", version=1, cursor="0-1", repeated=True)
    assert await again.write("words", 4) == Written(field="words", version=2, cursor="0-2", repeated=True)
    assert await again.read("words") == 99
    next_round: Board = room.board(task="count-1", round=1)
    await next_round.read("words")
    assert isinstance(await next_round.write("words", 5), Written)


async def test_what_a_task_writes_in_parallel_is_told_apart_in_any_order(room: Any) -> None:
    fields = [f"f{number}" for number in range(20)]
    first: Board = room.board(task="t")
    await asyncio.gather(*(first.write(field, field) for field in fields))
    again: Board = room.board(task="t")
    answers = await asyncio.gather(*(again.write(field, field) for field in reversed(fields)))
    assert all(isinstance(answer, Written) and answer.repeated for answer in answers)
    assert await again.read_all() == {field: field for field in fields}


async def test_calls_with_a_key_are_told_apart_by_it(room: Any) -> None:
    board: Board = room.board(task="t")
    keys = ["a", "b", "c"]
    await asyncio.gather(*(board.update("sum", one_more, key=key) for key in keys))
    again: Board = room.board(task="t")
    answers = await asyncio.gather(*(again.update("sum", one_more, key=key) for key in keys[::-1]))
    assert all(answer.repeated for answer in answers)
    assert await again.read("sum") == 3


async def test_a_conflict_is_not_held_against_the_next_attempt(room: Any) -> None:
    await room.board("other").write("words", 1)
    assert isinstance(await room.board(task="t").write("words", 2), Conflict)
    again: Board = room.board(task="t")
    await again.read("words")
    assert isinstance(await again.write("words", 2), Written)


async def test_every_write_has_exactly_one_change_with_all_that_its_audit_needs(room: Any) -> None:
    board: Board = room.board("ana")
    await board.write("a", {"x": 1}, subject="person-7")
    await board.write("a", [2])
    await board.write("a", 3, expect=1)
    await board.delete("a")
    await board.tell("*", "done")
    changes = await room.feed.drain(room.principal.tenant, board.execution, "0-0")
    assert [(c.cursor, c.action, c.field, c.before, c.after, c.body) for c in changes] == [
        ("0-1", "write", "a", 0, 1, b'{"x":1}'),
        ("0-2", "write", "a", 1, 2, b"[2]"),
        ("0-3", "delete", "a", 2, 3, None),
        ("0-4", "tell", "*", 0, 0, b'"done"'),
    ]
    assert {(c.agent, c.session, c.task) for c in changes} == {("ana", room.principal.session, None)}
    assert [c.subject for c in changes] == ["person-7", "", "", ""]
    assert len({c.operation for c in changes}) == 4
    assert all(abs((datetime.now(UTC) - c.at).total_seconds()) < 60 for c in changes)


async def test_every_write_hints_at_its_board(room: Any) -> None:
    pubsub = room.connections.blocking_redis.pubsub()
    async with pubsub:
        await pubsub.subscribe(HINTS)
        board: Board = room.board()
        await board.write("a", 1)
        mine = (room.principal.tenant, board.execution)
        async with asyncio.timeout(5):
            async for message in pubsub.listen():
                if message["type"] == "message" and board_of(message["data"].decode()) == mine:
                    break


async def test_updates_of_one_field_all_count_and_seldom_run_twice(new_room: Callable[[], Any]) -> None:
    room = new_room()
    boards: list[Board] = [room.board(f"agent-{number}") for number in range(4)]
    attempts = 0

    async def add(old: Json) -> Json:
        nonlocal attempts
        attempts += 1
        await asyncio.sleep(0)
        return one_more(old)

    await asyncio.gather(*(board.update("sum", add) for board in boards for _ in range(100)))
    assert await boards[0].read_versioned("sum") == (400, 400)
    assert attempts <= 420


async def test_updates_of_several_processes_all_count(new_room: Callable[[], Any]) -> None:
    boards: list[Board] = [new_room().board(f"agent-{number}") for number in range(4)]
    await asyncio.gather(*(board.update("sum", one_more) for board in boards for _ in range(50)))
    assert await boards[0].read_versioned("sum") == (200, 200)


async def test_agents_that_write_at_random_lose_no_update(new_room: Callable[[], Any]) -> None:
    """Against a model: whatever was answered `Written` happened once, in version order, and nothing else did."""
    rooms = [new_room(), new_room()]

    async def agent(number: int) -> list[tuple[str, int, Json]]:
        board: Board = rooms[number % 2].board(f"agent-{number}")
        dice, done = Random(number), list[tuple[str, int, Json]]()
        for step in range(40):
            field, value = f"f{dice.randrange(3)}", f"{number}.{step}"
            if dice.random() < 0.4:
                await board.read(field)
            answer = await (board.delete(field) if dice.random() < 0.2 else board.write(field, value))
            if isinstance(answer, Written) and answer.cursor:
                done.append((field, answer.version, answer.cursor))
        return done

    done = [entry for entries in await asyncio.gather(*map(agent, range(8))) for entry in entries]
    board: Board = rooms[0].board()
    changes = await rooms[0].feed.drain(rooms[0].principal.tenant, board.execution, "0-0", 1_000)
    assert sorted(done) == sorted((change.field, change.after, change.cursor) for change in changes)
    for field in ("f0", "f1", "f2"):
        mine = [change for change in changes if change.field == field]
        assert [change.after for change in mine] == list(range(1, len(mine) + 1))
        last = json.loads(mine[-1].body) if mine[-1].body else None
        assert await board.read(field) == last


PATTERNS = {
    "*": {"words/a", "words/a/b", "sums", "[x]", "*"},
    "words/*": {"words/a", "words/a/b"},
    "*a*": {"words/a", "words/a/b"},
    "w*/*/b": {"words/a/b"},
    "words": set[str](),
    "sums": {"sums"},
    "[*]": {"[x]"},
    "**": {"words/a", "words/a/b", "sums", "[x]", "*"},
    "s*s*s": set[str](),
}


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_a_star_stands_for_anything_and_nothing_else_is_special(room: Any, pattern: str) -> None:
    board: Board = room.board()
    for field in PATTERNS["*"]:
        await board.write(field, 1)
    assert set(await board.read_all(pattern)) == PATTERNS[pattern]


async def test_two_boards_never_touch_whatever_their_names(connections: Any, room: Any) -> None:
    execution = room.principal.execution
    tenants = ["a", "a/b", "{a}", "a}", "a%2Fb", "A", "a ", "á"]
    keys = [board_keys(tenant, execution).all() for tenant in tenants]
    assert len({key for of_tenant in keys for key in of_tenant}) == len(tenants) * len(keys[0])
    for tenant, of_tenant in zip(tenants, keys, strict=True):
        assert {board_of(key) for key in of_tenant} == {(tenant, execution)}
        assert len({await connections.redis.execute_command("CLUSTER", "KEYSLOT", key) for key in of_tenant}) == 1


async def test_a_large_value_goes_to_an_artifact_unseen(room: Any) -> None:
    board: Board = room.board()
    large: Json = {"text": "é" * 20_000}
    await board.write("large", large, subject="person-7")
    assert await board.read("large") == large
    assert (await board.read_all())["large"] == large
    [change] = await room.feed.drain(room.principal.tenant, board.execution, "0-0")
    assert change.body is None
    assert change.artifact.subject == "person-7"
    assert change.artifact.digest in room.artifacts.taken
    async with board.watch("0-0") as changes:
        assert (await anext(changes)).value == large  # pyright: ignore
    conflict = await room.board("two").write("large", 1)
    assert isinstance(conflict, Conflict)
    assert conflict.value == large


async def test_a_value_of_fifty_megabytes_is_kept_and_a_larger_one_refused(room: Any) -> None:
    board: Board = room.board()
    await board.write("huge", "x" * 50_000_000)
    assert await board.read("huge") == "x" * 50_000_000
    with pytest.raises(BadInput, match=r"holds 67 MB of JSON, at most 64 fit"):
        await board.write("huge", "x" * 70_000_000)
    assert (await board.read_versioned("huge"))[1] == 1


async def test_what_a_conflict_refused_is_not_taken_up(room: Any) -> None:
    await room.board("one").write("large", 1)
    assert isinstance(await room.board("two").write("large", "x" * 20_000), Conflict)
    assert room.artifacts.taken == set()


async def test_an_erased_value_is_said_to_be_gone(room: Any) -> None:
    board: Board = room.board()
    await board.write("large", "x" * 20_000)
    await board.write("next", 1)
    room.artifacts.bodies.clear()
    with pytest.raises(NotFound):
        await board.read("large")
    async with board.watch("0-0") as changes:
        with pytest.raises(NotFound):
            await anext(changes)
        assert (await anext(changes)).field == "next"  # pyright: ignore


@pytest.mark.parametrize(("size", "artifacts"), [(10_238, 0), (10_239, 1)])
async def test_the_limit_of_ten_kilobytes_is_met_exactly(room: Any, size: int, artifacts: int) -> None:
    await room.board().write("edge", "x" * size)
    assert len(room.artifacts.bodies) == artifacts


async def test_an_ended_board_is_read_and_not_written(room: Any) -> None:
    board: Board = room.board()
    await board.write("a", 1)
    mine = (room.principal.tenant, board.execution)
    assert not await room.feed.expire(*mine, "0-0", timedelta(hours=24))
    assert isinstance(await board.write("a", 2), Written)
    assert await room.feed.expire(*mine, "0-2", timedelta(hours=24))
    for call in (board.write("a", 3), board.delete("a"), board.tell("*", 1), board.claim("t", 1)):
        with pytest.raises(BadInput, match="ended"):
            await call
    assert await board.read("a") == 2
    for key in board_keys(*mine).all():
        assert await room.connections.redis.ttl(key) in (-2, 86_400, 86_399)
