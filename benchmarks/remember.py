"""What a durable write costs over the servers it stands on.

Each measure takes turns with what it is held against, in one process, on the same servers. The acknowledgement of a
write-back with one raw XADD of the same bytes, while the relay works. A write-through, embedding apart (the embedder
answers at once), with one plain transaction of the same rows. The relay with batches of 100 (read, commit, take out of
the journal) with COPY of the same rows in one transaction. The value is the median of the rounds' ratios.

The same rows are every row that ours left: memory, words, vector (or the debt of one), ledger entry and sealed payload,
in the same tables under the same indexes, copied back column for column; so the raw side has no text to stem, nothing
to seal and nothing to look up. It uses the same driver and waits for the same disk, as the tables' owner, whom
row-level security does not ask. One INSERT a row and COPY by the driver are how a person would write them by hand. Both
sides start from the same state: what either wrote is taken out before the other writes. No two vectors are alike.

    python benchmarks/remember.py [--json] [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import _rows
import psycopg
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.migrate import migrate
from lousa.infra.settings import Settings
from lousa.memory_layers.auditing import BoardAudit
from lousa.memory_layers.commit import Committer
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.script import command
from lousa.memory_layers.debts import Debts
from lousa.memory_layers.journal import Journal, Journaled
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import SHARED, Memory, MemoryKind
from lousa.memory_layers.relay import Relay
from lousa.memory_layers.router import Router
from psycopg import sql

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

WRITES = 60
BATCH = 100
DIMENSIONS = 384
FINGERPRINT = "0123456789ab"
VECTORS = f"memory_vector_{FINGERPRINT}"
TABLES = ("memory", "memory_words", "ledger_entry", "ledger_payload")
BACK, THROUGH, RELAY = (Principal(tenant=name, agent="agent", session="bench") for name in ("back", "through", "relay"))
NUMBERS = count()
Pair = tuple[float, float]


class Instant:
    """An embedder that answers at once: what it would take is apart."""

    name, fingerprint, dimensions = "instant", FINGERPRINT, DIMENSIONS
    _vectors: ClassVar[list[Vectors]] = []

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        if not self._vectors:
            import numpy

            drawn = numpy.random.default_rng(1).normal(size=(1_024, DIMENSIONS)).astype(numpy.float32)
            self._vectors.append(drawn / numpy.linalg.norm(drawn, axis=1, keepdims=True))
        (vectors,) = self._vectors
        return vectors[[next(NUMBERS) % len(vectors) for _ in texts]]

    async def query(self, text: str) -> Vectors:
        return (await self.documents([text]))[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Makes routers; a relay that is driven by hand, and a plain connection."""

    connections: Connections
    router: Callable[[], Router]
    relay: Relay
    journal: Journal
    plain: psycopg.AsyncConnection[Any]


@asynccontextmanager
async def opened(home: Path) -> AsyncGenerator[Bench]:
    """A bench on embedded servers."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        feed, context, knowledge = Feed(connections), ContextLayer(connections, Instant()), KnowledgeLayer(connections)
        await context.start(stack)
        clock, policy = SystemClock(), table()
        journal = Journal(connections)
        committer = Committer(policy=policy, words=context, facts=knowledge)
        relay = Relay(connections, journal, committer, Debts(connections, {}), BoardAudit(connections, feed), clock)
        plain = await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True)
        stack.push_async_callback(plain.close)
        await plain.execute("SET search_path = lousa, public")
        yield Bench(
            connections=connections,
            router=lambda: Router(connections, policy, context, knowledge, clock, Settings(), feed=feed),
            relay=relay,
            journal=journal,
            plain=plain,
        )


def memory(who: Principal, kind: MemoryKind) -> Memory:
    """A memory as agents write them: one sentence of some twenty words, and no two alike."""
    number, now = next(NUMBERS), datetime.now(UTC)
    text = (
        f"O contrato {number} entre a Acme e a Beta prevê pagamento em {number % 90} dias após o aceite da fatura,"
        " com multa de dois por cento e juros de um por cento ao mês em caso de atraso"
    )
    return Memory(
        id=new_id(),
        tenant=who.tenant,
        owner=who.agent,
        session=who.session,
        execution=None,
        scope=SHARED,
        kind=kind,
        text=text,
        metadata={"number": number},
        occurred_at=now,
        recorded_at=now,
    )


async def timed(call: Awaitable[object]) -> float:
    begin = perf_counter()
    await call
    return perf_counter() - begin


async def write_back(bench: Bench) -> Pair:
    """Median seconds of an acknowledgement, and of one raw XADD of the same bytes."""
    redis = bench.connections.redis
    ours: list[float] = []
    raw: list[float] = []
    async with AsyncExitStack() as stack:
        router = bench.router()
        await router.start(stack)
        for _ in range(WRITES):
            kept = memory(BACK, MemoryKind.SEMANTIC)
            words = Journaled(operation=kept.id, memory=kept).fields()
            ours.append(await timed(router.remember(BACK, kept, operation=kept.id)))
            raw.append(await timed(command(redis, "XADD", "lousa:bench:raw", "*", *words)))
    await redis.delete("lousa:bench:raw")
    return median(ours), median(raw)


async def write_through(bench: Bench) -> Pair:
    """Median seconds of a write-through, and of one transaction of the same rows."""
    ours: list[float] = []
    raw: list[float] = []
    router = bench.router()  # not started: it writes, and no relay works beside it
    for _ in range(WRITES):
        kept = memory(THROUGH, MemoryKind.PROCEDURAL)
        ours.append(await timed(router.remember(THROUGH, kept, operation=kept.id)))
        rows = await _rows.written(bench.plain, THROUGH.tenant, *TABLES, VECTORS)
        await emptied(bench, THROUGH)

        async def transaction(rows: dict[str, list[tuple[Any, ...]]] = rows) -> None:
            async with bench.plain.transaction():
                for name, (row,) in rows.items():
                    holders = sql.SQL(", ").join([sql.Placeholder()] * len(row))
                    await bench.plain.execute(
                        sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(name), holders), row
                    )

        raw.append(await timed(transaction()))
        await emptied(bench, THROUGH)
    return median(ours), median(raw)


async def relay_batches(bench: Bench) -> Pair:
    """Rows a second of the relay with a batch of 100, and of COPY of the same rows."""
    for kept in [memory(RELAY, MemoryKind.SEMANTIC) for _ in range(BATCH)]:
        await bench.journal.append(RELAY.tenant, Journaled(operation=kept.id, memory=kept))

    async def relay() -> None:
        taken = await bench.journal.take([RELAY.tenant], bench.relay.id, BATCH)
        await bench.relay._relay(taken)  # pyright: ignore[reportPrivateUsage]  # what its task does, once

    ours = await timed(relay())
    rows = await _rows.written(bench.plain, RELAY.tenant, *TABLES, "debt")
    debts = rows["debt"]  # a vector each, and an examination where a value is told
    assert all(len(found) == BATCH for found in rows.values() if found is not debts) and len(debts) >= BATCH
    await emptied(bench, RELAY)

    async def copy() -> None:
        async with bench.plain.transaction(), bench.plain.cursor() as cursor:
            for name, found in rows.items():
                async with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as out:
                    for row in found:
                        await out.write_row(row)

    raw = await timed(copy())
    await emptied(bench, RELAY)
    return BATCH / ours, BATCH / raw


async def emptied(bench: Bench, who: Principal) -> None:
    """Take a tenant's rows out again."""
    await _rows.emptied(bench.plain, who.tenant, (*TABLES, VECTORS, "debt"))


MEASURES: dict[str, tuple[str, str, float, bool, Callable[[Bench], Awaitable[Pair]]]] = {
    "write-back, acknowledged": ("ms", "one raw XADD of the same bytes", 2.0, False, write_back),
    "write-through, embedding apart": ("ms", "one transaction of the same rows", 2.5, False, write_through),
    "relay, batches of 100": ("rows/s", "COPY of the same rows", 0.3, True, relay_batches),
}


async def measure(home: Path, rounds: int) -> dict[str, list[Pair]]:
    """All pairs of all rounds, after two rounds that do not count."""
    async with opened(home) as bench:
        for _ in range(2):
            for *_, run in MEASURES.values():
                await run(bench)
        found: dict[str, list[Pair]] = {name: [] for name in MEASURES}
        for _ in range(rounds):
            for name, (*_, run) in MEASURES.items():
                found[name].append(await run(bench))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lousa-remember-") as folder:
        found = asyncio.run(measure(Path(folder), max(7, options.rounds)))

    report: dict[str, dict[str, object]] = {}
    if not options.json:
        print(f"{'':30} {'ours':>15} {'raw':>15} {'ratio':>6} {'bar':>6}")
    for name, pairs in found.items():
        unit, against, bar, more_is_better, _ = MEASURES[name]
        ratio = round(median(ours / raw for ours, raw in pairs), 2)
        holds = ratio >= bar if more_is_better else ratio <= bar
        report[name] = {"value": ratio, "unit": "x", "against": against, "bar": bar, "holds": holds}
        if not options.json:
            scale, digits = (1, 0) if unit == "rows/s" else (1_000, 3)
            ours, raw = (f"{median(side) * scale:,.{digits}f} {unit}" for side in zip(*pairs, strict=True))
            sign, verdict = "≥" if more_is_better else "≤", "holds" if holds else "FAILS"
            print(f"{name:30} {ours:>15} {raw:>15} {ratio:>6} {sign}{bar:>5}  {verdict}  (against {against})")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
