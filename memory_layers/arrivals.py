"""Arrivals: how a relay gets new entries of many journals, and waits for the first.

One server reads all journals in one command, and waits in it. A Cluster reads none together with another, because each
lies in a slot of its own. There every journal is asked in one trip to each node, and the wait is for a hint: whoever
appends says so on a channel. The channel is listened to before the journals are asked for the last time, so no entry is
missed; a hint that is lost costs no more than the wait, after which all are asked again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import cast

from redis.exceptions import ResponseError

from ..infra.cluster import Cluster
from ..infra.connections import Connections
from ..infra.errors import LousaError, ServerUnavailable
from ..infra.redis import servers_of
from .conversation.script import Word, at_once, command, hearing

CHANNEL = "lousa:journals"
_GRACE = 5.0
Entries = list[tuple[bytes, Mapping[bytes, bytes]]]
Adopt = Callable[[Sequence[bytes]], Awaitable[None]]
"""Gives journals their group again: their server lost what it had, or somebody deleted the stream."""


def announcing(connections: Connections) -> bool:
    """Whether relays wait for hints, so that whoever appends has to give one."""
    return isinstance(connections.redis, Cluster)


async def arrivals(
    connections: Connections, words: Sequence[Word], keys: Sequence[bytes], block: timedelta | None, adopt: Adopt
) -> dict[bytes, Entries]:
    """What `words`, an XREADGROUP up to its streams, finds new in journals, waiting up to `block` for the first.

    Those that have no such group are adopted, and read the next time.

    Raises:
        ServerUnavailable: the server did not answer.
    """
    if not announcing(connections):
        try:
            return await _together(connections, words, keys, block)
        except ResponseError as error:
            if not _groupless(error):
                raise
            await adopt(keys)
            return {}
    if (found := await _each(connections, words, keys, adopt)) or block is None:
        return found
    wanted, ends = set(keys), asyncio.get_running_loop().time() + block.total_seconds()
    listener = random.choice(await servers_of(connections.blocking_redis))
    async with hearing(listener, CHANNEL) as next_hint:
        found = await _each(connections, words, keys, adopt)
        while not found and (left := ends - asyncio.get_running_loop().time()) > 0:
            if (hint := await next_hint(left)) in wanted:
                found = await _each(connections, words, [hint], adopt)
    return found


async def _together(
    connections: Connections, words: Sequence[Word], keys: Sequence[bytes], block: timedelta | None
) -> dict[bytes, Entries]:
    streams = ("STREAMS", *keys, *([">"] * len(keys)))
    if block is None:
        reply = await command(connections.redis, *words, *streams)
    else:
        seconds = block.total_seconds()
        try:
            async with asyncio.timeout(seconds + _GRACE):
                reply = await command(connections.blocking_redis, *words, "BLOCK", int(seconds * 1000), *streams)
        except TimeoutError as error:
            raise ServerUnavailable("a blocked read was not answered in time: the connection is dead") from error
    return _entries(reply)


async def _each(
    connections: Connections, words: Sequence[Word], keys: Sequence[bytes], adopt: Adopt
) -> dict[bytes, Entries]:
    asked = [(*words, "STREAMS", key, ">") for key in keys]
    replies = await at_once(connections.redis, *asked, raising=False)
    found: dict[bytes, Entries] = {}
    failures: list[Exception] = []
    groupless: list[bytes] = []
    for key, reply in zip(keys, replies, strict=True):
        if _groupless(reply):
            groupless.append(key)
        elif isinstance(reply, Exception):
            failures.append(reply)
        else:
            found |= _entries(reply)
    if groupless:
        try:
            await adopt(groupless)
        except LousaError as error:
            failures.append(error)
    # What was taken is handed out whatever became of the rest, which is asked for again.
    if failures and not found:
        raise failures[0]
    return found


def _groupless(reply: object) -> bool:
    return isinstance(reply, ResponseError) and str(reply).startswith("NOGROUP")


def _entries(reply: object) -> dict[bytes, Entries]:
    streams = cast(dict[bytes, list[Entries]] | None, reply) or {}
    return {key: parts[0] for key, parts in streams.items()}
