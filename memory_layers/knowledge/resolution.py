"""Facts as they are written: an assertion in, its key resolved anew, in the record's own transaction.

One key is resolved by one transaction at a time, under an advisory lock that ends with it; batches take their locks in
one order. Everything derived is rewritten together: the intervals, the standing of the memories, and what layer 2 may
find. What an assertion retires leaves words and vectors in the same transaction; what a removal brings back to life is
owed to layer 2 as a debt. An assertion that is the first of its key, and plain, stands as it was inserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Json as JsonParameter

from ...infra.clock import utc
from ...infra.connections import Connection
from ...infra.errors import BadInput
from ...infra.ids import id_at
from ...infra.sql import load_queries
from ..asking import numbers, texts
from ..records import QUARANTINE_BELOW, Fact, Json, Memory
from .facts import Assertion, Resolved, Standing, holds_many, key_of, name_key, resolve

QUERIES = load_queries(__package__ or "")
_MEMORY_STATUS = {"current": "live"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOutcome:
    """What became of a stated fact.

    `superseded` are the facts whose place it took just now; `contested_with` those that say otherwise of the same
    moment with the same trust. A `confirmation` stands behind the fact `of`; `superseded` as a status says that it came
    late and took its place in the past, or that a more trusted one of the same moment holds.
    """

    id: UUID
    status: Literal["current", "superseded", "contested", "quarantined", "withdrawn", "confirmation"]
    superseded: tuple[UUID, ...] = ()
    contested_with: tuple[UUID, ...] = ()
    of: UUID | None = None


@dataclass(frozen=True, slots=True)
class _Stored:
    """An assertion with what was last derived of it."""

    id: UUID
    key: bytes
    predicate_name: str
    object: str
    object_key: str
    valid_from: datetime
    recorded_at: datetime
    trust: float
    many: bool
    status: Standing
    valid_to: datetime | None
    superseded_by: UUID | None
    memory_status: str
    confirmations: int


@lru_cache(maxsize=10_000)
def entity_id(tenant: str, key: str) -> UUID:
    """The id of a thing: the same name has the same id, so no look-up is needed to refer to it."""
    return id_at(0, "entity", tenant, key)


async def state(
    connection: Connection, stated: Sequence[tuple[Memory, Fact]], *, now: datetime, trusted: bool, retires: bool = True
) -> list[FactOutcome]:
    """Insert assertions and resolve their keys. `trusted` takes the record's status as it is (a rebuild does).

    Without `retires` every assertion stands beside the others until its key is resolved another time.

    Raises:
        BadInput: a key that holds one value is told that it holds many, or the other way round.
    """
    keys = {memory.id: key_of(memory, fact) for memory, fact in stated}
    cursor = await connection.execute(QUERIES["state_facts"], _columns(stated, keys, trusted=trusted))
    ((to_resolve,),) = await cursor.fetchall()
    if not retires:
        return [
            FactOutcome(id=memory.id, status="quarantined" if _quarantined(memory, trusted=trusted) else "current")
            for memory, _ in stated
        ]
    often = Counter(keys.values())
    # A memory that has just been written says what its fact does; one of a rebuild may say otherwise.
    plain = set[UUID]() if trusted else {memory.id for memory, _ in stated if _plain(memory)}
    alone = {one for one in plain.difference(to_resolve) if often[keys[one]] == 1}
    asked = [memory.id for memory, _ in stated if memory.id not in alone]
    told = await _settle(connection, {keys[one] for one in asked}, asked, now, agreed=not trusted) if asked else []
    outcomes = {one.id: one for one in told} | {one: FactOutcome(id=one, status="current") for one in alone}
    return [outcomes[memory.id] for memory, _ in stated if memory.id in outcomes]


async def remove(connection: Connection, ids: Collection[UUID], *, now: datetime) -> None:
    """Delete assertions; what they had retired holds again."""
    keys = await _locked_keys(connection, ids)
    await connection.execute(QUERIES["delete_facts"], {"ids": list(ids)})
    await _settle(connection, keys, [], now)


async def release(connection: Connection, ids: Collection[UUID], *, now: datetime) -> list[FactOutcome]:
    """Let quarantined assertions take part."""
    keys = await _locked_keys(connection, ids)
    await connection.execute(QUERIES["release_facts"], {"ids": list(ids)})
    return await _settle(connection, keys, list(ids), now, agreed=True)


async def _locked_keys(connection: Connection, ids: Collection[UUID]) -> list[bytes]:
    cursor = await connection.execute(QUERIES["keys_of"], {"ids": list(ids)})
    keys = [bytes(row[0]) for row in await cursor.fetchall()]
    await _lock(connection, keys)
    return keys


async def _lock(connection: Connection, keys: Iterable[bytes]) -> None:
    await connection.execute(QUERIES["lock_keys"], {"keys": numbers(_in_order(keys))})


def _in_order(keys: Iterable[bytes]) -> list[int]:
    """What the advisory locks of keys are called, in the order in which they are taken."""
    return sorted({int.from_bytes(key[:8], signed=True) for key in keys})


def _columns(stated: Sequence[tuple[Memory, Fact]], keys: Mapping[UUID, bytes], *, trusted: bool) -> dict[str, str]:
    """Assertions, once each, and the things that they name, as arrays of their columns."""
    stated = list({memory.id: (memory, fact) for memory, fact in stated}.values())
    tenant = stated[0][0].tenant
    subjects = [name_key(fact.subject) for _, fact in stated]
    objects = [name_key(fact.object) for _, fact in stated]
    names: dict[str, str] = {}
    for (_, fact), subject, object in zip(stated, subjects, objects, strict=True):
        names.setdefault(subject, fact.subject.strip())
        if fact.object_is_entity:
            names.setdefault(object, fact.object.strip())
    things = sorted(names)
    return {
        "locks": numbers(_in_order(keys.values())),
        "things": _plainly(entity_id(tenant, thing).hex for thing in things),
        "thing_keys": texts(things),
        "thing_names": texts([names[thing] for thing in things]),
        "ids": _plainly(memory.id.hex for memory, _ in stated),
        "keys": texts([rf"\x{keys[memory.id].hex()}" for memory, _ in stated]),
        "subjects": _plainly(entity_id(tenant, subject).hex for subject in subjects),
        "predicates": texts([name_key(fact.predicate) for _, fact in stated]),
        "predicate_names": texts([fact.predicate for _, fact in stated]),
        "objects": texts([fact.object for _, fact in stated]),
        "object_keys": texts(objects),
        "object_entities": _plainly(
            entity_id(tenant, object).hex if fact.object_is_entity else None
            for (_, fact), object in zip(stated, objects, strict=True)
        ),
        "many": _plainly("t" if fact.many else "f" for _, fact in stated),
        "quarantined": _plainly("t" if _quarantined(memory, trusted=trusted) else "f" for memory, _ in stated),
        "since": _plainly(f'"{utc(fact.since).isoformat()}"' if fact.since else None for _, fact in stated),
    }


def _plainly(values: Iterable[str | None]) -> str:
    """An array of what needs no quotes, or has them."""
    return "{" + ",".join([value or "NULL" for value in values]) + "}"


def _quarantined(memory: Memory, *, trusted: bool) -> bool:
    return memory.status == "quarantined" or (not trusted and memory.trust < QUARANTINE_BELOW)


def _plain(memory: Memory) -> bool:
    return memory.status == "live" and not _quarantined(memory, trusted=False)


async def _settle(
    connection: Connection, keys: Iterable[bytes], asked: Sequence[UUID], now: datetime, *, agreed: bool = False
) -> list[FactOutcome]:
    """Resolve keys anew and rewrite what changed; says what became of `asked`.

    `agreed` demands that those asked about say of their key what it says already: one value at a time, or many.
    """
    async with connection.cursor(row_factory=class_row(_Stored)) as cursor:
        await cursor.execute(QUERIES["assertions"], {"keys": list(set(keys))})
        rows = {row.id: row for row in await cursor.fetchall()}
    of_asked = set(asked)
    by_key: dict[bytes, list[_Stored]] = {}
    for row in rows.values():
        by_key.setdefault(row.key, []).append(row)
    resolved: dict[UUID, Resolved] = {}
    for asserted in by_key.values():
        taking_part = [row for row in asserted if row.status not in ("quarantined", "withdrawn")]
        many = holds_many((row.recorded_at, row.id, row.many) for row in taking_part)
        if agreed and len({row.many for row in taking_part}) > 1:
            _refuse(taking_part, of_asked)
        resolved |= resolve(map(_assertion, asserted), now=now, many=many)

    changed = {identifier for identifier, one in resolved.items() if _differs(rows[identifier], one)}
    await _rewrite(connection, {identifier: resolved[identifier] for identifier in changed}, now)
    standing = {identifier: _status(one) for identifier, one in resolved.items()}
    gone = [identifier for identifier in changed if standing[identifier] in ("superseded", "quarantined")]
    if gone:
        await connection.execute(QUERIES["unindex"], {"ids": gone})
    revived = [
        identifier
        for identifier in changed
        if rows[identifier].memory_status in ("superseded", "quarantined") and standing[identifier] != "quarantined"
        if standing[identifier] != "superseded"
    ]
    if revived:
        await connection.execute(QUERIES["owe_context"], {"ids": revived})
    retired: dict[UUID, list[UUID]] = {}
    for identifier in gone:
        if (by := resolved[identifier].by) is not None and identifier not in of_asked:
            retired.setdefault(by, []).append(identifier)
    contested: dict[bytes, list[UUID]] = {}
    for identifier, one in resolved.items():
        if one.standing == "contested":
            contested.setdefault(rows[identifier].key, []).append(identifier)
    return [_outcome(one, rows, resolved, retired, contested) for one in asked if one in resolved]


async def _rewrite(connection: Connection, changed: dict[UUID, Resolved], now: datetime) -> None:
    if not changed:
        return
    rows: list[Json] = [
        {
            "id": str(identifier),
            "status": one.standing,
            "memory_status": _status(one),
            "valid_from": one.valid_from.isoformat(),
            "valid_to": one.valid_to.isoformat() if one.valid_to else None,
            "by": str(one.by) if one.by else None,
            "confirmations": one.confirmations,
            "confirmed_at": one.confirmed_at.isoformat(),
        }
        for identifier, one in sorted(changed.items())
    ]
    await connection.execute(QUERIES["settle_facts"], {"rows": JsonParameter(rows), "now": now})
    await connection.execute(QUERIES["settle_memories"], {"rows": JsonParameter(rows)})


def _refuse(taking_part: Sequence[_Stored], asked: Collection[UUID]) -> None:
    """Say what the key holds, and how it can hold the other.

    Raises:
        BadInput: always.
    """
    newest = min(taking_part, key=lambda row: (row.id not in asked, -row.recorded_at.timestamp()))
    before = [row for row in taking_part if row.many != newest.many]
    since = min(row.recorded_at for row in before)
    holds, say = ("one value at a time", "without many") if newest.many else ("many values", "with many=True")
    raise BadInput(
        f"the predicate {newest.predicate_name!r} of this subject was stated to hold {holds} ({since:%Y-%m-%d %H:%M}"
        f" UTC), and {newest.object[:60]!r} is stated otherwise: state it {say}, or under another predicate or"
        f" qualifier; it is free again once its {len(before)} fact(s) are forgotten, {before[0].id} for one"
    )


def _assertion(row: _Stored) -> Assertion:
    standing = row.status if row.status in ("quarantined", "withdrawn") else "good"
    return Assertion(
        id=row.id,
        value=row.object_key,
        since=row.valid_from,
        stated_at=row.recorded_at,
        trust=row.trust,
        standing=standing,
    )


def _differs(row: _Stored, one: Resolved) -> bool:
    stored = (row.status, row.valid_to, row.superseded_by, row.memory_status, row.confirmations)
    return stored != (one.standing, one.valid_to, one.by, _status(one), one.confirmations)


def _status(one: Resolved) -> str:
    return _MEMORY_STATUS.get(one.standing, one.standing)


def _outcome(
    identifier: UUID,
    rows: dict[UUID, _Stored],
    resolved: dict[UUID, Resolved],
    retired: dict[UUID, list[UUID]],
    contested: dict[bytes, list[UUID]],
) -> FactOutcome:
    one = resolved[identifier]
    bearer = one.by if one.confirms and one.by else identifier
    others = contested[rows[identifier].key] if resolved[bearer].standing == "contested" else []
    return FactOutcome(
        id=identifier,
        status="confirmation" if one.confirms else one.standing,
        superseded=tuple(sorted(retired.get(identifier, []))),
        contested_with=tuple(sorted(other for other in others if other != bearer)),
        of=one.by if one.confirms else None,
    )
