"""What layer 3 costs over the store it stands on: facts in Postgres, and the graph that is read in Neo4j.

Each measure takes turns with what it is held against, in one process, on the same servers; the value is the median of
the rounds' ratios. Neo4j is a real server of the long-term line, which Java and Maven bring (docs/knowledge-graph.md);
without them, or where `--neo4j` names none, its rows are left out and the table says so.

- *10,000 facts in batches* of 500. Postgres: resolving and writing facts whose memories are in the record, against COPY
  of every row that this left. Neo4j: making the graph agree with the record about them, reading the record included,
  against one UNWIND a batch that makes the same nodes and relations from rows at hand.
- *A single fact through*: the receipt of a write-through. Postgres: against one transaction of the same rows, of every
  table. Neo4j: against that transaction and then one MERGE of the same fact, since both stores hold it afterwards. The
  embedder answers at once; the vector is written in a transaction of its own, and by hand with the others.
- *A graph told of one fact* (Neo4j): what the layer does alone, against that MERGE.
- *Two steps from what a question names*, at the median, among 10,000 facts: against a plain query of two hops from the
  same things, without readers, intervals or expiry. In Postgres both ask within an open transaction, since a recall
  shares its trips with the other ways of finding.

    python benchmarks/graph.py [--json] [--rounds 7] [--neo4j URL]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import _graphs
import _rows
from _graphs import Bench, asked_plainly, emptied, opened, raw_row, somebody, stated, timed, told
from lousa.infra.connections import Connection
from lousa.infra.identity import Principal
from lousa.memory_layers.asking import Elsewhere, ask
from lousa.memory_layers.contract import Query
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import Memory
from psycopg import sql
from remember import Instant

FACTS = 10_000
BATCH = 500
WRITES = 40
QUESTIONS = 60
Pair = tuple[float, float]


# Facts in batches --------------------------------------------------------------------------------------------------


async def recorded(bench: Bench, who: Principal, kept: Sequence[Memory]) -> None:
    """Their rows in the record, which layer 3 finds there."""
    async with bench.connections.transaction(who) as connection:
        await memories.insert(connection, kept)


async def batches(bench: Bench) -> Pair:
    """Facts a second of layer 3, and of the store alone."""
    who = somebody()
    parts = [[stated(who) for _ in range(BATCH)] for _ in range(FACTS // BATCH)]
    for part in parts:
        await recorded(bench, who, part)

    async def state() -> None:
        for part in parts:
            async with bench.connections.transaction(who, pipelined=True) as connection:  # as every commit is
                await bench.knowledge.state(connection, who, part)

    async def put() -> None:
        for part in parts:
            await bench.knowledge.put(who.tenant, part)

    ours = await timed(state())
    if bench.driver is None:
        raw = await copied(bench, who, parts)
    else:
        ours = await timed(put())
        raw = await unwound(bench, parts)
        await bench.knowledge.clear(who.tenant)
    await emptied(bench, who)
    return FACTS / ours, FACTS / raw


async def copied(bench: Bench, who: Principal, parts: Sequence[Sequence[Memory]]) -> float:
    """Seconds of COPY of the same rows, in as many transactions."""
    entities = (await _rows.written(bench.plain, who.tenant, "entity"))["entity"]
    facts = (await _rows.written(bench.plain, who.tenant, "fact"))["fact"]
    await emptied(bench, who, "entity", "fact")
    share = -(-len(entities) // len(parts))

    async def copy() -> None:
        for number in range(len(parts)):
            async with bench.plain.transaction(), bench.plain.cursor() as cursor:
                await cursor.execute("SET LOCAL session_replication_role = replica")  # likewise
                for name, rows in (
                    ("entity", entities[number * share : (number + 1) * share]),
                    ("fact", facts[number * BATCH : (number + 1) * BATCH]),
                ):
                    async with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as out:
                        for row in rows:
                            await out.write_row(row)

    return await timed(copy())


async def unwound(bench: Bench, parts: Sequence[Sequence[Memory]]) -> float:
    who = somebody()
    rows = [[raw_row(memory) for memory in part] for part in parts]

    async def unwind() -> None:
        for part in rows:
            await told(bench, who.tenant, part)

    seconds = await timed(unwind())
    await bench.knowledge.clear(who.tenant)
    return seconds


# A single fact -----------------------------------------------------------------------------------------------------


async def through(bench: Bench) -> Pair:
    """Median seconds of a write-through of a fact, and of the same rows written by hand."""
    ours: list[float] = []
    raw: list[float] = []
    who = somebody()
    for number in range(-1, WRITES):
        kept = stated(who)
        receipt = bench.router.remember(who, kept, operation=kept.id)
        if number < 0:  # makes the key of its payloads, which no row by hand is compared with
            await receipt
            await emptied(bench, who)
            continue
        ours.append(await timed(receipt))
        rows = await _rows.written(bench.plain, who.tenant, *_graphs.TABLES, f"memory_vector_{Instant.fingerprint}")
        await emptied(bench, who)

        async def by_hand(kept: Memory = kept, rows: dict[str, list[tuple[Any, ...]]] = rows) -> None:
            async with bench.plain.transaction():
                await bench.plain.execute("SET LOCAL session_replication_role = replica")  # the rows are all there
                for name, found in rows.items():
                    for row in found:
                        holders = sql.SQL(", ").join([sql.Placeholder()] * len(row))
                        await bench.plain.execute(
                            sql.SQL("INSERT INTO {} VALUES ({}) ON CONFLICT DO NOTHING").format(
                                sql.Identifier(name), holders
                            ),
                            row,
                        )
            if bench.driver is not None:
                await told(bench, who.tenant + "-raw", [raw_row(kept)])

        raw.append(await timed(by_hand()))
        await emptied(bench, who)
        if bench.driver is not None:
            for tenant in (who.tenant, who.tenant + "-raw"):
                await bench.knowledge.clear(tenant)
    return median(ours), median(raw)


async def told_alone(bench: Bench) -> Pair:
    """Median seconds of telling the graph of one fact of the record, and of one MERGE."""
    who, other = somebody(), somebody()
    kept = [stated(who) for _ in range(WRITES)]
    await recorded(bench, who, kept)
    async with bench.connections.transaction(who) as connection:
        await bench.knowledge.state(connection, who, kept)
    ours: list[float] = []
    raw: list[float] = []
    for memory in kept:
        ours.append(await timed(bench.knowledge.put(who.tenant, [memory])))
        raw.append(await timed(told(bench, other.tenant, [raw_row(memory)])))
    await emptied(bench, who)
    for tenant in (who.tenant, other.tenant):
        await bench.knowledge.clear(tenant)
    return median(ours), median(raw)


# Two steps ---------------------------------------------------------------------------------------------------------

READERS: dict[int, Principal] = {}


async def two_steps(bench: Bench) -> Pair:
    """Median seconds of the facts within two steps of a thing, and of the plain query."""
    if id(bench) not in READERS:
        who = READERS[id(bench)] = somebody()
        for _ in range(FACTS // BATCH):
            part = [stated(who) for _ in range(BATCH)]
            await recorded(bench, who, part)
            async with bench.connections.transaction(who) as connection:
                await bench.knowledge.state(connection, who, part)
            if bench.driver is not None:
                await bench.knowledge.put(who.tenant, part)
        await bench.plain.execute("ANALYZE fact, entity, memory")
    who = READERS[id(bench)]
    ours: list[float] = []
    raw: list[float] = []
    async with bench.connections.transaction(who) as connection, bench.plain.transaction():
        for number in range(QUESTIONS):
            name = f"Pessoa {number * 31 % _graphs.THINGS}"
            query = Query(text=f"O que se sabe de {name} hoje?")
            ours.append(await timed(asked(bench, who, query, connection)))
            raw.append(await timed(asked_plainly(bench, who, name.lower())))
    return median(ours), median(raw)


async def asked(bench: Bench, who: Principal, query: Query, connection: Connection) -> None:
    way = bench.knowledge.part(who, query)
    found = await way.ask() if isinstance(way, Elsewhere) else await ask(connection, way)
    assert found["graph"]


Measure = tuple[str, str, float, bool, Callable[[Bench], Awaitable[Pair]]]
MEASURES: dict[str, dict[str, Measure]] = {
    "postgres": {
        "10,000 facts in batches": ("facts/s", "COPY of the same rows", 0.5, True, batches),
        "a fact, written through": ("ms", "one transaction of the same rows", 2.0, False, through),
        "two steps from a name": ("ms", "a plain query of two hops", 2.0, False, two_steps),
    },
    "neo4j": {
        "10,000 facts in batches": ("facts/s", "UNWIND of the same rows", 0.5, True, batches),
        "a fact, written through": ("ms", "the same rows, then one MERGE", 2.0, False, through),
        "a graph told of a fact": ("ms", "one MERGE", 2.0, False, told_alone),
        "two steps from a name": ("ms", "a plain query of two hops", 2.0, False, two_steps),
    },
}


async def measure(home: Path, store: str, url: str | None, rounds: int) -> dict[str, list[Pair]]:
    """All pairs of all rounds, after one round that does not count."""
    async with opened(home, url) as bench:
        found: dict[str, list[Pair]] = {name: [] for name in MEASURES[store]}
        for number in range(rounds + 1):
            for name, (*_, run) in MEASURES[store].items():
                pair = await run(bench)
                if number:
                    found[name].append(pair)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=7, help="at least 3")
    parser.add_argument("--neo4j", metavar="URL", help="a Neo4j of yours; without it one is started")
    parser.add_argument("--store", choices=MEASURES, help="only this one")
    options = parser.parse_args()
    rounds = max(3, options.rounds)

    results: dict[str, dict[str, list[Pair]]] = {}
    with tempfile.TemporaryDirectory(prefix="lousa-graph-") as folder:
        if options.store != "neo4j":
            results["postgres"] = asyncio.run(measure(Path(folder) / "a", "postgres", None, rounds))
        if options.store != "postgres":
            sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))
            import neo4j_server

            try:
                if options.neo4j:
                    results["neo4j"] = asyncio.run(measure(Path(folder) / "b", "neo4j", options.neo4j, rounds))
                else:
                    with neo4j_server.server(neo4j_server.LTS, Path(folder) / "neo4j", "-Xmx1g") as url:
                        results["neo4j"] = asyncio.run(measure(Path(folder) / "b", "neo4j", url, rounds))
            except neo4j_server.Missing as missing:
                print(f"Neo4j was not measured: {missing}", file=sys.stderr)

    report: dict[str, dict[str, object]] = {}
    if not options.json:
        print(f"{'':34} {'ours':>15} {'raw':>15} {'ratio':>6} {'bar':>6}")
    for store, found in results.items():
        for name, pairs in found.items():
            unit, against, bar, more_is_better, _ = MEASURES[store][name]
            ratio = round(median(ours / raw for ours, raw in pairs), 2)
            holds = ratio >= bar if more_is_better else ratio <= bar
            report[f"{store}: {name}"] = {"value": ratio, "unit": "x", "against": against, "bar": bar, "holds": holds}
            if not options.json:
                scale, digits = (1, 0) if unit == "facts/s" else (1_000, 3)
                ours, raw = (f"{median(side) * scale:,.{digits}f} {unit}" for side in zip(*pairs, strict=True))
                sign, verdict = "≥" if more_is_better else "≤", "holds" if holds else "FAILS"
                title = f"{store}: {name}"
                print(f"{title:34} {ours:>15} {raw:>15} {ratio:>6} {sign}{bar:>5}  {verdict}  (against {against})")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
