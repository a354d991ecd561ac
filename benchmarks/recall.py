"""What a recall costs over the vector query inside it, embedding aside: at one large tenant, and at many small ones.

The whole recall (the wait for what was acknowledged, likeness, words and graph, their fusion, every hit fetched from
the record under row-level security and folded) takes turns with the vector query that somebody would write by hand on
the same table and indexes: a question's vector, the same tenant and no other filter, as many ids as the recall
gives hits, the same breadth of the walk, the same driver, a connection of its own; as the owner, so that no row-level
security is in its way. That is the least that a search in this database can cost. Large tenants are searched by the
vector index. In a small one a walk by it comes back short (of 8 likest it found 3, in more time), so by hand one looks
at every row of the tenant. Both sides have their vector at once: nothing is hidden behind a model's work. No question
is asked twice, of neither side, so what is remembered from one recall to the next helps only as it would in earnest,
and no side finds in memory what the other has just read.

The value is the median of the rounds' ratios of median times. Beside it stands how many of the ten likest memories are
among the first ten of each side: one that misses more would be faster for nothing. With `--against`, the large tenant's
recall is held against that of a tenant of so many memories instead.

Filling takes a short way: rows, words and facts go through the functions that the product writes with, a tenant at a
time; vectors are copied in, and the indexes of vectors and words are built at the end. The servers are started anew
then, as they are in a home that was filled before, and either side is warmed by as many questions: what a server reads
for the first time costs a recall more than the query by hand, which reads less. A million takes half an hour.

    python benchmarks/recall.py [--json] [--rounds 9] [--memories 20000] [--tenants 200] [--each 1000] [--against 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.migrate import migrate
from lousa.infra.settings import Settings
from lousa.memory_layers.context.pgvector import BREADTH, EXACT_BELOW, ContextLayer
from lousa.memory_layers.contract import Query
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.execution import memories
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.recall import Recaller
from lousa.memory_layers.records import TENANT, Fact, Memory, MemoryKind
from lousa.memory_layers.router import Router
from psycopg import AsyncConnection

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

DIMENSIONS = 384
FINGERPRINT = "0123456789ab"
VECTORS = f"lousa.memory_vector_{FINGERPRINT}"
BUILT_LAST = f"{VECTORS}_hnsw", "lousa.memory_words_marked", "lousa.memory_words_sampled"
BATCH = 1_000
WARM = 400
"""Questions to either side before anything counts."""
QUESTIONS = 100
"""A round."""
CHECKED = 50
K = 8
BAR = GROWTH = 2.5
WALK, LOOK = (
    f"SELECT id FROM {VECTORS} WHERE tenant = %s ORDER BY {order} LIMIT %s".encode()
    for order in ("embedding <=> %s::public.halfvec", "(embedding <=> %s::public.halfvec) + 0")
)
"""By the vector index; by looking at every row of the tenant, which the index over its name finds."""


class Given:
    """Vectors that are made, not computed: a point near one of some hundred topics, the same for the same text."""

    name, fingerprint, dimensions = "given", FINGERPRINT, DIMENSIONS

    def __init__(self) -> None:
        self._topics = numpy.random.default_rng(7).normal(size=(200, DIMENSIONS))
        self._ready: dict[str, Vectors] = {}

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return numpy.stack([self.vector(text) for text in texts])

    async def query(self, text: str) -> Vectors:
        return self._ready[text]

    def prepare_for(self, texts: Sequence[str]) -> None:
        """Make the vectors of questions before they are asked."""
        self._ready |= {text: self.vector(text) for text in texts}

    def vector(self, text: str) -> Vectors:
        seed = int.from_bytes(text.encode()[-8:])
        noise = numpy.random.default_rng(seed).normal(size=DIMENSIONS)
        vector = self._topics[seed % len(self._topics)] + noise
        return (vector / numpy.linalg.norm(vector)).astype(numpy.float32)


class Corpus:
    """Texts whose words are as unevenly frequent as a language's, one in forty a fact about a named thing."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        syllables = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "ar", "en", "ir", "os")]
        self._words = ["".join(self._random.choices(syllables, k=self._random.choice((2, 3, 4)))) for _ in range(9_000)]

    def word(self) -> str:
        return self._words[int(len(self._words) ** self._random.random()) - 1]

    def text(self, number: int) -> str:
        words = [self.word() for _ in range(self._random.randint(8, 30))]
        return f"{' '.join(words)} {number:08d}"

    def memory(self, who: Principal, number: int) -> Memory:
        now = datetime.now(UTC) - timedelta(minutes=number)
        text, fact = self.text(number), None
        if number % 40 == 0:
            fact = Fact(subject=f"{self.word()} {self.word()}", predicate=self.word(), object=text[:40])
        return Memory(
            id=new_id(),
            tenant=who.tenant,
            owner=who.agent,
            session=who.session,
            execution=None,
            scope=TENANT,
            kind=MemoryKind.FACT if fact else MemoryKind.SEMANTIC,
            text=f"{fact.subject} {text}" if fact else text,
            fact=fact,
            occurred_at=now,
            recorded_at=now,
        )

    def question(self, memory: Memory) -> str:
        """Some words of a memory, and a few that it may not have."""
        words = memory.text.split()[:-1]
        asked = words[:2] + self._random.sample(words, k=min(4, len(words))) + [self.word(), "de", "the"]
        return " ".join(asked) + memory.text[-9:]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, by whom."""

    who: Principal
    text: str


@dataclass(frozen=True, slots=True)
class Shape:
    """So many tenants of so many memories."""

    tenants: int
    each: int

    @property
    def name(self) -> str:
        if self.tenants == 1:
            return f"recall at {self.each:,} memories, p50"
        return f"recall at {self.tenants} tenants of {self.each:,}, p50"


@dataclass(frozen=True, slots=True)
class Bench:
    """A recall over a filled store, a plain connection, and questions that nobody asked yet."""

    connections: Connections
    recaller: Recaller
    context: ContextLayer
    plain: AsyncConnection
    given: Given
    questions: Iterator[Asked]
    small: bool

    async def raw(self, asked: Asked, k: int = K, *, exact: bool = False) -> list[object]:
        """The ids of the likest by hand."""
        literal = "[" + ",".join(f"{number:.6g}" for number in (await self.given.query(asked.text)).tolist()) + "]"
        cursor = await self.plain.execute(LOOK if exact or self.small else WALK, (asked.who.tenant, literal, k))
        return [row[0] for row in await cursor.fetchall()]


@asynccontextmanager
async def opened(home: Path, shape: Shape, needed: int) -> AsyncGenerator[Bench]:
    """A bench on embedded servers of that shape, with so many questions."""
    given, clock, settings = Given(), SystemClock(), Settings(home=home)
    async with layers(home, given) as (connections, context, knowledge):
        questions = await fill(connections, context, knowledge, shape, needed + 2 * WARM)
    given.prepare_for([asked.text for asked in questions])
    async with layers(home, given) as (connections, context, knowledge), AsyncExitStack() as stack:
        router = Router(connections, table(), context, knowledge, clock, settings, feed=Feed(connections))
        recaller = Recaller(connections, context, knowledge, caught_up=router.caught_up, clock=clock, settings=settings)
        plain = await AsyncConnection.connect(connections.postgres_url, autocommit=True)
        stack.push_async_callback(plain.close)
        await plain.execute(f"SET search_path = public; SET hnsw.ef_search = {BREADTH}".encode())
        bench = Bench(connections, recaller, context, plain, given, iter(questions), shape.each < EXACT_BELOW)
        for _ in range(WARM):
            await bench.raw(next(bench.questions))
            asked = next(bench.questions)
            await recaller.recall(asked.who, Query(text=asked.text, k=K))
        yield bench


@asynccontextmanager
async def layers(home: Path, given: Given) -> AsyncGenerator[tuple[Connections, ContextLayer, KnowledgeLayer]]:
    """The embedded servers of a home, and what finds in them."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        context = ContextLayer(connections, given)
        await context.start(stack)
        yield connections, context, KnowledgeLayer(connections, clock=SystemClock())


async def fill(
    connections: Connections, context: ContextLayer, knowledge: KnowledgeLayer, shape: Shape, needed: int
) -> list[Asked]:
    """Memories of every tenant, some of whom are asked about; their vectors, and at the end the indexes."""
    corpus, chosen = Corpus(), random.Random(7)
    questions: list[Asked] = []
    async with connections.owner_transaction() as connection:
        cursor = await connection.execute("SELECT pg_get_indexdef(unnest(%s::regclass[]))", ([*BUILT_LAST],))
        built_last = [index for (index,) in await cursor.fetchall()]
        await connection.execute(f"DROP INDEX {', '.join(BUILT_LAST)}".encode())
    for number in range(shape.tenants):
        who = Principal(tenant=f"bench-{number}", agent="bench", session="bench")
        for start in range(0, shape.each, BATCH):
            batch = [corpus.memory(who, place) for place in range(start, min(start + BATCH, shape.each))]
            async with asyncio.TaskGroup() as group:  # the two servers of a small machine
                group.create_task(write(connections, context, knowledge, who, batch))
                vectors = await context.embedder.documents([memory.text for memory in batch])
                group.create_task(copy_vectors(connections, batch, vectors))
            share = -(-needed * len(batch) // (shape.tenants * shape.each))
            questions += [Asked(who, corpus.question(memory)) for memory in chosen.sample(batch, k=share)]
    async with connections.owner_transaction() as connection:
        room = max(1_024, shape.tenants * shape.each // 400)  # megabytes, for the whole graph of vectors
        await connection.execute(f"SET LOCAL maintenance_work_mem = '{room}MB'".encode())
        for index in built_last:
            await connection.execute(index.encode())
    async with connections.owner_transaction() as connection:
        await connection.execute("ANALYZE")
    chosen.shuffle(questions)
    return questions[:needed]


async def write(
    connections: Connections,
    context: ContextLayer,
    knowledge: KnowledgeLayer,
    who: Principal,
    batch: Sequence[Memory],
) -> None:
    async with connections.transaction(who) as connection:
        await memories.insert(connection, batch)
        await knowledge.state(connection, who, batch)
        await context.index_words(connection, batch)


async def copy_vectors(connections: Connections, batch: Sequence[Memory], vectors: Vectors) -> None:
    """As PostgreSQL's binary form has them, because half a float in text takes longer to read than to search."""
    columns = "id, tenant, scope, owner, session, readers, reader_roles, kind, embedding"
    nobody = bytes(8) + (25).to_bytes(4)  # an empty text[]
    rows = [b"PGCOPY\n\xff\r\n\0" + bytes(8)]
    for memory, half in zip(batch, vectors.astype(">f2"), strict=True):
        names = (memory.tenant, memory.scope.kind, memory.owner, memory.session or "")
        vector = DIMENSIONS.to_bytes(2) + bytes(2) + half.tobytes()
        cells = (memory.id.bytes, *map(str.encode, names), nobody, nobody, memory.kind.encode(), vector)
        rows.append(len(cells).to_bytes(2) + b"".join(len(cell).to_bytes(4) + cell for cell in cells))
    statement = f"COPY {VECTORS} ({columns}) FROM STDIN (FORMAT binary)".encode()
    async with (
        connections.owner_transaction() as connection,
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        await copy.write(b"".join(rows) + b"\xff\xff")


async def round_of(bench: Bench) -> tuple[float, float]:
    """Median seconds of a recall, and of a raw vector query, in turns."""
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(QUESTIONS):
        asked = next(bench.questions)
        begin = perf_counter()
        found = await bench.recaller.recall(asked.who, Query(text=asked.text, k=K))
        ours.append(perf_counter() - begin)
        assert len(found) == K and not found.silent and not found.behind
        other = next(bench.questions)
        begin = perf_counter()
        rows = await bench.raw(other)
        raw.append(perf_counter() - begin)
        assert len(rows) == K
    return median(ours), median(raw)


async def found_of(bench: Bench) -> tuple[float, float]:
    """Recall@10 of likeness alone, as the recall asks for it and by hand, against looking at every vector."""
    shares: list[tuple[float, float]] = []
    for _ in range(CHECKED):
        asked = next(bench.questions)
        exact = set(await bench.raw(asked, 10, exact=True))
        vector = await bench.given.query(asked.text)
        async with bench.connections.transaction(asked.who) as connection:
            likest = await bench.context.vectors(connection, asked.who, Query(text=asked.text), vector)
        by_hand = await bench.raw(asked, 10)
        shares.append((len(exact & {one.id for one in likest[:10]}) / 10, len(exact.intersection(by_hand)) / 10))
    ours, raw = zip(*shares, strict=True)
    return mean(ours), mean(raw)


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one shape: the pairs of seconds of all rounds, and what either side finds."""

    shape: Shape
    pairs: list[tuple[float, float]]
    found: tuple[float, float]

    @property
    def ratio(self) -> float:
        return round(median(ours / raw for ours, raw in self.pairs), 2)

    def told(self) -> dict[str, object]:
        ours, raw = self.found
        return {
            "value": self.ratio,
            "unit": "x",
            "against": "the raw vector query on the same index",
            "bar": BAR,
            "holds": self.ratio <= BAR,
            "recall@10": round(ours, 3),
            "raw recall@10": round(raw, 3),
        }

    def line(self) -> str:
        ours, raw = (f"{median(side) * 1_000:.2f} ms" for side in zip(*self.pairs, strict=True))
        found = f"{self.found[0]:.3f} / {self.found[1]:.3f}"
        verdict = "holds" if self.ratio <= BAR else "FAILS"
        return f"{self.shape.name:40} {ours:>10} {raw:>10} {self.ratio:>6} ≤{BAR:>4}  {verdict}  {found:>15}"


async def measure(shape: Shape, rounds: int) -> Measured:
    """One shape, after a round that does not count."""
    with tempfile.TemporaryDirectory(prefix="lousa-recall-") as folder:
        async with opened(Path(folder), shape, (rounds + 1) * QUESTIONS * 2 + CHECKED) as bench:
            await round_of(bench)
            pairs = [await round_of(bench) for _ in range(rounds)]
            return Measured(shape, pairs, await found_of(bench))


def growth(large: Measured, small: Measured) -> tuple[str, dict[str, object]]:
    """How much longer a recall takes in the larger one."""
    ratio = round(median(ours for ours, _ in large.pairs) / median(ours for ours, _ in small.pairs), 2)
    told: dict[str, object] = {"value": ratio, "unit": "x", "bar": GROWTH, "holds": ratio <= GROWTH}
    return f"recall at {large.shape.each:,} memories over {small.shape.each:,}, p50", told


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    parser.add_argument("--memories", type=int, default=20_000, help="of the one large tenant (default 20,000)")
    parser.add_argument("--tenants", type=int, default=200, help="small ones (default 200)")
    parser.add_argument("--each", type=int, default=1_000, help="memories of a small tenant (default 1,000)")
    parser.add_argument("--against", type=int, help="hold the large tenant's recall against one of so many memories")
    options = parser.parse_args()
    rounds = max(7, options.rounds)
    needed = (rounds + 1) * QUESTIONS * 2 + CHECKED + 2 * WARM
    if options.against:
        sizes = (max(needed, options.memories), max(needed, options.against))
        name, told = growth(*(asyncio.run(measure(Shape(1, each), rounds)) for each in sizes))
        print(json.dumps({name: told}) if options.json else f"{name}: {told}")
        return
    large = Shape(1, max(needed, options.memories))
    small = Shape(max(2, options.tenants), max(needed // max(2, options.tenants) + 1, options.each, 20))
    measured = [asyncio.run(measure(shape, rounds)) for shape in (large, small)]
    if options.json:
        print(json.dumps({each.shape.name: each.told() for each in measured}))
        return
    print(f"{'':40} {'ours':>10} {'raw':>10} {'ratio':>6} {'bar':>5}  {'':5}  recall@10 ours / raw")
    for each in measured:
        print(each.line())


if __name__ == "__main__":
    main()
