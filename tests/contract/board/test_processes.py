"""Several processes on one board: each may read, write, watch and claim, and none knows more than the others."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from lousa.infra.embedded.supervisor import Endpoints
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.changes import Change

AGENT = """
import asyncio, json, sys
from contextlib import AsyncExitStack
from uuid import UUID
from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.operations import Operations

async def main(redis_url, postgres_url, tenant, execution, name):
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        feed = Feed(connections)
        await feed.start(stack)
        who = Principal(tenant=tenant, agent=name, session="s", execution=UUID(execution))
        board = Board(connections, who, feed=feed, artifacts=None, operations=Operations(who.execution))
        await board.write(f"ready/{name}", True)
        await board.wait_for("go", 30)
        claim = await board.claim("only-one", 60)
        seen = []
        async with board.watch(since="0-0", fields="sum") as changes:
            await asyncio.gather(*(board.update("sum", lambda old: (old or 0) + 1) for _ in range(100)))
            while len(seen) < 300:
                seen.append((await anext(changes)).value)
        print(json.dumps([claim is not None, seen]))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_a_board_and_lose_nothing(room: Any, servers: Endpoints, tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    board: Board = room.board()
    names = ["a", "b", "c"]
    where = (room.connections.redis_url, servers.postgres_url, room.principal.tenant, str(board.execution))
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, str(program), *where, name, stdout=asyncio.subprocess.PIPE)
        for name in names
    ]
    await board.wait_for([f"ready/{name}" for name in names], 30)
    await board.write("go", True)
    answers = [json.loads((await process.communicate())[0]) for process in processes]
    assert sorted(claimed for claimed, _ in answers) == [False, False, True]
    assert all(seen == list(range(1, 301)) for _, seen in answers)
    assert await board.read_versioned("sum") == (300, 300)
    async with board.watch(since="0-0", fields="ready/*") as changes:
        first = await anext(changes)
    assert isinstance(first, Change)
    assert first.agent in names
