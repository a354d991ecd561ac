"""How this layer speaks to Redis: scripts by their digest, and driver errors that stop here.

A script is sent by its digest alone, one round trip. A server that was restarted has forgotten it and says so; then it
goes once in full. Whatever the driver raises because the server is away becomes `ServerUnavailable`; whatever else it
raises is a fault of ours and passes through.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha1
from importlib.resources import files
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ...infra.errors import Overloaded, ServerUnavailable, SettingsError
from ...infra.redis_pool import ClientClosed

Word = str | bytes | int
_AWAY = (
    RedisConnectionError,
    RedisTimeoutError,
    OSError,
    ReadOnlyError,
    ClusterDownError,
    MasterDownError,
    TryAgainError,
    MovedError,
    AskError,
)
_CANNOT_WRITE = ("MISCONF", "NOREPLICAS")
_IN_A_SCRIPT = "ACL failure in script"
_HEARD_WITHIN = 5.0


class Script:
    """A Lua script that ships beside this module, behind another with what it shares: Lua in Redis has no modules."""

    def __init__(self, name: str, shared: str | None = None) -> None:
        beside = files(__name__.rpartition(".")[0])
        texts = [beside.joinpath(each).read_text(encoding="utf-8") for each in (shared, name) if each is not None]
        self._text = "\n".join(texts)
        self._digest = sha1(self._text.encode(), usedforsecurity=False).hexdigest().encode()

    def words(self, keys: Sequence[str | bytes], *arguments: Word) -> tuple[Word, ...]:
        """The command that runs it."""
        return ("EVALSHA", self._digest, len(keys), *keys, *arguments)

    async def __call__(self, client: Redis, keys: Sequence[str | bytes], *arguments: Word) -> object:
        """Run it; the reply as the server sent it.

        Raises:
            ServerUnavailable: the server did not answer, or cannot write.
        """
        try:
            return await _send(client, *self.words(keys, *arguments))
        except NoScriptError:
            return await command(client, "EVAL", self._text, len(keys), *keys, *arguments)
        except (RedisError, OSError) as error:
            raise ours(error) from error


Call = tuple[Script, Sequence[str | bytes], tuple[Word, ...]]


async def call_all(client: Redis, calls: Sequence[Call]) -> list[object]:
    """Run scripts in one trip; the reply of each, or its error.

    Raises:
        ServerUnavailable: the server did not answer.
    """
    pipeline = client.pipeline(transaction=False)
    for script, keys, arguments in calls:
        pipeline.execute_command(*script.words(keys, *arguments))  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    try:
        replies = cast(list[object], await pipeline.execute(raise_on_error=False))
    except (RedisError, OSError) as error:
        raise ours(error) from error
    for index, reply in enumerate(replies):
        if isinstance(reply, NoScriptError):
            script, keys, arguments = calls[index]
            replies[index] = await script(client, keys, *arguments)
        elif isinstance(reply, Exception):
            replies[index] = ours(reply)
    return replies


async def command(client: Redis, *words: Word) -> object:
    """One command; the reply as the driver gives it.

    Raises:
        ServerUnavailable: the server did not answer, or cannot write.
    """
    try:
        return await _send(client, *words)
    except (RedisError, OSError) as error:
        raise ours(error) from error


async def at_once(client: Redis, *commands: tuple[Word, ...], raising: bool = True) -> list[object]:
    """Commands in one trip, not as one transaction; the reply of each, or its error where they are not raised.

    Raises:
        ServerUnavailable: the server did not answer, or cannot write.
    """
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    try:
        replies = cast(list[object], await pipeline.execute(raise_on_error=raising))
    except (RedisError, OSError) as error:
        raise ours(error) from error
    return [ours(reply) if isinstance(reply, Exception) else reply for reply in replies]


async def _send(client: Redis, *words: Word) -> object:
    return cast(object, await client.execute_command(*words))  # pyright: ignore[reportUnknownMemberType]  # vague stubs


@asynccontextmanager
async def hearing(client: Redis, channel: str) -> AsyncGenerator[Callable[[float], Awaitable[bytes | None]]]:
    """Listens to a channel from here on; asked for the next message, it waits so many seconds, then gives None.

    Raises:
        ServerUnavailable: the server did not answer.
    """
    async with client.pubsub() as heard:  # pyright: ignore[reportUnknownMemberType]  # vague stubs

        async def next_message(seconds: float) -> bytes | None:
            try:
                told = cast(Mapping[str, Any] | None, await heard.get_message(timeout=seconds))  # pyright: ignore[reportUnknownMemberType]
            except (RedisError, OSError) as error:
                raise ours(error) from error
            return told["data"] if told is not None and told["type"] in ("message", "subscribe") else None

        try:
            async with asyncio.timeout(_HEARD_WITHIN):
                await heard.subscribe(channel)  # pyright: ignore[reportUnknownMemberType]
        except (RedisError, OSError) as error:
            raise ours(error) from error
        if await next_message(_HEARD_WITHIN) is None:
            raise ServerUnavailable(f"the server did not confirm that it is listened to on {channel!r}")
        yield next_message


def ours(error: Exception) -> Exception:
    """A driver's error as this layer raises it."""
    if isinstance(error, OutOfMemoryError):
        return Overloaded(
            "the board's server has no memory left: this was refused, nothing of it was done, and sending it again is"
            " safe. 'lousa doctor' says what waits; raise maxmemory, or let a relay work off what is there"
        )
    if isinstance(error, NoPermissionError) or (isinstance(error, ResponseError) and _IN_A_SCRIPT in str(error)):
        return SettingsError(f"{error}: give the user of LOUSA_REDIS_URL the rule of docs/redis.md")
    if isinstance(error, ClientClosed):
        return ServerUnavailable("the connection to the board's server was closed while this was under way")
    if isinstance(error, _AWAY) or (isinstance(error, ResponseError) and str(error).startswith(_CANNOT_WRITE)):
        return ServerUnavailable(
            f"the board's server failed ({error}): was it stopped, has it disk and memory, is LOUSA_REDIS_URL right if"
            " it is set?"
        )
    return error
