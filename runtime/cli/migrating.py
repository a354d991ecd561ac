"""`migrate`: the schema, brought up to date by whoever owns it, or written down for whoever does.

It needs Postgres alone, and opens nothing else. Without `LOUSA_POSTGRES_URL` it is the embedded one of the home, whose
schema every `open()` sees to; its script is then that of an empty database, and nothing is started for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from psycopg import AsyncConnection, OperationalError

from ...infra import migrate as migrations
from ...infra.connections import Connection
from ...infra.embedded.supervisor import EmbeddedServers
from ...infra.errors import BadInput, SchemaMismatch, ServerUnavailable
from ...infra.text import without_password
from ..output import emit, show
from .frame import Frame


async def migrate(frame: Frame, *, sql: bool, check: bool, login: str | None, json: bool) -> int:
    """The verb."""
    if sql and (check or json):
        raise BadInput(f"--sql prints a script and nothing else; leave out {'--check' if check else '--json'}")
    if check and login is not None:
        raise BadInput("--check changes nothing; leave out --login")
    if login is not None and (not login.strip() or "\0" in login):
        raise BadInput(f"--login {login!r} names nobody")
    if sql:
        show(await _script(frame, login))
        return 0
    async with _connected(frame) as connection:
        ran: list[int] = []
        if not check:
            ran = await migrations.migrate(connection, login=login)
        done, pending = await migrations.pending(connection)
    if json:
        emit({"done": done, "ran": ran, "pending": pending})
    elif pending:
        show(f"pending: {', '.join(map(str, pending))}")
    elif ran:
        show(f"ran {', '.join(map(str, ran))}; the schema is at {max(done)}")
    else:
        show(f"nothing is pending; the schema is at {max(done)}")
    return SchemaMismatch.exit_code if pending else 0


async def _script(frame: Frame, login: str | None) -> str:
    if frame.settings().postgres_url is None:
        return migrations.script(login=login)
    async with _connected(frame) as connection:
        done, _ = await migrations.pending(connection)
    return migrations.script(done, login=login)


@asynccontextmanager
async def _connected(frame: Frame) -> AsyncGenerator[Connection]:
    settings = frame.settings()
    async with AsyncExitStack() as stack:
        url = settings.postgres_url
        if url is None:
            need = frozenset({"postgres"})
            url = (await EmbeddedServers(settings.home, need=need).start(stack)).postgres_url
        try:
            # Outside a transaction of its own, and nothing prepared: whatever stands before the server.
            connection = await AsyncConnection.connect(url, autocommit=True, prepare_threshold=None)
            await stack.enter_async_context(connection)
            yield connection
        except OperationalError as error:
            said = " ".join(str(error).split())
            raise ServerUnavailable(f"Postgres at {without_password(url)} failed: {said}") from error
