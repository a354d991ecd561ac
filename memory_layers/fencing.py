"""Fences of durable writes: only the attempt that runs a task now may write in its name.

The board's scripts check the token in the board's own slot. A memory goes elsewhere, so the router asks the board
first, and a write-back carries its fence into the journal, where the relay asks again. By then the task may rightly
have passed on (its process died, another took it up), and what the first attempt wrote before that was acknowledged and
stands. So the relay does not ask whether the token is the newest, but whether a newer one had been granted when the
entry was written; both moments are told by the Redis server.
"""

from __future__ import annotations

from typing import cast
from uuid import UUID

from ..infra.connections import Connections
from .conversation.claims import Fence, stale
from .conversation.keys import board_keys
from .conversation.script import command


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
    granted = await command(connections.redis, "HGET", board_keys(tenant, execution).claims, grants(fence.task))
    for grant in (cast(bytes | None, granted) or b"").split():
        token, moment = grant.split(b":")
        if int(token) > fence.token and int(moment) < at:
            return True
    return False


def grants(task: str) -> str:
    """Where the claims of a board keep when each token of a task was granted; no task is called so."""
    return f"\x00{task}"
