"""The connections of one `open()`: opened here, closed here, handed to everyone else.

Redis is reached through the clients of `redis.py`, one of them for reads that wait. Postgres is reached through
`transaction` alone, which puts on a role that owns nothing and tells row-level security who acts, for exactly one
transaction: nothing is left on the connection, so a pooler in transaction mode may stand in between. What it cannot
bear are statements prepared under names, unless it keeps them itself (`pooler.py`).

A server that is away is tried again every second for as long as somebody waits for it, so work goes on a moment after
it is back, however long it was away.

Agents and the system have Postgres connections of their own. Under row-level security a plan is good for one role, so a
connection on which the roles took turns would plan each statement anew at every turn, which costs more than running it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, LiteralString

from psycopg import AsyncConnection, DataError, IntegrityError, OperationalError
from psycopg import Error as PostgresError
from psycopg.errors import (
    IdleInTransactionSessionTimeout,
    InsufficientPrivilege,
    ProgramLimitExceeded,
    ReadOnlySqlTransaction,
)
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from redis.asyncio import Redis

from .errors import ServerUnavailable
from .identity import Principal
from .pooler import keeps_statements, stands_before
from .redis import give_up, open_redis
from .text import without_password
from .trip import Parameters, at_once

Connection = AsyncConnection[Any]
_TRY_EVERY = 1.0
"""Seconds."""
_Pool = AsyncConnectionPool[Connection]

_ACT = (
    "SELECT set_config('role', %s, true), set_config('lousa.tenant', %s, true), set_config('lousa.agent', %s, true),"
    " set_config('lousa.session', %s, true), set_config('lousa.execution', %s, true),"
    " set_config('lousa.roles', %s, true), set_config('search_path', 'lousa, public', true),"
    # Under row-level security planning costs more than running, so a statement is planned once and not each time.
    " set_config('plan_cache_mode', 'force_generic_plan', true),"
    # A walk of the vector index that is wide enough, and goes on where filters leave too few.
    " set_config('hnsw.ef_search', '100', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)
_ACT_LIGHTLY = _ACT + ", set_config('synchronous_commit', 'off', true)"


@dataclass(slots=True)
class Connections:
    """Clients of the two truths. `start` opens them and leaves their closing on the stack."""

    redis_url: str
    postgres_url: str
    pool_size: int = 8
    prepare: bool | None = None
    """Whether statements are prepared under names; None finds out whether they can be."""
    pooled: bool | None = None
    """Whether a pooler stands before Postgres; known once it is open."""
    redis: Redis = None  # pyright: ignore[reportAssignmentType]  # set by start
    blocking_redis: Redis = None  # pyright: ignore[reportAssignmentType]  # set by start
    _pool: _Pool = None  # pyright: ignore[reportAssignmentType]  # set by start
    _system_pool: _Pool = None  # pyright: ignore[reportAssignmentType]  # set by start

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the clients.

        Raises:
            ServerUnavailable: naming the server that did not answer.
        """
        self.redis, self.blocking_redis = await open_redis(self.redis_url, self.pool_size, stack)
        self._pool = self._postgres("lousa", self.pool_size)
        self._system_pool = self._postgres("lousa system", system_pool_size(self.pool_size))
        try:
            for pool in (self._system_pool, self._pool):
                stack.push_async_callback(pool.close)
                await pool.open()
            async with asyncio.timeout(5.0):
                await self._pool.putconn(await _lent(self._pool))
        except (PoolTimeout, TimeoutError) as error:
            raise ServerUnavailable(
                f"Postgres at {without_password(self.postgres_url)} does not answer{await self._reason()}:"
                " is it running, is LOUSA_POSTGRES_URL right?"
            ) from error

    def give_up(self) -> None:
        """The servers will not come back while this is open: whatever still asks them fails at once."""
        self._pool.timeout = self._system_pool.timeout = 0.1
        give_up(self.redis, self.blocking_redis)

    @asynccontextmanager
    async def transaction(self, principal: Principal, *, pipelined: bool = False) -> AsyncGenerator[Connection]:
        """One transaction as an agent: rows are seen and written under its identity alone.

        Pipelined, statements share trips to the server, and a failure may show at a later one.
        """
        async with self._acting(self._pool, pipelined, "lousa_app", *_of(principal)) as connection:
            yield connection

    async def read(
        self, principal: Principal, statement: LiteralString, parameters: Parameters
    ) -> list[dict[str, Any]]:
        """The rows of one statement, in a transaction of its own as an agent that only reads, in one trip."""
        async with self._connection(self._pool) as connection:
            return await at_once(connection, (_ACT, _names("lousa_app", *_of(principal))), (statement, parameters))

    @asynccontextmanager
    async def system_transaction(
        self, tenant: str, *, pipelined: bool = False, durable: bool = True
    ) -> AsyncGenerator[Connection]:
        """One transaction as the relay or a job, within one tenant; '' sees only the lists of executions and debts.

        One that is not durable does not wait for the disk: right for what would only be done again.
        """
        async with self._acting(
            self._system_pool, pipelined, "lousa_system", tenant, "", "", "", [], durable=durable
        ) as connection:
            yield connection

    @asynccontextmanager
    async def owner_transaction(self) -> AsyncGenerator[Connection]:
        """One transaction as the schema's owner: migrations and new vector tables, nothing else."""
        async with self._connection(self._pool) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def _acting(
        self, pool: _Pool, pipelined: bool, role: str, *who: str | Collection[str], durable: bool = True
    ) -> AsyncGenerator[Connection]:
        async with (
            self._connection(pool) as connection,
            connection.pipeline() if pipelined else nullcontext(),
            connection.transaction(),
        ):
            await connection.execute(_ACT if durable else _ACT_LIGHTLY, _names(role, *who))
            yield connection

    @asynccontextmanager
    async def _connection(self, pool: _Pool) -> AsyncGenerator[Connection]:
        connection: Connection | None = None
        try:
            connection = await _lent(pool)
            try:
                async with connection:
                    yield connection
            finally:
                await pool.putconn(connection)
        except PoolTimeout as error:
            raise ServerUnavailable(
                f"Postgres at {without_password(self.postgres_url)} gave no connection in {pool.timeout:g} s:"
                " is it running, is its max_connections high enough?"
            ) from error
        except PostgresError as error:
            # A connection that a pooler has cut off may say so in words that the driver does not understand.
            lost = connection is not None and connection.closed
            if not lost and not isinstance(error, (OperationalError, IdleInTransactionSessionTimeout)):
                raise
            raise ServerUnavailable(f"Postgres at {without_password(self.postgres_url)} failed: {error}") from error

    def _postgres(self, name: str, size: int) -> _Pool:
        patience = {} if "connect_timeout" in self.postgres_url else {"connect_timeout": 5}
        return AsyncConnectionPool(
            self.postgres_url,
            min_size=1,
            max_size=size,
            open=False,
            timeout=10.0,
            reconnect_timeout=_TRY_EVERY,
            name=name,
            configure=self._configure,
            # A statement that comes twice comes often, and planning it is most of what it costs.
            kwargs={"prepare_threshold": 1, **patience},
        )

    async def _configure(self, connection: Connection) -> None:
        """See to it that a new connection prepares nothing under a name where that cannot be."""
        if self.pooled is None:
            self.pooled = await stands_before(connection)
        if self.prepare is None:
            self.prepare = not self.pooled or await keeps_statements(connection)
        if not self.prepare:
            connection.prepare_threshold = None

    async def _reason(self) -> str:
        """Why no connection could be made, in the words of whoever refused it."""
        try:
            await (await AsyncConnection.connect(self.postgres_url, connect_timeout=2)).close()
        except OperationalError as error:
            return f" ({' '.join(str(error).split())})"
        return ""


def system_pool_size(pool_size: int) -> int:
    """How many connections the relay and the jobs have besides."""
    return max(2, pool_size // 2)


def _of(principal: Principal) -> tuple[str | Collection[str], ...]:
    execution = str(principal.execution or "")
    return principal.tenant, principal.agent, principal.session, execution, sorted(principal.roles)


def _names(role: str, *who: str | Collection[str]) -> tuple[str | Collection[str], ...]:
    """What `_ACT` is told."""
    *names, roles = who
    return role, *names, _array(roles)


def _array(texts: Collection[str]) -> str:
    """As Postgres writes an array of text."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


async def _lent(pool: _Pool) -> Connection:
    """A connection, waited for as long as the pool says; to be given back.

    The pool gives up on a server that is away, because left to itself it would try ever more seldom. It tries anew when
    it is asked, so it is asked anew while it is waited for.
    """
    begun = monotonic()
    while (left := begun + pool.timeout - monotonic()) > _TRY_EVERY:
        with suppress(PoolTimeout):
            return await pool.getconn(timeout=_TRY_EVERY)
    return await pool.getconn(timeout=max(0.0, left))


def is_flaw(error: BaseException) -> bool:
    """Whether it is what was written that Postgres refuses, as it would the next time: no waiting makes it fit."""
    return any(isinstance(each, (DataError, IntegrityError, ProgramLimitExceeded)) for each in (error, error.__cause__))


def is_outage(error: BaseException) -> bool:
    """Whether Postgres cannot take anything at the moment: away, out of time or resources, or not to be written to."""
    away = (ServerUnavailable, OperationalError, IdleInTransactionSessionTimeout)
    return not is_flaw(error) and isinstance(error, (*away, ReadOnlySqlTransaction, InsufficientPrivilege))
