"""What a recall costs over the vector query inside it, at N memories of one tenant.

The whole recall (three ways, fusion, every hit fetched from the record under row-level security and folded) takes turns
with a raw vector query: the same question's vector, the same index, the same breadth, one plain connection as the
owner, no identity, no filter but the tenant. The embedding is put aside on both sides: vectors are given after a wait
of about what the built-in model takes for a short question, and that wait is taken off. The value is the median of the
rounds' ratios of median times.

    python benchmarks/recall.py [--json] [--memories 20000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
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
from lousa.memory_layers.context.pgvector import BREADTH, ContextLayer
from lousa.memory_layers.contract import Query
from lousa.memory_layers.execution import memories
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.recall import Recaller
from lousa.memory_layers.records import TENANT, Fact, Memory, MemoryKind
from psycopg import AsyncConnection

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

WHO = Principal(tenant="bench", agent="bench", session="bench")
DIMENSIONS = 384
FINGERPRINT = "0123456789ab"
BATCH = 1_000
QUERIES = 60
EMBEDDING = 0.010
BAR = 3.0
RAW = f"""
SELECT id FROM lousa.memory_vector_{FINGERPRINT} WHERE tenant = 'bench'
ORDER BY embedding OPERATOR(public.<=>) %s::public.halfvec LIMIT {BREADTH}
"""


class Given:
    """Vectors that are made, not computed: a point near one of some hundred topics, the same for the same text.

    `waited` is how long the last question took to be embedded.
    """

    name, fingerprint, dimensions = "given", FINGERPRINT, DIMENSIONS

    def __init__(self) -> None:
        self.waited = 0.0
        self._topics = numpy.random.default_rng(7).normal(size=(200, DIMENSIONS))

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return numpy.stack([self.vector(text) for text in texts])

    async def query(self, text: str) -> Vectors:
        begin = perf_counter()
        vector = self.vector(text)
        await asyncio.sleep(EMBEDDING)
        self.waited = perf_counter() - begin
        return vector

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

    def memory(self, number: int) -> Memory:
        now = datetime.now(UTC) - timedelta(minutes=number)
        text, fact = self.text(number), None
        if number % 40 == 0:
            fact = Fact(subject=f"{self.word()} {self.word()}", predicate=self.word(), object=text[:40])
        return Memory(
            id=new_id(),
            tenant=WHO.tenant,
            owner=WHO.agent,
            session=WHO.session,
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
class Bench:
    """A recall over a filled store, a plain connection, and questions."""

    recaller: Recaller
    plain: AsyncConnection
    given: Given
    questions: list[str]


@asynccontextmanager
async def opened(home: Path, size: int) -> AsyncGenerator[Bench]:
    """A bench on embedded servers with `size` memories of one tenant."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        async with connections.owner_transaction() as connection:
            await migrate(connection)
        given, clock = Given(), SystemClock()
        context, knowledge = ContextLayer(connections, given), KnowledgeLayer(connections, clock=clock)
        await context.start(stack)
        questions = await fill(connections, context, knowledge, size)
        plain = await stack.enter_async_context(await AsyncConnection.connect(servers.postgres_url, autocommit=True))
        await plain.execute("ANALYZE")
        await plain.execute(f"SET hnsw.ef_search = {BREADTH}".encode())
        recaller = Recaller(
            connections, context, knowledge, caught_up=caught_up, clock=clock, settings=Settings(home=home)
        )
        yield Bench(recaller, plain, given, questions)


async def fill(connections: Connections, context: ContextLayer, knowledge: KnowledgeLayer, size: int) -> list[str]:
    corpus = Corpus()
    questions: list[str] = []
    for start in range(0, size, BATCH):
        batch = [corpus.memory(number) for number in range(start, min(start + BATCH, size))]
        async with connections.transaction(WHO) as connection:
            await memories.insert(connection, batch)
            await knowledge.state(connection, WHO, batch)
            await context.index_words(connection, batch)
        await context.put(WHO.tenant, batch)
        questions += [corpus.question(memory) for memory in batch[:: max(1, size // QUERIES // 2)]]
    return random.Random(7).sample(questions, k=min(QUERIES, len(questions)))


async def caught_up(_principal: Principal, _timeout: timedelta) -> bool:
    return True


async def round_of(bench: Bench) -> tuple[float, float]:
    """Median seconds of a recall, and of a raw vector query, in turns."""
    ours: list[float] = []
    raw: list[float] = []
    for question in bench.questions:
        begin = perf_counter()
        found = await bench.recaller.recall(WHO, Query(text=question))
        ours.append(perf_counter() - begin - bench.given.waited)
        assert len(found) == 8 and not found.silent
        vector = await bench.given.query(question)
        literal = "[" + ",".join(f"{number:.6g}" for number in vector.tolist()) + "]"
        begin = perf_counter()
        rows = await (await bench.plain.execute(RAW.encode(), (literal,))).fetchall()
        raw.append(perf_counter() - begin)
        assert len(rows) == BREADTH
    return median(ours), median(raw)


async def measure(home: Path, size: int, rounds: int) -> list[tuple[float, float]]:
    """The pairs of all rounds, after one that does not count."""
    async with opened(home, size) as bench:
        await round_of(bench)
        return [await round_of(bench) for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--memories", type=int, default=20_000, help="of one tenant (default 20,000)")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args()
    size = max(QUERIES * 4, options.memories)
    with tempfile.TemporaryDirectory(prefix="lousa-recall-") as folder:
        pairs = asyncio.run(measure(Path(folder), size, max(7, options.rounds)))

    ratio = round(median(ours / raw for ours, raw in pairs), 2)
    holds = ratio <= BAR
    name = f"recall at {size:,} memories, p50"
    against = "the raw vector query on the same index"
    if options.json:
        print(json.dumps({name: {"value": ratio, "unit": "x", "against": against, "bar": BAR, "holds": holds}}))
        return
    ours, raw = (f"{median(side) * 1_000:.2f} ms" for side in zip(*pairs, strict=True))
    print(f"{'':34} {'ours':>10} {'raw':>10} {'ratio':>6} {'bar':>6}")
    verdict = "holds" if holds else "FAILS"
    print(f"{name:34} {ours:>10} {raw:>10} {ratio:>6} ≤{BAR:>5}  {verdict}  (against {against})")


if __name__ == "__main__":
    main()
