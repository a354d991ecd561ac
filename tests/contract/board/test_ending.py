"""The end of a board: once its execution is over and its changes are in the ledger, every key of it is let go."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.memory_layers import auditing
from lousa.memory_layers.auditing import BoardAudit
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.scratchpad import Scratchpad
from lousa.memory_layers.execution.executions import Executions


async def lives(connections: Connections, principal: Principal) -> dict[str, int]:
    """Milliseconds that each key of the board still has; -1 for ever, -2 gone."""
    assert principal.execution is not None
    keys = board_keys(principal.tenant, principal.execution).all()
    return {key.rpartition(":")[2]: await connections.redis.pttl(key) for key in keys}


@pytest.fixture
async def used(room: Any, connections: Connections, principal: Principal) -> None:
    """A board with all that a board can have."""
    board = room.board()
    await board.write("a", 1)
    await room.mailbox("tester").tell("critic", "look")
    await Scratchpad(connections, principal, artifacts=room.artifacts).write("mine", 1)
    assert await board.claim("task", 60) is not None
    assert set((await lives(connections, principal)).values()) == {-1}


@pytest.mark.usefixtures("used")
async def test_a_board_that_is_over_leaves_no_key_behind(
    room: Any, connections: Connections, principal: Principal
) -> None:
    assert principal.execution is not None
    await Executions(connections).finish(principal, principal.execution, "accepted")
    audit = BoardAudit(connections, room.feed, kept=timedelta(seconds=1))
    await audit.round()
    left = await lives(connections, principal)
    assert all(left[key] <= 1000 and left[key] != -1 for key in left), left  # on a slow machine some are gone by now
    async with asyncio.timeout(30):
        while set((await lives(connections, principal)).values()) != {-2}:  # noqa: ASYNC110  # a server's own clock
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("used")
async def test_a_board_in_use_has_no_end(room: Any, connections: Connections, principal: Principal) -> None:
    await BoardAudit(connections, room.feed, kept=timedelta(seconds=1)).round()
    assert set((await lives(connections, principal)).values()) == {-1}


class SlowToLetGo(Feed):
    """A feed on a busy machine."""

    async def expire(self, *of: Any, **known: Any) -> bool:
        await asyncio.sleep(0.5)
        return await super().expire(*of, **known)


@pytest.mark.parametrize("redis_url", ["alone"], indirect=True)  # it is the record that is looked at
async def test_much_to_let_go_does_not_put_off_the_next_look_at_all_boards(
    connections: Connections, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often all boards are looked at depends on what looking costs, not on what there was to do."""
    monkeypatch.setattr(auditing, "_EVERY", 0.0)
    executions = Executions(connections)
    audit = BoardAudit(connections, SlowToLetGo(connections), kept=timedelta(seconds=60))

    async def ended() -> UUID:
        execution = await executions.create(replace(principal, execution=None), "test", {})
        await executions.finish(principal, execution, "accepted")
        return execution

    async def drained(execution: UUID) -> bool:
        return (await executions.get(principal, execution)).drained

    first = await ended()
    await audit.turn()
    assert await drained(first)
    second = await ended()
    async with asyncio.timeout(5):  # twenty times half a second is more
        while not await drained(second):
            await audit.turn()
            await asyncio.sleep(0.02)
