"""A client that is closed while it is used leaves no connection behind, and opens none."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack

import pytest
from lousa.infra.errors import LousaError
from lousa.infra.redis import open_redis
from lousa.memory_layers.conversation.script import at_once, command
from servers.valkey import Clustered, Server, Watched, wait_for

ROUNDS = 20


@pytest.mark.parametrize("kind", ["cluster", "group"])
async def test_no_connection_outlives_its_client(kind: str, request: pytest.FixtureRequest) -> None:
    place: Clustered | Watched = request.getfixturevalue(kind)
    servers = [*place.servers, *place.sentinels] if isinstance(place, Watched) else place.nodes
    for seed in range(ROUNDS):
        await closed_while_used(place.url, random.Random(seed))
    for server in servers:
        await asyncio.to_thread(wait_for, "our connections to go", lambda server=server: connected(server) == 0)


async def closed_while_used(url: str, chance: random.Random) -> None:
    async with AsyncExitStack() as stack:
        commands, blocking = await open_redis(url, 8, stack)

        async def use(number: int) -> None:
            await asyncio.sleep(chance.random() * 0.003)
            if number % 3 == 0:
                await command(blocking, "XREAD", "BLOCK", 200, "STREAMS", "lousa:{x}:never", "$")
            elif number % 3 == 1:
                await command(commands, "HSET", f"lousa:{{x{number}}}:closing", "f", number)
            else:
                await at_once(commands, *(("HGET", f"lousa:{{y{other}}}:closing", "f") for other in range(5)))

        using = [asyncio.create_task(use(number)) for number in range(12)]
        await asyncio.sleep(chance.random() * 0.012)
        for task in using[::2]:
            task.cancel()
    for ended in await asyncio.gather(*using, return_exceptions=True):
        assert ended is None or isinstance(ended, (LousaError, asyncio.CancelledError)), repr(ended)


def connected(server: Server) -> int:
    """How many connections of ours a server has, besides the one that asks."""
    return str(server.ask("CLIENT", "LIST")).count("lib-name=redis-py") - 1
