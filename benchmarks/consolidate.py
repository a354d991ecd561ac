"""How fast consolidation goes over 20,000 memories, by step.

Each step takes turns with one bare SQL statement, by the owner of the tables, that brings the same rows of memory,
words and vectors to the same end in a single transaction: no batches, no row-level security, no progress, no entry.
Both find the same tenant in the same state, restored in between. The vector index is left out, because a deletion does
not touch it and restoring would. The value is the median of the rounds' ratios.

    python benchmarks/consolidate.py [--json] [--rounds 5] [--memories 20000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, LiteralString

import psycopg
from lousa.consolidation.run import Consolidation
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.migrate import migrate
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.embedding import load
from lousa.memory_layers.policy import table

BAR = 0.3
Pair = tuple[float, float]

FILL: LiteralString = """
INSERT INTO memory (id, tenant, scope, owner, session, kind, text, source, trust, status, occurred_at, recorded_at,
                    confirmed_at, content_key, metadata)
SELECT gen_random_uuid(), %(tenant)s, 'shared', 'agent', 'bench', %(kind)s,
       'O contrato ' || number / %(alike)s || ' entre a Acme e a Beta prevê pagamento em ' || number / %(alike)s
       || ' dias após o aceite da fatura, com multa de dois por cento' || CASE number %% 2 WHEN 1 THEN '.' ELSE '' END,
       'agent', 0.5, 'live', at, at, at, sha256(number::text::bytea), '{}'
FROM generate_series(1, %(memories)s) AS number,
     LATERAL (SELECT clock_timestamp() - %(age)s::interval - number * interval '1 second') AS said (at)
"""
WORDS: LiteralString = """
INSERT INTO memory_words (id, tenant, scope, owner, session, execution, readers, reader_roles, kind, words)
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, stems(text)
FROM memory WHERE tenant = %(tenant)s
"""
VECTORS: LiteralString = """
INSERT INTO {vectors} (id, tenant, scope, owner, session, execution, readers, reader_roles, kind, embedding)
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind,
       array_fill(0.05::real, ARRAY[%(dimensions)s])::vector::halfvec
FROM memory WHERE tenant = %(tenant)s
"""
TAKEN_OUT: LiteralString = """
, words AS (DELETE FROM memory_words USING gone WHERE memory_words.id = gone.id)
, vectors AS (DELETE FROM {vectors} AS held USING gone WHERE held.id = gone.id)
, owed AS (DELETE FROM debt USING gone WHERE debt.tenant = %(tenant)s AND debt.memory = gone.id)
SELECT count(*) FROM gone
"""
AGED: LiteralString = """
WITH gone AS (
    UPDATE memory SET status = %(status)s, consolidated_by = gen_random_uuid()
    WHERE tenant = %(tenant)s AND kind = %(kind)s AND status = 'live'
      AND greatest(confirmed_at, used_at) <= clock_timestamp() - interval '90 days'
    RETURNING id
)
"""
FOLDED: LiteralString = """
WITH ranked AS (
    SELECT id, confirmed_at, confirmations, first_value(id) OVER same AS keeper
    FROM memory WHERE tenant = %(tenant)s AND kind = %(kind)s AND status = 'live'
    WINDOW same AS (PARTITION BY plain_text(text), scope, session, value, category, subject, metadata
                    ORDER BY trust DESC, recorded_at, id)
), kept AS (
    UPDATE memory SET confirmed_at = merged.confirmed_at, confirmations = merged.confirmations
    FROM (SELECT keeper, max(confirmed_at) AS confirmed_at, sum(confirmations) AS confirmations
          FROM ranked GROUP BY keeper HAVING count(*) > 1) AS merged
    WHERE memory.id = merged.keeper
), gone AS (
    UPDATE memory SET status = 'superseded', superseded_by = ranked.keeper, consolidated_by = gen_random_uuid()
    FROM ranked WHERE memory.id = ranked.id AND ranked.id <> ranked.keeper
    RETURNING memory.id
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A tenant in which a step has something to do, and the statement that does the same."""

    step: str
    kind: str
    age: str
    alike: int
    bare: LiteralString
    status: str = ""


CASES = (
    Case(step="expire", kind="semantic", age="100 days", alike=1, bare=AGED, status="expired"),
    Case(step="archive", kind="episodic", age="100 days", alike=1, bare=AGED, status="archived"),
    Case(step="deduplicate", kind="semantic", age="1 day", alike=2, bare=FOLDED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Consolidation, and a plain connection of the owner."""

    consolidation: Consolidation
    plain: psycopg.AsyncConnection[Any]
    vectors: str
    dimensions: int
    memories: int

    def said(self, query: LiteralString) -> bytes:
        """A query with the name of the vectors' table, which is of our own making."""
        return query.replace("{vectors}", self.vectors).encode()


@asynccontextmanager
async def opened(home: Path, memories: int) -> AsyncGenerator[Bench]:
    """A bench on embedded servers."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        context = ContextLayer(connections, load("e5"))  # only its table is used: nothing is embedded
        await context.start(stack)
        plain = await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True)
        stack.push_async_callback(plain.close)
        await plain.execute("SET search_path = lousa, public")
        vectors = f"memory_vector_{context.embedder.fingerprint}"
        await plain.execute(f"DROP INDEX {vectors}_hnsw".encode())
        yield Bench(
            consolidation=Consolidation(connections, table(), {2: context}),
            plain=plain,
            vectors=vectors,
            dimensions=context.embedder.dimensions,
            memories=memories,
        )


async def filled(bench: Bench, case: Case) -> None:
    """A tenant in which the step has something to do, and a copy of what it will take out."""
    given = {
        "tenant": case.step,
        "kind": case.kind,
        "age": case.age,
        "alike": case.alike,
        "memories": bench.memories,
        "dimensions": bench.dimensions,
    }
    for query in (FILL, WORDS, VECTORS):
        await bench.plain.execute(bench.said(query), given)
    for name in ("memory_words", bench.vectors):
        copy = f"CREATE UNLOGGED TABLE {name}_{case.step} AS SELECT * FROM {name} WHERE tenant = '{case.step}'"
        await bench.plain.execute(copy.encode())
    await tidied(bench)


async def restored(bench: Bench, case: Case) -> None:
    """The tenant as it was before the step; nothing of it is timed."""
    await bench.plain.execute(
        "UPDATE memory SET status = 'live', superseded_by = NULL, confirmed_at = recorded_at, confirmations = 1"
        " WHERE tenant = %s",
        (case.step,),
    )
    for name in ("memory_words", bench.vectors):
        await bench.plain.execute(
            f"INSERT INTO {name} SELECT * FROM {name}_{case.step} ON CONFLICT DO NOTHING".encode()
        )
    await tidied(bench)


async def tidied(bench: Bench) -> None:
    for name in ("memory", "memory_words", bench.vectors):
        await bench.plain.execute(f"VACUUM ANALYZE {name}".encode())
    await bench.plain.execute("CHECKPOINT")


async def measured(bench: Bench, case: Case) -> Pair:
    """Rows a second of the step, and of the bare statement."""
    begin = perf_counter()
    report = await bench.consolidation.run(case.step, [case.step])
    ours = perf_counter() - begin
    assert report is not None
    await restored(bench, case)
    given = {"tenant": case.step, "kind": case.kind, "status": case.status}
    begin = perf_counter()
    row = await (await bench.plain.execute(bench.said(case.bare + TAKEN_OUT), given)).fetchone()
    raw = perf_counter() - begin
    changed = report.steps[case.step].changed
    assert row is not None and row[0] == changed > 0, (row, report)
    await restored(bench, case)
    return changed / ours, changed / raw


async def measure(home: Path, rounds: int, memories: int) -> dict[str, list[Pair]]:
    """All pairs of all rounds, after one that does not count."""
    found: dict[str, list[Pair]] = {case.step: [] for case in CASES}
    async with opened(home, memories) as bench:
        for case in CASES:
            await filled(bench, case)
        for number in range(rounds + 1):
            for case in CASES:
                pair = await measured(bench, case)
                found[case.step] += [pair] if number else []
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=5, help="at least 3")
    parser.add_argument("--memories", type=int, default=20_000, help="in the tenant of each step")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lousa-consolidate-") as folder:
        found = asyncio.run(measure(Path(folder), max(3, options.rounds), options.memories))
    report: dict[str, dict[str, object]] = {}
    if not options.json:
        print(f"{'':12} {'ours':>15} {'bare':>15} {'ratio':>6} {'bar':>6}")
    for name, pairs in found.items():
        ratio = round(median(ours / raw for ours, raw in pairs), 2)
        against = "one bare statement to the same end"
        report[name] = {"value": ratio, "unit": "x", "against": against, "bar": BAR, "holds": ratio >= BAR}
        if not options.json:
            ours, raw = (f"{median(side):,.0f} rows/s" for side in zip(*pairs, strict=True))
            verdict = "holds" if ratio >= BAR else "FAILS"
            print(f"{name:12} {ours:>15} {raw:>15} {ratio:>6} ≥{BAR:>5}  {verdict}  (against {against})")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
