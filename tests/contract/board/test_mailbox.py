"""Messages reach those they are for: each once, in order, none missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from lousa.infra.errors import BadInput
from lousa.memory_layers.conversation.mailbox import Mailbox


async def test_a_message_reaches_a_name_a_role_or_everyone(room: Any) -> None:
    ana: Mailbox = room.mailbox("ana")
    rui: Mailbox = room.mailbox("rui", "critic", "reader")
    await ana.tell("rui", {"n": 1})
    await ana.tell("role:critic", 2)
    await ana.tell("*", 3)
    await ana.tell("ru", "a prefix is another name")
    await ana.tell("role:crit", "and another role")
    assert [(m.sender, m.to, m.body, m.cursor) for m in await rui.inbox()] == [
        ("ana", "rui", {"n": 1}, "0-1"),
        ("ana", "role:critic", 2, "0-2"),
        ("ana", "*", 3, "0-3"),
    ]
    assert [m.body for m in await ana.inbox()] == [3]


async def test_an_inbox_shows_what_is_new_and_from_a_cursor_what_came_after(room: Any) -> None:
    box: Mailbox = room.mailbox("ana")
    cursors = [await box.tell("ana", n) for n in range(3)]
    assert [m.body for m in await box.inbox()] == [0, 1, 2]
    assert await box.inbox() == []
    await box.tell("ana", 3)
    assert [m.body for m in await box.inbox()] == [3]
    assert [m.body for m in await box.inbox(cursors[1])] == [2, 3]
    assert [m.body for m in await room.mailbox("ana").inbox()] == [0, 1, 2, 3]


async def test_messages_outlive_the_trimming_of_the_change_stream(room: Any) -> None:
    box: Mailbox = room.mailbox("ana")
    await asyncio.gather(*(box.tell("ana", number) for number in range(450)))
    await room.feed.trim(room.principal.tenant, room.principal.execution, "0-450", keep=0)
    assert sorted(cast(int, m.body) for m in await box.inbox()) == list(range(450))


async def test_a_listener_hears_each_message_once_and_in_order(new_room: Callable[[], Any]) -> None:
    here, there = new_room(), new_room()
    await here.mailbox("ana").tell("rui", "early")
    heard: list[Any] = []

    async def listen() -> None:
        async for message in there.mailbox("rui", "critic").listen():
            heard.append(message.body)
            if len(heard) == 101:
                return

    listening = asyncio.create_task(listen())
    senders = [here.mailbox(f"agent-{number}") for number in range(4)]
    for number in range(25):
        addresses = ["rui", "role:critic", "*", "rui"]
        await asyncio.gather(
            *(s.tell(to, (i, number)) for i, (s, to) in enumerate(zip(senders, addresses, strict=True)))
        )
        await here.board().write("noise", number, expect=number)
    await asyncio.wait_for(listening, 10)
    assert heard[0] == "early"
    for sender in range(4):
        assert [n for i, n in heard[1:] if i == sender] == list(range(25))
    await asyncio.sleep(0.01)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("feed of")]


async def test_messages_are_no_fields(room: Any) -> None:
    await room.mailbox("ana").tell("*", 1)
    assert await room.board().read_all() == {}


async def test_a_task_that_runs_again_tells_nothing_twice(room: Any) -> None:
    for _ in range(2):
        await room.board("worker", task="t").tell("rui", "done")
    assert len(await room.mailbox("rui").inbox()) == 1


async def test_a_large_message_arrives_whole(room: Any) -> None:
    await room.mailbox("ana").tell("rui", "x" * 30_000)
    assert [m.body for m in await room.mailbox("rui").inbox()] == ["x" * 30_000]


@pytest.mark.parametrize("to", ["", "role:", "x" * 257, "a\x00"])
async def test_nobody_can_be_called_so(room: Any, to: str) -> None:
    with pytest.raises(BadInput):
        await room.mailbox("ana").tell(to, 1)


async def test_a_body_that_is_not_json_is_refused(room: Any) -> None:
    with pytest.raises(BadInput, match="the message to 'rui' is set"):
        await room.mailbox("ana").tell("rui", {1})  # pyright: ignore
