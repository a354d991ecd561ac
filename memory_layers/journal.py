"""The journal: writes that are acknowledged and not yet in their layers. One Redis stream a tenant.

Writing is one trip: the script appends the entry and says how much waits, or refuses when the journal is at its mark
(`pressure` says what follows from either). Relays of all processes read it as one consumer group and remove an entry
only after its record is committed, so an entry is in the journal, in the record, or both, and never in neither. A relay
lives as long as its lease key, which it renews on the server's clock; what a dead one had taken is taken over by
others. Delivering twice is harmless: an entry carries its operation's id.

What the entries weigh is counted beside them, in the same scripts that append and remove, and counted anew from nothing
whenever the journal is empty.

An entry that cannot be committed is delivered five times and then moved, in one transaction, to the tenant's dead
letters.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from ..infra import telemetry
from ..infra.connections import Connections
from ..infra.errors import Overloaded
from ..infra.identity import Principal
from ..infra.redis import server_of
from .arrivals import announcing, arrivals
from .conversation.batch import Batch
from .conversation.claims import Fence
from .conversation.keys import journal_key
from .conversation.script import Script, Word, at_once, command
from .execution.memories import from_json, to_json
from .pressure import Brake
from .records import Json, Memory
from .validators import Ruling

if TYPE_CHECKING:
    from .commit import Write

TENANTS = "lousa:journal:tenants"
RELAYS = "lousa:relays"
"""Relays that began and did not say that they ended."""
LEASE = timedelta(seconds=3)
MOST_DELIVERIES = 5
_GROUP = "relay"
_PAGE = 500
_AGAIN = 1_000
"""Milliseconds until an entry that could not be committed is delivered again."""
_MOST_AT_ONCE = 1_000
_JOURNAL = Script("journal.lua")
_LARGE = 64 * 1024
"""An entry of more characters goes to the server by itself."""
P = TypeVar("P")
_Raw = tuple[bytes, Mapping[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled:
    """One acknowledged write."""

    operation: UUID
    memory: Memory
    fence: Fence | None = None
    trace_id: str | None = None
    span_id: str | None = None
    echo: UUID | None = None
    ruling: Ruling | None = None

    @classmethod
    def of(cls, write: Write, fence: Fence | None = None) -> Journaled:
        """A write as it waits."""
        return cls(
            operation=write.operation,
            memory=write.memory,
            fence=fence,
            trace_id=write.trace_id,
            span_id=write.span_id,
            echo=write.echo,
            ruling=write.ruling,
        )

    def fields(self) -> tuple[Word, ...]:
        """As fields of a stream entry; what a search of the journal needs stands outside the body."""
        memory = self.memory
        body: dict[str, Json] = {
            "operation": str(self.operation),
            "memory": to_json(memory),
            "fence": [self.fence.task, self.fence.token] if self.fence else None,
            "trace": [self.trace_id, self.span_id] if self.trace_id else None,
            **({"echo": str(self.echo)} if self.echo else {}),
            **({"ruling": self.ruling.to_json()} if self.ruling else {}),
        }
        head = ("session", memory.session or "", "execution", str(memory.execution or ""), "id", str(memory.id))
        return (*head, "owner", memory.owner, "body", json.dumps(body, ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def parse(cls, fields: Mapping[bytes, bytes]) -> Journaled:
        """The write that `fields` made; whatever is wrong with it raises."""
        body: dict[str, Any] = json.loads(fields[b"body"])
        fence, trace = body["fence"], body["trace"] or (None, None)
        return cls(
            operation=UUID(body["operation"]),
            memory=from_json(body["memory"]),
            fence=Fence(task=fence[0], token=fence[1]) if fence else None,
            trace_id=trace[0],
            span_id=trace[1],
            echo=UUID(body["echo"]) if "echo" in body else None,
            ruling=Ruling.from_json(body.get("ruling")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An entry as a relay got it: its place, and how often it was delivered before."""

    place: bytes
    fields: Mapping[bytes, bytes]
    deliveries: int = 0

    @property
    def milliseconds(self) -> int:
        """When it was written, by the server's clock."""
        return int(self.place.split(b"-")[0])


class Journal:
    """The journals of all tenants, as one process writes and reads them."""

    def __init__(
        self, connections: Connections, brake: Brake | None = None, room: Callable[[], int] | None = None
    ) -> None:
        """`room` says how many bytes a journal may have at most, beside its mark."""
        self._connections = connections
        self._batch = Batch(connections)
        self._brake = brake or Brake()
        self._room = room or (lambda: self._brake.marks.bytes)
        self.known: set[str] = set()
        """Tenants whose streams have their group."""
        self.written: set[str] = set()
        """Tenants that this process wrote for."""
        self.adopted = asyncio.Event()
        """Set when this process wrote for a tenant that its relay did not know of yet."""

    # For writers

    async def append(self, tenant: str, write: Journaled, share: float = 0.0) -> None:
        """Acknowledge a write, as late as the tenant's debts ask for; another of them has come to `share` of its mark.

        Raises:
            Overloaded: the journal is at its mark, and was for as long as a write waits.
            ServerUnavailable: it was not acknowledged; sending it again is safe.
        """
        if tenant not in self.written:
            await self.adopt([tenant])
            self.written.add(tenant)
            self.adopted.set()
        fields, marks = write.fields(), self._brake.marks
        verb = "announce" if announcing(self._connections) else "append"

        async def attempt() -> float:
            most = min(marks.bytes, self._room())
            words = journal_keys(tenant), verb, marks.entries, most, *fields
            if len(str(fields[-1])) > _LARGE:
                answer = await _JOURNAL(self._connections.redis, *words)
            else:
                answer = await self._batch.run(_JOURNAL, *words)
            accepted, entries, weight = cast(list[int], answer)
            if not accepted:
                raise _full(tenant, entries, weight, marks.entries, most)
            return max(entries / marks.entries, weight / most)

        await self._brake.held(max(share, await self._brake.admitted(f"back journal {tenant}", attempt)), "back")

    async def adopt(self, tenants: Iterable[str]) -> None:
        """Make relays of every process know of these tenants, before their first entry."""
        for some in _portions(sorted(tenants)):
            create = [("XGROUP", "CREATE", journal_key(tenant), _GROUP, "0", "MKSTREAM") for tenant in some]
            for reply in (await at_once(self._connections.redis, ("SADD", TENANTS, *some), *create, raising=False))[1:]:
                if isinstance(reply, Exception) and not str(reply).startswith("BUSYGROUP"):
                    raise reply
            self.known.update(some)

    # For readers

    async def length(self, tenant: str) -> int:
        """How many entries wait for their commit."""
        return cast(int, await command(self._connections.redis, "XLEN", journal_key(tenant)))

    async def owing(self, tenants: Sequence[str]) -> dict[str, tuple[int, int]]:
        """How many entries of these tenants wait, and what they weigh in bytes; without those for whom none does."""
        found: dict[str, tuple[int, int]] = {}
        for some in _portions(tenants):
            asked = [words for tenant in some for words in _owing(tenant)]
            replies = cast(list[Any], await at_once(self._connections.redis, *asked))
            for tenant, entries, weight in zip(some, replies[::2], replies[1::2], strict=True):
                if entries:
                    found[tenant] = int(entries), int(weight or 0)
        telemetry.level("lousa.journal.entries", sum(entries for entries, _ in found.values()))
        telemetry.level("lousa.journal.bytes", sum(weight for _, weight in found.values()))
        return found

    async def oldest(self, tenant: str) -> float | None:
        """How many seconds the oldest entry has waited, by the server's clock; None when none waits."""
        first = await self._range(tenant, b"-", b"+", 1)
        if not first:
            return None
        server = await server_of(self._connections.redis, journal_key(tenant))
        seconds, micros = cast(tuple[int, int], await command(server, "TIME"))
        return max(0.0, int(seconds) + int(micros) / 1e6 - int(first[0][0].split(b"-")[0]) / 1e3)

    async def last_of(self, principal: Principal) -> bytes | None:
        """The place of the newest waiting entry of the principal's session or execution."""
        session, execution = principal.session.encode(), str(principal.execution or "").encode()
        newest, after = None, b"-"
        while page := await self._range(principal.tenant, after, b"+", _PAGE):
            for place, fields in page:
                if fields[b"session"] == session or (execution and fields[b"execution"] == execution):
                    newest = place
            after = b"(" + page[-1][0]
        return newest

    async def waits(self, tenant: str, place: bytes) -> bool:
        """Whether the entry at `place` still waits."""
        return bool(await self._range(tenant, place, place, 1))

    async def owner_of(self, tenant: str, memory: UUID) -> str | None:
        """Who wrote the waiting memory of that id; None when none waits."""
        wanted, after = str(memory).encode(), b"-"
        while page := await self._range(tenant, after, b"+", _PAGE):
            for _, fields in page:
                if fields[b"id"] == wanted:
                    return fields[b"owner"].decode()
            after = b"(" + page[-1][0]
        return None

    # For relays

    async def tenants(self) -> set[str]:
        """Everyone who ever wrote one."""
        return {name.decode() for name in cast(set[bytes], await command(self._connections.redis, "SMEMBERS", TENANTS))}

    async def take(
        self, tenants: Sequence[str], relay: str, count: int, block: timedelta | None = None
    ) -> dict[str, list[Delivery]]:
        """New entries for this relay, waiting up to `block` for the first one."""
        names = {journal_key(tenant).encode(): tenant for tenant in tenants}
        words = ("XREADGROUP", "GROUP", _GROUP, relay, "COUNT", count)

        async def adopt(keys: Sequence[bytes]) -> None:
            await self.adopt([names[key] for key in keys])

        found = await arrivals(self._connections, words, list(names), block, adopt)
        return {names[key]: [Delivery(place=p, fields=f) for p, f in entries] for key, entries in found.items()}

    async def taken(self, tenant: str, relay: str) -> list[Delivery]:
        """What this relay had taken and not settled."""
        key = journal_key(tenant)
        words = ("XREADGROUP", "GROUP", _GROUP, relay, "STREAMS", key, "0")
        found = cast(dict[bytes, list[list[_Raw]]] | None, await command(self._connections.redis, *words)) or {}
        return [Delivery(place=p, fields=f) for parts in found.values() for p, f in parts[0] if f]

    async def settle(self, tenant: str, places: Sequence[bytes]) -> None:
        """Their records are committed: take them out."""
        if places:
            telemetry.spread("lousa.relay.batch", len(places), {"lousa.layer": "execution"})
        for some in _portions(places):
            await _JOURNAL(self._connections.redis, journal_keys(tenant), "settle", _GROUP, *some)

    async def bury(self, tenant: str, delivery: Delivery) -> None:
        """Move an entry to the dead letters, in one step."""
        flat = [part for pair in delivery.fields.items() for part in pair]
        await _JOURNAL(self._connections.redis, journal_keys(tenant), "bury", _GROUP, delivery.place, *flat)

    async def buried(self, tenant: str) -> int:
        """How many dead letters a tenant has."""
        return cast(int, await command(self._connections.redis, "XLEN", dead_letters(tenant)))

    async def all_buried(self, tenants: Sequence[str]) -> dict[str, int]:
        """How many dead letters these tenants have; without those that have none."""
        found: dict[str, int] = {}
        for some in _portions(tenants):
            asked = [("XLEN", dead_letters(tenant)) for tenant in some]
            replies = cast(list[int], await at_once(self._connections.redis, *asked))
            found |= {tenant: count for tenant, count in zip(some, replies, strict=True) if count}
        return found

    async def renew(self, relay: str) -> None:
        """This relay lives."""
        lease = ("SET", _lease(relay), "1", "PX", int(LEASE.total_seconds() * 1000))
        await at_once(self._connections.redis, lease, ("SADD", RELAYS, relay))

    async def resign(self, relay: str) -> None:
        """This relay has ended: what it had taken is free at once. Those that died without a word are forgotten too."""
        living = await self.living()
        dead = {relay, *(await self._relays() - living)}
        await at_once(self._connections.redis, ("DEL", _lease(relay)), ("SREM", RELAYS, *dead))

    async def living(self) -> set[str]:
        """The relays that live."""
        relays = sorted(await self._relays())
        asked = [("EXISTS", _lease(relay)) for relay in relays]
        lives = await at_once(self._connections.redis, *asked) if asked else []
        return {relay for relay, lives in zip(relays, lives, strict=True) if lives}

    async def take_over(self, tenant: str, relay: str, count: int) -> list[Delivery]:
        """What dead relays had taken, and what this one failed to commit a second ago or more; delivered once more."""
        key = journal_key(tenant)
        consumers = await command(self._connections.redis, "XINFO", "CONSUMERS", key, _GROUP)
        taken: list[Delivery] = []
        for consumer in cast(list[Mapping[bytes, Any]], consumers):
            name: bytes = consumer[b"name"]
            own = name == relay.encode()
            if not own and await command(self._connections.redis, "EXISTS", _lease(name.decode())):
                continue
            if consumer[b"pending"]:
                taken += await self._claim(key, name, relay, count, idle=_AGAIN if own else 0)
            elif not own:
                await command(self._connections.redis, "XGROUP", "DELCONSUMER", key, _GROUP, name)
        return taken

    async def _claim(self, key: str, consumer: bytes, relay: str, count: int, idle: int) -> list[Delivery]:
        # XPENDING and XCLAIM are spelt in bytes: the driver's parsers of these two know their short forms only.
        redis = self._connections.redis
        pending = await command(redis, b"XPENDING", key, _GROUP, "IDLE", idle, "-", "+", count, consumer)
        before = {entry[0]: int(entry[3]) for entry in cast(list[tuple[bytes, bytes, int, int]], pending)}
        if not before:
            return []
        claimed = cast(list[Any], await command(redis, b"XCLAIM", key, _GROUP, relay, idle, *before))
        return [
            Delivery(place=place, fields=dict(zip(flat[::2], flat[1::2], strict=True)), deliveries=before[place])
            for place, flat in claimed
        ]

    async def _relays(self) -> set[str]:
        return {name.decode() for name in cast(set[bytes], await command(self._connections.redis, "SMEMBERS", RELAYS))}

    async def _range(self, tenant: str, start: bytes, end: bytes, count: int) -> list[_Raw]:
        reply = await command(self._connections.redis, "XRANGE", journal_key(tenant), start, end, "COUNT", count)
        return cast(list[_Raw], reply)


def _portions(whole: Sequence[P]) -> Iterator[Sequence[P]]:
    """In parts that neither a pipeline nor Lua's stack minds."""
    for begin in range(0, len(whole), _MOST_AT_ONCE):
        yield whole[begin : begin + _MOST_AT_ONCE]


def _owing(tenant: str) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    journal, weight, _ = journal_keys(tenant)
    return ("XLEN", journal), ("GET", weight)


def _full(tenant: str, entries: int, weight: int, most: int, most_bytes: int) -> Overloaded:
    owed = f"{entries:,} acknowledged writes ({weight / 2**20:.1f} MB) of tenant {tenant!r} wait for the record"
    mark = f"{most:,}" if entries >= most else f"{max(0, most_bytes) / 2**20:.1f} MB"
    return Overloaded(
        f"{owed}, and {mark} may: this write was refused, nothing of it was done, and sending it again is safe. Is"
        " Postgres up, does a relay run, has Redis memory? 'lousa doctor' says what waits and why; LOUSA_DEBT_ENTRIES"
        " and LOUSA_DEBT_MEGABYTES are the marks"
    )


def journal_keys(tenant: str) -> tuple[str, str, str]:
    """The journal of a tenant, what its entries weigh, and its dead letters; in one slot, as journal.lua takes them."""
    journal = journal_key(tenant)
    return journal, journal + ":bytes", journal + ":dead"


def dead_letters(tenant: str) -> str:
    """The stream of what could not be committed."""
    return journal_keys(tenant)[2]


def _lease(relay: str) -> str:
    return f"lousa:relay:{relay}"
