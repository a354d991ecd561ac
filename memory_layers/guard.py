"""The guard at the door of every durable write: what is malformed is refused, what is dubious is set apart.

Refused, with an error that names the way out: a text that is empty or above 64 KB, a value above 1 MB, NUL and halves
of characters (neither store can hold them), an unknown source, a row that is not the writer's own. Set apart
(quarantined: stored and audited, in no recall, no context and no graph until a curator confirms it): what is trusted
below one half, and what reads as an instruction to an assistant when it was not the user who said it. That last test is
a short table of phrases in Portuguese and English, and timid: it is there for the blatant.

The guard also settles provenance: tenant, owner, session and execution are the acting principal's, the id is the
operation's, so that a repeat is the same memory.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from math import isfinite
from uuid import UUID

from ..infra.clock import utc
from ..infra.errors import BadInput, WrongTenant
from ..infra.identity import Principal
from .conversation.values import encode
from .execution.memories import folded
from .records import QUARANTINE_BELOW, TRUST, Json, Memory, MemoryKind

LARGEST_TEXT = 64 * 1024
LARGEST_VALUE = 1024 * 1024
LARGEST_METADATA = 16 * 1024
MOST_SOURCES = 1_000
LONGEST_NAME = 200

_ELSEWHERE = {
    MemoryKind.WORKING: "desk.board.write",
    MemoryKind.SCRATCH: "desk.notes.write",
    MemoryKind.TURN: "desk.window.append",
}

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

# Over folded text: lower case, no accents, single spaces.
_INSTRUCTIONS = re.compile(
    "|".join(
        (
            r"\b(ignore|disregard|forget|override)\b.{0,30}\b(instructions?|prompts?|rules|guidelines)\b",
            r"\b(ignore|ignora|desconsidere|desconsidera|esqueca|esquece|descumpra)\b.{0,30}"
            r"\b(instruc(ao|oes)|regras|orientac(ao|oes)|prompts?)\b",
            r"\b(reveal|print|repeat|show)\b.{0,20}\bsystem prompt\b",
            r"\b(revele|mostre|repita|imprima)\b.{0,20}\bprompt d[eo] sistema\b",
            r"\byou are now\b.{0,40}\b(assistant|ai|model|mode|unrestricted|jailbroken)\b",
            r"\b(voce|tu) agora (e|es)\b.{0,40}\b(assistente|ia|modelo|modo|sem restric(ao|oes))\b",
            r"\bdo not (tell|inform|mention (this|it) to) the user\b",
            r"\bnao (conte|diga|informe|mencione)\b.{0,20}\bao usuario\b",
            r"<\|?(im_start|im_end|system|endoftext)\|?>",
            r"\[/?(inst|system)\]",
        )
    )
)


def admit(principal: Principal, memory: Memory, operation: UUID, now: datetime) -> Memory:
    """The memory as it may be written, with its provenance, trust and status settled.

    Raises:
        BadInput: what is wrong with it, and the way out.
    """
    if memory.tenant != principal.tenant:
        raise WrongTenant(f"a memory of tenant {memory.tenant!r} cannot be written by one of {principal.tenant!r}")
    if memory.owner != principal.agent:
        raise BadInput(f"agent {principal.agent!r} cannot write in the name of {memory.owner!r}")
    if memory.kind in _ELSEWHERE:
        raise BadInput(f"a memory of kind {memory.kind.value!r} lives in layer 1: use {_ELSEWHERE[memory.kind]}")
    if (memory.kind is MemoryKind.FACT) != (memory.fact is not None):
        raise BadInput(
            f"a fact is stated with subject, predicate and object, and only as a fact: got {memory.kind.value!r}"
        )
    if memory.source not in TRUST:
        raise BadInput(f"there is no source {memory.source!r}; the sources are {', '.join(TRUST)}")
    if not (isfinite(memory.trust) and 0 <= memory.trust <= 1):
        raise BadInput(f"trust lies in 0…1, got {memory.trust!r}")
    if len(memory.sources) > MOST_SOURCES:
        raise BadInput(f"a memory names at most {MOST_SOURCES:,} sources, got {len(memory.sources):,}")
    _check_text(memory.text)
    _check_json("value", memory.value, LARGEST_VALUE)
    _check_json("metadata", dict(memory.metadata), LARGEST_METADATA)
    for what in ("category", "subject"):
        _check_name(what, getattr(memory, what))
    for name in (*memory.scope.readers, *memory.scope.roles):
        _check_name("a reader", name)
    if memory.fact is not None:
        for part in (memory.fact.subject, memory.fact.predicate, memory.fact.object, memory.fact.qualifier):
            _check_signs("a fact", part)
    return with_trust(
        replace(
            memory,
            id=operation,
            session=principal.session,
            execution=principal.execution,
            occurred_at=_moment("occurred_at", memory.occurred_at),
            expires_at=None if memory.expires_at is None else _moment("expires_at", memory.expires_at),
            recorded_at=now,
        ),
        min(memory.trust, TRUST[memory.source]),
    )


def with_trust(memory: Memory, trust: float) -> Memory:
    """The memory with that trust, and the status it earns."""
    apart = trust < QUARANTINE_BELOW or (memory.source != "user" and instructs(memory))
    return replace(memory, trust=trust, status="quarantined" if apart else "live")


def instructs(memory: Memory) -> bool:
    """Whether it reads as an instruction to an assistant rather than as something to know."""
    return _INSTRUCTIONS.search(folded(memory.text)) is not None


def _check_text(text: str) -> None:
    if not text.strip():
        raise BadInput("a memory needs a text, got an empty one")
    _check_signs("the text", text)
    size = len(text.encode())
    if size > LARGEST_TEXT:
        raise BadInput(
            f"a memory's text has at most {LARGEST_TEXT // 1024} KB, got {size / 1024:.0f}:"
            " keep the document elsewhere and remember what matters, with its address in metadata"
        )


def _check_json(what: str, value: Json, most: int) -> None:
    body = encode(value, what)
    if _NUL.search(body):
        raise BadInput(f"{what} holds a NUL character, which no database keeps: take it out")
    if len(body) > most:
        raise BadInput(f"{what} has at most {most // 1024:,} KB of JSON, got {len(body) / 1024:,.0f}")


def _check_name(what: str, name: str | None) -> None:
    if name is None:
        return
    if not name.strip() or len(name) > LONGEST_NAME:
        raise BadInput(
            f"{what} has 1 to {LONGEST_NAME} characters, got {name[:40]!r}: leave it out where there is none"
        )
    _check_signs(what, name)


def _check_signs(what: str, text: str) -> None:
    if "\x00" in text:
        raise BadInput(f"{what} holds a NUL character, which no database keeps: take it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} holds half a character ({text[error.start]!r}): decode it with errors='replace'"
        ) from error


def _moment(what: str, moment: datetime) -> datetime:
    try:
        return utc(moment)
    except ValueError as error:
        raise BadInput(f"{what}: {error}") from error
