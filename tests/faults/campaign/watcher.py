"""A watcher of every open board: it tells the witness each change it sees, and is resumed from what it told last."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from lousa.infra.errors import ServerUnavailable
from lousa.memory_layers.conversation.changes import Snapshot
from lousa.runtime.app import Runtime

from .channel import Channel, Words


class Watcher:
    """Watches boards from a cursor on."""

    def __init__(self, runtime: Runtime, channel: Channel, order: Words) -> None:
        self._runtime = runtime
        self._channel = channel
        self._begin: list[Words] = order["boards"]

    async def play(self, heard: asyncio.Queue[Words]) -> None:
        """Watch the boards of the order, and those that come later."""
        watched: set[str] = set()
        async with asyncio.TaskGroup() as group:
            for words in self._begin:
                heard.put_nowait(words)
            while True:
                words = await heard.get()
                if words["execution"] not in watched:
                    watched.add(words["execution"])
                    group.create_task(self._watch(words))

    async def _watch(self, words: Words) -> None:
        execution, cursor = words["execution"], words["since"]
        board = self._runtime.board(execution, "watcher", tenant=words["tenant"])
        while True:
            try:
                async with board.watch(since=cursor) as changes:
                    async for change in changes:
                        cursor = change.cursor
                        if isinstance(change, Snapshot):
                            values: dict[str, Any] = {name: _mark(value) for name, value in change.fields.items()}
                            self._channel.say("snapshot", execution, cursor, values)
                        else:
                            self._channel.say(
                                "seen", execution, cursor, change.field, change.version, _mark(change.value)
                            )
                return
            except ServerUnavailable:
                await asyncio.sleep(0.05)


def _mark(value: Any) -> Any:
    """By what the witness knows a value again: the operation that wrote it, or a counter's number."""
    return cast(dict[str, Any], value)["op"] if isinstance(value, dict) else value
