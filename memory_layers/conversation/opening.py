"""Opening: a board can be written once its execution is known, and not before.

Whoever creates an execution opens its board after the row is in Postgres, so every board that takes a write is one
whose changes the relay copies into the ledger. The mark lies in the hash that every mutation asks anyway, and goes with
the board: an unknown execution, another tenant's, and one whose board was let go are refused alike.
"""

from __future__ import annotations

from uuid import UUID

from ...infra.connections import Connections
from ...infra.errors import NotFound
from .keys import board_keys
from .script import command

OPENED = "opened"


async def open_board(connections: Connections, tenant: str, execution: UUID) -> None:
    """Let the board of an execution be written; its row is there. Opening it again changes nothing."""
    await command(connections.redis, "HSETNX", board_keys(tenant, execution).operations, OPENED, 1)


def unknown(tenant: str, execution: UUID) -> NotFound:
    """The error of a write to a board that was never opened, or is gone."""
    return NotFound(
        f"tenant {tenant!r} has no execution {execution} whose board can be written: 'lousa board' lists"
        " those there are; one that ended a day ago has let its board go, and one that was cut off while it began has"
        " to be resumed"
    )
