"""Taking a backup: the cut, and then everything of it into the file, while everybody goes on."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import cast

from ...infra.connections import Connections
from ...infra.embedded import home as homes
from ...infra.embedded.supervisor import EmbeddedServers, Fsync
from ...infra.errors import NotFound
from ...memory_layers.conversation.script import command
from .archive import FORMAT, Manifest, size, written
from .cut import LIST, QUERIES, Cut, compact, cut
from .working import Show, Work, output, silent, telling

ROLES, DUMP = "roles.sql", "postgres.dump"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A backup that was taken. `sha256` is its seal, `paused` how long writers were held back."""

    file: Path
    bytes: int
    sha256: str
    taken_at: datetime
    paused: timedelta
    counts: dict[str, int]


async def take(home: Path, file: Path, *, force: bool = False, fsync: Fsync = "always", show: Show = silent) -> Taken:
    """Back up a home into a file, whether its servers run or not.

    Raises:
        NotFound: nothing was ever kept in that home.
        BadInput: the file is there already, or cannot be written.
        ServerUnavailable: a server did not answer; there is no file then.
    """
    if len(homes.data_of(home, ["postgres", "valkey"])) < 2:
        raise NotFound(f"there is nothing to back up in {str(home)!r}: LOUSA_HOME or --home names another home")
    work = Work()
    async with AsyncExitStack() as stack:
        writer, close = stack.enter_context(written(file, force=force))
        servers = await EmbeddedServers(home, fsync=fsync).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url, 3)
        await connections.start(stack)
        show("waiting for the moment")
        await compact(connections)
        async with cut(connections, home) as found:
            manifest = await _manifest(connections, found)
            address = f"--dbname={servers.postgres_url}"

            def write() -> None:
                for held in found.files:
                    told = telling(show, f"valkey/{held.name}", held.length)
                    writer.add(f"valkey/{held.name}", work.through(held.chunks()), compress=True, told=told)
                writer.add(f"valkey/{LIST}", [found.listed], compress=False, told=telling(show, LIST))
                roles = output("pg_dumpall", address, "--roles-only")
                writer.add(ROLES, work.through(roles), compress=True, told=telling(show, ROLES))
                words = ("--format=custom", "--compress=3", f"--snapshot={found.snapshot}")
                dump = output("pg_dump", address, *words)
                writer.add(DUMP, work.through(dump), compress=False, told=telling(show, DUMP))

            await work.do(write)
        show("sealing")
        whole = manifest.model_copy(update={"parts": tuple(writer.parts)})
        seal = await work.do(lambda: close(whole))
        return Taken(
            file=file,
            bytes=size(file) or 0,
            sha256=seal,
            taken_at=found.taken_at,
            paused=found.paused,
            counts=manifest.counts,
        )


async def _manifest(connections: Connections, found: Cut) -> Manifest:
    facts = cast("dict[str, str]", await command(connections.redis, "INFO", "server"))
    cursor = await found.connection.execute(QUERIES["has_schema"])
    row = await cursor.fetchone()
    assert row is not None
    if not row[0]:
        raise NotFound("there is nothing to back up: nobody ever opened this home to the end")
    row = await (await found.connection.execute(QUERIES["facts"])).fetchone()
    assert row is not None
    schema, postgres, executions, memories, entries = row
    return Manifest(
        format=FORMAT,
        lousa=version("lousa"),
        taken_at=found.taken_at,
        schema_number=schema,
        postgres=postgres,
        valkey=str(facts.get("valkey_version") or facts["redis_version"]),
        counts={"executions": executions, "memories": memories, "ledger_entries": entries, "valkey_keys": found.keys},
        parts=(),
    )
