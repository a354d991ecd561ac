"""The examination: what is told anew takes the place of what was told before, as a debt that the relay pays.

Every memory that may hold a value is owed an examination, and so is every fact that took another's place. The debt
commits with the record and is paid once words and vectors are there, in the order of telling, one examination of a
tenant at a time. Candidates are live memories of the same circle of readers and about the same person that share a
rare word: a bounded query. Of two texts the judge says whether the later told one takes the other's place; a late
arrival that was told earlier gives way itself, so the order of arrival does not matter.

What gives way is marked and demoted, never deleted: its status says so, with the memory that took its place and why; it
leaves words and vectors, and the ledger gets an entry that names both. Trust never gives way to less. Rules, blocks,
decisions and facts are no candidates: a fact's key decides about facts. A fact that retired another takes along the
memories that only the old fact rests on, and what repeats its value.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import log
from typing import Any, LiteralString, cast
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.clock import Clock
from ...infra.connections import Connection, Connections
from ...infra.ids import derived_id
from ...infra.sql import load_queries
from ..asking import numbers, texts
from ..contract import Capabilities
from ..execution import ledger
from ..execution.memories import fact_from_json
from ..records import Json, Memory, MemoryKind
from .judge import Verdict, Weigh, repeats, replaced, restates
from .outdated import telling
from .told import spellings, tells, terms_of

QUERIES = load_queries(__package__ or "")
_CAP = 2_000
_MOST = 10_000
_ENOUGH = 250
_BOUND = 400
_MOST_TERMS = 24
EXAMINED = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory as the examination reads it; `told_at` is when it was last said."""

    id: UUID
    kind: str
    text: str
    fact: Mapping[str, Any] | None = None
    trust: float
    scope: str
    owner: str
    session: str | None
    execution: UUID | None
    readers: list[str]
    reader_roles: list[str]
    speaker: str | None = None
    subject: str | None
    sources: list[UUID] = field(default_factory=list[UUID])
    told_at: datetime
    likeness: float | None = None


class Rarity:
    """How rare words are in a tenant; asked for in batches, and remembered for one examination."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._counted: dict[str, int] = {}
        self._held = 1

    async def count(self, words: Iterable[str]) -> dict[str, int]:
        """How many memories hold each."""
        wanted = [*dict.fromkeys(words)]
        if unknown := [word for word in wanted if word not in self._counted]:
            parameters = {"terms": texts(unknown), "cap": _CAP, "most": _MOST}
            cursor = await self._connection.execute(QUERIES["count_words"], parameters)
            ((counted, self._held),) = await cursor.fetchall()
            self._counted |= dict(zip(unknown, counted, strict=True))
        return {word: self._counted[word] for word in wanted}

    async def weigher(self, *read: str) -> Weigh:
        """The idf of the stems of some texts."""
        words: dict[str, list[str]] = {}
        for text in read:
            for stem, word in terms_of(text).items():
                words.setdefault(stem, []).append(word)
        counted = await self.count(word for forms in words.values() for word in forms)
        frequency = {stem: max(counted[word] for word in forms) for stem, forms in words.items()}
        most = max(self._held, 1)

        def weigh(stem: str) -> float:
            held = min(frequency.get(stem, 1), most)
            return log(1 + (most - held + 0.5) / (held + 0.5))

        return weigh


class Examination:
    """What the debts called `truth` are paid to."""

    capabilities = Capabilities(transactional=False, past=True, likeness=False)

    def __init__(self, connections: Connections, clock: Clock, space: Callable[[], str]) -> None:
        """`space` names where vectors lie just now."""
        self._connections = connections
        self._clock = clock
        self._space = space

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        """Examine memories; those whose words and vectors are still owed stay owed."""
        async with self._connections.system_transaction(tenant) as connection:
            ids = [memory.id for memory in memories]
            cursor = await connection.execute(QUERIES["unready"], {"ids": ids})
            if late := {row[0] for row in await cursor.fetchall()}:
                await connection.execute(QUERIES["put_off"], {"ids": [*late]})
            due = await _told(connection, [one for one in ids if one not in late])
            if read := {one.id: telling(one.text) for one in due if one.fact is None and one.speaker is None}:
                given = {"ids": [*read], "told": [JsonParameter(told) for told in read.values()]}
                await connection.execute(QUERIES["note_told"], given)
        for one in due:
            await self._examine(tenant, one.id)
        return late

    async def _examine(self, tenant: str, identifier: UUID) -> None:
        """In a transaction of its own, so that no row is held while another is thought about."""
        async with self._connections.system_transaction(tenant) as connection:
            await connection.execute(QUERIES["take_turns"])
            for this in await _told(connection, [identifier]):  # as it stands by now
                table = cast(LiteralString, f"memory_vector_{self._space()}")
                await _Examined(connection, tenant, this, self._clock.now(), table).settle()

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        """Nothing: what left the record is told no more."""


async def _told(connection: Connection, ids: Sequence[UUID]) -> list[Candidate]:
    """What is to be examined of these, in the order in which it was told."""
    async with connection.cursor(row_factory=class_row(Candidate)) as cursor:
        await cursor.execute(QUERIES["examined"], {"ids": list(ids)})
        return await cursor.fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """One memory that gives way."""

    old: Candidate
    new: Candidate
    verdict: Verdict
    why: str
    by_fact: bool


@dataclass(slots=True)
class _Examined:
    """One memory under examination."""

    connection: Connection
    tenant: str
    this: Candidate
    now: datetime
    table: LiteralString
    marks: dict[UUID, _Mark] = field(default_factory=dict[UUID, _Mark])
    """What gives way, itself included; written at the end and in one order."""

    async def settle(self) -> None:
        """Mark whatever gives way because of it."""
        rarity = Rarity(self.connection)
        if self.this.fact is not None:
            await self._fact(rarity)
        else:
            await self._text(rarity)
        gone = [one for one in sorted(self.marks) if await self._mark(self.marks[one])]
        if gone:
            await self.connection.execute(QUERIES["unindex"], {"ids": gone})

    async def _text(self, rarity: Rarity) -> None:
        this = self.this
        links = await self._links()
        found = await self._alike(rarity, terms_of(this.text).values()) if tells(this.text) else []
        if not found and not links:
            return
        weigh = await rarity.weigher(this.text, *(one.text for one in found))
        for other in sorted(found, key=lambda one: (one.told_at, one.id)):
            later, earlier = (this, other) if this.told_at > other.told_at else (other, this)
            if later.told_at == earlier.told_at or later.trust < earlier.trust or not _one_voice(earlier, later):
                continue
            await asyncio.sleep(0)  # whatever else waits for the event loop has its turn
            verdict = restates(earlier.text, later.text, weigh, other.likeness or 0.0)
            if verdict is None or (later is this and self._only_mentions(verdict, other, links)):
                continue
            self._give_way(earlier, later, verdict, verdict.reason)
            await self._repeated(rarity, verdict, later, weigh)
            if earlier is this:
                return
        for newer, verdict in links:
            if (
                newer.id not in self.marks
                and newer.trust >= this.trust
                and repeats(this.text, verdict, newer.text, weigh)
            ):
                self._give_way(this, newer, verdict, _REPEATED)
                return

    def _only_mentions(self, verdict: Verdict, other: Candidate, links: Sequence[tuple[Candidate, Verdict]]) -> bool:
        """Whether a value that was given up is only mentioned again, rather than plainly told to hold again."""
        again = any(newer.id == other.id and one.before == verdict.after for newer, one in links)
        return again and not verdict.plain

    async def _fact(self, rarity: Rarity) -> None:
        """A fact that took another's place takes along what only the other rests on, and what repeats its value."""
        this, fact = self.this, fact_from_json(self.this.fact)
        assert fact is not None, "a memory of a fact states one"
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(QUERIES["replaced_facts"], {"id": this.id})
            replaced_facts = await cursor.fetchall()
        if not replaced_facts:
            return
        cursor = await self.connection.execute(QUERIES["texts_of"], {"ids": this.sources})
        new_sources: dict[UUID, str] = dict(await cursor.fetchall())
        heir = replace(this, id=next(iter(new_sources), this.id))  # a text that it was drawn from compares with texts
        for row in replaced_facts:
            old = fact_from_json(row["fact"])
            assert old is not None, "a memory of a fact states one"
            told = row["text"] or ""
            verdict = replaced(old, fact, told, [*new_sources.values()])
            if row["source"] is not None and row["source"] not in new_sources:
                names = [name for name in row if name not in ("id", "fact", "source")]
                source = Candidate(id=row["source"], told_at=this.told_at, **{name: row[name] for name in names})
                if _covers(this, source):
                    self._give_way(source, heir, verdict, _SUPPORTED, by_fact=True)
            weigh = await rarity.weigher(told, *new_sources.values(), f"{old.subject} {old.predicate}")
            await self._repeated(rarity, verdict, heir, weigh, by_fact=True, but=new_sources.keys())

    async def _repeated(
        self,
        rarity: Rarity,
        verdict: Verdict,
        newer: Candidate,
        weigh: Weigh,
        *,
        by_fact: bool = False,
        but: Collection[UUID] = (),
    ) -> None:
        """What tells the old value of the same thing gives way as well, whenever it was told."""
        words = [verdict.spelling, *verdict.words]
        for other in await self._alike(rarity, words):
            if other.id in (newer.id, *but) or other.id in self.marks or (not by_fact and newer.trust < other.trust):
                continue
            await asyncio.sleep(0)
            if not repeats(other.text, verdict, newer.text, weigh):
                continue
            if other.told_at > newer.told_at:
                back = restates(newer.text, other.text, weigh, other.likeness or 0.0)
                if back is not None and back.plain:
                    continue  # said again later, and plainly: that is for its own examination
            self._give_way(other, newer, verdict, _REPEATED, by_fact=by_fact)

    async def _alike(self, rarity: Rarity, words: Iterable[str]) -> list[Candidate]:
        counted = await rarity.count(words)
        rarest = sorted((word for word, held in counted.items() if held), key=lambda word: (counted[word], word))
        rarest = rarest[:_MOST_TERMS]
        if not rarest:
            return []
        this = self.this
        parameters = {
            "terms": texts(rarest),
            "counted": numbers([counted[word] for word in rarest]),
            "enough": _ENOUGH,
            "bound": _BOUND,
            "id": this.id,
            "scope": this.scope,
            "owner": this.owner,
            "session": this.session,
            "execution": this.execution,
            "readers": this.readers,
            "reader_roles": this.reader_roles,
            "subject": this.subject,
        }
        async with self.connection.cursor(row_factory=class_row(Candidate)) as cursor:
            await cursor.execute(QUERIES["told_alike"].replace("{table}", self.table), parameters)
            return [one for one in await cursor.fetchall() if one.id not in self.marks]

    async def _links(self) -> list[tuple[Candidate, Verdict]]:
        """What took the place of memories that told a value that this one has, in its circle of readers."""
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            parameters = {"values": spellings(self.this.text), "id": self.this.id, "subject": self.this.subject}
            await cursor.execute(QUERIES["given_way"], parameters)
            rows = await cursor.fetchall()
        found = [
            (Candidate(**{name: row[name] for name in row if name != "of"}), Verdict.parse(row["of"])) for row in rows
        ]
        return [one for one in found if _covers(one[0], self.this)]

    def _give_way(self, old: Candidate, new: Candidate, verdict: Verdict, why: str, *, by_fact: bool = False) -> None:
        self.marks.setdefault(old.id, _Mark(old=old, new=new, verdict=verdict, why=why, by_fact=by_fact))

    async def _mark(self, mark: _Mark) -> bool:
        """Whether it was still there to be marked."""
        old, new, verdict, why = mark.old, mark.new, mark.verdict, mark.why
        parameters = {
            "id": old.id,
            "by": new.id,
            "why": why,
            "of": JsonParameter(verdict.to_json()),
            "since": new.told_at,
        }
        cursor = await self.connection.execute(QUERIES["supersede"], parameters)
        row = await cursor.fetchone()
        if row is None:
            return False
        session, execution, person = row
        basis: dict[str, Json] = {"by": str(new.id), "policy": "fact" if mark.by_fact else "told anew"}
        entry = ledger.Entry(
            id=derived_id(new.id, "superseded", old.id.hex),
            tenant=self.tenant,
            agent=new.owner,
            session=session,
            execution=execution,
            retention="standard",
            occurred_at=self.now,
            action="memory.supersede",
            outcome="superseded",
            memory=old.id,
            basis=basis,
            person=person,
            payload={"reason": why, **verdict.to_json()},
        )
        await ledger.append(self.connection, [entry])
        return True


_REPEATED = "it tells a value that was replaced"
_SUPPORTED = "it is what a superseded fact rests on"


def _one_voice(earlier: Candidate, later: Candidate) -> bool:
    """In a conversation `I` is who speaks: only what the same voice says may take the place of what it said."""
    return earlier.speaker is None or later.speaker is None or earlier.speaker == later.speaker


def _covers(newer: Candidate, older: Candidate) -> bool:
    """Whether everybody who sees the older one sees the newer one as well."""
    if newer.scope == "tenant":
        return True
    circle = ("owner", "readers", "reader_roles")
    names = {"private": ("owner",), "shared": ("session",) if newer.session else ("execution",)}.get(
        newer.scope, circle
    )
    return older.scope == newer.scope and all(getattr(older, name) == getattr(newer, name) for name in names)
