"""`recall`, `remember`, `confirm`, `forget`: what is known, asked, told and put right by a person or a script.

Whoever has the command line runs the home, so `confirm` and `forget` act with the role of a curator: over every memory
of the tenant, whoever wrote it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from ...agents.remembering import Remembering
from ...infra.errors import BadInput, NotFound
from ...infra.ids import new_id
from ...memory_layers.records import Fact, MemoryKind, Recall, Scope
from ...memory_layers.standing import CURATOR
from ..output import emit, short, show, table
from .frame import Frame, say

if TYPE_CHECKING:
    from ...memory_layers.receipts import Receipt

REMEMBERED = tuple(
    kind.value
    for kind in (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.PROCEDURAL, MemoryKind.BLOCK, MemoryKind.FACT)
)
Source = Literal["user", "tool", "agent", "web"]


async def recall(
    frame: Frame,
    query: str,
    *,
    k: int,
    kinds: Sequence[str],
    as_of: str | None,
    session: str,
    agent: str,
    json: bool,
) -> int:
    """The verb."""
    wanted = [MemoryKind.parse(kind) for kind in kinds]
    moment = _moment(as_of)
    async with frame.open() as runtime:
        found = await runtime.desk(agent, session=session).recall(query, k=k, kinds=wanted, as_of=moment)
    if json:
        emit({"hits": found.hits, "silent": found.silent, "behind": found.behind})
        return 0
    _shown(found)
    return 0


def _shown(found: Recall) -> None:
    if found.hits:
        rows = [
            (f"{hit.score:.2f}", hit.kind.value, f"{hit.occurred_at:%Y-%m-%d %H:%M}", hit.owner, short(hit.text, 500))
            for hit in found
        ]
        show(table("score", "kind", "when", "who", "what", rows=rows))
    else:
        say("nothing is remembered that answers this")
    if found.silent:
        say(f"no answer in time from: {', '.join(found.silent)}")
    if found.behind:
        say("what was remembered a moment ago may be missing: ask again")


async def remember(
    frame: Frame, text: str, *, kind: str, scope: str, source: Source, session: str, agent: str, json: bool
) -> int:
    """The verb."""
    words = (await asyncio.to_thread(sys.stdin.read)).strip() if text == "-" else text
    what, reach = _kind(kind), Scope.parse(scope)
    fact = _fact(words) if what is MemoryKind.FACT else None
    async with frame.open() as runtime:
        desk = runtime.desk(agent, session=session)
        receipt = await _told(desk, words, what, fact, reach, source)
        receipt = await receipt.settled()
    code = _settled(receipt, json=json)
    if receipt.state == "quarantined" and not json:
        say(
            "it is in no recall until somebody confirms it, because its source or its words are not trusted:",
            f"  {frame.command('confirm', str(receipt.id))} --reason '…'",
        )
    return code


async def confirm(frame: Frame, memory: str, *, reason: str, json: bool) -> int:
    """The verb."""
    identifier, words = _memory(memory), _reason(reason)
    async with frame.open() as runtime:
        who = runtime.desk(roles=(CURATOR,)).principal
        receipt = await runtime.services.router.confirm(who, identifier, words, new_id())
        if receipt.state in ("withdrawn", "expired"):
            why = "was forgotten" if receipt.state == "withdrawn" else "has expired"
            raise NotFound(f"memory {identifier} {why}: nothing brings it back, remember it anew")
        return _settled(await receipt.settled(), json=json)


async def forget(frame: Frame, memory: str, *, reason: str, json: bool) -> int:
    """The verb."""
    identifier, why = _memory(memory), _reason(reason)
    async with frame.open() as runtime:
        receipt = await runtime.desk(roles=(CURATOR,)).forget(identifier, why)
        return _settled(receipt, json=json)


def _settled(receipt: Receipt, *, json: bool) -> int:
    if json:
        because = {str(gone): why for gone, why in receipt.because.items()}
        told = {"id": receipt.id, "state": receipt.state, "owed": receipt.owed, "superseded": receipt.superseded}
        emit({**told, "because": because})
    else:
        show(f"{receipt.state} {receipt.id}")
        for gone, why in receipt.because.items():
            say(f"it took the place of {gone}, because {why}")
    return 0


def _kind(name: str) -> MemoryKind:
    if name not in REMEMBERED:
        raise BadInput(f"there is no kind {name!r} that can be remembered; there are {', '.join(REMEMBERED)}")
    return MemoryKind(name)


def _memory(told: str) -> UUID:
    try:
        return UUID(told)
    except ValueError:
        raise BadInput(
            f"{told!r} is no memory's id: it looks like 019a2b3c-…, as `remember`, `trail` and `recall --json` print it"
        ) from None


def _reason(told: str) -> str:
    if not told.strip():
        raise BadInput("--reason needs words: they stand in the audit ledger")
    return told


async def _told(
    desk: Remembering, text: str, kind: MemoryKind, fact: Fact | None, scope: Scope, source: Source
) -> Receipt:
    if fact is None:
        return await desk.remember(text, kind=kind, scope=scope, source=source)
    return await desk.state_fact(fact.subject, fact.predicate, fact.object, scope=scope, source=source)


def _fact(text: str) -> Fact:
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3:
        raise BadInput(f"a fact is 'subject | predicate | object', not {short(text, 80)!r}")
    return Fact(subject=parts[0], predicate=parts[1], object=parts[2])


def _moment(told: str | None) -> datetime | None:
    """A day or a moment; the machine's own time zone where none is named."""
    if told is None:
        return None
    try:
        return datetime.fromisoformat(told).astimezone()
    except ValueError:
        raise BadInput(f"--as-of takes 2026-11-30 or 2026-11-30T14:00+01:00, not {told!r}") from None
