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
from typing import Any, cast
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json as JsonParameter

from ...infra.connections import Connection
from ...infra.sql import load_queries
from ..policy import Retention
from ..records import Json

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
        return f"person/{self.person}" if self.person else f"session/{self.session or ''}"


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


async def append(connection: Connection, entries: Sequence[Entry]) -> set[UUID]:
    """Add entries of one tenant, in order; returns the ids of those that were not there yet."""
    if not entries:
        return set()
    keys = await _subject_keys(connection, entries[0].tenant, {entry.subject_name for entry in entries})
    rows = JsonParameter([_row(entry, *keys[entry.subject_name]) for entry in entries])
    cursor = await connection.execute(_QUERIES["append_entries"], {"rows": rows})
    return {row[0] for row in await cursor.fetchall()}


async def find(connection: Connection, ids: Iterable[UUID]) -> dict[UUID, tuple[UUID | None, str]]:
    """Those of `ids` that are in the ledger: the memory each is about, and its outcome."""
    cursor = await connection.execute(_QUERIES["find_entries"], {"ids": list(ids)})
    return {identifier: (memory, outcome) for identifier, memory, outcome in await cursor.fetchall()}


async def trail(connection: Connection, execution: UUID) -> list[Recorded]:
    """Who did what in an execution, in order, numbered from 1; payloads decrypted where the caller may read them."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES["trail"], {"execution": execution})
        return [_recorded(number, row) for number, row in enumerate(await cursor.fetchall(), 1)]


async def _subject_keys(connection: Connection, tenant: str, names: set[str]) -> dict[str, tuple[str, bytes]]:
    found = await _known_keys(connection, tenant, names)
    missing = sorted(names - found.keys())  # sorted: two writers that make the same keys must not wait for each other
    if missing:
        new = {
            "tenant": tenant,
            "names": missing,
            "pseudonyms": [os.urandom(16).hex() for _ in missing],
            "keys": [os.urandom(32) for _ in missing],
        }
        await connection.execute(_QUERIES["create_subject_keys"], new)
        found |= await _known_keys(connection, tenant, set(missing))
    return found


async def _known_keys(connection: Connection, tenant: str, names: set[str]) -> dict[str, tuple[str, bytes]]:
    cursor = await connection.execute(_QUERIES["subject_keys"], {"tenant": tenant, "names": list(names)})
    return {name: (pseudonym, bytes(key)) for name, pseudonym, key in await cursor.fetchall()}


def _row(entry: Entry, pseudonym: str, key: bytes) -> dict[str, Json]:
    nonce = ciphertext = digest = None
    if entry.payload:
        nonce, ciphertext = _encrypt(key, entry.id, entry.payload)
        digest = hashlib.sha256(nonce + ciphertext).digest()
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
        "payload_digest": _bytea(digest),
        "nonce": _bytea(nonce),
        "ciphertext": _bytea(ciphertext),
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


def _encrypt(key: bytes, entry: UUID, payload: Mapping[str, Json]) -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: a start-up need not wait for it

    nonce = os.urandom(12)
    return nonce, AESGCM(key).encrypt(nonce, json.dumps(payload, ensure_ascii=False).encode(), entry.bytes)


def _decrypt(key: bytes, entry: UUID, nonce: bytes, ciphertext: bytes) -> Mapping[str, Json]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late, as above

    plain = AESGCM(bytes(key)).decrypt(bytes(nonce), bytes(ciphertext), entry.bytes)
    return cast(Mapping[str, Json], json.loads(plain))


def _bytea(value: bytes | None) -> str | None:
    return None if value is None else "\\x" + value.hex()
