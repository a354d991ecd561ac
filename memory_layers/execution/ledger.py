"""The ledger: who did what, when, and with what result, in entries that are only ever added.

An entry's id is minted by whoever writes, from the operation it records, so a replay meets itself. Free text and values
are never in the entry: they lie beside it, encrypted with AES-256-GCM under the key of the data subject they are about
(the person a memory names, else the session), bound to the entry's id, and the entry holds the digest of nonce and
ciphertext. Destroying that key makes the payload unreadable and the pseudonym nobody's, while every entry still stands.

Entries are seen by their whole tenant; a payload by the agent that acted and by whoever has the role ``auditor``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as default
from datetime import datetime
from typing import Any, LiteralString, Protocol, cast
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection
from ...infra.sql import load_queries
from ..policy import Retention
from ..records import Json

_ABSORB = "ON CONFLICT (retention, id) DO NOTHING"
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_QUERIES = load_queries(__package__ or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that was done. `person` is the data subject, where the payload is about one; else it is the session's.

    `payload` is what only those who may read it see: text, value, reason.
    """

    id: UUID
    tenant: str
    agent: str
    action: str
    outcome: str
    occurred_at: datetime
    session: str | None = None
    execution: UUID | None = None
    retention: Retention = "operational"
    agent_version: str | None = None
    on_behalf_of: str | None = None
    memory: UUID | None = None
    field: str | None = None
    version_before: int | None = None
    version_after: int | None = None
    basis: Mapping[str, Json] = default(default_factory=dict[str, Json])
    trace_id: str | None = None
    span_id: str | None = None
    person: str | None = None
    payload: Mapping[str, Json] = default(default_factory=dict[str, Json])

    @property
    def subject_name(self) -> str:
        """Under which name the key of its payload is kept."""
        return subject_name(self.person, self.session)


@dataclass(frozen=True, slots=True)
class Found:
    """What an entry says of the operation that it records."""

    memory: UUID | None
    outcome: str
    basis: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An entry as it is read back, with its place in the trail; without its payload where that may not be read."""

    number: int
    id: UUID
    occurred_at: datetime
    recorded_at: datetime
    agent: str
    action: str
    outcome: str
    session: str | None
    execution: UUID | None
    memory: UUID | None
    field: str | None
    version_before: int | None
    version_after: int | None
    basis: Mapping[str, Json]
    payload: Mapping[str, Json] | None


def subject_name(person: str | None, session: str | None) -> str:
    """Whose key a payload is under: the person it is about, else the session's."""
    return f"person/{person}" if person else f"session/{session or ''}"


class Body(Protocol):
    """What has a payload: an entry, or what will be one."""

    @property
    def id(self) -> UUID: ...
    @property
    def subject_name(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, Json]: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    """A payload under its subject's key."""

    nonce: bytes
    ciphertext: bytes

    @property
    def digest(self) -> bytes:
        """What the entry holds of it."""
        return hashlib.sha256(self.nonce + self.ciphertext).digest()


class SubjectKeys:
    """The keys of data subjects, asked for early so that in a pipeline nobody waits for them twice."""

    def __init__(self, connection: Connection, names: set[str], cursor: AsyncCursor[Any]) -> None:
        self._connection = connection
        self._names = names
        self._cursor = cursor
        self._keys: dict[str, tuple[str, bytes]] | None = None

    @classmethod
    async def ask(
        cls, connection: Connection, names: set[str], query: LiteralString | None = None, **told: object
    ) -> SubjectKeys:
        """Send the question, with `query` if it is asked together with something else, which is `told` more."""
        cursor = await connection.execute(query or _QUERIES["subject_keys"], {"names": list(names), **told})
        return cls(connection, names, cursor)

    async def get(self) -> dict[str, tuple[str, bytes]]:
        """Pseudonym and key by name; a subject that had none has one now."""
        if self._keys is None:
            self._keys = await self._found()
        return self._keys

    async def seal(self, bodies: Iterable[Body]) -> dict[UUID, Sealed]:
        """Payloads under the keys of their subjects, each bound to its entry."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: a start-up need not wait for it

        ciphers = {name: AESGCM(key) for name, (_, key) in (await self.get()).items()}
        sealed: dict[UUID, Sealed] = {}
        for body in bodies:
            if body.payload:
                nonce, plain = os.urandom(12), _JSON.encode(body.payload).encode()
                sealed[body.id] = Sealed(nonce, ciphers[body.subject_name].encrypt(nonce, plain, body.id.bytes))
        return sealed

    async def _found(self) -> dict[str, tuple[str, bytes]]:
        found = await _by_name(self._cursor)
        # Sorted, so that two writers who make the same keys do not wait for each other.
        if missing := sorted(self._names - found.keys()):
            new = {
                "names": missing,
                "pseudonyms": [os.urandom(16).hex() for _ in missing],
                "keys": [os.urandom(32) for _ in missing],
            }
            await self._connection.execute(_QUERIES["create_subject_keys"], new)
            cursor = await self._connection.execute(_QUERIES["subject_keys"], {"names": list(self._names)})
            found = await _by_name(cursor)
        return found


async def _by_name(cursor: AsyncCursor[Any]) -> dict[str, tuple[str, bytes]]:
    return {name: (pseudonym, bytes(key)) for name, pseudonym, key in await cursor.fetchall() if name is not None}


async def append(connection: Connection, entries: Sequence[Entry]) -> set[UUID]:
    """Add entries of one tenant, in order; returns the ids of those that were not there yet."""
    if not entries:
        return set()
    asked = await SubjectKeys.ask(connection, {entry.subject_name for entry in entries})
    cursor = await _add(connection, entries, asked, _ABSORB, {})
    return {row[0] for row in await cursor.fetchall()}


async def append_once(
    connection: Connection, entries: Sequence[Entry], asked: SubjectKeys, sealed: Mapping[UUID, Sealed] | None = None
) -> None:
    """Add entries of one tenant that must be new; one that is there fails the transaction, at its end if pipelined.

    `sealed` are payloads that were sealed before, by their entries.

    Raises:
        psycopg.errors.UniqueViolation: the operation was recorded before.
    """
    await _add(connection, entries, asked, "", sealed or {})


async def _add(
    connection: Connection,
    entries: Sequence[Entry],
    asked: SubjectKeys,
    absorb: LiteralString,
    given: Mapping[UUID, Sealed],
) -> AsyncCursor[Any]:
    keys = await asked.get()
    sealed = {**given, **await asked.seal(entry for entry in entries if entry.id not in given)}
    rows = [_row(entry, keys[entry.subject_name][0], sealed.get(entry.id)) for entry in entries]
    query = _QUERIES["append_entries"].replace("{absorb}", absorb)
    return await connection.execute(query, {"rows": JsonParameter(rows, dumps=_JSON.encode)})


async def find(connection: Connection, ids: Iterable[UUID]) -> dict[UUID, Found]:
    """Those of `ids` that are in the ledger."""
    cursor = await connection.execute(_QUERIES["find_entries"], {"ids": list(ids)})
    return {row[0]: Found(*row[1:]) for row in await cursor.fetchall()}


async def trail(connection: Connection, execution: UUID) -> list[Recorded]:
    """Who did what in an execution, in order, numbered from 1; payloads decrypted where the caller may read them."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES["trail"], {"execution": execution})
        return [_recorded(number, row) for number, row in enumerate(await cursor.fetchall(), 1)]


def _row(entry: Entry, pseudonym: str, sealed: Sealed | None) -> dict[str, Json]:
    return {
        "id": str(entry.id),
        "retention": entry.retention,
        "execution": str(entry.execution) if entry.execution else None,
        "session": entry.session,
        "agent": entry.agent,
        "agent_version": entry.agent_version,
        "on_behalf_of": entry.on_behalf_of,
        "occurred_at": entry.occurred_at.isoformat(),
        "action": entry.action,
        "memory": str(entry.memory) if entry.memory else None,
        "field": entry.field,
        "version_before": entry.version_before,
        "version_after": entry.version_after,
        "outcome": entry.outcome,
        "basis": dict(entry.basis),
        "subject": pseudonym,
        "trace_id": entry.trace_id,
        "span_id": entry.span_id,
        "payload_digest": _bytea(sealed.digest) if sealed else None,
        "nonce": _bytea(sealed.nonce) if sealed else None,
        "ciphertext": _bytea(sealed.ciphertext) if sealed else None,
    }


def _recorded(number: int, row: Mapping[str, Any]) -> Recorded:
    key: bytes | None = row["key"]
    ciphertext: bytes | None = row["ciphertext"]
    payload = None if key is None or ciphertext is None else _decrypt(key, row["id"], row["nonce"], ciphertext)
    return Recorded(
        number=number,
        id=row["id"],
        occurred_at=row["occurred_at"],
        recorded_at=row["recorded_at"],
        agent=row["agent"],
        action=row["action"],
        outcome=row["outcome"],
        session=row["session"],
        execution=row["execution"],
        memory=row["memory"],
        field=row["field"],
        version_before=row["version_before"],
        version_after=row["version_after"],
        basis=row["basis"],
        payload=payload,
    )


def _decrypt(key: bytes, entry: UUID, nonce: bytes, ciphertext: bytes) -> Mapping[str, Json]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: a start-up need not wait for it

    plain = AESGCM(bytes(key)).decrypt(bytes(nonce), bytes(ciphertext), entry.bytes)
    return cast(Mapping[str, Json], json.loads(plain))


def _bytea(value: bytes) -> str:
    return "\\x" + value.hex()
