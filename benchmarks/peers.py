"""How long 2,000 records take to be written and 200 questions to be answered: Lousa, LangGraph's store, mem0.

One machine, one process, one embedded Postgres with a fresh database for every run, one embedding function (the fast
embedder, behind LangChain's `Embeddings`, entered by one caller at a time, its time counted), the same records and
questions in Portuguese and English. They take turns; every value is the median of the rounds. Written means: all
records can be found, which is asked of the database itself. Before the recalls every database is vacuumed and analysed,
as a server does by itself within a minute. Recalls want ten records, no question is asked twice, and a hit is the one
record that answers: speed shall not be bought with misses.

Each writes the way it is fastest at, which a first round finds out: one by one, by eight writers at once, or all
together (Lousa: every `remember` in flight; LangGraph: `abatch` of 100; mem0: every `add` in flight). Otherwise each is
at its own defaults, with these settings. Lousa: `remember`, written back, and `recall`. LangGraph: `AsyncPostgresStore`
with a pool of 8, the field `text` indexed, HNSW. mem0: `infer=False`, pgvector with HNSW; its sync class where nothing
runs beside it, its async class elsewhere. mem0's telemetry is off, its optional spaCy is not installed, and whatever
asks for another machine is refused.

What is compared is not the same work. Lousa also writes a ledger entry for every record in the record's transaction,
indexes words, and filters every recall by who may see what; it alone uses Valkey, synced at every acknowledgement.
LangGraph's store keeps no history and finds by likeness alone, within a namespace. mem0 keeps its history in SQLite,
apart from the vectors, and ranks by likeness and by PostgreSQL's full text; a user's name is its only scope here.

    python benchmarks/peers.py [--json] [--rounds 3] [--writes 2000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import psycopg
from _records import records
from _stores import MANY, OURS, STORES, Store, model
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints
from psycopg import sql

QUESTIONS = 200
TRIED = 150
WARMING = 10
PAUSE = 0.01


async def one_by_one(store: Store, texts: Sequence[str]) -> None:
    for text in texts:
        await store.write(text)


async def by_many(call: Callable[[str], Awaitable[object]], items: Iterable[str]) -> None:
    """Eight tasks, each taking the next item when it is done with one."""
    left = iter(items)

    async def work() -> None:
        for item in left:
            await call(item)

    await asyncio.gather(*(work() for _ in range(MANY)))


WAYS: dict[str, Callable[[Store, Sequence[str]], Awaitable[object]]] = {
    "one by one": one_by_one,
    "8 at once": lambda store, texts: by_many(store.write_many, texts),
    "all together": lambda store, texts: store.write_all(texts),
}


@dataclass(slots=True, kw_only=True)
class Told:
    """What the rounds said about one of the three; the way it writes is the one that was fastest when tried."""

    way: str = ""
    tried: dict[str, float] = field(default_factory=dict[str, float])
    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def value(self, name: str) -> float:
        return median(self.values[name])


class Bench:
    """Opens each of the three on empty databases of one server."""

    def __init__(self, servers: Endpoints, home: Path, plain: psycopg.AsyncConnection[Any], size: int) -> None:
        self._servers, self._home, self._plain = servers, home, plain
        pairs = records(size)
        self.texts = [record for record, _ in pairs]
        self.pairs = random.Random(11).sample(pairs, k=min(size, WARMING + 2 * QUESTIONS))
        self._opened = 0

    @asynccontextmanager
    async def _on_empty(self, name: str) -> AsyncGenerator[tuple[Store, psycopg.AsyncConnection[Any]]]:
        self._opened += 1
        database = f"peer_{self._opened}"
        named = sql.Identifier(database)
        await self._plain.execute(sql.SQL("CREATE DATABASE {}").format(named))
        url = urlsplit(self._servers.postgres_url)._replace(path=f"/{database}").geturl()
        opened, _ = STORES[name]
        async with (
            opened(self._servers, self._home, database, url) as store,
            await psycopg.AsyncConnection.connect(url, autocommit=True) as asking,
        ):
            yield store, asking
        await self._plain.execute(sql.SQL("DROP DATABASE {} (FORCE)").format(named))

    async def written(
        self, store: Store, asking: psycopg.AsyncConnection[Any], way: str, texts: Sequence[str]
    ) -> tuple[float, float]:
        """Seconds until the last write was acknowledged, and until all records could be found."""
        began = perf_counter()
        await WAYS[way](store, texts)
        acknowledged = perf_counter() - began
        while (await (await asking.execute(store.searchable)).fetchone()) != (len(texts),):  # noqa: ASYNC110  # no event
            await asyncio.sleep(PAUSE)
        return acknowledged, perf_counter() - began

    async def try_ways(self, name: str, told: Told) -> None:
        """Find the way of writing that suits this one; the first pass warms everything up."""
        for way in ("one by one", *WAYS):
            async with self._on_empty(name) as (store, asking):
                _, told.tried[way] = await self.written(store, asking, way, self.texts[:TRIED])
        told.way = min(told.tried, key=lambda way: told.tried[way])

    async def round(self, name: str, told: Told) -> None:
        """Write everything, then ask: alone, and eight at once."""
        async with self._on_empty(name) as (store, asking):
            before = model().seconds
            acknowledged, found = await self.written(store, asking, told.way, self.texts)
            told.add("acknowledged", acknowledged)
            told.add("written", found)
            told.add("embedding", model().seconds - before)
            await asking.execute("VACUUM ANALYZE")
            for _, question in self.pairs[:WARMING]:
                await store.recall(question)
            times: list[float] = []
            hits = 0
            before = model().seconds
            for record, question in self.pairs[WARMING : WARMING + QUESTIONS]:
                began = perf_counter()
                answer = await store.recall(question)
                times.append(perf_counter() - began)
                hits += record in answer
            told.add("p50", median(times) * 1_000)
            told.add("p95", quantiles(times, n=20)[-1] * 1_000)
            told.add("embedding of a question", (model().seconds - before) / len(times) * 1_000)
            told.add("hits", hits / len(times))
            more = [question for _, question in self.pairs[WARMING + QUESTIONS :]]
            began = perf_counter()
            await by_many(store.recall_many, more)
            told.add("recalls a second", len(more) / (perf_counter() - began))
        async with self._on_empty(name) as (store, asking):
            part = self.texts[: 2 * TRIED]
            _, found = await self.written(store, asking, "8 at once", part)
            told.add("writes a second", len(part) / found)


async def measure(home: Path, names: Sequence[str], rounds: int, size: int) -> dict[str, Told]:
    """What all rounds told about each, which began in turn."""
    told = {name: Told() for name in names}
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home, need=frozenset({"valkey", "postgres"})).start(stack)
        plain = await psycopg.AsyncConnection.connect(servers.postgres_url, autocommit=True)
        stack.push_async_callback(plain.close)
        bench = Bench(servers, home, plain, size)
        for name in names:
            await bench.try_ways(name, told[name])
        for number in range(rounds):
            for place in range(len(names)):
                name = names[(number + place) % len(names)]
                await bench.round(name, told[name])
    return told


ROWS = (
    ("written", "written, all findable", "s", 2),
    ("embedding", "  of it embedding", "s", 2),
    ("acknowledged", "  acknowledged after", "s", 2),
    ("p50", "recall, p50", "ms", 1),
    ("p95", "recall, p95", "ms", 1),
    ("embedding of a question", "  of it embedding", "ms", 1),
    ("hits", "answer among the ten", "", 3),
    ("writes a second", "written by 8 at once", "/s", 0),
    ("recalls a second", "recalled by 8 at once", "/s", 0),
)
BARS = {"written": "writing until findable", "p50": "recall, p50"}


def report(told: dict[str, Told], size: int, rounds: int, programs: bool) -> None:
    """Say it for people or for programs: what was measured, and whether Lousa is the faster one."""
    bars: dict[str, dict[str, object]] = {}
    for name, (what, label) in product(list(told)[1:], BARS.items()):
        ratio = median(
            ours / theirs for ours, theirs in zip(told[OURS].values[what], told[name].values[what], strict=True)
        )
        bars[f"{label}, against {name}"] = {
            "value": round(ratio, 2),
            "unit": "x",
            "against": name,
            "bar": 1.0,
            "holds": ratio < 1,
        }
    if programs:
        values = {
            f"{name}: {label.strip() if what != 'embedding of a question' else what}": {
                "value": round(each.value(what), digits),
                "unit": unit,
                "against": f"its way of writing: {each.way}",
                "bar": None,
                "holds": True,
            }
            for name, each in told.items()
            for what, label, unit, digits in ROWS
        }
        print(json.dumps(bars | values, ensure_ascii=False))
        return
    print(f"{size:,} records, {QUESTIONS} questions, {rounds} rounds in turn, medians")
    print(f"{'':24}" + "".join(f"{name:>18}" for name in told))
    for what, label, unit, digits in ROWS:
        print(f"{label:24}" + "".join(f"{f'{each.value(what):,.{digits}f} {unit}':>18}" for each in told.values()))
    print(f"{'way of writing':24}" + "".join(f"{each.way:>18}" for each in told.values()))
    for way in WAYS:
        print(f"{f'  {TRIED} {way}':24}" + "".join(f"{f'{each.tried[way]:.2f} s':>18}" for each in told.values()))
    for label, bar in bars.items():
        print(f"{label:50}{bar['value']:>6} x  (bar < 1, {'holds' if bar['holds'] else 'FAILS'})")


def stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse whatever a library wants from another machine."""
    if event not in ("socket.connect", "socket.getaddrinfo"):
        return
    address = arguments[1] if event == "socket.connect" else arguments
    # A server on this machine is reached by a file, and the address is its name.
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError("this benchmark stays on this machine, and something asked for another")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of tables")
    parser.add_argument("--rounds", type=int, default=3, help="at least 3")
    parser.add_argument("--writes", type=int, default=2_000, help="records (default 2,000)")
    options = parser.parse_args()
    missing = [name for name, (_, module) in STORES.items() if find_spec(module) is None]
    names = [name for name in STORES if name not in missing]
    if missing:
        print(
            f'not here: {", ".join(missing)}; pip install -c constraints.txt -e ".[bench]" brings them', file=sys.stderr
        )
    if OURS in missing or len(names) == 1:
        print("{}" if options.json else "nothing to compare")
        return
    sys.addaudithook(stay_here)
    rounds, size = max(3, options.rounds), max(2 * TRIED, options.writes)
    with tempfile.TemporaryDirectory(prefix="lousa-peers-") as folder:
        told = asyncio.run(measure(Path(folder), names, rounds, size))
    report(told, size, rounds, options.json)


if __name__ == "__main__":
    main()
