"""Moments with a name: seams of the product at which a child, when armed, kills itself or a server with signal 9.

A seam is a method of the product, wrapped: *before* it, *after* it, or *amid* it, when what it sends is under way. The
wrapping happens in the child, so the product has no hook. A seam that the product no longer has fails the child at
once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal

from lousa.memory_layers import auditing, commit, journal, router
from lousa.memory_layers.context import pgvector
from lousa.memory_layers.conversation import batch, board, feed
from lousa.memory_layers.execution import executions

Place = Literal["before", "after", "amid"]
Suits = Callable[..., bool]


def _is_a_change(_self: Any, script: Any, *_more: Any) -> bool:
    return script is board._BOARD  # pyright: ignore[reportPrivateUsage]  # seams look inside by their nature


def _is_of_boards(_connection: Any, entries: Any, *_more: Any) -> bool:
    return bool(entries) and str(entries[0].action).startswith("board.")


def _has_some(_self: Any, _tenant: Any, places: Any) -> bool:
    return bool(places)


def _always(*_words: Any, **_more: Any) -> bool:
    return True


SEAMS: dict[str, tuple[Any, str, Place, Suits]] = {
    # The board: its script has run and nobody was told; a trip with many changes is under way.
    "change-applied": (batch.Batch, "run", "after", _is_a_change),
    "change-sent": (batch.Batch, "run", "amid", _is_a_change),
    "batch-sent": (batch.Batch, "_travel", "amid", _always),
    "batch-applied": (batch.Batch, "_travel", "after", _always),
    # The journal and its relay.
    "journaled": (journal.Journal, "append", "after", _always),
    "in-commit": (commit.Committer, "_write", "after", _always),
    "before-xack": (journal.Journal, "settle", "before", _has_some),
    "trimming-journal": (journal.Journal, "settle", "amid", _has_some),
    "after-xack": (journal.Journal, "settle", "after", _has_some),
    # A write-through, and what layers are owed.
    "through-committed": (router.Router, "_commit", "after", _always),
    "before-projection": (pgvector.ContextLayer, "put", "before", _always),
    "projected": (pgvector.ContextLayer, "put", "after", _always),
    # The audit of boards, and the other end of their streams.
    "in-audit": (auditing.ledger, "append", "after", _is_of_boards),
    "audited": (auditing.BoardAudit, "_enter", "after", _always),
    "before-trim": (feed.Feed, "trim", "before", _always),
    "trimming-board": (feed.Feed, "trim", "amid", _always),
    "trimmed": (feed.Feed, "trim", "after", _always),
    "board-closed": (feed.Feed, "expire", "after", _always),
    # An execution: its row is there and its board not yet opened; it has ended.
    "execution-begun": (executions, "open_board", "before", _always),
    "execution-ended": (executions.Executions, "finish", "after", _always),
}
CUT = "cut-replies"
"""Not a death: the connections to Valkey are closed for reading while a change is under way on one of them."""


class Seams:
    """The seams of this process, at most one of them armed."""

    def __init__(self, reached: Callable[[bool], None]) -> None:
        self._reached = reached
        self._armed = ""
        self._victim = 0
        self._passes = 0
        for name, (owner, method, place, suits) in SEAMS.items():
            setattr(owner, method, self._wrapped(getattr(owner, method), name, place, suits))

    def arm(self, name: str, victim: int, passes: int) -> None:
        """Kill `victim`, 0 for this process, when the seam is reached after some `passes`."""
        self._armed, self._victim, self._passes = name, victim, passes

    def _wrapped(self, original: Callable[..., Awaitable[Any]], name: str, place: Place, suits: Suits) -> Any:
        async def before(*words: Any, **more: Any) -> Any:
            if self._armed == name and suits(*words, **more):
                self._reach(name)
            return await original(*words, **more)

        async def after(*words: Any, **more: Any) -> Any:
            came = await original(*words, **more)
            if self._armed == name and suits(*words, **more):
                self._reach(name)
            return came

        async def amid(*words: Any, **more: Any) -> Any:
            cut = name == "change-sent" and self._armed == CUT
            if not (self._armed == name or cut) or not suits(*words, **more):
                return await original(*words, **more)
            under_way = asyncio.ensure_future(original(*words, **more))
            for _ in range(3):  # until it is sent, and hardly longer
                await asyncio.sleep(0)
            self._reach(CUT if cut else name)
            return await under_way

        return {"before": before, "after": after, "amid": amid}[place]

    def _reach(self, name: str) -> None:
        self._passes -= 1
        if self._passes >= 0:
            return
        self._armed = ""
        self._reached(not self._victim and name != CUT)
        if name == CUT:
            _stop_hearing()
            return
        with suppress(ProcessLookupError):
            os.kill(self._victim or os.getpid(), signal.SIGKILL)


def _stop_hearing() -> None:
    """Close this process's connections to Valkey for reading: what is under way is done, and its answer lost."""
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found = socket.socket(fileno=os.dup(int(entry)))
            with found:
                if str(found.getpeername()).endswith("valkey.sock"):
                    found.shutdown(socket.SHUT_RD)
