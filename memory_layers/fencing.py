"""Fences of durable writes: only the attempt that runs a task now may write in its name.

The board's scripts check the token in the board's own slot. A memory goes elsewhere, so the router asks the board
first, and a write-back carries its fence into the journal, where the relay asks again. By then the task may rightly
have passed on (its process died, another took it up), and what the first attempt wrote before that was acknowledged and
stands. So the relay does not ask whether the token is the newest, but whether a newer one had been granted when the
entry was written; both moments are told by the Redis server. In a Cluster two servers may tell them: then the one is
put into the other's time, and where their clocks are too near to be told apart, the write stands.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast
from uuid import UUID

from ..infra.connections import Connections
from ..infra.redis import server_of
from ..infra.tasks import together
from .conversation.claims import Fence, stale
from .conversation.keys import board_keys, journal_key
from .conversation.script import at_once, command

K = TypeVar("K")


async def check(connections: Connections, tenant: str, execution: UUID, fence: Fence) -> None:
    """Raises:
    Stale: the task was given to another attempt, or released.
    """
    held = await command(connections.redis, "HGET", board_keys(tenant, execution).claims, fence.task)
    token, _, holder = (cast(bytes | None, held) or b"0 0 ").split(b" ", 2)
    if int(token) != fence.token or not holder:
        raise stale(fence, cast(bytes | None, held) or b"")


async def overtaken(connections: Connections, tenant: str, execution: UUID, fence: Fence, at: int) -> bool:
    """Whether a newer token for the task had been granted before `at`, in milliseconds of the server."""
    return bool(await stale_among(connections, tenant, {execution: (execution, fence, at)}))


async def stale_among(connections: Connections, tenant: str, asked: Mapping[K, tuple[UUID, Fence, int]]) -> set[K]:
    """Which of some writes, each of an execution under a fence at a moment, were written by one who was overtaken.

    However many they are, they are one question: to each board for the grants of all its tasks.
    """
    tasks: dict[UUID, dict[str, bytes]] = {}
    for execution, fence, _ in asked.values():
        tasks.setdefault(execution, {})[fence.task] = b""
    words = [("HMGET", board_keys(tenant, execution).claims, *map(grants, of)) for execution, of in tasks.items()]
    replies = await at_once(connections.redis, *words) if words else []
    ahead = await _ahead(connections, tenant, tasks)
    for of, reply in zip(tasks.values(), replies, strict=True):
        of.update(zip(of, (granted or b"" for granted in cast(list[bytes | None], reply)), strict=True))
    return {
        write
        for write, (execution, fence, at) in asked.items()
        if any(
            int(token) > fence.token and int(moment) < at - ahead[execution]
            for token, moment in (grant.split(b":") for grant in tasks[execution][fence.task].split())
        )
    }


async def _ahead(connections: Connections, tenant: str, executions: Iterable[UUID]) -> dict[UUID, float]:
    """Milliseconds by which the clock of the journal may be ahead of that of each board; none on one server."""
    redis = connections.redis
    journal = await server_of(redis, journal_key(tenant))
    boards = {execution: await server_of(redis, board_keys(tenant, execution).claims) for execution in executions}
    servers = list({journal, *boards.values()})
    if len(servers) < 2:
        return dict.fromkeys(boards, 0.0)
    begun = time.monotonic()
    told = await together(*(command(server, "TIME") for server in servers))
    asked_for = (time.monotonic() - begun) * 1000
    clocks = {
        server: int(seconds) * 1000 + int(micros) / 1000
        for server, (seconds, micros) in zip(servers, cast(list[tuple[int, int]], told), strict=True)
    }
    return {
        execution: 0.0 if board is journal else clocks[journal] - clocks[board] + asked_for + 1
        for execution, board in boards.items()
    }


def grants(task: str) -> str:
    """Where the claims of a board keep when each token of a task was granted; no task is called so."""
    return f"\x00{task}"
