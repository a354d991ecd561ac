"""A Redis Cluster as one client: every command finds the node that holds its key.

Each node has an ordinary client with a pool of its own. Where a slot lies is learnt from any node and learnt anew when
a node says that it moved, or does not answer. Commands of one trip go to their nodes at the same time. While a Cluster
fails over or moves a slot, a command is tried again for as long as it is patient, on whichever node serves it then; all
that Lousa sends may be sent twice (operation ids), so a reply that was lost on the way changes nothing.

The driver's own client for Clusters is not used: it sends ASKING over another connection than the command that it is
for, knows no node that has no slot yet, refuses calls beyond its pool instead of letting them wait, and closes every
connection, with what is under way on it, when one node is down.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from time import monotonic
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from .redis_address import Node
from .redis_pool import ClientClosed
from .tasks import together

_PASSING = (
    RedisConnectionError,
    RedisTimeoutError,
    OSError,
    ClusterDownError,
    MasterDownError,
    ReadOnlyError,
    TryAgainError,
    ClientClosed,  # of a node that has left
)
_WITHOUT_KEY = frozenset(
    ("ACL", "CLIENT", "CLUSTER", "CONFIG", "DBSIZE", "FLUSHALL", "INFO", "PING", "PUBLISH", "ROLE", "SCRIPT", "TIME")
)
_BEHIND_A_VERB = frozenset(("MEMORY", "OBJECT", "XGROUP", "XINFO"))
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_NEAR = 3.0
"""Seconds within which a node says where the slots lie, if it says anything."""
Words = tuple[Any, ...]


def slot_of(words: Sequence[Any]) -> int | None:
    """The slot of a command's first key; None when it has none."""
    first = words[0].decode() if isinstance(words[0], bytes) else str(words[0])
    name, *verb = first.upper().split()
    rest = (*verb, *words[1:])
    if name in _WITHOUT_KEY:
        return None
    if name in ("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"):
        return _slot(rest[2]) if int(rest[1]) else None
    if name in ("XREAD", "XREADGROUP"):
        behind = 3 if name == "XREADGROUP" else 0  # a group or a consumer may be called so, too
        place = next(at for at in range(behind, len(rest)) if rest[at] in ("STREAMS", b"STREAMS"))
        return _slot(rest[place + 1])
    return _slot(rest[1 if name in _BEHIND_A_VERB else 0])


def _slot(key: str | bytes) -> int:
    return key_slot(key.encode() if isinstance(key, str) else key)


class Cluster(Redis):
    """The clients of a Cluster's nodes, as one."""

    def __init__(self, seeds: Iterable[Node], dial: Callable[[Node], Redis], patience: float) -> None:
        self._seeds = tuple(seeds)
        self._dial = dial
        self._patience = patience
        self._nodes: dict[Node, Redis] = {}
        self._slots: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._stale = True
        self._closed = False
        self._in_vain: int = 0
        self._looking = asyncio.Lock()
        super().__init__(connection_pool=self._client(self._seeds[0]).connection_pool)  # pyright: ignore[reportUnknownMemberType]  # vague stubs

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        """The reply, from the node that holds the key; without a key from any that holds some."""
        slot, begun, pause = slot_of(words), monotonic(), _FIRST_PAUSE
        while True:
            try:
                client = await self._at(slot)
                try:
                    return cast(Any, await client.execute_command(*words, **options))  # pyright: ignore[reportUnknownMemberType]  # likewise
                except AskError as error:
                    return await self._asking(error, words)
            except MovedError as error:
                self._moved(error)
                if monotonic() - begun > self._patience:
                    raise
            except asyncio.CancelledError:
                self._stale = True  # whoever lost patience may have waited for a node that hangs
                raise
            except _PASSING:
                self._stale = True
                if monotonic() - begun > self._patience:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def pipeline(self, transaction: bool = False, shard_hint: str | None = None) -> Any:
        """Commands that go together, each to its node."""
        if transaction:
            raise ValueError("a trip through a Cluster is no transaction: pass transaction=False")
        return Trip(self)

    async def travel(self, commands: Sequence[Words]) -> list[Any]:
        """The reply of each command, or its error: one trip to each node that they need, all at the same time."""
        replies: list[Any] = [None] * len(commands)
        todo, begun, pause = list(range(len(commands))), monotonic(), _FIRST_PAUSE
        while todo:
            later: list[int] = []
            try:
                answered = await self._legs([(index, commands[index]) for index in todo])
            except asyncio.CancelledError:
                self._stale = True  # likewise
                raise
            for index, reply in answered:
                replies[index] = reply
                if isinstance(reply, AskError):
                    try:
                        replies[index] = await self._asking(reply, commands[index])
                        continue
                    except (RedisError, OSError) as error:
                        replies[index] = error
                if isinstance(replies[index], MovedError):
                    self._moved(replies[index])
                    later.append(index)
                elif isinstance(replies[index], (*_PASSING, AskError)):
                    self._stale = True
                    later.append(index)
            if not later or monotonic() - begun > self._patience:
                break
            todo = later
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return replies

    async def _legs(self, commands: Sequence[tuple[int, Words]]) -> list[tuple[int, Any]]:
        legs: dict[Redis, list[tuple[int, Words]]] = defaultdict(list)
        homeless: list[tuple[int, Any]] = []
        for index, words in commands:
            try:
                legs[await self._at(slot_of(words))].append((index, words))
            except ClusterDownError as error:
                homeless.append((index, error))  # nobody serves its slot: the others have theirs
            except _PASSING as error:
                return [(index, error) for index, _ in commands]
        if len(legs) == 1:
            return homeless + await _leg(*next(iter(legs.items())))
        parts = await together(*(_leg(client, some) for client, some in legs.items()))
        return homeless + [pair for part in parts for pair in part]

    async def primaries(self) -> list[Redis]:
        """The clients of the nodes that hold slots.

        Raises:
            RedisConnectionError: no node answered, or none serves a slot.
        """
        if self._stale:
            await self._look()
        serving = sorted({node for node in self._slots if node is not None})
        if not serving:
            self._stale = True
            raise RedisConnectionError("no node of the Cluster serves a slot: was it made, have its nodes met")
        return [self._client(node) for node in serving]

    async def holder(self, key: str) -> Redis:
        """The client of the node that holds `key`."""
        return await self._at(_slot(key))

    def uncovered(self) -> int:
        """How many slots nobody serves, as last seen."""
        return self._slots.count(None)

    async def scan_iter(self, *told: Any, **options: Any) -> AsyncGenerator[Any, None]:
        """The keys of all nodes."""
        for client in await self.primaries():
            async for key in client.scan_iter(*told, **options):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                yield key

    def set_retry(self, retry: Retry) -> None:
        """Another patience: none at all without retries."""
        if not retry.get_retries():
            self._patience = 0.0
        for client in self._nodes.values():
            client.set_retry(retry)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close the clients of all nodes."""
        self._closed = True
        for client in list(self._nodes.values()):
            await client.aclose(close_connection_pool)

    def _client(self, node: Node) -> Redis:
        if node not in self._nodes:
            if self._closed:
                raise ClientClosed("the client of the Cluster was closed")
            self._nodes[node] = self._dial(node)
        return self._nodes[node]

    async def _at(self, slot: int | None) -> Redis:
        if self._stale:
            await self._look()
        node = self._slots[slot if slot is not None else random.randrange(REDIS_CLUSTER_HASH_SLOTS)]
        if node is None:
            if slot is None:
                return random.choice(await self.primaries())
            raise ClusterDownError(f"slot {slot} is served by no node")
        return self._client(node)

    def _moved(self, error: MovedError) -> None:
        """Believe it for this slot at once, and see what else has moved."""
        if node := _target(error):
            self._slots[error.slot_id] = node
        self._stale = True

    async def _asking(self, error: AskError, words: Words) -> Any:
        """One command of a slot that is on its way to another node: asked for there, on the same connection."""
        node = _target(error)
        if node is None:
            raise ClusterDownError(f"slot {error.slot_id} goes to a node without a name")
        _, reply = await _trip(self._client(node), [("ASKING",), words])
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _look(self) -> None:
        """Learn where the slots lie, from the first node that says so; who waits for a look shares what it found."""
        before = self._in_vain
        async with self._looking:
            if not self._stale:
                return
            if self._in_vain != before:
                raise RedisConnectionError("no node of the Cluster said where its slots lie")
            known = sorted({node for node in self._slots if node is not None})
            seeds = [*self._seeds]
            # Whoever gives up sooner than a node that hangs meets another one the next time.
            random.shuffle(known)
            random.shuffle(seeds)
            last: Exception = RedisConnectionError("the Cluster has no nodes")
            for node in dict.fromkeys((*known, *seeds, *self._nodes)):
                try:
                    async with asyncio.timeout(_NEAR):
                        [told] = await _trip(self._client(node), [("CLUSTER", "SLOTS")], raising=True)
                except _PASSING as error:
                    last = error
                    continue
                await self._learn(node, told)
                self._stale = False
                return
            self._in_vain += 1
            raise last

    async def _learn(self, asked: Node, told: list[Any]) -> None:
        slots: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        members: set[Node] = {asked}
        for first, last, *serving in told:
            # A node that does not know its own name is the one that was asked.
            nodes = [(host.decode() if host not in (None, b"", b"?") else asked[0], port) for host, port, *_ in serving]
            slots[first : last + 1] = [nodes[0]] * (last + 1 - first)
            members.update(nodes)
        self._slots = slots
        for node in [node for node in self._nodes if node not in members and node not in self._seeds]:
            await self._nodes.pop(node).aclose()


class Trip:
    """Commands of one trip, as the driver's pipelines take them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._commands: list[Words] = []

    def execute_command(self, *words: Any) -> Trip:
        """One more."""
        self._commands.append(words)
        return self

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Their replies, in order."""
        replies = await self._cluster.travel(self._commands)
        if raise_on_error:
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        return replies


async def _leg(client: Redis, commands: Sequence[tuple[int, Words]]) -> list[tuple[int, Any]]:
    try:
        replies = await _trip(client, [words for _, words in commands])
    except (RedisError, OSError) as error:
        return [(index, error) for index, _ in commands]
    return [(index, reply) for (index, _), reply in zip(commands, replies, strict=True)]


async def _trip(client: Redis, commands: Sequence[Words], *, raising: bool = False) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    return await pipeline.execute(raise_on_error=raising)


def _target(error: AskError | MovedError) -> Node | None:
    """Where a node sends its caller; None when it does not know its own name for that."""
    host, port = cast(tuple[str, int], error.node_addr)  # pyright: ignore[reportUnknownMemberType]  # likewise
    return (host, port) if host else None
