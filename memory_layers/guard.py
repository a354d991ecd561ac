"""The guard at the door of every durable write: what is malformed is refused, what is dubious is set apart.

Refused, with an error that names the way out: a field of the wrong type, a text that is empty or above 64 KB, a value
above 1 MB, NUL and halves of characters (neither store can hold them), an unknown source, a row that is not the
writer's own. What passes can be written: a journal's entry that no record takes was acknowledged and is lost. Set apart
(quarantined: stored and audited, in no recall, no context and no graph until a curator confirms it): what is trusted
below one half, and what reads as an instruction to an assistant (`instructions`) when it was not the user who said it,
or when the user's words are drawn from somebody else's.

The guard also settles provenance: tenant, owner, session and execution are the acting principal's, the id is the
operation's, so that a repeat is the same memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from types import NoneType
from typing import cast
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput, WrongTenant
from ..infra.identity import Principal
from .conversation.values import encode, for_the_database
from .instructions import commands
from .records import QUARANTINE_BELOW, TRUST, Fact, Json, Memory, MemoryKind, Scope

LARGEST_TEXT = 64 * 1024
LONG = 4_000
"""Characters of a text that is read beside the event loop: to read 64 KB of ordinary text takes a tenth of a second."""
LARGEST_VALUE = 1024 * 1024
LARGEST_METADATA = 16 * 1024
MOST_SOURCES = 1_000
LONGEST_NAME = 200

_ELSEWHERE = {
    MemoryKind.WORKING: "desk.board.write",
    MemoryKind.SCRATCH: "desk.notes.write",
    MemoryKind.TURN: "desk.window.append",
}

_MAYBE_NUL = b"\\u0000"
"""How JSON writes a NUL; a text that has a backslash before these letters looks alike."""


def admit(principal: Principal, memory: Memory, operation: UUID, now: datetime) -> Memory:
    """The memory as it may be written, with its provenance, trust and status settled.

    Raises:
        BadInput: what is wrong with it, and the way out.
    """
    if memory.tenant != principal.tenant:
        raise WrongTenant(f"a memory of tenant {memory.tenant!r} cannot be written by one of {principal.tenant!r}")
    if memory.owner != principal.agent:
        raise BadInput(f"agent {principal.agent!r} cannot write in the name of {memory.owner!r}")
    kind = MemoryKind.parse(memory.kind)
    if kind in _ELSEWHERE:
        raise BadInput(f"a memory of kind {kind.value!r} lives in layer 1: use {_ELSEWHERE[kind]}")
    fact = cast(object, memory.fact)
    if (kind is MemoryKind.FACT) != isinstance(fact, Fact):
        raise BadInput(f"a fact is stated with subject, predicate and object, and only as a fact: got {kind.value!r}")
    source = shape.text("source", memory.source)
    if source not in TRUST:
        raise BadInput(f"there is no source {source!r}; the sources are {', '.join(TRUST)}")
    _check_scope(memory.scope)
    _check_text(memory.text)
    # A verdict of the largest size is recorded with its question, which is in the text too.
    _check_json("value", memory.value, LARGEST_VALUE + (LARGEST_TEXT if kind is MemoryKind.DECISION else 0))
    metadata = cast(object, memory.metadata)
    if not isinstance(metadata, Mapping):
        raise BadInput(f"metadata is a dict, got {shape.shown(metadata)}")
    _check_json("metadata", dict(cast(Mapping[str, Json], metadata)), LARGEST_METADATA)
    for what in ("category", "subject", "speaker"):
        _check_name(what, getattr(memory, what))
    trust = shape.share("trust", memory.trust)
    return with_trust(
        replace(
            memory,
            id=operation,
            kind=kind,
            session=principal.session,
            execution=principal.execution,
            occurred_at=shape.moment("occurred_at", memory.occurred_at),
            expires_at=None if memory.expires_at is None else shape.moment("expires_at", memory.expires_at),
            recorded_at=now,
            sources=_sources(memory.sources),
        ),
        min(trust, TRUST[source]),
    )


async def admitted(principal: Principal, memory: Memory, operation: UUID, now: datetime) -> Memory:
    """As `admit`, beside the event loop where there is much to read."""
    return await beside_the_loop(memory, partial(admit, principal, memory, operation, now))


async def beside_the_loop(memory: Memory, deed: Callable[[], Memory]) -> Memory:
    """What the deed makes of a memory; in a thread if there is much to read in it, so that others have their turn."""
    return await asyncio.to_thread(deed) if _much(memory) else deed()


def _much(memory: Memory) -> bool:
    """Whether it may hold a long text; nothing of it was looked at yet, so it may be of any type."""
    metadata = cast(object, memory.metadata)
    more = cast(Mapping[object, object], metadata).values() if isinstance(metadata, Mapping) else (metadata,)
    return memory.value is not None or any(
        len(one) > LONG if isinstance(one, str) else not isinstance(one, (int, float, NoneType))
        for one in (cast(object, memory.text), *more)
    )


def with_trust(memory: Memory, trust: float, *, derived: bool = False) -> Memory:
    """The memory with that trust, and the status it earns; `derived` from what is trusted less than its source."""
    suspect = derived or memory.source != "user"
    apart = (
        memory.status == "quarantined"  # a validator's ruling, or an earlier look
        or trust < QUARANTINE_BELOW
        or (suspect and any(map(commands, _said(memory))))
    )
    return replace(memory, trust=trust, status="quarantined" if apart else "live")


def _said(memory: Memory) -> Iterator[str]:
    """Every text of it that may come back to a reader, as much as one text may hold.

    What a decision rests on is evidence, and quotes what it judges.
    """
    yield memory.text
    if memory.fact is not None and memory.fact.qualifier:
        yield memory.fact.qualifier
    if memory.kind is not MemoryKind.DECISION:
        left = LARGEST_TEXT
        for text in _strings([memory.value, dict(memory.metadata)]):
            yield text[:left]
            if (left := left - len(text)) <= 0:
                return


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_strings, value))
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(_strings, (*value, *value.values())))


def check_decision(question: object, outcome: Json, reasons: object, evidence: object) -> None:
    """What can be recorded as a decision. Whoever writes a verdict down first asks before it does.

    Raises:
        BadInput: what is wrong with it, and the way out.
    """
    if not shape.text("the question", question).strip():
        raise BadInput("a decision needs a question, got an empty one")
    _check_json("the outcome", outcome, LARGEST_VALUE)
    shape.texts("reasons", reasons)
    for item in shape.items("evidence", evidence):
        if not isinstance(item, UUID):
            _check_json("the evidence", cast(Json, item), LARGEST_VALUE)


def _check_text(text: str) -> None:
    if not shape.text("the text", text).strip():
        raise BadInput("a memory needs a text, got an empty one")
    size = len(text.encode())
    if size > LARGEST_TEXT:
        raise BadInput(
            f"a memory's text has at most {LARGEST_TEXT // 1024} KB, got {size / 1024:.0f}:"
            " keep the document elsewhere and remember what matters, with its address in metadata"
        )


def _check_json(what: str, value: Json, most: int) -> None:
    body = encode(value, what)
    if _MAYBE_NUL in body:
        for_the_database(value, what)
    if len(body) > most:
        raise BadInput(f"{what} has at most {most // 1024:,} KB of JSON, got {len(body) / 1024:,.0f}")


def _check_scope(scope: object) -> None:
    if not isinstance(scope, Scope):
        raise BadInput(f"scope is a Scope, got {shape.shown(scope)}: write Scope.parse('private'), say")
    for name in (*scope.readers, *scope.roles):
        _check_name("a reader", name)


def _sources(given: Sequence[UUID]) -> tuple[UUID, ...]:
    sources = shape.items("sources", given)
    if len(sources) > MOST_SOURCES:
        raise BadInput(f"a memory names at most {MOST_SOURCES:,} sources, got {len(sources):,}")
    return tuple(shape.identifier("each of sources", source) for source in sources)


def _check_name(what: str, name: str | None) -> None:
    if name is None:
        return
    shape.text(what, name)
    if not name.strip() or len(name) > LONGEST_NAME:
        raise BadInput(
            f"{what} has 1 to {LONGEST_NAME} characters, got {name[:40]!r}: leave it out where there is none"
        )
