"""One random history, told to Lousa on its embedded stores and on stores outside: both recall the same.

A history is what agents of two sessions and a curator do: remember, state and forget facts, let things out of
quarantine, let time pass. In between, both are asked the same: what they recall, now and as of a day gone by, which
facts are around a thing, and how two things are connected.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import lousa
import pytest
from elsewhere import fresh_database, own_redis
from hashed import DIMENSIONS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lousa import LousaError, Runtime
from lousa.infra.clock import ManualClock
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.keys import journal_key
from lousa.memory_layers.records import MemoryKind, Recall, Scope, ScopeKind
from servers.pinecone import Emulator

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPERATIONS = int(os.environ.get("LOUSA_TEST_OPERATIONS", "200"))
CLOSE = 0.05
"""How far scores may lie apart, of some seven: what a store outside was told to remove takes a place among the hundred
likest for a moment longer, and the likeness of the hundredth is where scores begin."""
LEAST_STANDING = 0.75
"""What age and trust leave of a score at least; they count after the best were chosen."""

AGENTS, SESSIONS = ("ana", "bruno", "zoë"), ("s-1", "s-2")
THINGS = ("Acme", "Operação Andorinha", "Recife", "Ana Souza", "contract 7")
PREDICATES = {"region": False, "works at": False, "knows": True, "limite": False}
VALUES = ("us-east", "sa-east", "R$ 5.000", *THINGS)
WORDS = (
    *("deploy", "garden", "nota", "fiscal", "prazo", "região", "servidor", "azul", "rápido", "erro", "0x7F", "limite"),
    *("contract-7", "Recife", "Acme"),
)
SCOPES = ("tenant", "tenant", "shared", "private", Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"bruno"})))
SOURCES = ("user", "agent", "tool", "web")


@dataclass
class Told:
    """A Lousa to which a history is told, and the ids of what it kept, in the order of the history."""

    runtime: Runtime
    clock: ManualClock
    tenant: str
    kept: list[UUID] = field(default_factory=list[UUID])

    def desk(self, agent: str, session: str) -> Any:
        return self.runtime.desk(agent, session=session, tenant=self.tenant)

    async def keep(self, write: Callable[[Any], Any], agent: str, session: str) -> str:
        try:
            receipt = await write(self.desk(agent, session))
        except LousaError as error:
            self.kept.append(new_id())
            return type(error).__name__
        settled = await receipt.settled(timedelta(seconds=20))
        self.kept.append(settled.id)
        return f"{settled.state} {len(settled.superseded)} {len(settled.contested)}"

    async def paid(self) -> None:
        """Wait until every layer has what it is owed."""
        connections = self.runtime.services.connections
        async with asyncio.timeout(30):
            while True:
                async with connections.system_transaction(self.tenant) as connection:
                    cursor = await connection.execute(
                        "SELECT count(*) FROM debt WHERE tenant = current_tenant() AND layer <> 'shown'"
                    )
                    row = await cursor.fetchone()
                if row == (0,) and not await connections.redis.xlen(journal_key(self.tenant)):
                    return
                await asyncio.sleep(0.005)


Operation = Callable[[Told], Any]


def operation(chance: random.Random) -> tuple[str, Operation]:
    """Something that an agent does or asks, and how it reads."""
    agent, session = chance.choice(AGENTS), chance.choice(SESSIONS)
    what = chance.choices(
        ["remember", "state", "forget", "confirm", "pass", "recall", "facts", "paths"], [5, 5, 1, 1, 1, 4, 2, 1]
    )[0]
    match what:
        case "remember":
            return remembering(chance, agent, session)
        case "state":
            return stating(chance, agent, session)
        case "forget" | "confirm":
            place = chance.randrange(10_000)
            return f"{agent} {what}s #{place}", lambda told: changed(told, what, agent, session, place)
        case "pass":
            hours = chance.choice([1, 30, 24 * 20])
            return f"{hours} h pass", lambda told: passed(told, timedelta(hours=hours))
        case "recall":
            return recalling(chance, agent, session)
        case "facts":
            thing, hops, as_of = chance.choice(THINGS), chance.choice([1, 2, 3]), moment(chance)
            return f"{agent} asks about {thing!r}, {hops} steps, {as_of}", lambda told: edges(
                told, agent, session, thing, hops, as_of
            )
        case _:
            a, b, as_of = chance.choice(THINGS), chance.choice(THINGS), moment(chance)
            return f"{agent} asks how {a!r} leads to {b!r}, {as_of}", lambda told: ways(
                told, agent, session, a, b, as_of
            )


def remembering(chance: random.Random, agent: str, session: str) -> tuple[str, Operation]:
    text = " ".join(chance.choices(WORDS, k=chance.randrange(1, 7)))
    parts = {
        "kind": chance.choice(["semantic", "episodic", "procedural"]),
        "scope": chance.choice(SCOPES),
        "source": chance.choice(SOURCES),
    }
    return f"{agent} remembers {text!r} {parts}", lambda told: told.keep(
        lambda desk: desk.remember(text, **parts), agent, session
    )


def stating(chance: random.Random, agent: str, session: str) -> tuple[str, Operation]:
    predicate = chance.choice([*PREDICATES])
    value = chance.choice(VALUES)
    fact = (chance.choice(THINGS), predicate, value)
    days = chance.choice([None, -40, -3, 0, 5])
    parts = {
        "many": PREDICATES[predicate],
        "object_is_entity": value in THINGS and chance.random() < 0.7,
        "scope": chance.choice(("tenant", "tenant", "private")),
        "source": chance.choice(SOURCES),
    }
    return f"{agent} states {fact}, {days} days, {parts}", lambda told: told.keep(
        lambda desk: desk.state_fact(*fact, since=since(told, days), **parts), agent, session
    )


def since(told: Told, days: int | None) -> datetime | None:
    return None if days is None else told.clock.now() + timedelta(days=days)


def moment(chance: random.Random) -> timedelta | None:
    return chance.choice([None, None, timedelta(days=2), timedelta(days=30)])


async def changed(told: Told, what: str, agent: str, session: str, place: int) -> str:
    if not told.kept:
        return "nothing"
    identifier = told.kept[place % len(told.kept)]
    if what == "forget":
        try:
            return str((await told.desk(agent, session).forget(identifier, "it is over")).state)
        except LousaError as error:
            return type(error).__name__
    curator = Principal(tenant=told.tenant, agent="curator", session=session, roles=frozenset({"curator"}))
    try:
        receipt = await told.runtime.services.router.confirm(curator, identifier, "it is so", uuid4())
        return str(receipt.state)
    except LousaError as error:
        return type(error).__name__


async def passed(told: Told, time: timedelta) -> str:
    told.clock.advance(time)
    return ""


def recalling(chance: random.Random, agent: str, session: str) -> tuple[str, Operation]:
    asked = " ".join([*chance.choices(WORDS, k=chance.randrange(1, 4)), *chance.choices(THINGS, k=chance.randrange(2))])
    k, as_of = chance.choice([1, 5, 20]), moment(chance)
    kinds = chance.choice([(), (), (MemoryKind.FACT,), (MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL)])

    async def ask(told: Told) -> Recall:
        await told.paid()
        at = None if as_of is None else told.clock.now() - as_of
        return await told.desk(agent, session).recall(asked, k=k, kinds=kinds, as_of=at)

    return f"{agent} of {session} recalls {asked!r}, {k} {kinds} {as_of}", ask


async def edges(told: Told, agent: str, session: str, thing: str, hops: int, as_of: timedelta | None) -> list[str]:
    await told.paid()
    at = None if as_of is None else told.clock.now() - as_of
    found = await told.desk(agent, session).facts(thing, hops=hops, as_of=at)
    return sorted(f"{edge.sentence()} {edge.leads_on} {edge.contested}" for edge in found)


async def ways(told: Told, agent: str, session: str, a: str, b: str, as_of: timedelta | None) -> Any:
    await told.paid()
    at = None if as_of is None else told.clock.now() - as_of
    found = await told.desk(agent, session).paths(a, b, as_of=at)
    # Of more than five that are equally short, any five are given.
    return {path.sentence for path in found} if len(found) < 5 else [len(path.edges) for path in found]


def differs(one: Any, other: Any) -> str:
    """What is not the same in two answers; '' when all is."""
    if not (isinstance(one, Recall) and isinstance(other, Recall)):
        return "" if one == other else f"{one!r} here, {other!r} there"
    if (one.silent, one.behind) != (other.silent, other.behind):
        return f"{one.silent} {one.behind} here, {other.silent} {other.behind} there"
    scores = [{hit.text: hit.score for hit in recall} for recall in (one, other)]
    if len(one) != len(other):
        return f"{len(one)} hits here, {len(other)} there: {scores}"
    last = min([hit.score for hit in (*one, *other)], default=0.0)
    for mine, theirs in (scores, reversed(scores)):
        for text, score in mine.items():
            if text not in theirs and score <= last / LEAST_STANDING + CLOSE:
                continue  # of those that are about as good as the last, either may be left out
            # Of equal texts one stands for all: which, and so how old, is left to the store.
            if text not in theirs or theirs[text] < score * LEAST_STANDING - CLOSE:
                return f"{text!r}: {scores}"
    return ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two open Lousas that differ in where their layers lie."""

    here: Runtime
    there: Runtime
    clock: ManualClock

    async def told(self, history: Sequence[tuple[str, Operation]]) -> None:
        """Tell both a history, each as a fresh tenant, and compare every answer."""
        tenant = f"tenant-{uuid4().hex[:12]}"
        here, there = (Told(runtime, self.clock, tenant) for runtime in (self.here, self.there))
        for number, (reads, act) in enumerate(history):
            if reads.endswith("h pass"):
                await act(here)  # the clock is theirs together
                continue
            one, other = cast(tuple[Any, Any], await asyncio.gather(act(here), act(there)))
            assert not (found := differs(one, other)), f"operation {number}, {reads}: {found}"


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def pair(
    servers: Endpoints,
    runner: asyncio.Runner,
    pinecone_64: Emulator,
    neo4j_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    stack = AsyncExitStack()
    clock = ManualClock(BEGIN)

    async def opened() -> Pair:
        outside = {"vector_url": pinecone_64.url, "graph_url": neo4j_url}

        async def one(name: str, **elsewhere: Any) -> Runtime:
            runtime = lousa.open(
                None,
                clock=clock,
                home=tmp_path_factory.mktemp(name),
                redis_url=await own_redis(servers),
                postgres_url=await fresh_database(servers, f"lousa_{name}"),
                embedder="hashed:embeddings",
                consolidate=False,
                deadline=timedelta(seconds=20),
                **elsewhere,
            )
            return await stack.enter_async_context(runtime)

        return Pair(await one("here"), await one("there", **outside), clock)

    try:
        yield runner.run(opened())
    finally:
        runner.run(stack.aclose())


@pytest.fixture(scope="module")
def pinecone_64() -> Iterator[Emulator]:
    with pytest.MonkeyPatch.context() as patch, Emulator(dimension=DIMENSIONS) as emulator:
        patch.setenv("PINECONE_API_KEY", emulator.key)
        yield emulator


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, Operation]]:
    """Short ones, which hypothesis makes shorter still where one fails."""
    seeds = draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40))
    return [operation(random.Random(seed)) for seed in seeds]


patient = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@settings(patient, max_examples=8)
@given(history=histories())
def test_short_histories_read_the_same(pair: Pair, runner: asyncio.Runner, history: list[tuple[str, Operation]]):
    runner.run(pair.told(history))


@pytest.mark.timeout(600)
@settings(patient, max_examples=1, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_long_history_reads_the_same(pair: Pair, runner: asyncio.Runner, seed: int):
    chance = random.Random(seed)
    runner.run(pair.told([operation(chance) for _ in range(OPERATIONS)]))
