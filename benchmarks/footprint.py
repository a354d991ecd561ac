"""What Lousa keeps weighs: bytes a record in every store, what one agent writes in one session, and a load's gigabytes.

Pipelines run on the embedded servers as they would in earnest. Ten agents work on one execution; each of them says four
turns, writes two fields besides its result, remembers one thing it learned and one that happened, and states one fact,
in Portuguese or English sentences of some 170 characters. When everything that is owed is paid, each store is asked
what it holds more than before: Postgres for every table with its indexes and what lies outside its rows, Valkey for
every key. So what the product itself writes (plan, claims, results, audit entries, decisions) is counted, not assumed.

What one agent writes in one session, an *agent-session*, is the unit: all that is kept grows in proportion to it.
A load is agents × sessions a day × days. What expires is counted for as long as it stays: boards a day after their
end, windows an hour after the last turn; a journal entry is gone in moments, and weighed by itself.

The vectors are made, not computed: their number of dimensions decides what they weigh. The processor's time therefore
leaves out the embedding, which is told apart (docs/performance.md).

    python benchmarks/footprint.py [--json] [--runs 100] [--agents 100] [--sessions 1000] [--days 90]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any, cast
from zlib import crc32

import lousa
import numpy
import psycopg
from _records import records
from langchain_core.embeddings import Embeddings
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Task
from lousa.infra.embedded import life
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.window import Turn
from lousa.memory_layers.journal import Journaled
from lousa.memory_layers.records import SHARED, Memory, MemoryKind
from redis.asyncio import Redis

DIMENSIONS = 384
AGENTS = 10
"""That work on one execution."""
TURNS, FIELDS = 4, 2
BOARD_DAYS, WINDOW_DAYS = 1.0, 1 / 24
CONTEXT, KNOWLEDGE = ("memory_vector", "memory_words"), ("entity", "fact")
UNSETTLED = "SELECT (SELECT count(*) FROM lousa.debt) + (SELECT count(*) FROM lousa.execution WHERE NOT drained)"
WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
TABLES = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
    " WHERE relnamespace = 'lousa'::regnamespace AND relkind = 'r'"
)
Sizes = dict[str, tuple[int, int]]
"""Of each table or kind of key: bytes and records."""


class Given(Embeddings):
    """Vectors at no cost: near one of some topics, as texts are, and no two equal, which would share a place."""

    _topics = numpy.random.default_rng(7).normal(size=(200, DIMENSIONS))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        seed = crc32(text.encode())
        return (self._topics[seed % 200] + numpy.random.default_rng(seed).normal(size=DIMENSIONS)).tolist()


def given() -> Given:
    """Lousa finds the vectors by this function's name."""
    return Given()


def texts() -> Iterator[str]:
    """Sentences of some 170 characters, no two alike."""
    known = [record for record, _ in records(2_000)]
    chance = random.Random(7)
    for number in count():
        yield f"{chance.choice(known)} {chance.choice(known)} ({number})"


def pipeline() -> Pipeline:
    """What each of ten agents does in a session."""
    said = texts()

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("work", {"number": number, "about": next(said)}) for number in range(AGENTS)]

    async def work(desk: Desk, task: Task) -> Finding:
        for turn in range(TURNS):
            await desk.window.append(Turn(role=("user", "assistant")[turn % 2], body=next(said)))
        for field in range(FIELDS):
            await desk.board.write(f"{task.id}/{field}", {"text": next(said), "number": field})
        await desk.remember(next(said))
        await desk.remember(next(said), kind="episodic")
        firm = str(new_id())[-6:]
        await desk.state_fact(f"firm {firm}", "pays after", f"{len(firm)} days, as of {datetime.now(UTC):%d %B %Y}")
        return Finding({"text": next(said)})

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept(f"{len(findings.found)} found", reasons=[next(said)])

    return Pipeline(planner, workers=[work], critic=critic)


async def tables(database: psycopg.AsyncConnection[Any]) -> Sizes:
    """Every table with its indexes; partitions and models are added up under one name."""
    found: Sizes = {}
    for table, size in await (await database.execute(TABLES)).fetchall():
        rows = await _number(database, f"SELECT count(*) FROM lousa.{table}")
        name = re.sub(r"(?<=ledger_entry)_\w+$|(?<=memory_vector)_\w+$", "", table)
        before = found.get(name, (0, 0))
        found[name] = before[0] + size, before[1] + rows
    return found


async def keys(redis: Redis) -> Sizes:
    """Every key by its kind; the records of a key are its fields, its entries or itself."""
    sizes: Counter[str] = Counter()
    members: Counter[str] = Counter()
    lengths = {b"hash": "HLEN", b"stream": "XLEN", b"list": "LLEN", b"set": "SCARD", b"zset": "ZCARD"}
    client: Any = redis
    async for key in client.scan_iter(match="lousa:*", count=1_000):
        kind = re.sub(r"\{.*\}:?", "", key.decode())
        sizes[kind] += await client.memory_usage(key, samples=0) or 0
        length = lengths.get(await client.type(key))
        members[kind] += await client.execute_command(length, key) if length else 1
    return {kind: (sizes[kind], members[kind]) for kind in sizes}


async def journal_entry(redis: Redis) -> float:
    """Bytes of a write-back that waits, in a stream that no relay reads."""
    said, now, key = texts(), datetime.now(UTC), "footprint:journal"
    client: Any = redis
    for _ in range(1_000):
        memory = Memory(
            id=new_id(),
            tenant="default",
            owner="work",
            session="default",
            execution=new_id(),
            scope=SHARED,
            kind=MemoryKind.SEMANTIC,
            text=next(said),
            occurred_at=now,
            recorded_at=now,
        )
        await client.execute_command("XADD", key, "*", *Journaled(operation=memory.id, memory=memory).fields())
    return await client.memory_usage(key, samples=0) / 1_000


def processor(home: Path, server: str) -> float:
    """Seconds that a server and its children have used, as Linux counts them; 0 elsewhere."""
    told = life.read(home / f"{server}.life")
    if told is None or not Path("/proc/self/stat").exists():
        return 0.0
    seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if pid == told.pid:
            seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # with children that have ended
        elif int(fields[1]) == told.pid:
            seconds += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return seconds


def folder(path: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What the runs left, and what one agent-session takes of it."""

    units: int
    postgres: Sizes
    valkey: Sizes
    journal_entry: float
    wal: float
    """Bytes that Postgres logs for an agent-session; `aof`: that Valkey appends."""
    aof: float
    seconds: dict[str, float]
    """Of the processor, an agent-session, by process."""

    def weight(self, sizes: Sizes, *names: str) -> float:
        """Bytes an agent-session in the tables or keys whose names begin so."""
        return sum(size for name, (size, _) in sizes.items() if name.startswith(names)) / self.units

    def layers(self) -> dict[str, tuple[float, float]]:
        """Of each part: bytes an agent-session, and days that they stay (0: as long as the load is kept)."""
        ours = ("memory", "entity", "fact", "ledger", "transcript", "execution", "decision", "effect", "artifact")
        context, knowledge = self.weight(self.postgres, *CONTEXT), self.weight(self.postgres, *KNOWLEDGE)
        ledger = self.weight(self.postgres, "ledger", "seal", "subject_key")
        rest = self.weight(self.postgres, *ours, "seal", "subject_key") - context - knowledge - ledger
        return {
            "1 boards": (self.weight(self.valkey, "lousa:board"), BOARD_DAYS),
            "1 windows": (self.weight(self.valkey, "lousa:window"), WINDOW_DAYS),
            "2 vectors": (self.weight(self.postgres, CONTEXT[0]), 0.0),
            "2 words": (self.weight(self.postgres, CONTEXT[1]), 0.0),
            "3 facts": (knowledge, 0.0),
            "4 record": (rest, 0.0),
            "4 ledger": (ledger, 0.0),
        }


async def measure(runs: int) -> Footprint:
    """Run, wait until everything is where it belongs, and weigh it."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-bench-")))
        servers = await EmbeddedServers(home).start(stack)
        runtime = await stack.enter_async_context(lousa.open(home=home, embedder=f"{__name__}:{given.__name__}"))
        database = await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True)
        await stack.enter_async_context(database)
        redis = Redis.from_url(servers.redis_url)  # pyright: ignore[reportUnknownMemberType]  # as its stubs are
        stack.push_async_callback(redis.aclose)
        work, done = pipeline(), count()
        await runtime.run(work, {}, session="first")
        await _settled(database)
        postgres, valkey = await tables(database), await keys(redis)
        logged, appended = await _number(database, WRITTEN), folder(home / "valkey")
        spent = {name: processor(home, name) for name in ("postgres", "valkey")} | {"python": process_time()}

        async def in_turn() -> None:
            while (number := next(done)) < runs:
                await runtime.run(work, {}, session=f"session {number}")

        await asyncio.gather(*(in_turn() for _ in range(4)))
        await _settled(database)
        units = runs * AGENTS
        now = {name: processor(home, name) for name in ("postgres", "valkey")} | {"python": process_time()}
        return Footprint(
            units=units,
            wal=(await _number(database, WRITTEN) - logged) / units,
            aof=(folder(home / "valkey") - appended) / units,
            seconds={name: (now[name] - spent[name]) / units for name in now},
            postgres=_grown(postgres, await tables(database)),
            valkey=_grown(valkey, await keys(redis)),
            journal_entry=await journal_entry(redis),
        )


def _grown(before: Sizes, after: Sizes) -> Sizes:
    grown = {
        name: (size - before.get(name, (0, 0))[0], number - before.get(name, (0, 0))[1])
        for name, (size, number) in after.items()
    }
    return {name: (size, number) for name, (size, number) in grown.items() if number > 0}


async def _number(database: psycopg.AsyncConnection[Any], query: str) -> int:
    row = await (await database.execute(query.encode())).fetchone()
    assert row is not None
    return cast(int, row[0])


async def _settled(database: psycopg.AsyncConnection[Any]) -> None:
    """Until nothing is owed. A board is drained by the relay some moments after its execution's end."""
    async with asyncio.timeout(600):
        while await _number(database, UNSETTLED):  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.2)


def main() -> None:
    """Measure, and say it for people or for programs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object for programs")
    parser.add_argument("--runs", type=int, default=100, help=f"executions to measure, {AGENTS} agents each")
    parser.add_argument("--agents", type=int, default=100, help="of the load")
    parser.add_argument("--sessions", type=int, default=1_000, help="that each of them works in, a day")
    parser.add_argument("--days", type=int, default=90, help="that all of it is kept")
    options = parser.parse_args()
    found = asyncio.run(measure(options.runs))
    a_day = options.agents * options.sessions
    gigabytes = {name: size * a_day * (stays or options.days) / 1e9 for name, (size, stays) in found.layers().items()}
    records_of = {
        name: {"records": number / found.units, "bytes": size / number}
        for name, (size, number) in {**found.valkey, **found.postgres}.items()
    }
    if options.json:
        told = {
            "agent_sessions": found.units,
            "records": records_of,
            "journal_entry": found.journal_entry,
            "bytes": {name: size for name, (size, _) in found.layers().items()},
            "wal": found.wal,
            "aof": found.aof,
            "processor_seconds": found.seconds,
            "gigabytes": gigabytes,
        }
        print(json.dumps(told))
        return
    print(f"{found.units} agent-sessions; what one of them leaves:")
    for name, each in sorted(records_of.items()):
        print(f"  {name:<28}{each['records']:>8.2f} records of {each['bytes']:>8.0f} bytes")
    print(f"  {'a write-back that waits':<28}{'':>19}{found.journal_entry:>9.0f} bytes")
    print(f"  logged by Postgres {found.wal:.0f}, appended by Valkey {found.aof:.0f} bytes")
    print("  processor " + ", ".join(f"{name} {each * 1000:.1f} ms" for name, each in found.seconds.items()))
    print(f"{options.agents} agents × {options.sessions} sessions a day × {options.days} days:")
    for name, (size, stays) in found.layers().items():
        kept = f"{stays:.2g} days" if stays else "all"
        print(f"  {name:<28}{size:>8.0f} bytes an agent-session, kept {kept:<10}{gigabytes[name]:>9.1f} GB")


if __name__ == "__main__":
    main()
