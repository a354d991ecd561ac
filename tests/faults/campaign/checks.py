"""The comparison: what the stores hold against what was acknowledged, once everything that was owed is paid.

It asks both servers directly, as their superuser: not through the product, which is what is being checked.
"""

from __future__ import annotations

import time
from asyncio import sleep
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, LiteralString, Self, cast
from uuid import UUID

from lousa.infra.ids import derived_id
from lousa.memory_layers.conversation.keys import board_keys, journal_key
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.journal import dead_letters
from psycopg import AsyncConnection
from redis.asyncio import Redis

from .broken import TENANTS
from .witness import Told, Witness

_Row = tuple[Any, ...]
_MOST = 1_000_000
"""Changes of a board, at most."""
_CHANGES: LiteralString = """
    SELECT id, basis ->> 'operation', field, version_before, version_after, tenant
    FROM lousa.ledger_entry WHERE execution = %s AND action LIKE 'board.%%'
"""
_MEMORIES: LiteralString = """
    SELECT memory.id, metadata ->> 'op', metadata ->> 'tenant', memory.tenant, status,
        EXISTS (SELECT FROM lousa.memory_words AS words WHERE words.id = memory.id),
        EXISTS (SELECT FROM lousa.{vectors} AS vectors WHERE vectors.id = memory.id),
        EXISTS (SELECT FROM lousa.fact WHERE fact.id = memory.id AND fact.status = 'current')
    FROM lousa.memory
"""
_ENTRIES: LiteralString = """
    SELECT memory, action, count(*) FROM lousa.ledger_entry WHERE memory IS NOT NULL AND action LIKE 'memory.%'
    GROUP BY memory, action
"""


class Stores:
    """Both servers, while they are asked."""

    def __init__(self, redis_url: str, postgres_url: str) -> None:
        self._urls = redis_url, postgres_url

    async def __aenter__(self) -> Self:
        self.redis = Redis.from_url(self._urls[0])  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        self.postgres = await AsyncConnection.connect(self._urls[1], autocommit=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.redis.aclose()
        await self.postgres.close()

    async def rows(self, query: LiteralString, *words: Any) -> list[_Row]:
        """What a query gives."""
        cursor = await self.postgres.execute(query, words or None)
        return await cursor.fetchall()

    async def ask(self, *words: Any) -> Any:
        """What a command gives."""
        return cast(Any, await self.redis.execute_command(*words))  # pyright: ignore[reportUnknownMemberType]  # likewise

    async def last(self, tenant: str, execution: str) -> int:
        """The number of a board's last change; 0 when its stream is gone."""
        key = board_keys(tenant, UUID(execution)).changes
        if not await self.ask("EXISTS", key):
            return 0
        facts = await self.redis.xinfo_stream(key)
        return int(facts["last-generated-id"].decode().removeprefix("0-"))


async def settled(
    stores: Stores, witness: Witness, executions: Sequence[str], patience: float, fail: Callable[[str], None]
) -> None:
    """Wait until nothing is under way any more; say what still is when patience ends."""
    end, left = time.monotonic() + patience, {"something": 1}
    tenants = dict(await _tenants(stores))
    while left:
        await sleep(0.1)
        left = {
            "entries in journals": sum([await stores.ask("XLEN", journal_key(tenant)) for tenant in TENANTS]),
            "debts": (await stores.rows("SELECT count(*) FROM lousa.debt"))[0][0],
            "boards not let go": (await stores.rows("SELECT count(*) FROM lousa.execution WHERE NOT drained"))[0][0],
            "changes that no watcher saw": sum(
                [max(0, await stores.last(tenants[one], one) - witness.watched[one].cursor) for one in executions]
            ),
        }
        left = {what: count for what, count in left.items() if count}
        if time.monotonic() > end:
            fail(f"after {patience:g} s there were still {left}")
            return


async def _tenants(stores: Stores) -> list[tuple[str, str]]:
    return [(str(row[0]), row[1]) for row in await stores.rows("SELECT id, tenant FROM lousa.execution")]


async def let_go(stores: Stores, witness: Witness) -> None:
    """Whether any board has a time to live that is not wholly in the ledger yet."""
    for execution, tenant, drained in await stores.rows("SELECT id, tenant, drained FROM lousa.execution"):
        lives = await stores.ask("PTTL", board_keys(tenant, execution).changes)
        if lives < 0 or drained:
            continue
        last = await stores.last(tenant, str(execution))
        through = await stores.rows("SELECT audited_through FROM lousa.execution WHERE id = %s", execution)
        if through[0][0] != f"0-{last}":
            witness.wrong("unaudited", f"the stream of {execution} lives {lives} ms and is audited to {through[0][0]}")


async def compare(stores: Stores, witness: Witness, executions: Sequence[str]) -> None:
    """Everything; what is wrong is told to the witness."""
    tenants = dict(await _tenants(stores))
    for execution in executions:
        await _board(stores, witness, tenants[execution], execution)
    await let_go(stores, witness)
    await _memories(stores, witness)
    await _transcript(stores, witness)
    for tenant in TENANTS:
        for _ in range(await stores.ask("XLEN", dead_letters(tenant))):
            witness.wrong("lost", f"a dead letter of {tenant}")


@dataclass(frozen=True, slots=True)
class _Change:
    """A change as the ledger has it."""

    number: int
    operation: str
    field: str
    before: int
    after: int


async def _board(stores: Stores, witness: Witness, tenant: str, execution: str) -> None:
    """One board: its changes, its values, its operations, its watcher."""
    told = {_operation(one): one for one in witness.told.values() if one.execution == execution and _is_of_board(one)}
    rows = await stores.rows(_CHANGES, UUID(execution))
    last = max(
        await stores.last(tenant, execution),
        witness.watched[execution].cursor,
        *(int(one.answer[2][2:]) for one in told.values() if one.answer is not None and _written(one)),
        0,
    )
    left, again = witness.restored.get(execution, (0, 0))
    if left + max(0, last - again) < _MOST:
        numbers = {*range(1, left + 1), *range(again + 1, last + 1)}
        for number in sorted(witness.watched[execution].seen.keys() - numbers):
            witness.wrong("lost", f"change {number} of {execution} was shown to a watcher, and is no more")
    else:
        numbers = {*witness.watched[execution].seen}
        witness.wrong("lost", f"the numbers of {execution} went ahead to {last}, as after a loss")
    for row in rows:
        if row[5] != tenant:
            witness.wrong("leaked", f"a change of {execution}, of {tenant}, is in the ledger of {row[5]}")
    changes = _numbered(witness, execution, numbers, told, rows)
    by_number = {change.number: change for change in changes}
    for number in sorted(numbers - by_number.keys()):
        witness.wrong("unaudited", f"change {number} of {last} of {execution} is not in the ledger")
    _operations(witness, told, changes, by_number)
    await _values(stores, witness, tenant, execution, told, changes)
    _watched(witness, execution, numbers, told, by_number)


def _watched(
    witness: Witness, execution: str, numbers: set[int], told: dict[str, Told], by_number: dict[int, _Change]
) -> None:
    """What watchers were shown: every change, or a snapshot that holds what it passed over."""
    watched = witness.watched[execution]
    passed = {number for begins, ends, _ in watched.jumps for number in numbers if begins < number <= ends}
    for number in sorted(numbers):
        change, seen = by_number.get(number), watched.seen.get(number)
        if seen is None:
            if number not in passed:
                witness.wrong("missed_changes", f"change {number} of {execution} was shown to no watcher")
        elif change is not None and seen != (change.field, change.after, _mark(told, change)):
            witness.wrong("missed_changes", f"change {number} of {execution} was shown as {seen}, and is {change}")
    for _, number, fields in watched.jumps:
        newest = {change.field: change for at, change in sorted(by_number.items()) if at <= number}
        meant = {name: _mark(told, change) for name, change in newest.items()}
        if meant != fields:
            different = [name for name in {*meant, *fields} if meant.get(name) != fields.get(name)]
            witness.wrong("missed_changes", f"the snapshot of {execution} at {number} is wrong in {different[:5]}")


def _mark(told: dict[str, Told], change: _Change) -> Any:
    """What a watcher knows the value of a change by."""
    one = told.get(change.operation)
    return change.after if one is None or one.do == "add" else one.key


def _numbered(
    witness: Witness, execution: str, numbers: set[int], told: dict[str, Told], rows: Sequence[_Row]
) -> list[_Change]:
    """The ledger's changes with their numbers, which its ids are made of: first those that were acknowledged."""
    base, changes, other = UUID(execution), list[_Change](), list[_Row]()
    free = set(numbers)
    for row in rows:
        one = told.get(row[1])
        number = int(one.answer[2][2:]) if one is not None and one.answer is not None and _written(one) else 0
        if derived_id(base, "change", f"0-{number}", row[1]) == row[0]:
            changes.append(_Change(number, *row[1:5]))
            free.discard(number)
        else:
            other.append(row)
    for row in other:
        number = next((one for one in free if derived_id(base, "change", f"0-{one}", row[1]) == row[0]), 0)
        if number:
            changes.append(_Change(number, *row[1:5]))
            free.discard(number)
        else:
            witness.wrong("doubled", f"the ledger has a change of {execution} that no stream had: {row}")
    return changes


def _operations(
    witness: Witness, told: dict[str, Told], changes: Sequence[_Change], by_number: dict[int, _Change]
) -> None:
    applied: dict[str, list[_Change]] = defaultdict(list)
    for change in changes:
        applied[change.operation].append(change)
    for operation, found in applied.items():
        one = told.get(operation)
        if one is None:
            witness.wrong("doubled", f"nobody meant {found[0]}")
        elif one.answer is not None and one.answer[0] == "conflict":
            witness.wrong("doubled", f"{one.key} was told of a conflict, and was applied: {found}")
        for _ in found[1:]:
            witness.wrong("doubled", f"{operation} was applied {len(found)} times: {found}")
    for operation, one in told.items():
        if not _written(one):
            continue
        assert one.answer is not None
        number = int(one.answer[2][2:])
        change = by_number.get(number)
        if operation not in applied:
            witness.wrong("unaudited", f"{one.key}, acknowledged as change {number}, is not in the ledger")
        if change is not None and (change.operation != operation or change.after != one.answer[1]):
            witness.wrong("lost", f"{one.key} was acknowledged as change {number}, version {one.answer[1]}: {change}")


async def _values(
    stores: Stores, witness: Witness, tenant: str, execution: str, told: dict[str, Told], changes: Sequence[_Change]
) -> None:
    """The board against the newest change of each field, and the versions of each field against each other."""
    found = await stores.ask("HGETALL", board_keys(tenant, UUID(execution)).fields)
    entries = {name.decode(): entry for name, entry in found.items()}
    fields: dict[str, list[_Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda change: change.number):
        fields[change.field].append(change)
    for field, made in fields.items():
        versions = [change.after for change in made]
        if versions != list(range(1, len(made) + 1)):
            witness.wrong("lost", f"the versions of {field} of {execution} are {versions[:50]}")
        version, _, payload = entries.get(field, b"0=").partition(b"=")
        if payload and int(version) != len(made):
            witness.wrong("lost", f"{field} of {execution} is at version {version!r}, and has {len(made)} changes")
        one = told.get(made[-1].operation)
        if field.startswith("count/") and payload != str(len(made)).encode():
            witness.wrong("lost", f"{field} of {execution} counts {payload!r} after {len(made)} updates")
        elif one is not None and one.do != "add" and payload and f'"op":"{one.key}"'.encode() not in payload:
            witness.wrong("lost", f"{field} of {execution} holds {payload[:80]!r}, not what {one.key} wrote")


async def _memories(stores: Stores, witness: Witness) -> None:
    """Every memory once, with its entry, its words and its vector; what was forgotten nowhere."""
    ((fingerprint,),) = await stores.rows("SELECT name FROM lousa.layer_space WHERE layer = 'context'")
    query = cast(LiteralString, _MEMORIES.replace("{vectors}", f"memory_vector_{fingerprint}"))
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in await stores.rows(query):
        found[row[1]].append(row)
    entries: Counter[tuple[str, str]] = Counter()
    for memory, action, count in await stores.rows(_ENTRIES):
        entries[str(memory), action] = count
    forgotten = {one.what["memory"]: one for one in witness.told.values() if one.do == "forget"}
    facts: dict[str, Told] = {}
    for one in witness.told.values():
        rows = found.pop(one.key, [])
        if one.do not in ("back", "through", "fact"):
            continue
        identifier = _operation(one)
        forget = forgotten.get(identifier)
        acknowledged = one.answer is not None and one.answer[0] == "kept"
        if acknowledged:
            assert one.answer is not None
            if one.do == "fact":
                facts[one.what["about"]] = one
            _entered(witness, f"the writing of {one.key}", entries[identifier, "memory.write"])
            if not rows and forget is None:
                witness.wrong("lost", f"{one.key} was answered {one.answer}, and is not in the record")
        for _ in rows[1:]:
            witness.wrong("doubled", f"{one.key} is in the record {len(rows)} times")
        for row in rows:
            _standing(witness, one, row, forget)
    for one in forgotten.values():
        if one.answer is not None and one.answer[0] == "kept":
            _entered(witness, f"the forgetting of {one.key}", entries[one.what["memory"], "memory.forget"])
    for key, rows in found.items():
        witness.wrong("doubled", f"nobody meant {key}: {rows}")
    for about, one in facts.items():
        ((current,),) = await stores.rows(
            "SELECT coalesce(string_agg(memory.metadata ->> 'op', ', '), '') FROM lousa.fact JOIN lousa.memory"
            " USING (id) WHERE fact.status = 'current' AND memory.fact ->> 'subject' = %s",
            about,
        )
        if current != one.key:
            witness.wrong("lost", f"{one.key} was the last to state {about}, and what holds is of {current!r}")


async def _transcript(stores: Stores, witness: Witness) -> None:
    """Every turn once."""
    said: dict[str, list[str]] = defaultdict(list)
    for key, tenant in await stores.rows("SELECT body -> 'said' ->> 'op', tenant FROM lousa.transcript"):
        said[key].append(tenant)
    for one in witness.told.values():
        if one.do != "say" or one.answer is None or one.answer[0] != "kept":
            continue
        tenants = said[one.key]
        if not tenants:
            witness.wrong("lost", f"the turn {one.key} is not in the transcript")
        for _ in tenants[1:]:
            witness.wrong("doubled", f"the turn {one.key} is in the transcript {len(tenants)} times")
        if {*tenants} - {one.tenant}:
            witness.wrong("leaked", f"the turn {one.key} is in the transcripts of {tenants}")


def _standing(witness: Witness, one: Told, row: _Row, forget: Told | None) -> None:
    identifier, _, meant, tenant, status, words, vector, fact = row
    if tenant != one.tenant or meant != one.tenant:
        witness.wrong("leaked", f"{one.key} of {one.tenant} is a memory of {tenant}")
    if str(identifier) != _operation(one):
        witness.wrong("doubled", f"{one.key} is in the record under another id, {identifier}")
    gone = forget is not None and forget.answer is not None and forget.answer[0] == "kept"
    if gone and (status != "withdrawn" or words or vector):
        witness.wrong("leaked", f"{one.key} was forgotten, and is {status!r}; words {words}, vector {vector}")
    if forget is None and one.do != "fact" and status != "live":
        witness.wrong("lost", f"{one.key} is {status!r}, and nobody asked for that")
    if status == "live" and not (words and vector and (fact or one.do != "fact")):
        witness.wrong("lost", f"{one.key} is live; words {words}, vector {vector}, fact {fact}")


def _entered(witness: Witness, what: str, count: int) -> None:
    if count == 0:
        witness.wrong("unaudited", f"{what} is not in the ledger")
    for _ in range(count - 1):
        witness.wrong("doubled", f"{what} is in the ledger {count} times")


def _is_of_board(one: Told) -> bool:
    return one.do in ("own", "cas", "add")


def _written(one: Told) -> bool:
    return one.answer is not None and one.answer[0] == "written"


def _operation(one: Told) -> str:
    """The id that the product gives this operation."""
    match one.do:
        case "own" | "cas":
            of = f"{one.agent} write {one.what['field']}"
        case "add":
            of = f"{one.agent} update {one.what['field']}"
        case "fact":
            of = f"{one.agent} remember fact {one.what['about']} state"
        case "through" | "back":
            of = f"{one.agent} remember {one.what['kind']} "
        case _:
            of = ""
    return str(Operations(UUID(one.execution)).next(one.key, of=of))
