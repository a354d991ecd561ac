"""The one transaction of a durable write: record, words, facts, decision, debts and ledger entry, all or nothing.

Both policies end here: a write-through with one write under the agent's own role, the relay with a batch. The ledger
entry's id derives from the operation, and inserting it is what makes a write happen once: a transaction that finds the
entry there already fails as a whole, and a second one answers the repeat from the ledger with the first answer.

A memory is trusted no more than its least trusted source, sources of the same batch included. One whose id has a
tombstone is not written, only its ledger entry is. Writers hold a shared lock on their tenant; whoever forgets takes it
alone, so that no write under way can slip past a tombstone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol, cast
from uuid import UUID

from psycopg.errors import UniqueViolation

from ..infra.connections import Connection
from ..infra.identity import Principal
from ..infra.ids import derived_id
from ..infra.sql import load_queries
from .contract import Capabilities
from .directives import reported_directive
from .echoes import tells
from .execution import decisions, ledger, memories
from .guard import beside_the_loop, with_trust
from .policy import Policy
from .receipts import State
from .records import TRUST, Json, Memory, MemoryKind
from .truth.examination import EXAMINED
from .truth.examination import QUERIES as TRUTH
from .truth.values import holds_value
from .validators import Ruling

_ATTEMPTS = 4
QUERIES = load_queries(f"{__package__}.execution")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One admitted write. `stale` says that its task had passed on: it is not written, and the ledger says so.

    `echo` is what it says again, because its agent had just recalled that. `ruling` is what its validator said; what
    was rejected is not written, but to the ledger.
    """

    operation: UUID
    memory: Memory
    stale: bool = False
    trace_id: str | None = None
    span_id: str | None = None
    echo: UUID | None = None
    ruling: Ruling | None = None

    @property
    def refused(self) -> State | None:
        """Why it is not written, if it is not."""
        if self.stale:
            return "stale"
        return "rejected" if self.ruling is not None and self.ruling.decision == "reject" else None

    @property
    def entry(self) -> UUID:
        """The id of its ledger entry. A refusal has another: the living attempt may make the same write."""
        return derived_id(self.operation, self.refused or "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a write. `owed` are the layers that are owed the memory now."""

    id: UUID
    state: State
    owed: tuple[str, ...] = ()
    superseded: tuple[UUID, ...] = ()
    contested: tuple[UUID, ...] = ()


Along = Callable[[Connection], Awaitable[Sequence[ledger.Entry]]]
"""What else a transaction does; its entries are about the same data subjects as the writes."""


class Words(Protocol):
    """What a commit needs of layer 2."""

    async def index_words(self, connection: Connection, memories: Sequence[Memory]) -> None: ...
    async def told_by_user(self, connection: Connection, memories: Mapping[UUID, Memory]) -> None: ...
    async def learn(self, tenant: str) -> None: ...


class Stated(Protocol):
    """What became of a fact."""

    @property
    def id(self) -> UUID: ...
    @property
    def superseded(self) -> Sequence[UUID]: ...
    @property
    def contested_with(self) -> Sequence[UUID]: ...


class Facts(Protocol):
    """What a commit needs of layer 3."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def state(
        self, connection: Connection, principal: Principal, memories: Sequence[Memory]
    ) -> Sequence[Stated]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """Runs the transaction; whoever calls says under which role."""

    policy: Mapping[MemoryKind, Policy]
    words: Words
    facts: Facts
    examines: bool = True
    """Whether what holds a value is owed an examination, see `truth.examination`."""

    async def commit(
        self,
        transaction: Callable[[], AbstractAsyncContextManager[Connection]],
        principal: Principal,
        writes: Sequence[Write],
        *,
        due_after: timedelta = timedelta(0),
        along: Along | None = None,
    ) -> list[Outcome]:
        """Write them, all of one tenant, in one pipelined transaction; the outcomes in their order.

        `along` does something else in that transaction, again with every attempt, and says what it owes to the ledger.
        """
        entries = [write.entry for write in writes]
        outcomes: dict[UUID, Outcome] = {}
        attempt = 0
        while True:
            attempt += 1
            try:
                async with transaction() as connection:
                    people = {ledger.subject_name(write.memory.subject, write.memory.session) for write in writes}
                    keys = await ledger.SubjectKeys.ask(
                        connection, people, QUERIES["begin_write"], due_after=f"{due_after.total_seconds()} seconds"
                    )
                    if attempt > 1:
                        outcomes = await self._answered(connection, entries)
                    todo = {entry: write for entry, write in zip(entries, writes, strict=True) if entry not in outcomes}
                    if todo:
                        outcomes |= await self._write(connection, principal, todo, keys, due_after, along)
                    elif along is not None and (more := await along(connection)):
                        await ledger.append_once(connection, more, keys)
                return [outcomes[entry] for entry in entries]
            except UniqueViolation:  # a write of this transaction was committed before
                if attempt == _ATTEMPTS:
                    raise

    async def first_answer(self, connection: Connection, operation: UUID) -> Outcome | None:
        """What became of an operation; None while nothing did."""
        entries = [derived_id(operation, how) for how in ("write", "rejected", "stale")]
        outcomes = await self._answered(connection, entries)
        return next((outcomes[entry] for entry in entries if entry in outcomes), None)

    async def _write(
        self,
        connection: Connection,
        principal: Principal,
        todo: Mapping[UUID, Write],
        keys: ledger.SubjectKeys,
        due_after: timedelta,
        along: Along | None,
    ) -> dict[UUID, Outcome]:
        lowered = await _lowered(connection, [write.memory for write in todo.values()])
        given = dict(zip(todo, lowered, strict=True))
        told = await _told(connection, todo)
        kept = [memory for entry, memory in given.items() if not todo[entry].refused and entry not in told]
        found = [memory for memory in kept if memory.status == "live"]
        owing = {memory.id for memory in found if 2 in self.policy[memory.kind].also}
        if len(todo) > 1:
            await keys.get()  # with them at hand, payloads are sealed while the server inserts
        echoes = {given[entry].id for entry, write in todo.items() if write.echo and write.memory.fact is None}
        inserted = (
            await memories.send(connection, kept, owed=owing, echoes=echoes, due_after=due_after) if kept else None
        )
        # Words of what turns out to be known or forgotten are left out: they are those of nothing in the record.
        await self._index(connection, [memory for memory in found if memory.fact is None])
        # A lone one is sealed when it is written down: to ask for its key by then takes no trip of its own.
        letters = [_Letter.of(write, given[entry]) for entry, write in todo.items()] if len(todo) > 1 else []
        sealed = await keys.seal(letters) if letters else {}
        more = await along(connection) if along is not None else ()
        # In the same trip: no fact is folded into another, and of one that was forgotten nothing is stated.
        stated = await self._state(connection, principal, kept)
        known = await inserted.known() if inserted else {}
        fresh = [memory for memory in kept if known.get(memory.id) == memory.id]
        owing &= {memory.id for memory in fresh}
        await self._index(
            connection, [memory for memory in fresh if memory.fact is not None and memory.status == "live"]
        )
        again = {known[one.id]: one for one in found if one.source == "user" and known.get(one.id, one.id) != one.id}
        if again:
            await self.words.told_by_user(connection, again)
        await decisions.insert(connection, [memory for memory in fresh if memory.kind is MemoryKind.DECISION])
        owing_truth = await self._examine(connection, kept, known, stated, echoes)
        outcomes: dict[UUID, Outcome] = {}
        for entry, memory in given.items():
            fact = stated.get(memory.id)
            outcomes[entry] = Outcome(
                id=told.get(entry) or known.get(memory.id, memory.id),
                state=todo[entry].refused or _state_of(memory, told.get(entry) or known.get(memory.id)),
                owed=(
                    *self._owed(memory, in_context=memory.id in owing, fresh=known.get(memory.id) == memory.id),
                    *(("truth",) if known.get(memory.id) in owing_truth else ()),
                ),
                superseded=tuple(fact.superseded) if fact else (),
                contested=tuple(fact.contested_with) if fact else (),
            )
        entries = [self._entry(entry, write, given[entry], outcomes[entry]) for entry, write in todo.items()]
        await ledger.append_once(connection, [*entries, *more], keys, sealed)
        return outcomes

    async def _examine(
        self,
        connection: Connection,
        kept: Sequence[Memory],
        known: Mapping[UUID, UUID],
        stated: Mapping[UUID, Stated],
        echoes: Collection[UUID],
    ) -> set[UUID]:
        """Owe an examination to what may tell a value anew, and to facts that took another's place."""
        if not self.examines:
            return set()
        telling = [
            memory
            for memory in kept
            if memory.id in known and memory.status == "live" and memory.id not in echoes
            if memory.kind in EXAMINED and memory.value is None and holds_value(memory.text)
        ]
        if again := [memory for memory in telling if known[memory.id] != memory.id]:
            moments = [memory.occurred_at for memory in again]
            parameters = {"ids": [known[memory.id] for memory in again], "moments": moments}
            await connection.execute(
                TRUTH["told_again"], {**parameters, "sources": [memory.source for memory in again]}
            )
        due = {known[memory.id] for memory in telling} | {one for one, fact in stated.items() if fact.superseded}
        if due:
            await connection.execute(QUERIES["owe"], {"ids": [*due], "layer": "truth"})
        return due

    def _owed(self, memory: Memory, *, in_context: bool, fresh: bool) -> tuple[str, ...]:
        """The layers that are owed it; a graph outside is so by what the database does at each fact and decision."""
        owed = ("context",) if in_context else ()
        outside = not self.facts.capabilities.transactional
        about = memory.fact is not None or memory.kind is MemoryKind.DECISION
        return (*owed, "knowledge") if outside and about and fresh else owed

    async def _index(self, connection: Connection, found: Sequence[Memory]) -> None:
        if found:
            await self.words.index_words(connection, found)

    async def _state(self, connection: Connection, principal: Principal, kept: Sequence[Memory]) -> dict[UUID, Stated]:
        facts = [memory for memory in kept if memory.fact is not None]
        return {each.id: each for each in await self.facts.state(connection, principal, facts)} if facts else {}

    async def _answered(self, connection: Connection, entries: Sequence[UUID]) -> dict[UUID, Outcome]:
        """The first answers of those that were committed before."""
        outcomes: dict[UUID, Outcome] = {}
        for entry, told in (await ledger.find(connection, entries)).items():
            assert told.memory is not None, "a write's entry always names its memory"
            outcomes[entry] = Outcome(
                id=told.memory,
                state=cast(State, told.outcome),
                owed=await owed(connection, told.memory),
                superseded=_uuids(told.basis.get("superseded")),
                contested=_uuids(told.basis.get("contested")),
            )
        return outcomes

    def _entry(self, entry: UUID, write: Write, memory: Memory, outcome: Outcome) -> ledger.Entry:
        policy = self.policy[memory.kind]
        basis: dict[str, Json] = {
            "kind": memory.kind,
            "scope": memory.scope.kind,
            "policy": policy.write,
            "source": memory.source,
            "trust": memory.trust,
            **({"ruled": write.ruling.decision, "by": write.ruling.by} if write.ruling else {}),
        }
        for name, ids in (
            ("read", memory.sources),
            ("superseded", outcome.superseded),
            ("contested", outcome.contested),
        ):
            if ids:
                basis[name] = [str(identifier) for identifier in ids]
        return ledger.Entry(
            id=entry,
            tenant=memory.tenant,
            agent=memory.owner,
            session=memory.session,
            execution=memory.execution,
            retention=policy.retention,
            occurred_at=memory.recorded_at,
            action="memory.write",
            outcome=outcome.state,
            memory=outcome.id,
            basis=basis,
            trace_id=write.trace_id,
            span_id=write.span_id,
            person=memory.subject,
            payload=_payload(write, memory),
        )


@dataclass(frozen=True, slots=True)
class _Letter:
    """A payload before its entry. Satisfies `ledger.Body`."""

    id: UUID
    subject_name: str
    payload: Mapping[str, Json]

    @classmethod
    def of(cls, write: Write, memory: Memory) -> _Letter:
        return cls(write.entry, ledger.subject_name(memory.subject, memory.session), _payload(write, memory))


def _payload(write: Write, memory: Memory) -> dict[str, Json]:
    said: dict[str, Json] = {"text": memory.text, "value": memory.value}
    return said if write.ruling is None else {**said, "reason": write.ruling.reason}


async def owed(connection: Connection, memory: UUID) -> tuple[str, ...]:
    """The layers that are still owed a memory."""
    cursor = await connection.execute(TRUTH["debts_of"], {"id": memory})
    return tuple(row[0] for row in await cursor.fetchall())


async def _lowered(connection: Connection, given: Sequence[Memory]) -> list[Memory]:
    """Memories trusted no more than their sources, in order: one may be the source of the next.

    What is drawn from something in quarantine is no better than that, until somebody has confirmed it. A fact is acted
    on at once, so one that is drawn from what a tool tells others to do waits for a person, unless a user states it.
    """
    wanted = {source for memory in given for source in memory.sources}
    if not wanted:
        return list(given)
    cursor = await connection.execute(QUERIES["trust_of"], {"ids": list(wanted), "apart": TRUST["web"]})
    rows = await cursor.fetchall()
    trusts: dict[UUID, float] = {row[0]: row[1] for row in rows}
    directing = {row[0] for row in rows if row[2]}
    lowered: list[Memory] = []
    for memory in given:
        lowest = min((trusts[source] for source in memory.sources if source in trusts), default=memory.trust)
        if memory.fact is not None and memory.source != "user" and not directing.isdisjoint(memory.sources):
            lowest = min(lowest, TRUST["web"])
        kept = memory
        if lowest < memory.trust:
            kept = await beside_the_loop(memory, partial(with_trust, memory, lowest, derived=True))
        lowered.append(kept)
        trusts[memory.id] = min(kept.trust, TRUST["web"]) if kept.status == "quarantined" else kept.trust
        if memory.id in wanted and await reported_directive(memory):
            directing.add(memory.id)
    return lowered


async def _told(connection: Connection, todo: Mapping[UUID, Write]) -> dict[UUID, UUID]:
    """Of writes that only say again what their readers are told already: by what."""
    if not (wanted := {write.echo for write in todo.values() if write.echo is not None}):
        return {}
    held = await memories.get(connection, wanted)
    return {
        entry: write.echo
        for entry, write in todo.items()
        if write.echo is not None and write.echo in held and not write.refused and tells(held[write.echo], write.memory)
    }


def _state_of(memory: Memory, known_as: UUID | None) -> State:
    if known_as is None:
        return "forgotten"
    if known_as != memory.id:
        return "duplicate"
    return "quarantined" if memory.status == "quarantined" else "stored"


def _uuids(stored: Json) -> tuple[UUID, ...]:
    return tuple(UUID(str(identifier)) for identifier in stored) if isinstance(stored, list) else ()
