"""Whether a run that should be running is held by nobody: its process was interrupted, and it can be resumed."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from ..agents.ownership import RUN
from ..infra.connections import Connections
from ..infra.redis import server_of
from ..memory_layers.conversation.claims import holder_of
from ..memory_layers.conversation.keys import board_keys
from ..memory_layers.conversation.script import command


async def deserted(connections: Connections, tenant: str, execution: UUID) -> bool:
    """True when nobody has its claim, or whoever has it no longer says so, by the server's own clock."""
    claims = board_keys(tenant, execution).claims
    holder = await holder_of(connections, claims, RUN)
    if holder is None:
        return True
    seconds, _ = cast("tuple[int, int]", await command(await server_of(connections.redis, claims), "TIME"))
    return holder.until.timestamp() < int(seconds)
