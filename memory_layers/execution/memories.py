"""The record of every memory: the one truth from which words, vectors and facts can be rebuilt.

A memory is inserted once. An equal one (the same words as `sameness` compares them, same value, same circle of
readers) confirms the first instead of standing beside it: a unique index decides, so two writers at the same moment
meet in the database and not in a check before it. Facts and decisions are never folded: a fact's key decides about a
fact, and each decision is an event of its own.

What an agent only says again is no evidence: it meets its equal and leaves it as it was. So it is with whatever an
agent says that a user or a tool had said, and with what it had recalled (`echoes`).

What may be brought back is decided here as well: `fetch` gives live and contested memories that have not expired, or
what was valid at `as_of`; who may see them is row-level security's affair.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection
from ...infra.sql import load_queries
from ..records import PRIVATE, SHARED, TENANT, Fact, Json, Memory, MemoryKind, Scope, ScopeKind, Status
from .sameness import core, retold
from .sameness import folded as folded

_QUERIES = load_queries(__package__ or "")
_AT_ONCE = timedelta(0)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SORTED_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
_Row = Mapping[str, Any]
_NAMELESS: Mapping[str, Scope] = {scope.kind: scope for scope in (PRIVATE, SHARED, TENANT)}
"""The scopes that name nobody, made once: a recall reads a dozen rows."""


RECALLED: LiteralString = _QUERIES["fetch_memories"]
"""The rows that may come back; `{which}` says of which ids."""


class Inserted:
    """Memories on their way into the record; in a pipeline, more may be sent before asking what became of them."""

    def __init__(self, places: Mapping[UUID, bytes], apart: Collection[UUID], cursor: AsyncCursor[Any]) -> None:
        self._places = places
        self._apart = apart
        self._cursor = cursor

    async def known(self) -> dict[UUID, UUID]:
        """For each id the id under which it is now known.

        The two differ where an equal live memory was there already (or came earlier among them) and was confirmed. An
        id that has a tombstone is not inserted, and not among the answers.
        """
        known = {
            identifier.bytes if identifier in self._apart else bytes(key): identifier
            for identifier, key in await self._cursor.fetchall()
        }
        return {identifier: known[place] for identifier, place in self._places.items() if place in known}


async def send(
    connection: Connection,
    memories: Sequence[Memory],
    *,
    owed: Collection[UUID] = (),
    echoes: Collection[UUID] = (),
    due_after: timedelta = _AT_ONCE,
) -> Inserted:
    """Insert memories of one tenant, and what layer 2 is owed for those that are new and among `owed`.

    Those among `echoes` were recalled by whoever says them, so they confirm nothing.
    """
    keys = {memory.id: content_key(memory) for memory in memories}
    apart = {memory.id for memory in memories if memory.status != "live"}
    # Equals meet under their key; what is set apart meets nobody, least of all what is trusted.
    places = {memory.id: memory.id.bytes if memory.id in apart else keys[memory.id] for memory in memories}
    first: dict[bytes, _Said] = {}
    for memory in memories:
        place, echo = places[memory.id], memory.id in echoes
        if place not in first:
            first[place] = _Said(memory, memory.recorded_at, 0 if echo else 1)
        elif not echo and (memory.source != "agent" or first[place].memory.source == "agent"):
            first[place] = _confirmed(first[place], memory)
    rows = [
        {
            **to_json(said.memory),
            "confirmed_at": said.confirmed_at.isoformat(),
            "confirmations": said.times,
            "content_key": "\\x" + keys[said.memory.id].hex(),
            "owed": said.memory.id in owed,
        }
        for said in first.values()
    ]
    parameters = {"rows": JsonParameter(rows, dumps=_JSON.encode), "due_after": due_after}
    return Inserted(places, apart, await connection.execute(_QUERIES["insert_memories"], parameters))


async def insert(connection: Connection, memories: Sequence[Memory]) -> dict[UUID, UUID]:
    """Insert memories of one tenant; returns for each id the id under which it is now known, see `Inserted.known`."""
    return await (await send(connection, memories)).known()


async def fetch(
    connection: Connection, ids: Iterable[UUID], *, now: datetime, as_of: datetime | None = None
) -> dict[UUID, Memory]:
    """Those of `ids` that may come back in a recall, at `as_of` or now; what is missing fell out."""
    async with _rows(connection) as cursor:
        parameters = {"ids": list(ids), "now": now, "as_of": as_of}
        await cursor.execute(RECALLED.replace("{which}", "id = ANY (%(ids)s)"), parameters)
        return {row["id"]: read(row) for row in await cursor.fetchall()}


async def standing(connection: Connection, kinds: Iterable[MemoryKind], *, now: datetime) -> list[Memory]:
    """All memories of these kinds that the caller may see and that hold now, the newest confirmed first."""
    async with _rows(connection) as cursor:
        await cursor.execute(_QUERIES["standing_memories"], {"kinds": [kind.value for kind in kinds], "now": now})
        return [read(row) for row in await cursor.fetchall()]


async def get(connection: Connection, ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """Those of `ids` that the caller may see, whatever their status."""
    async with _rows(connection) as cursor:
        await cursor.execute(_QUERIES["get_memories"], {"ids": list(ids)})
        return {row["id"]: read(row) for row in await cursor.fetchall()}


async def lock(connection: Connection, identifier: UUID) -> Memory | None:
    """One memory, held until the transaction ends; None where there is none that the caller may see."""
    async with _rows(connection) as cursor:
        await cursor.execute(_QUERIES["lock_memory"], {"id": identifier})
        row = await cursor.fetchone()
        return read(row) if row else None


async def set_status(
    connection: Connection, ids: Iterable[UUID], status: Status, *, superseded_by: UUID | None = None
) -> None:
    """Change the standing of memories."""
    parameters = {"ids": list(ids), "status": status, "superseded_by": superseded_by}
    await connection.execute(_QUERIES["set_status"], parameters)


@dataclass(frozen=True, slots=True)
class _Said:
    """The first of equals that come together, when it was said last, and how often; 0 where it is an echo."""

    memory: Memory
    confirmed_at: datetime
    times: int


def _confirmed(said: _Said, equal: Memory) -> _Said:
    """The first of equals that come together, as the record has it when another confirms it."""
    first = said.memory
    if first.expires_at is None or equal.expires_at is None:
        expires_at = None
    else:
        expires_at = max(first.expires_at, equal.expires_at)
    more = equal if equal.trust > first.trust else first
    kept = replace(first, trust=more.trust, source=more.source, expires_at=expires_at)
    return _Said(kept, max(said.confirmed_at, equal.recorded_at), said.times + 1)


def content_key(memory: Memory) -> bytes:
    """What equal memories share: what is said, value and the circle that may read them."""
    if memory.kind in (MemoryKind.FACT, MemoryKind.DECISION):
        return memory.id.bytes
    match memory.scope.kind:
        case ScopeKind.PRIVATE:
            circle: list[str] = [memory.owner]
        case ScopeKind.SHARED:
            circle = ["session", memory.session] if memory.session is not None else ["execution", str(memory.execution)]
        case ScopeKind.HIERARCHICAL:
            circle = [memory.owner, *sorted(memory.scope.readers), "", *sorted(memory.scope.roles)]
        case ScopeKind.TENANT:
            circle = []
    parts: list[Json] = [
        memory.kind,
        memory.scope.kind,
        [*circle],
        core(retold(memory.text) if memory.source == "agent" else memory.text),
        memory.value,
        memory.category,
        memory.subject,
        dict(memory.metadata),
    ]
    if memory.speaker is not None:  # a turn is an event: said twice, it is two
        parts += [memory.speaker, memory.occurred_at.isoformat()]
    return hashlib.sha256(_SORTED_JSON.encode(parts).encode()).digest()


def _rows(connection: Connection) -> AsyncCursor[dict[str, Any]]:
    return connection.cursor(row_factory=dict_row)


def to_json(memory: Memory) -> dict[str, Json]:
    """A memory as it travels: to the journal, and as a row into the database."""
    return {
        "id": str(memory.id),
        "tenant": memory.tenant,
        "scope": memory.scope.kind,
        "owner": memory.owner,
        "session": memory.session,
        "execution": str(memory.execution) if memory.execution else None,
        "readers": [*sorted(memory.scope.readers)],
        "reader_roles": [*sorted(memory.scope.roles)],
        "kind": memory.kind,
        "text": memory.text,
        "value": memory.value,
        "fact": fact_to_json(memory.fact),
        "category": memory.category,
        "subject": memory.subject,
        "speaker": memory.speaker,
        "source": memory.source,
        "trust": memory.trust,
        "status": memory.status,
        "occurred_at": memory.occurred_at.isoformat(),
        "recorded_at": memory.recorded_at.isoformat(),
        "valid_from": (memory.fact.since or memory.occurred_at).isoformat() if memory.fact else None,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "sources": [str(source) for source in memory.sources],
        "metadata": dict(memory.metadata),
    }


def from_json(stored: _Row) -> Memory:
    """The memory that `to_json` wrote."""
    row: dict[str, Any] = {
        **stored,
        "id": UUID(stored["id"]),
        "execution": UUID(stored["execution"]) if stored["execution"] else None,
        "occurred_at": _moment(stored["occurred_at"]),
        "recorded_at": _moment(stored["recorded_at"]),
        "expires_at": _moment(stored["expires_at"]),
        "sources": [UUID(source) for source in stored["sources"]],
        "speaker": stored.get("speaker"),  # journaled by a version that knew of none
    }
    return read(row)


def read(row: _Row) -> Memory:
    """A row of the record."""
    scope = _NAMELESS.get(row["scope"])
    if scope is None:
        scope = Scope(
            kind=ScopeKind(row["scope"]), readers=frozenset(row["readers"]), roles=frozenset(row["reader_roles"])
        )
    return Memory(
        id=row["id"],
        tenant=row["tenant"],
        owner=row["owner"],
        session=row["session"],
        execution=row["execution"],
        scope=scope,
        kind=MemoryKind(row["kind"]),
        text=row["text"],
        value=row["value"],
        fact=fact_from_json(row["fact"]),
        category=row["category"],
        subject=row["subject"],
        speaker=row["speaker"],
        source=row["source"],
        trust=row["trust"],
        status=row["status"],
        occurred_at=row["occurred_at"],
        recorded_at=row["recorded_at"],
        expires_at=row["expires_at"],
        sources=tuple(row["sources"]),
        metadata=row["metadata"] or {},  # a recall is spared reading what is empty
        to_confirm=row.get("to_confirm", False),
        confirmed_at=row.get("confirmed_at"),
        told=row.get("told"),
        told_at=row.get("told_at"),
    )


def fact_to_json(fact: Fact | None) -> dict[str, Json] | None:
    """A fact as it is stored and journaled."""
    if fact is None:
        return None
    return {
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "since": fact.since.isoformat() if fact.since else None,
        "many": fact.many,
        "qualifier": fact.qualifier,
        "object_is_entity": fact.object_is_entity,
    }


def fact_from_json(stored: Mapping[str, Any] | None) -> Fact | None:
    """The fact that `fact_to_json` wrote."""
    if stored is None:
        return None
    parts: dict[str, Any] = {**stored, "since": _moment(stored["since"])}
    return Fact(**parts)


def _moment(stored: str | None) -> datetime | None:
    return datetime.fromisoformat(stored) if stored else None
