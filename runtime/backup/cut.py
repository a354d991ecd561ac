"""The cut: both servers at one instant, while everybody goes on writing.

There is no transaction over the two, so the instant is made: Valkey is told to hold back every write, and while it
stands still Postgres begins a transaction that sees what is committed then. What a client was told before is therefore
in the cut, on whichever server, and nothing is in it that came after something that is not:

- what was seen in one server before it was done in the other is in the cut whenever its consequence is. A relay commits
  a write before it takes it out of the journal, an execution has its row before its board, a change is in the ledger
  before it is trimmed: whatever the cut lacks in one of the two, it has in the other;
- so the cut is a state in which the two servers were, and in which a power cut would have left them. Whoever opens it
  has what anybody has who opens a home after a power cut: a journal to relay (again, perhaps: an entry carries its
  operation's id), changes to copy (from `audited_through` on), tasks to run again under new tokens, effects whose end
  is unknown.

Without the pause one order would lose, the other tell of the future. Postgres first: an entry that is committed and
taken out of the journal between the two is in neither. Valkey first: the ledger has changes that the board has not, and
the board will give their numbers again to others.

Writers wait for the time of one question to each server, some milliseconds. The pause ends by itself if whoever asked
for it is killed; if it ended before all was seen, that cut is thrown away and a longer one made.

Of Valkey the cut is the append-only file as long as it is then. It only grows, or is replaced by another under another
name, so holding it open is enough, and no second copy of the data is made in memory. Of Postgres it is an exported
snapshot, on which `pg_dump` then reads at its leisure; the tables are locked before, as by any reader, so that none of
them is dropped in between.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import BinaryIO, cast

from psycopg import sql
from psycopg.errors import LockNotAvailable, UndefinedTable
from redis.exceptions import ResponseError

from ...infra.connections import Connection, Connections
from ...infra.embedded.lock import alone
from ...infra.errors import HomeInUse, ServerUnavailable
from ...infra.sql import load_queries
from ...memory_layers.conversation.script import command
from .archive import CHUNK

_LOG = logging.getLogger(__name__)
QUERIES = load_queries(__package__ or "")
PATIENCE = (1.0, 3.0, 10.0)
"""Seconds for which writers are held back at most, in the first attempt and in the next ones."""
_ONE_AT_A_TIME = 60.0
_REWRITTEN_WITHIN = 300.0
_LISTED = re.compile(rb"^file (\S+) seq \d+ type ([bih])", re.M)
FOLDER = "appendonlydir"
LIST = "appendonly.aof.manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file that is held open, as long as it was in the cut."""

    name: str
    file: BinaryIO
    length: int

    def chunks(self) -> Generator[bytes]:
        """Its content, in pieces.

        Raises:
            OSError: it is shorter now.
        """
        left = self.length
        self.file.seek(0)
        while left:
            chunk = self.file.read(min(CHUNK, left))
            if not chunk:
                raise OSError(f"the server's file {self.name!r} got shorter while it was read")
            left -= len(chunk)
            yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One instant. `snapshot` is Postgres's name for it, good while the cut is open; `keys` is how many Valkey had."""

    connection: Connection
    snapshot: str
    taken_at: datetime
    paused: timedelta
    listed: bytes
    files: tuple[Held, ...]
    keys: int


@asynccontextmanager
async def cut(connections: Connections, home: Path) -> AsyncGenerator[Cut]:
    """A cut through the servers of a home, open for the block.

    Raises:
        ServerUnavailable: a server did not answer in time, or keeps no append-only file.
    """
    for patience in PATIENCE:
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(connections.owner_transaction())
            await _lock(connections, connection)
            try:
                async with alone(home / "backup.lock", patience=_ONE_AT_A_TIME):
                    found = await _seen(connections, connection, home, patience, stack)
            except TimeoutError as error:
                raise HomeInUse(f"another backup of {str(home)!r} is beginning and does not get on") from error
            if found is not None:
                yield found
                return
    raise ServerUnavailable(
        f"the servers of {str(home)!r} took longer than {PATIENCE[-1]:g} s to say how they stand: nothing was backed"
        " up, try again when there is less to do"
    )


async def compact(connections: Connections) -> None:
    """Have Valkey rewrite its file, so that what was deleted is not in the backup either, nor every former value."""
    try:
        await command(connections.redis, "BGREWRITEAOF")
    except ResponseError as error:  # one is under way already
        _LOG.info("Valkey: %s", error)
    ends = monotonic() + _REWRITTEN_WITHIN
    while monotonic() < ends:
        facts = await _persistence(connections)
        if not (facts["aof_rewrite_in_progress"] or facts["aof_rewrite_scheduled"]):
            if facts["aof_last_bgrewrite_status"] == "ok":
                return
            break
        await asyncio.sleep(0.01)
    _LOG.warning("Valkey could not rewrite its file: the backup has all the same what was deleted since it last could")


async def _lock(connections: Connections, connection: Connection) -> None:
    """Begin the transaction, and see that no table goes before it is read. It has seen nothing yet."""
    await connection.execute(QUERIES["begin"], prepare=False)  # several statements at once
    async with connections.owner_transaction() as other:
        tables = await (await other.execute(QUERIES["tables"])).fetchall()
    if tables:
        names = sql.SQL(", ").join(sql.Identifier(*row) for row in tables)
        try:
            await connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
        except (LockNotAvailable, UndefinedTable) as error:
            raise ServerUnavailable("the tables are being changed at the moment: try again") from error


async def _seen(
    connections: Connections, connection: Connection, home: Path, patience: float, stack: AsyncExitStack
) -> Cut | None:
    """What both servers are at one instant; None when writers may have been let go before all was seen."""
    begun = monotonic()
    await command(connections.redis, "CLIENT", "PAUSE", int(patience * 1000), "WRITE")
    try:
        async with asyncio.timeout(patience):
            row = await (await connection.execute(QUERIES["snapshot"])).fetchone()
            await _flushed(connections)
            listed, files = _held(home / "valkey" / FOLDER, stack.enter_context(ExitStack()))
            keys = cast(int, await command(connections.redis, "DBSIZE"))
    except TimeoutError:
        return None
    finally:
        await command(connections.redis, "CLIENT", "UNPAUSE")
    paused = monotonic() - begun
    assert row is not None
    if paused >= patience:
        return None
    return Cut(
        connection=connection,
        snapshot=row[0],
        taken_at=row[1],
        paused=timedelta(seconds=paused),
        listed=listed,
        files=files,
        keys=keys,
    )


async def _flushed(connections: Connections) -> None:
    """Wait until all that was acknowledged is in the file: with `everysec` it may be in a buffer for a while."""
    while True:
        facts = await _persistence(connections)
        if facts["aof_enabled"] != 1 or facts["aof_last_write_status"] != "ok":
            raise ServerUnavailable("Valkey does not write its append-only file at the moment: is its disk full?")
        if facts["aof_buffer_length"] == 0:
            return
        await asyncio.sleep(0.002)


async def _persistence(connections: Connections) -> dict[str, object]:
    return cast("dict[str, object]", await command(connections.redis, "INFO", "persistence"))


def _held(folder: Path, stack: ExitStack) -> tuple[bytes, tuple[Held, ...]]:
    """The list of its files and the files. When a rewrite ends meanwhile, the list is another one: then once more."""
    while True:
        listed = (folder / LIST).read_bytes()
        names = [name.decode() for name, kind in _LISTED.findall(listed) if kind != b"h"]
        with ExitStack() as opened:
            try:
                files = [opened.enter_context((folder / name).open("rb")) for name in names]
            except FileNotFoundError:
                continue
            lengths = [os.fstat(file.fileno()).st_size for file in files]
            if (folder / LIST).read_bytes() == listed:
                stack.push(opened.pop_all())
                held = zip(names, files, lengths, strict=True)
                kept = b"".join(line for line in listed.splitlines(keepends=True) if not line.rstrip().endswith(b"h"))
                return kept, tuple(Held(name=name, file=file, length=length) for name, file, length in held)
