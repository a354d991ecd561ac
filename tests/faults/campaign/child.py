"""What the nursery forks: one process that opens Lousa as any program does, and plays its part until it dies.

Three parts: a writer with its workers, a watcher, and a relay, which only has Lousa open, and begins and ends
executions when it is told to.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import langgraph.graph  # noqa: F401  # pyright: ignore[reportUnusedImport]  # before the fork, so that children have it
import lousa
import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  # likewise
import tenacity  # noqa: F401  # pyright: ignore[reportUnusedImport]  # likewise
from lousa.infra.errors import LedgerUnavailable, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.memory_layers import auditing
from lousa.runtime.app import Runtime

from . import slow_disk
from .broken import BROKEN
from .channel import Channel, Words
from .seams import Seams
from .watcher import Watcher
from .writer import Writer

KEPT_CHANGES = 150
"""Changes that a board's stream keeps here; so few, so that it is trimmed often."""


def live(order: Words) -> None:
    """A child's life; it does not come back."""
    code = 70
    try:
        logging.basicConfig(filename=order["log"], format=f"%(asctime)s {order['name']} %(message)s")
        asyncio.run(_live(order, Channel(order["socket"])))
        code = 0
    finally:
        if code:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]  # there is one
        os._exit(code)


async def _live(order: Words, channel: Channel) -> None:
    channel.say("hello", order["name"], os.getpid())
    if order["broken"]:
        BROKEN[order["broken"]][0]()
    seams = Seams(lambda dies: channel.say("reached", dies))
    if order["shim"]:
        slow_disk.preload(Path(order["shim"]))
    auditing._KEPT_CHANGES = KEPT_CHANGES  # pyright: ignore[reportPrivateUsage]  # see above
    heard: asyncio.Queue[Words] = asyncio.Queue()
    leaving = asyncio.Event()

    def hear(words: Words) -> None:
        if words["do"] == "arm":
            seams.arm(words["seam"], words["victim"], words["passes"])
        elif words["do"] == "leave":
            leaving.set()
        else:
            heard.put_nowait(words)

    channel.listen(hear, leaving.set)
    async with AsyncExitStack() as stack:
        opening = lousa.open(home=order["home"], embedder="campaign.embedder:hashing", deadline=timedelta(seconds=2))
        try:
            runtime = await stack.enter_async_context(opening)
        except ServerUnavailable as error:  # a server was killed meanwhile, and whoever runs programs runs them again
            channel.say("unopened", str(error))
            return
        part = {"writer": Writer, "watcher": Watcher, "relay": Conductor}[order["part"]](runtime, channel, order)
        playing = asyncio.create_task(part.play(heard))
        left = asyncio.create_task(leaving.wait())
        channel.say("ready", runtime.services.connections.redis_url, runtime.services.connections.postgres_url)
        await asyncio.wait((playing, left), return_when=asyncio.FIRST_COMPLETED)
        for task in (playing, left):
            task.cancel()
        (ended, _) = await asyncio.gather(playing, left, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended


class Conductor:
    """The relay's part: it does nothing, except for beginning and ending executions, as often as it is asked to."""

    def __init__(self, runtime: Runtime, channel: Channel, order: Words) -> None:
        self._executions = runtime.services.executions
        self._channel = channel

    async def play(self, heard: asyncio.Queue[Words]) -> None:
        """Until cancelled."""
        while True:
            words = await heard.get()
            who = Principal(tenant=words["tenant"], agent="conductor", session=f"session {words['tenant']}")
            execution = UUID(words["execution"])
            while True:
                try:
                    await self._conduct(words["do"], who, execution)
                except (ServerUnavailable, LedgerUnavailable):
                    await asyncio.sleep(0.05)
                    continue
                break
            self._channel.say("done", words["do"], words["execution"])

    async def _conduct(self, what: str, who: Principal, execution: UUID) -> Any:
        if what == "begin":
            return await self._executions.create(who, "campaign", {"load": True}, execution=execution)
        return await self._executions.finish(who, execution, "accepted", {"load": "over"})
