"""`promote`: episodes that have shown themselves become knowledge, and what they were goes into it.

Who is looked at, and what may be decided, says `memory_layers.promotion`. What comes of an episode is a new semantic
memory, rule or fact, for the same readers and about the same person, trusted as little as the least trusted of its
episodes, with their uses and confirmations; each episode is superseded by it, and so no recall tells both. What was
said does not change: the episodes stay on the record. What is to be DISCARDed, and what a judge did not mention, is
only marked as looked at.

Working memory takes no part here: what a board holds is the truth of a run, and what shall outlive it its agents say
themselves or extraction reads from the turns.

A judge is asked outside any transaction, while an empty batch now and then keeps the run ours. One that fails leaves
its part for the next run, and after three failures in a row nobody is asked any more. How it decided, who it was and
what it was told stand in the run's ledger entry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import LiteralString, Protocol
from uuid import UUID

from ..infra.connections import Connection
from ..infra.errors import ModelFailed
from ..infra.identity import Principal
from ..infra.ids import derived_id
from ..infra.sql import load_queries
from ..memory_layers.execution import memories
from ..memory_layers.knowledge.facts import key_of, name_key
from ..memory_layers.promotion import (
    MARK,
    Candidate,
    Judge,
    Judged,
    Verdict,
    as_they_are,
    circles,
    proven,
    settled,
    to_show,
)
from ..memory_layers.records import Memory, MemoryKind
from .contract import Batch, Counts, Hour, Work
from .queries import QUERIES as SHARED

MOST = 5_000
"""Episodes that a run looks at."""
MOST_PARTS = 25
"""How often a run asks a judge."""
GIVES_UP = 3
PAUSE = 10.0
"""Seconds after which the run says that it is still there, while a judge thinks."""

_QUERIES: Mapping[str, LiteralString] = {
    name: query.replace("{gone}", SHARED["gone"])
    for name, query in load_queries(__package__ or "", "promote.sql").items()
}


class Words(Protocol):
    """What promoting needs of layer 2."""

    async def index_words(self, connection: Connection, memories: Sequence[Memory]) -> None: ...


class Facts(Protocol):
    """What promoting needs of layer 3."""

    async def state(self, connection: Connection, principal: Principal, memories: Sequence[Memory]) -> object: ...


class Promote:
    """Satisfies `Step`. Without `words` the debt to layer 2 brings them; without `facts` no verdict makes a fact."""

    name = "promote"

    def __init__(
        self,
        words: Words | None = None,
        facts: Facts | None = None,
        judge: Judge | None = None,
        *,
        pause: float = PAUSE,
    ) -> None:
        self._words = words
        self._facts = facts
        self._judge = judge
        self._pause = pause

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """The episodes of most use, and how many of them would be promoted, or shown to a judge."""
        episodes = await self._episodes(connection, hour)
        if self._judge is None:
            return Counts(examined=len(episodes), changed=sum(map(proven, episodes)))
        return Counts(examined=len(episodes), changed=sum(map(len, _parts(episodes))))

    async def work(self, work: Work, hour: Hour) -> None:
        """Decide, or have it decided, and do it: a batch for each memory that comes of it."""
        async with work.batch() as batch:
            episodes = await self._episodes(batch.connection, hour)
        if self._judge is None:
            await self._do(work, hour, as_they_are(episodes), episodes)
            return
        failures = 0
        for part in _parts(episodes):
            try:
                judged = settled(await self._asked(work, self._judge, part), part)
            except ModelFailed as error:
                failures += 1
                await _tell(work, {"failed": 1, f"failed: {error.kind}": 1})
                if failures == GIVES_UP:
                    return
                continue
            failures = 0
            done = await self._do(work, hour, judged.verdicts, part)
            about = {identifier for verdict in judged.verdicts for identifier in verdict.ids}
            left = [one.memory.id for one in part if one.memory.id not in about]
            discarded = [each.ids[0] for each in judged.verdicts if each.verdict == "DISCARD"]
            refused = {f"refused: {why}": number for why, number in judged.refused.items()}
            await self._mark(work, hour, [*discarded, *([] if refused else left)])
            told: dict[str, int | str] = {"model": self._judge.name, "prompt": self._judge.prompt, **done, **refused}
            await _tell(work, {**told, "discard": len(discarded), "left": len(left)})

    async def _episodes(self, connection: Connection, hour: Hour) -> list[Candidate]:
        parameters: Mapping[str, object] = {
            **hour.gone(),
            "folded": "deduplicate" in hour.before,
            "least": MARK if self._judge is None else 0.0,
            "most": MOST,
        }
        rows = await (await connection.execute(_QUERIES["episodes"], parameters)).fetchall()
        found = await memories.get(connection, [row[0] for row in rows])
        return [
            Candidate(memory=found[identifier], told=told, used=used, used_at=used_at, last=last)
            for identifier, told, used, used_at, last in rows
        ]

    async def _asked(self, work: Work, judge: Judge, part: Sequence[Candidate]) -> Judged:
        asking = asyncio.ensure_future(judge.judge(part))
        try:
            while not (await asyncio.wait({asking}, timeout=self._pause))[0]:
                async with work.batch():
                    pass
            return await asking
        finally:
            asking.cancel()

    async def _do(
        self, work: Work, hour: Hour, verdicts: Sequence[Verdict], shown: Sequence[Candidate]
    ) -> dict[str, int]:
        """Make what is to be kept or merged; how many of either."""
        known = {one.memory.id: one for one in shown}
        done = {"keep": 0, "merge": 0}
        for verdict in verdicts:
            if verdict.verdict != "DISCARD" and (verdict.fact is None or self._facts is not None):
                async with work.batch() as batch:
                    made = await self._make(work, batch, hour, verdict, [known[one] for one in verdict.ids])
                done[verdict.verdict.lower()] += made
        return done

    async def _make(self, work: Work, batch: Batch, hour: Hour, verdict: Verdict, given: Sequence[Candidate]) -> bool:
        """One memory of some episodes; not if one of them is not what it was, or somebody has it at this moment."""
        connection, ids = batch.connection, [one.memory.id for one in given]
        held = await (await connection.execute(_QUERIES["hold"], {"ids": ids})).fetchall()
        if len(held) < len(ids):
            return False
        memory = knowledge(verdict, given, derived_id(work.entry, "promote", *sorted(map(str, ids))), hour)
        if memory.fact is not None:
            key = {"key": key_of(memory, memory.fact), "trust": memory.trust, "object": name_key(memory.fact.object)}
            row = await (await connection.execute(_QUERIES["key"], key)).fetchone()
            many, outranked = row or (False, False)
            if outranked and not many:
                batch.told["refused: outranked"] = 1
                await self._look_away(batch, hour, work.entry, ids)
                return False
            memory = replace(memory, fact=replace(memory.fact, many=many))
        into = (await (await memories.send(connection, [memory], owed=[memory.id])).known())[memory.id]
        if self._words is not None and into == memory.id:
            await self._words.index_words(connection, [memory])
        if self._facts is not None and memory.fact is not None:
            await self._facts.state(connection, _owner(memory), [memory])
        shown = {
            "id": into,
            "entry": work.entry,
            "told": sum(one.told for one in given),
            "used": sum(one.used for one in given),
            "used_at": max((one.used_at for one in given if one.used_at is not None), default=None),
        }
        await connection.execute(_QUERIES["promoted"], shown)
        await connection.execute(_QUERIES["gone_into"], {"ids": ids, "into": into, "entry": work.entry})
        await work.take_out(batch, MemoryKind.EPISODIC, ids)
        batch.changed += len(ids)
        return True

    async def _mark(self, work: Work, hour: Hour, ids: Sequence[UUID]) -> None:
        for start in range(0, len(ids), work.size):
            async with work.batch() as batch:
                await self._look_away(batch, hour, work.entry, ids[start : start + work.size])

    async def _look_away(self, batch: Batch, hour: Hour, entry: UUID, ids: Sequence[UUID]) -> None:
        """These stay episodes, until they are used or told again."""
        given = {"ids": list(ids), "now": hour.now, "entry": entry}
        batch.flagged += len(await (await batch.connection.execute(_QUERIES["judged"], given)).fetchall())


def knowledge(verdict: Verdict, given: Sequence[Candidate], identifier: UUID, hour: Hour) -> Memory:
    """What some episodes become."""
    first = max((one.memory for one in given), key=lambda memory: (memory.trust, -memory.recorded_at.timestamp()))
    least = min((one.memory for one in given), key=lambda memory: memory.trust)
    alone = verdict.verdict == "KEEP"
    return replace(
        first,
        id=identifier,
        kind=verdict.kind,
        text=verdict.fact.sentence() if verdict.fact else first.text if alone else verdict.text,
        fact=verdict.fact,
        value=first.value if alone and verdict.fact is None else None,
        category=first.category if len({one.memory.category for one in given}) == 1 else None,
        metadata=first.metadata if alone else {},
        source=least.source,
        trust=least.trust,
        status="live",
        occurred_at=max(one.memory.occurred_at for one in given),
        recorded_at=hour.now,
        sources=tuple(sorted(one.memory.id for one in given)),
        speaker=None,
    )


def _owner(memory: Memory) -> Principal:
    return Principal(tenant=memory.tenant, agent=memory.owner, session=memory.session or "-")


def _parts(episodes: Sequence[Candidate]) -> list[list[Candidate]]:
    """What a judge is shown in a run, the circles of most use first."""
    return [part for circle in circles(episodes) for part in to_show(circle)][:MOST_PARTS]


async def _tell(work: Work, told: Mapping[str, int | str]) -> None:
    async with work.batch() as batch:
        batch.told.update(told)
