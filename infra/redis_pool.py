"""A pool that stays closed: once its client was closed, no connection is opened any more.

The driver's own closes the connections that it has. Whoever was on the way to one opens it all the same, or once more
after its retry, and nobody is left to close it.
"""

from __future__ import annotations

from typing import cast

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection, Connection
from redis.exceptions import RedisError


class ClientClosed(RedisError):
    """The client was closed meanwhile. No connection error, for those are tried again."""


class Pool(BlockingConnectionPool):
    """Connections of one client, which knows when it was closed."""

    closed = False

    async def disconnect(self, inuse_connections: bool = True) -> None:
        """Close them, for good. Whoever uses one learns it as it would of a server that went away."""
        self.closed = True
        if inuse_connections:
            for connection in cast(set[Connection], self._in_use_connections):
                if (writer := connection._writer) is not None:  # pyright: ignore[reportPrivateUsage]  # no other way
                    writer.transport.abort()
        await super().disconnect(inuse_connections=False)

    async def release(self, connection: AbstractConnection) -> None:
        """Take a connection back."""
        if self.closed:
            await connection.disconnect(nowait=True)
        await super().release(connection)


def until_closed(pool: Pool) -> Pool:
    """The pool, whose connections are not made any more once it is closed."""

    class UntilClosed(cast(type[Connection], pool.connection_class)):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
        async def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = True) -> None:
            if not pool.closed:
                await super().connect_check_health(check_health, retry_socket_connect)
            if pool.closed:
                await self.disconnect(nowait=True)
                raise ClientClosed("the client was closed")

    pool.connection_class = UntilClosed
    return pool
