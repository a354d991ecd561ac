"""The clients of Redis: one for commands that answer soon, one for reads that wait.

Ordinary commands share one pool. Blocking reads have a client of their own, because a read that waits for an hour must
not meet a socket timeout of five seconds.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from .errors import ServerUnavailable
from .packing import packing
from .text import without_password


async def open_redis(url: str, pool_size: int, stack: AsyncExitStack) -> tuple[Redis, Redis]:
    """The client for commands and the one for blocking reads; their closing is left on the stack.

    Raises:
        ServerUnavailable: it did not answer.
    """
    commands = _client(url, max_connections=pool_size * 4, socket_timeout=5.0)
    stack.push_async_callback(commands.aclose)
    blocking = _client(url, max_connections=1_000, socket_timeout=None)
    stack.push_async_callback(blocking.aclose)
    try:
        await commands.ping()  # pyright: ignore[reportUnknownMemberType]  # its stubs leave the arguments open
    except (RedisConnectionError, RedisTimeoutError, OSError) as error:
        raise ServerUnavailable(
            f"Redis at {without_password(url)} does not answer ({error}): is it running, is LOUSA_REDIS_URL right?"
        ) from error
    return commands, blocking


def give_up(*clients: Redis) -> None:
    """The server will not come back while these are open: whatever still asks it fails at once."""
    for client in clients:
        client.set_retry(Retry(NoBackoff(), 0))


def _client(url: str, *, max_connections: int, socket_timeout: float | None) -> Redis:
    pool = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        url,
        max_connections=max_connections,
        timeout=10,
        socket_timeout=socket_timeout,
        decode_responses=False,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.02), 8),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
        protocol=3,
    )
    return Redis.from_pool(packing(pool))
