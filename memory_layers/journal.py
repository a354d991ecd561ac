"""The journal: writes that are acknowledged and not yet in their layers. One Redis stream a tenant.

Writing is one ``XADD``. Relays of all processes read it as one consumer group and remove an entry only after its record
is committed, so an entry is in the journal, in the record, or both, and never in neither. A relay lives as long as its
lease key, which it renews on the server's clock; what a dead one had taken is taken over by others. Delivering twice is
harmless: an entry carries its operation's id.

An entry that cannot be committed is delivered five times and then moved, in one transaction, to the tenant's dead
letters.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ..infra.connections import Connections
from ..infra.errors import ServerUnavailable
from ..infra.identity import Principal
from .conversation.claims import Fence
from .conversation.keys import journal_key
from .conversation.script import Word, command
from .execution.memories import from_json, to_json
from .records import Json, Memory

TENANTS = "lousa:journal:tenants"
LEASE = timedelta(seconds=3)
MOST_DELIVERIES = 5
_GROUP = "relay"
_PAGE = 500
_AGAIN = 1_000
"""Milliseconds until an entry that could not be committed is delivered again."""
_Raw = tuple[bytes, Mapping[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled:
    """One acknowledged write."""

    operation: UUID
    memory: Memory
    fence: Fence | None = None
    trace_id: str | None = None
    span_id: str | None = None

    def fields(self) -> tuple[Word, ...]:
        """As fields of a stream entry; what a search of the journal needs stands outside the body."""
        memory = self.memory
        body: dict[str, Json] = {
            "operation": str(self.operation),
            "memory": to_json(memory),
            "fence": [self.fence.task, self.fence.token] if self.fence else None,
            "trace": [self.trace_id, self.span_id] if self.trace_id else None,
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

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.known: set[str] = set()
        """Tenants whose streams have their group."""
        self.written: set[str] = set()
        """Tenants that this process wrote for."""
        self.adopted = asyncio.Event()
        """Set when this process wrote for a tenant that its relay did not know of yet."""

    # For writers

    async def append(self, tenant: str, write: Journaled) -> None:
        """Acknowledge a write.

        Raises:
            ServerUnavailable: it was not acknowledged; sending it again is safe.
        """
        if tenant not in self.written:
            await self.adopt([tenant])
            self.written.add(tenant)
            self.adopted.set()
        await command(self._connections.redis, "XADD", journal_key(tenant), "*", *write.fields())

    async def adopt(self, tenants: Iterable[str]) -> None:
        """Make relays of every process know of these tenants, before their first entry."""
        for tenant in tenants:
            await command(self._connections.redis, "SADD", TENANTS, tenant)
            try:
                await command(self._connections.redis, "XGROUP", "CREATE", journal_key(tenant), _GROUP, "0", "MKSTREAM")
            except ResponseError as error:
                if not str(error).startswith("BUSYGROUP"):
                    raise
            self.known.add(tenant)

    # For readers

    async def length(self, tenant: str) -> int:
        """How many entries wait for their commit."""
        return cast(int, await command(self._connections.redis, "XLEN", journal_key(tenant)))

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
        streams = ("STREAMS", *names, *([">"] * len(names)))
        try:
            if block is None:
                reply = await command(self._connections.redis, *words, *streams)
            else:
                milliseconds = int(block.total_seconds() * 1000)
                async with asyncio.timeout(block.total_seconds() + 5):
                    reply = await command(self._connections.blocking_redis, *words, "BLOCK", milliseconds, *streams)
        except TimeoutError as error:
            raise ServerUnavailable("a blocked read was not answered in time: the connection is dead") from error
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self.adopt(tenants)  # its server lost what it had, or somebody deleted the stream
            return {}
        found = cast(dict[bytes, list[list[_Raw]]] | None, reply) or {}
        return {names[key]: [Delivery(place=p, fields=f) for p, f in parts[0]] for key, parts in found.items()}

    async def taken(self, tenant: str, relay: str) -> list[Delivery]:
        """What this relay had taken and not settled."""
        key = journal_key(tenant)
        words = ("XREADGROUP", "GROUP", _GROUP, relay, "STREAMS", key, "0")
        found = cast(dict[bytes, list[list[_Raw]]] | None, await command(self._connections.redis, *words)) or {}
        return [Delivery(place=p, fields=f) for parts in found.values() for p, f in parts[0] if f]

    async def settle(self, tenant: str, places: Sequence[bytes]) -> None:
        """Their records are committed: take them out."""
        if places:
            key = journal_key(tenant)
            await _together(self._connections.redis, ("XACK", key, _GROUP, *places), ("XDEL", key, *places))

    async def bury(self, tenant: str, delivery: Delivery) -> None:
        """Move an entry to the dead letters, in one transaction."""
        key = journal_key(tenant)
        flat = [part for pair in delivery.fields.items() for part in pair]
        await _together(
            self._connections.redis,
            ("XADD", dead_letters(tenant), "*", "place", delivery.place, *flat),
            ("XACK", key, _GROUP, delivery.place),
            ("XDEL", key, delivery.place),
        )

    async def buried(self, tenant: str) -> int:
        """How many dead letters a tenant has."""
        return cast(int, await command(self._connections.redis, "XLEN", dead_letters(tenant)))

    async def renew(self, relay: str) -> None:
        """This relay lives."""
        await command(self._connections.redis, "SET", _lease(relay), "1", "PX", int(LEASE.total_seconds() * 1000))

    async def resign(self, relay: str) -> None:
        """This relay has ended: what it had taken is free at once."""
        await command(self._connections.redis, "DEL", _lease(relay))

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

    async def _range(self, tenant: str, start: bytes, end: bytes, count: int) -> list[_Raw]:
        reply = await command(self._connections.redis, "XRANGE", journal_key(tenant), start, end, "COUNT", count)
        return cast(list[_Raw], reply)


async def _together(redis: Redis, *commands: tuple[Word, ...]) -> None:
    """Run commands of one slot as one transaction."""
    try:
        async with redis.pipeline(transaction=True) as pipe:
            for words in commands:
                pipe.execute_command(*words)  # pyright: ignore[reportUnknownMemberType]  # vague stubs
            await pipe.execute()
    except (RedisConnectionError, RedisTimeoutError, OSError) as error:
        raise ServerUnavailable(f"the journal's server failed ({error}): is Redis running?") from error


def dead_letters(tenant: str) -> str:
    """The stream of what could not be committed; in the journal's own slot."""
    return journal_key(tenant) + ":dead"


def _lease(relay: str) -> str:
    return f"lousa:relay:{relay}"
