"""Extraction: a language model reads what was said, once, and what stands of its answer is written down.

A source is a live memory of what was said or happened (episodic or semantic, derived from nothing), or a turn of a
transcript. It was kept before anybody reads it, so nothing is lost whatever a model does:

    stored → extracted      what came of it is written, with the source's new state and the ledger entry, or nothing is
           → failed         by which kind of failure, never by what was said; the next run tries again

Whoever reads holds a lease on the source and counts an attempt. One that dies leaves it to the next after the lease,
and one that was overtaken finds that out in its own transaction and writes nothing. The ids of what is derived come
from the source and the version (model and prompts), so the same version never states twice.

What is in quarantine is not shown to a model, and nor is a turn that would be: from the web, or words that order an
assistant about from anybody but the user. They wait for a curator, and are read once they are let out. A source that is
withdrawn while it is read gives nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from ..infra.clock import Clock
from ..infra.connections import Connection, Connections
from ..infra.errors import BadInput, LousaError, ModelFailed, ServerUnavailable
from ..infra.ids import new_id
from ..infra.sql import load_queries
from ..memory_layers.execution import ledger
from ..memory_layers.guard import commands
from ..memory_layers.knowledge.facts import key_of, name_key
from ..memory_layers.receipts import State
from ..memory_layers.records import QUARANTINE_BELOW, Json, Memory
from ..memory_layers.router import Router
from . import prompts
from .extraction import Reading, Text, read
from .grounding import language_for, tokens
from .llm import Model
from .sources import load, witness

AGENT = "extraction"
AT_ONCE = 4
"""Sources that one run reads side by side."""
LISTED = 500
"""Sources that are looked for at a time: to find those that are open, every one is looked at."""
LEASE = timedelta(minutes=10)
ATTEMPTS = 3
"""How often a source is read that fails each time, unless somebody asks for more."""
PASSING = ("late", "away")
"""Failures that say nothing of the source; they do not count against it."""
GIVES_UP = 3
"""After so many of these in a row a run ends: the model is not there."""
KEPT: tuple[State, ...] = ("stored", "duplicate", "quarantined")
LEAST_WORDS = 3
"""A text of fewer states nothing."""

_LOG = logging.getLogger(__name__)
_RAW = load_queries(__package__ or "", "extraction.sql")


def _filled(query: LiteralString) -> LiteralString:
    return query.replace("{unread}", _RAW["unread"]).replace("{open}", _RAW["open"])


_QUERIES: Mapping[str, LiteralString] = {name: _filled(query) for name, query in _RAW.items()}


class _Overtaken(LousaError):
    """Somebody else reads this source by now, or it does not stand any more; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How sources of a tenant stand: how many a run would read now, were read, failed."""

    unread: int
    extracted: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a run did: sources read and passed over, memories written by kind, items dropped and sources failed by why.

    `gave_up`: the model did not answer several times in a row, and the rest was left for another time.
    """

    tenant: str
    read: int = 0
    passed_over: int = 0
    written: Mapping[str, int] = field(default_factory=dict[str, int])
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    gave_up: bool = False


@dataclass(slots=True)
class _Tally:
    read: int = 0
    passed_over: int = 0
    written: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])
    away: int = 0
    """How often in a row the model was not there."""


class Extraction:
    """Reads the sources of tenants with a model."""

    def __init__(
        self, connections: Connections, router: Router, model: Model, clock: Clock, *, lease: timedelta = LEASE
    ) -> None:
        self._connections = connections
        self._router = router
        self._model = model
        self._clock = clock
        self._lease = lease
        self._prompt = prompts.digest(prompts.EXTRACT)
        self.version = hashlib.sha256(f"{model.name}\x1f{self._prompt}".encode()).hexdigest()[:12]

    async def run(
        self,
        tenant: str,
        *,
        retry_failed: bool = False,
        limit: int | None = None,
        session: str | None = None,
        patience: timedelta = timedelta(0),
    ) -> Extracted:
        """Read what was not read yet, the oldest first, and what failed before and may be tried again; each once.

        `retry_failed` tries every one that failed, however often it did; `limit` ends the run after so many sources.
        It begins once what was acknowledged is in the record, or `patience` is over.

        Raises:
            ServerUnavailable: the run was broken off; what it had not finished is as it was.
        """
        tally = _Tally()
        chosen = {**which(retry_failed, session), "version": self.version, "lease": self._lease}
        await self._router.drained(tenant, patience)  # what was acknowledged can be read
        chosen["begun"] = await self._hour()
        left = limit
        while (left is None or left > 0) and tally.away < GIVES_UP:
            oldest = await self._oldest(tenant, {**chosen, "limit": LISTED if left is None else min(LISTED, left)})
            if not oldest:
                break
            for start in range(0, len(oldest), AT_ONCE):
                if tally.away >= GIVES_UP:
                    break
                claimed = await self._claim(tenant, {**chosen, "ids": oldest[start : start + AT_ONCE]})
                await self._read_all(tenant, claimed, tally)
                left = None if left is None else left - len(claimed)
        return Extracted(
            tenant=tenant,
            read=tally.read,
            passed_over=tally.passed_over,
            written=dict(tally.written),
            dropped=dict(tally.dropped),
            failed=dict(tally.failed),
            gave_up=tally.away >= GIVES_UP,
        )

    async def _hour(self) -> datetime:
        async with self._connections.system_transaction("") as connection:
            return (await _row(connection, "hour", {}))[0]

    async def _oldest(self, tenant: str, chosen: Mapping[str, object]) -> list[UUID]:
        async with self._connections.system_transaction(tenant) as connection:
            return [row[0] for row in await (await connection.execute(_QUERIES["oldest"], chosen)).fetchall()]

    async def _claim(self, tenant: str, chosen: Mapping[str, object]) -> dict[UUID, int]:
        """Those of them that are ours to read, each with which attempt it is."""
        async with self._connections.system_transaction(tenant) as connection:
            return dict(await (await connection.execute(_QUERIES["claim"], chosen)).fetchall())

    async def _read_all(self, tenant: str, claimed: Mapping[UUID, int], tally: _Tally) -> None:
        open_still = dict(claimed)

        async def one(source: UUID, text: Text | None) -> None:
            await self._settle(tenant, source, claimed[source], text, tally)
            del open_still[source]

        try:
            async with self._connections.system_transaction(tenant) as connection:
                texts = await load(connection, [*claimed])
            told = await asyncio.gather(*(one(source, texts.get(source)) for source in claimed), return_exceptions=True)
            for error in told:
                if error is not None:
                    raise error
        except BaseException:
            with suppress(ServerUnavailable):  # the lease ends by itself
                async with self._connections.system_transaction(tenant) as connection:
                    for source, attempt in open_still.items():
                        await connection.execute(_QUERIES["let_go"], {"source": source, "attempt": attempt})
            raise

    async def _settle(self, tenant: str, source: UUID, attempt: int, text: Text | None, tally: _Tally) -> None:
        """One source, from stored to extracted or failed."""
        held = {"source": source, "attempt": attempt}
        if text is None:
            await self._execute(tenant, "forsake", held)
            return
        if _is_apart(text):
            await self._execute(tenant, "extracted", {**held, "kept": 0, "dropped": 0})
            tally.passed_over += 1
            return
        reading = Reading()
        try:
            for part in text.parts():
                reading = reading.with_next(await self._ask(part))
            if reading.misread:
                raise ModelFailed("nothing that the model said is borne out by the text", kind="misread")
            dropped, written = await self._write(text, reading, attempt)
        except _Overtaken:
            await self._execute(tenant, "forsake", held)
            return
        except (ModelFailed, BadInput) as error:
            kind = error.kind if isinstance(error, ModelFailed) else "refused"
            _LOG.warning("a source could not be extracted (%s)", kind)
            await self._fail(text, reading, attempt, kind)
            tally.failed[kind] += 1
            tally.away = tally.away + 1 if kind in PASSING else 0
            tally.dropped.update(reading.dropped)
            return
        tally.read += 1
        tally.away = 0
        tally.dropped.update(dropped)
        for memory, state in written:
            if state in KEPT:
                tally.written[memory.kind.value] += 1
            else:
                tally.dropped[state] += 1

    async def _ask(self, part: Text) -> Reading:
        told = json.dumps(part.message(), ensure_ascii=False)
        answer = await self._model.fill(prompts.EXTRACT[language_for(part.line.text)], told, prompts.EXTRACTED)
        return read(answer, part, self._clock.now())

    async def _write(
        self, text: Text, reading: Reading, attempt: int
    ) -> tuple[Mapping[str, int], list[tuple[Memory, State]]]:
        """What came of it, its state and the entry: in one transaction. What was dropped, and what became of the rest.

        Raises:
            _Overtaken: somebody else has it by now, or it is gone; nothing was written.
        """
        named = reading.named(text.line.id, self.version)
        stated = await self._agreed(text.tenant, named)
        if not stated.memories:
            async with self._connections.system_transaction(text.tenant) as connection:
                await ledger.append(connection, await self._done(connection, text, stated, attempt))
            return stated.dropped, []
        try:
            return stated.dropped, await self._derive(text, stated, attempt)
        except BadInput:  # another process may have said first whether a key holds one value or many
            stated = await self._agreed(text.tenant, named)
            return stated.dropped, await self._derive(text, stated, attempt)

    async def _derive(self, text: Text, stated: Reading, attempt: int) -> list[tuple[Memory, State]]:
        async def along(connection: Connection) -> list[ledger.Entry]:
            return await self._done(connection, text, stated, attempt)

        receipts = await self._router.derive(witness(text), stated.memories, along)
        return [(memory, receipt.state) for memory, receipt in zip(stated.memories, receipts, strict=True)]

    async def _done(self, connection: Connection, text: Text, stated: Reading, attempt: int) -> list[ledger.Entry]:
        """In a transaction: the source was read.

        Raises:
            _Overtaken: it is somebody else's by now, or what was leant on does not stand any more.
        """
        leant_on = {text.line.id, *(source for memory in stated.memories for source in memory.sources)}
        (standing,) = await _row(connection, "standing", {"ids": [*leant_on]})
        done = {
            "source": text.line.id,
            "attempt": attempt,
            "kept": len(stated.memories),
            "dropped": sum(stated.dropped.values()),
        }
        cursor = await connection.execute(_QUERIES["extracted"], done)
        if standing < len(leant_on) or await cursor.fetchone() is None:
            raise _Overtaken("another process reads this source, or it was withdrawn")
        return [self._entry(text, stated, attempt, "extracted")]

    async def _fail(self, text: Text, reading: Reading, attempt: int, kind: str) -> None:
        told = {
            "source": text.line.id,
            "attempt": attempt,
            "error": kind,
            "dropped": sum(reading.dropped.values()),
        }
        entry = self._entry(text, replace(reading, memories=()), attempt, "failed", error=kind)
        async with self._connections.system_transaction(text.tenant) as connection:
            cursor = await connection.execute(_QUERIES["failed"], told)
            if await cursor.fetchone() is not None:
                await ledger.append(connection, [entry])

    async def _agreed(self, tenant: str, reading: Reading) -> Reading:
        """The same, where each fact holds one value or many as its key does already, or as the first of them says; and
        without what would take the place of something that is trusted more."""
        keys = {memory.id: key_of(memory, memory.fact) for memory in reading.memories if memory.fact is not None}
        if not keys:
            return reading
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(_QUERIES["keys"], {"keys": [*keys.values()]})
            known = {bytes(row[0]): row[1:] for row in await cursor.fetchall()}
        holds = {key: many for key, (many, _, _) in known.items()}
        kept: list[Memory] = []
        for memory in reading.memories:
            if (fact := memory.fact) is not None:
                many = holds.setdefault(keys[memory.id], fact.many)
                _, holding, trust = known.get(keys[memory.id], (many, None, None))
                if not many and trust is not None and trust > memory.trust and holding != name_key(fact.object):
                    continue
                memory = replace(memory, fact=replace(fact, many=many))
            kept.append(memory)
        return reading.only(kept, "outranked")

    def _entry(
        self, text: Text, reading: Reading, attempt: int, outcome: str, *, error: str | None = None
    ) -> ledger.Entry:
        basis: dict[str, Json] = {
            "model": self._model.name,
            "prompt": self._prompt,
            "version": self.version,
            "attempt": attempt,
            "read": [str(line.id) for line in (text.line, *text.before)],
            "kept": [str(memory.id) for memory in reading.memories],
            "dropped": dict(reading.dropped),
        }
        return ledger.Entry(
            id=new_id(),
            tenant=text.tenant,
            agent=AGENT,
            on_behalf_of=text.owner,
            session=text.session,
            execution=text.execution,
            retention="standard",
            occurred_at=self._clock.now(),
            action="extract",
            outcome=outcome,
            memory=text.line.id,
            basis=basis if error is None else {**basis, "error": error},
            person=text.subject,
            payload={"quotations": [*reading.quotations]} if reading.memories else {},
        )

    async def _execute(self, tenant: str, query: str, parameters: Mapping[str, object]) -> None:
        async with self._connections.system_transaction(tenant) as connection:
            await connection.execute(_QUERIES[query], parameters)


async def standing(
    connections: Connections, tenant: str, *, retry_failed: bool = False, session: str | None = None
) -> Standing:
    """How the sources of a tenant stand, of all its sessions or, as far as they are unread, of one."""
    async with connections.system_transaction(tenant) as connection:
        (begun,) = await _row(connection, "hour", {})
        row = await _row(connection, "count", {**which(retry_failed, session), "begun": begun})
    return Standing(unread=row[0], extracted=row[1], failed=row[2])


def which(retry_failed: bool, session: str | None) -> dict[str, object]:
    """What the queries need to tell what can be read."""
    return {"attempts": ATTEMPTS, "passing": [*PASSING], "all": retry_failed, "session": session}


def _is_apart(text: Text) -> bool:
    """Whether a model is not to see it, or has nothing to find in it."""
    if text.line.trust < QUARANTINE_BELOW or (text.line.source != "user" and commands(text.line.text)):
        return True
    return len(tokens(text.line.text).split()) < LEAST_WORDS


async def _row(connection: Connection, query: str, parameters: Mapping[str, object]) -> Any:
    row = await (await connection.execute(_QUERIES[query], parameters)).fetchone()
    assert row is not None, "a query that always gives a row"
    return row
