"""Whether a memory stays right over weeks and years: a scenario told to it day by day, and asked about every week.

A scenario is one JSON file: `messages`, each with id, week, day, hour, minute, source and text (and, as the answer key
of a mode of its own, `fact`); `probes`, each with week, question, the name of what it tries (`scenario`) and `gold`;
small talk (`noise`) to bury what matters; the day and hour of the week at which probes are asked (`probe`); `start` and
`weeks`. Messages come at their hour of simulated time. After the first week the clock jumps by a gap of days; so many
messages of small talk come every week, drawn from the shuffled pool, which begins anew when it is empty. Probes are
asked on the probe day, once the scheduled consolidation has run at that hour; each takes the five best hits and never
counts as use. A point is one gap and one amount of small talk, over five seeds.

`gold` says of a probe which messages must be among the hits (`need_all`, `need_any`), which never (`forbid`), and which
tell a value that holds no more (`stale`). The figures are means: `retrieval` the share of probes answered, `ret_…` the
same of one kind of probe, `stale_share` the share of hits that tell an old value, `injected` the share of probes that
brought back what is forbidden.

Everything goes through the public API with its defaults: `desk.remember(text, source=…, occurred_at=…)`,
`runtime.consolidate()`, `desk.recall(question, k=…)`. Each run has a tenant of its own on one pair of embedded servers.
A hit counts for the message that said its text last, a fact for the message it came from. With `--hand-facts` an agent
besides states each message's `fact` itself, `subject.attribute` and value, or remembers the message as a rule where the
fact is procedural. What a recall keeps in mind for a minute (how often words occur) would last for months here, so each
week's questions are asked by another agent of the session.

    python benchmarks/policies.py SCENARIO.json [--hand-facts] [--noise 3,10,25,50,100] [--gaps 0,90,365,730]

One JSON object a line and point; without `--json`, the worst of each figure on the other output as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any
from uuid import UUID

import lousa
import numpy
from lousa.infra.clock import ManualClock
from lousa.infra.settings import load
from lousa.memory_layers.ageing import AGEINGS
from lousa.memory_layers.execution import memories
from lousa.memory_layers.receipts import Receipt
from lousa.memory_layers.records import TRUST, MemoryKind

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Embedder, Vectors
    from lousa.memory_layers.records import Hit

Item = Mapping[str, Any]
Event = tuple[datetime, Item]

OURS = Path(__file__).resolve().parent / "scenarios"
PATIENCE = timedelta(seconds=30)
"""What a layer may take: the figures shall not depend on how busy the machine is."""
ENDS = " .!?;:,"
WHOLE = {"noise": [3, 10, 25, 50, 100], "gaps": [0, 90, 365, 730], "seeds": [1, 2, 3, 4, 5]}
SHORT = {"noise": [3, 100], "gaps": [0, 730], "seeds": [1, 2]}


class Once:
    """An embedder that is asked for every text once. Satisfies `Embedder`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._held: dict[tuple[bool, str], Vectors] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def prepare(self) -> None:
        await self._embedder.prepare()

    async def documents(self, texts: Sequence[str]) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if (False, text) not in self._held]
        if fresh:
            for text, vector in zip(fresh, await self._embedder.documents(fresh), strict=True):
                self._held[False, text] = vector
        return numpy.stack([self._held[False, text] for text in texts])

    async def query(self, text: str) -> Vectors:
        if (True, text) not in self._held:
            self._held[True, text] = await self._embedder.query(text)
        return self._held[True, text]


def events(scenario: Item, seed: int, noise_per_week: int, gap: timedelta) -> Iterator[Event]:
    """Messages and probes in the order of their hours; at one hour, what is said comes before what is asked."""
    begins = datetime.fromisoformat(scenario["start"])

    def hour(week: int, day: int, hours: int, minutes: int = 0) -> datetime:
        return begins + timedelta(weeks=week - 1, days=day - 1, hours=hours, minutes=minutes)

    told = [(hour(one["week"], one["day"], one["hour"], one["minute"]), 0, one) for one in scenario["messages"]]
    told += [(at, 0, one) for at, one in small_talk(scenario, seed, noise_per_week, hour)]
    told.sort(key=lambda event: event[0])
    day, at_hour = scenario["probe"]["day"], scenario["probe"]["hour"]
    asked = [(hour(probe["week"], day, at_hour), 1, probe) for probe in scenario["probes"]]
    for at, _, item in sorted(told + asked, key=lambda event: event[:2]):
        yield (at if at - begins < timedelta(weeks=1) else at + gap), item


def small_talk(scenario: Item, seed: int, per_week: int, hour: Any) -> Iterator[Event]:
    """So much a week, from Monday to Saturday, no two at one moment."""
    chance = random.Random(seed)
    left: list[str] = []
    taken: set[datetime] = set()
    for week in range(1, scenario["weeks"] + 1):
        for number in range(per_week):
            if not left:
                left = [one["text"] for one in scenario["noise"]]
                chance.shuffle(left)
            text = left.pop()
            at = None
            while at is None or at in taken:
                at = hour(week, chance.randint(1, 6), chance.randint(8, 22), chance.choice((0, 15, 30, 45)))
            taken.add(at)
            yield at, {"id": f"noise-w{week}-{number}", "source": "user", "text": text}


def graded(gold: Mapping[str, Sequence[str]], hits: Sequence[str]) -> dict[str, float]:
    """What one probe adds to the figures, by name."""
    found = set(hits)
    every, some, never, old = (set(gold.get(name, ())) for name in ("need_all", "need_any", "forbid", "stale"))
    grades = {"retrieval": float(every <= found and (not some or bool(some & found)) and not never & found)}
    if old and hits:
        grades["stale_share"] = sum(hit in old for hit in hits) / len(hits)
    if never:
        grades["injected"] = float(bool(never & found))
    return grades


@dataclass(slots=True)
class Told:
    """One tenant that a scenario is told to, and which message said what it holds."""

    runtime: lousa.Runtime
    clock: ManualClock
    tenant: str
    hand_facts: bool
    by_id: dict[UUID, str] = field(default_factory=dict[UUID, str])
    by_text: dict[str, str] = field(default_factory=dict[str, str])
    order: dict[str, int] = field(default_factory=dict[str, int])
    waiting: list[tuple[str, str, Receipt]] = field(default_factory=list[tuple[str, str, Receipt]])
    last: tuple[str, str, Receipt] | None = None
    asked: int = 0

    async def hear(self, message: Item) -> None:
        """A message, at its hour. Small talk settles with what is told after it."""
        name, text, source = message["id"], message["text"], message["source"]
        desk = self.runtime.desk("assistant", tenant=self.tenant)
        fact = message.get("fact")
        self.order[name] = len(self.order)
        rule = self.hand_facts and fact is not None and fact[2] == "procedural"
        kind = MemoryKind.PROCEDURAL if rule else MemoryKind.SEMANTIC
        receipt = await desk.remember(text, source=source, occurred_at=self.clock.now(), kind=kind)
        self.by_id[receipt.id] = name
        if "scenario" in message or fact is not None:
            self.waiting.append((name, text, receipt))
            await self.settle()
        else:
            self._small(name, text, receipt)
        if self.hand_facts and fact is not None and not rule:
            subject, _, attribute = str(fact[0]).rpartition(".")
            stated = await desk.state_fact(
                subject or attribute, attribute, str(fact[1]), source=source, trust=TRUST[source], sources=[receipt.id]
            )
            self.waiting.append((name, f"{subject or attribute} · {attribute} · {fact[1]}", stated))
            await self.settle()

    def _small(self, name: str, text: str, receipt: Receipt) -> None:
        """Small talk. Where it was said before, whatever is told after it is committed after it."""
        if (said := plain(text)) in self.by_text:
            self.by_text[said] = name
            self.last = (name, text, receipt)
        else:
            self.waiting.append((name, text, receipt))

    async def settle(self) -> None:
        """Wait until all that was said is where it belongs."""
        waiting, self.waiting = [*self.waiting, *([self.last] if self.last else [])], []
        self.last = None
        for (name, text, sent), receipt in zip(
            waiting, await asyncio.gather(*(sent.settled(PATIENCE) for _, _, sent in waiting)), strict=True
        ):
            if receipt.state == "journaled" or receipt.owed:
                raise TimeoutError(f"message {name!r} is not where it belongs after {PATIENCE.total_seconds():g} s")
            self.by_id[sent.id] = self.by_id[receipt.id] = name
            if receipt.state != "quarantined":
                self.by_text[plain(text)] = name

    async def tend(self) -> None:
        """What the schedule does at this hour."""
        await self.settle()
        await self.runtime.consolidate(tenant=self.tenant)
        self.asked += 1

    async def asked_for(self, question: str, k: int) -> list[str]:
        """The messages that the hits tell, best first."""
        desk = self.runtime.desk(f"assistant {self.asked}", tenant=self.tenant)
        found = await desk.recall(question, k=k)
        if found.silent or found.behind:
            raise TimeoutError(f"a layer did not answer within {PATIENCE.total_seconds():g} s: {found.silent}")
        return list(dict.fromkeys([await self._message(hit) for hit in found]))[:k]

    async def _message(self, hit: Hit) -> str:
        """The message that said last what a hit says."""
        ids = [hit.id, *hit.also]
        if not any(one in self.by_id for one in ids):
            ids += await self._sources(ids)  # the memory made it of others by itself
        names = {self.by_id[one] for one in ids if one in self.by_id}
        if (name := self.by_text.get(plain(hit.text))) is not None:
            names.add(name)
        if not names:
            raise ValueError(f"nobody ever said {hit.text!r}")
        return max(names, key=lambda name: self.order[name])

    async def _sources(self, ids: Sequence[UUID]) -> list[UUID]:
        principal = self.runtime.desk("assistant", tenant=self.tenant).principal
        async with self.runtime.services.connections.transaction(principal) as connection:
            known = await memories.get(connection, ids)
        return [source for memory in known.values() for source in memory.sources]


def plain(text: str) -> str:
    """A text as equal ones are compared."""
    return memories.folded(text).strip(ENDS)


@asynccontextmanager
async def opened(clock: ManualClock, **settings: str) -> AsyncGenerator[lousa.Runtime]:
    """A memory of its own, at its defaults but for what is given."""
    with tempfile.TemporaryDirectory(prefix="lousa-policies-") as folder:
        chosen = load(home=Path(folder), redis_fsync="everysec", consolidate=False, deadline=PATIENCE, **settings)
        async with lousa.open(chosen, clock=clock) as runtime:
            runtime.services.context.embedder = Once(runtime.services.context.embedder)
            yield runtime


async def told_and_asked(
    memory: Told, scenario: Item, seed: int, noise: int, gap: int, k: int
) -> list[tuple[str, dict[str, float]]]:
    """Replay a scenario once; of each probe its name and what it adds to the figures."""
    grades: list[tuple[str, dict[str, float]]] = []
    tended = None
    for at, item in events(scenario, seed, noise, timedelta(days=gap)):
        memory.clock.advance(at.astimezone(UTC) - memory.clock.now())
        if "question" not in item:
            await memory.hear(item)
            continue
        if tended != at:
            await memory.tend()
            tended = at
        grades.append((item["scenario"], graded(item["gold"], await memory.asked_for(item["question"], k))))
    return grades


async def measure(scenario: Item, options: argparse.Namespace) -> AsyncGenerator[dict[str, object]]:
    """Point after point, its figures."""
    clock = ManualClock(datetime.fromisoformat(scenario["start"]))
    settings = {name: given for name in ("embedder", "ageing") if (given := getattr(options, name)) is not None}
    async with opened(clock, **settings) as runtime:
        for gap in options.gaps:
            for noise in options.noise:
                figures: defaultdict[str, list[float]] = defaultdict(list)
                for seed in options.seeds:
                    memory = Told(runtime, clock, f"gap {gap} noise {noise} seed {seed}", options.hand_facts)
                    for name, grades in await told_and_asked(memory, scenario, seed, noise, gap, options.k):
                        figures["ret_" + name].append(grades["retrieval"])
                        for figure, value in grades.items():
                            figures[figure].append(value)
                yield {
                    "gap_days": gap,
                    "noise_per_week": noise,
                    **{name: round(mean(values), 4) for name, values in sorted(figures.items())},
                }


def numbers(given: str) -> list[int]:
    """`3,10,25` as numbers."""
    return [int(number) for number in given.split(",")]


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "scenarios", nargs="*", type=Path, help="files; all of ours by default, and four points of each"
    )
    parser.add_argument("--json", action="store_true", help="nothing but the lines")
    parser.add_argument("--hand-facts", action="store_true", help="an agent states the facts itself")
    parser.add_argument("--noise", type=numbers, help="messages of small talk a week: 3,10,25,50,100")
    parser.add_argument("--gaps", type=numbers, help="days that pass after the first week: 0,90,365,730")
    parser.add_argument("--seeds", type=numbers, help="of the small talk: 1,2,3,4,5")
    parser.add_argument("--k", type=int, default=5, help="hits that a probe may have")
    parser.add_argument("--policy", dest="ageing", choices=AGEINGS, help="a way of ageing, as LOUSA_AGEING names it")
    parser.add_argument("--embedder", help="as LOUSA_EMBEDDER names it")
    options = parser.parse_args()
    scenarios, grid = (options.scenarios, WHOLE) if options.scenarios else (sorted(OURS.glob("*.json")), SHORT)
    for name, given in grid.items():
        setattr(options, name, getattr(options, name) or given)
    for path in scenarios:
        told: defaultdict[str, list[float]] = defaultdict(list)
        async for point in measure(json.loads(path.read_text(encoding="utf-8")), options):
            print(
                json.dumps({"scenario": path.stem, "hand_facts": options.hand_facts, **point}, ensure_ascii=False),
                flush=True,
            )
            for name, value in point.items():
                if isinstance(value, float):
                    told[name].append(value)
        if not options.json:
            worst = {
                name: max(values) if name in ("stale_share", "injected") else min(values)
                for name, values in told.items()
            }
            print(f"{path.stem}, worst of its points: {worst}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())
