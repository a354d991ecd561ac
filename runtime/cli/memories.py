"""`recall` and `remember`: what is known, asked and told by a person or a script, outside any pipeline."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from ...agents.remembering import Remembering
from ...infra.errors import BadInput
from ...memory_layers.records import Fact, MemoryKind, Recall, Scope
from ..output import emit, short, show, table
from .frame import Frame, say

if TYPE_CHECKING:
    from ...memory_layers.receipts import Receipt

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
    what, reach = MemoryKind.parse(kind), Scope.parse(scope)
    fact = _fact(words) if what is MemoryKind.FACT else None
    async with frame.open() as runtime:
        desk = runtime.desk(agent, session=session)
        receipt = await _told(desk, words, what, fact, reach, source)
        receipt = await receipt.settled()
    if json:
        emit({"id": receipt.id, "state": receipt.state, "owed": receipt.owed, "superseded": receipt.superseded})
    else:
        show(f"{receipt.state} {receipt.id}")
        if receipt.state == "quarantined":
            say("it is in no recall until somebody with authority confirms it: its source is not trusted")
    return 0


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
