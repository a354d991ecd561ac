"""While the servers are there: a verb whose home's servers are stopped under it ends soon, with one line that says so.

Whoever stops them on purpose leaves a mark in the home, and nobody revives them. Without this watch every part that
still works would find out by itself, each with a note and a wait of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ...infra.connections import Connections
from ...infra.embedded.supervisor import stopped_on_purpose
from ...infra.errors import ServerUnavailable
from ...infra.settings import Settings
from .notes import hush

LOOK_AGAIN = 0.2
"""Seconds between two looks at the mark."""


@asynccontextmanager
async def while_served(settings: Settings, connections: Connections) -> AsyncGenerator[None]:
    """End the block when those servers of the home that are in use are stopped on purpose.

    Raises:
        ServerUnavailable: they were.
    """
    owner = asyncio.current_task()
    assert owner is not None

    def stopped() -> bool:
        own = {"valkey": settings.redis_url is None, "postgres": settings.postgres_url is None}
        return stopped_on_purpose(settings.home, [name for name, ours in own.items() if ours])

    async def look() -> None:
        while not stopped():  # noqa: ASYNC110  # another process sets the mark
            await asyncio.sleep(LOOK_AGAIN)
        hush()
        connections.give_up()
        owner.cancel()

    looking = asyncio.create_task(look(), name="lousa: are the servers still there?")
    try:
        yield
    except (asyncio.CancelledError, ServerUnavailable) as error:
        if not stopped():
            raise
        if looking.done():
            owner.uncancel()
        hush()
        connections.give_up()
        raise ServerUnavailable(
            f"the servers of {str(settings.home)!r} were stopped (lousa stop --force);"
            " the next command starts them again"
        ) from error
    finally:
        looking.cancel()
