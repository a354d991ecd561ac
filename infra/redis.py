"""The clients of Redis: one for commands that answer soon, one for reads that wait.

Ordinary commands share one pool. Blocking reads have a client of their own, because a read that waits for an hour must
not meet a socket timeout of five seconds.

The server may be one, a master that Sentinels name, or a Cluster; an address says which (`redis_address`). Behind
Sentinels every new connection asks them who the master is and then the server whether it agrees; a failover closes the
connections to the old one, so work goes on at the new one. Whoever looks at all servers at once asks `servers_of`, and
whoever needs the clock that a key lives by asks `server_of`.

A client that is closed opens no connection any more: whoever was on the way to one when it was closed is told so, and
leaves none behind that nobody knows of.

A server that cannot be used is refused at open with the way out: too old, a replica, a member of a Cluster or a
Sentinel under an address of one server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.connection import Connection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from .cluster import Cluster
from .errors import ServerUnavailable, SettingsError
from .packing import packing
from .redis_address import Node, RedisAddress, parse
from .redis_pool import Pool, until_closed
from .text import without_password

OLDEST = (7, 0)
PATIENCE = 12.0
"""Seconds in which a failover should be over: so long a command waits for one."""
_TRIES = 8
_NEAR = 2.0
"""Seconds within which a Sentinel or a node answers, if it does."""


async def open_redis(url: str, pool_size: int, stack: AsyncExitStack) -> tuple[Redis, Redis]:
    """The client for commands and the one for blocking reads; their closing is left on the stack.

    Raises:
        ServerUnavailable: it did not answer.
        SettingsError: it is none that can be used.
    """
    try:
        address = parse(url)
        commands = _client(address, stack, max_connections=pool_size * 4, socket_timeout=5.0)
        blocking = _client(address, stack, max_connections=1_000, socket_timeout=None)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"LOUSA_REDIS_URL={without_password(url)} cannot be used: {error}") from error
    shown = f"Redis at {without_password(url)}"
    try:
        if wrong := await _unusable(commands, clustered=address.kind == "cluster"):
            raise SettingsError(f"{shown} cannot be used: {wrong}")
    except NoPermissionError as error:
        raise SettingsError(f"{shown} cannot be used: {error}: docs/redis.md says what its user needs") from error
    except ResponseError as error:
        raise SettingsError(
            f"{shown} cannot be used: {error}; redis:// is one server, redis+cluster:// is not"
        ) from error
    except (RedisConnectionError, RedisTimeoutError, OSError) as error:
        raise ServerUnavailable(
            f"{shown} does not answer ({error}): is it running, is LOUSA_REDIS_URL right?"
        ) from error
    return commands, blocking


async def _unusable(client: Redis, *, clustered: bool) -> str | None:
    """Why a server in use cannot be; one of a Cluster that is away is no reason, as long as another is there."""
    servers = await client.primaries() if isinstance(client, Cluster) else [client]
    told = await asyncio.gather(*(server.info() for server in servers), return_exceptions=True)  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    away = [each for each in told if isinstance(each, BaseException)]
    if len(away) == len(told):
        raise away[0]
    for each in told:
        if not isinstance(each, BaseException) and (wrong := unusable(each, clustered=clustered)):
            return wrong
    return None


def unusable(told: Mapping[str, Any], *, clustered: bool) -> str | None:
    """Why a server that says this of itself cannot be used, and what to do; None when it can."""
    version = str(told.get("redis_version", "0"))
    mode = str(told.get("redis_mode", told.get("server_mode", "")))
    if mode == "sentinel":
        return "it is a Sentinel: write redis+sentinel://host:26379/name-of-the-master"
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
        return f"it is version {version}: upgrade to Redis 7.0 or later, or to Valkey"
    if mode == "cluster" and not clustered:
        return "it is a member of a Cluster: write redis+cluster://host:port"
    if clustered and mode != "cluster":
        return "it is no member of a Cluster: write redis://host:port"
    if told.get("role") == "slave":
        return "it is a replica, which takes no writes: name its master, or the Sentinels (redis+sentinel://)"
    return None


def give_up(*clients: Redis) -> None:
    """The server will not come back while these are open: whatever still asks it fails at once."""
    for client in clients:
        client.set_retry(Retry(NoBackoff(), 0))


async def servers_of(client: Redis) -> Sequence[Redis]:
    """The clients of all servers that hold keys.

    Raises:
        ServerUnavailable: no node of the Cluster says which.
    """
    if not isinstance(client, Cluster):
        return (client,)
    try:
        return await client.primaries()
    except (RedisError, OSError) as error:
        raise ServerUnavailable(f"no node of the Redis Cluster says who holds its slots ({error})") from error


async def server_of(client: Redis, key: str) -> Redis:
    """The client of the server that holds `key`, and whose clock it lives by.

    Raises:
        ServerUnavailable: no node of the Cluster says which, or none does.
    """
    if not isinstance(client, Cluster):
        return client
    try:
        return await client.holder(key)
    except (RedisError, OSError) as error:
        raise ServerUnavailable(f"no node of the Redis Cluster holds {key!r} ({error})") from error


def _client(
    address: RedisAddress, stack: AsyncExitStack, *, max_connections: int, socket_timeout: float | None
) -> Redis:
    def dial(url: str, retry: Retry, **options: Any) -> Pool:
        pool = Pool.from_url(  # pyright: ignore[reportUnknownMemberType]  # vague stubs
            url,
            max_connections=max_connections,
            timeout=10,
            socket_timeout=socket_timeout,
            decode_responses=False,
            retry=retry,
            protocol=3,
            **options,
        )
        pool.connection_class(**pool.connection_kwargs)  # an option that it does not know is known of now
        return _admitted(until_closed(packing(pool)))

    either: list[type[Exception]] = [RedisConnectionError, RedisTimeoutError]
    if address.kind == "cluster":

        def node(at: Node) -> Redis:
            # Once more for a connection that went stale in the pool; what else fails, the Cluster answers for.
            once = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
            return Redis.from_pool(dial(address.of(at), once, socket_connect_timeout=_NEAR))

        client: Redis = Cluster(address.nodes, node, PATIENCE)
    elif address.kind == "sentinel":
        retry = Retry(ExponentialBackoff(cap=1.0, base=0.02), 6 + int(PATIENCE))
        pool = dial(address.of(("master", 0)), retry, retry_on_error=either, socket_connect_timeout=_NEAR)
        sentinels = [_sentinel(address.of_sentinel(each)) for each in address.nodes]
        for sentinel in sentinels:
            stack.push_async_callback(sentinel.aclose)
        client = Redis.from_pool(_at_the_master(pool, lambda: _master(sentinels, address.master)))
    else:
        retry = Retry(ExponentialBackoff(cap=1.0, base=0.02), _TRIES)
        client = Redis.from_pool(dial(address.url, retry, retry_on_error=either))
    stack.push_async_callback(_close, client)
    return client


async def _close(client: Redis) -> None:
    give_up(client)
    await client.aclose()


def _sentinel(url: str) -> Redis:
    pool = Pool.from_url(  # pyright: ignore[reportUnknownMemberType]  # likewise
        url, socket_timeout=_NEAR, socket_connect_timeout=_NEAR, retry=Retry(NoBackoff(), 0)
    )
    return Redis.from_pool(until_closed(pool))


async def _master(sentinels: list[Redis], name: str) -> Node:
    """Where the master is; the Sentinel that knew it is asked first the next time."""
    # A list for each question: the driver swaps what it asks in place, and two at once would lose one of them.
    asked = Sentinel([])
    asked.sentinels = [*sentinels]
    host, port = cast(tuple[str, int], await asked.discover_master(name))  # pyright: ignore[reportUnknownMemberType]
    sentinels[:] = asked.sentinels
    return host, int(port)


def _admitted(pool: Pool) -> Pool:
    """The pool, whose connections do not try a wrong password again: to the driver it is like a server that is away."""

    class Admitted(cast(type[Connection], pool.connection_class)):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
        async def on_connect_check_health(self, check_health: bool = True) -> None:
            try:
                await super().on_connect_check_health(check_health)
            except AuthenticationError as error:
                raise NoPermissionError(str(error)) from error

    pool.connection_class = Admitted
    return pool


def _at_the_master(pool: Pool, ask: Callable[[], Awaitable[Node]]) -> Pool:
    """The pool, whose connections go to whoever is the master when they are made."""

    class AtTheMaster(cast(type[Connection], pool.connection_class)):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
        async def _connect(self) -> None:
            self.host, self.port = await ask()
            await super()._connect()

        async def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = False) -> None:
            # Whoever sends a command tries again, and this is asked again then: not one within the other.
            await super().connect_check_health(check_health, retry_socket_connect=False)

        async def on_connect_check_health(self, check_health: bool = True) -> None:
            await super().on_connect_check_health(check_health)
            # A Sentinel may not know yet that somebody else was made the master.
            await self.send_command("ROLE", check_health=False)
            role = cast(list[Any], await self.read_response())
            if role[0] not in (b"master", "master"):
                await self.disconnect()
                raise RedisConnectionError(f"{self.host}:{self.port} is no master any more")

        async def read_response(self, *told: Any, **options: Any) -> Any:
            try:
                return cast(Any, await super().read_response(*told, **options))  # pyright: ignore[reportUnknownMemberType]
            except ReadOnlyError as error:
                await self.disconnect()
                raise RedisConnectionError(f"{self.host}:{self.port} is no master any more") from error

    pool.connection_class = AtTheMaster
    return pool
