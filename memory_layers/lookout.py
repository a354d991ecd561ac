"""The lookout: debts and room that no answer of a write tells, looked at once a second.

How many memories of a tenant wait for their vectors is counted in the record, and kept beside the journals for a
moment, so that the processes of a home count once and not each. A count that takes long is kept longer: counting costs
at most a twentieth of the time. What waits in the journal will owe one once it is committed, so it counts as well. A
server that is away leaves what was seen last; nothing is added to its debts then.

The room for journals is what the server's memory has left below nine tenths of its `maxmemory`, or of half the machine
where none is set: no journal may grow larger than what is still free. So memory runs out for the largest backlog first,
and a tenth stays for boards, leases and the relays that work the backlog off. A server that evicts any key it likes is
never full, and `doctor` calls it wrong.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from typing import cast

from ..infra import telemetry
from ..infra.connections import Connections
from ..infra.errors import Overloaded
from ..infra.ids import new_id
from ..infra.redis import servers_of
from ..infra.retry import retrying
from ..infra.sql import load_queries
from ..infra.tasks import end
from .conversation.keys import journal_key
from .conversation.script import at_once, command
from .pressure import Marks

_QUERIES = load_queries(__package__ or "")
OWED = "lousa:vectors:owed"
"""What was counted last, for a moment."""
EVERY = 1.0
_COSTS_AT_MOST = 20
_FRESH = 10 * EVERY
_USABLE = 0.9


class Lookout:
    """What one process knows of debts and room."""

    def __init__(self, connections: Connections, marks: Marks) -> None:
        self._connections = connections
        self._marks = marks
        self._room = marks.bytes
        self._vectors: Mapping[str, int] = {}
        self._counted_at = 0.0
        self._count = ""
        """Which count that is."""
        self._since: Counter[str] = Counter()
        self._latest: Counter[str] = Counter()
        """Writes of this process that the count may lack, before the last look and since: they count at once."""

    async def start(self, stack: AsyncExitStack) -> None:
        """Look until the stack closes."""
        for what, look in (("counting vectors that are owed", self.count), ("asking for memory", self.measure)):
            task = asyncio.create_task(self._keep(what, look), name=f"lousa lookout: {what}")
            stack.push_async_callback(end, task)

    def room(self) -> int:
        """Bytes that a journal may have at most, by the memory that is left."""
        return self._room

    def share(self, tenant: str) -> float:
        """How near a tenant's memories without vectors are to their mark, for one that will be such a memory.

        Raises:
            Overloaded: they are at it.
        """
        # Without a look nothing is known to be owed: the record is away, and takes no memory that could lack a vector.
        fresh = time.monotonic() - self._counted_at < _FRESH
        since = self._since[tenant] + self._latest[tenant] if fresh else 0
        owed = self._vectors.get(tenant, 0) + since
        if owed >= self._marks.vectors:
            raise Overloaded(
                f"{owed:,} memories of tenant {tenant!r} wait for their vectors, and {self._marks.vectors:,} may: this"
                " write was refused, nothing of it was done, and sending it again is safe. The embedder is slow or"
                " fails; 'lousa doctor' says why, LOUSA_EMBEDDER chooses another, LOUSA_DEBT_VECTORS is the mark"
            )
        self._latest[tenant] += 1
        return owed / self._marks.vectors

    async def count(self) -> None:
        """Count the vectors that are owed, unless somebody just did."""
        latest, self._latest = self._latest, Counter()
        try:
            kept = cast(bytes | None, await command(self._connections.redis, "GET", OWED))
            if kept is None:
                counted, owed = await self._owed({*self._vectors, *self._since, *latest})
                latest.clear()
            else:
                counted, owed = cast(tuple[str, Mapping[str, int]], json.loads(kept))
        except BaseException:
            self._latest += latest
            raise
        # Whoever made a new count did so after the last look, and perhaps before what was written since.
        self._since = self._since + latest if counted == self._count else latest
        self._count, self._vectors = counted, owed
        self._counted_at = time.monotonic()
        telemetry.level("lousa.debt.vectors", sum(self._vectors.values()), {"lousa.layer": "context"})

    async def _owed(self, writing: Collection[str]) -> tuple[str, Mapping[str, int]]:
        """Counted now, for every process: first what those who write have in their journals, then what is committed.

        With the name of this count, by which others know it from an older one.
        """
        begun = time.monotonic()
        tenants = sorted(writing)
        asked = [("XLEN", journal_key(tenant)) for tenant in tenants]
        waiting = cast(list[int], await at_once(self._connections.redis, *asked)) if asked else []
        async with self._connections.system_transaction("") as connection:
            cursor = await connection.execute(_QUERIES["owed_by_tenant"], {"layer": "context"})
            owed = Counter(dict(await cursor.fetchall()))
        owed.update(dict(zip(tenants, waiting, strict=True)))
        lasts = max(EVERY, (time.monotonic() - begun) * _COSTS_AT_MOST)
        count = new_id().hex
        await command(self._connections.redis, "SET", OWED, json.dumps((count, +owed)), "PX", int(lasts * 1000))
        return count, +owed

    async def measure(self) -> None:
        """See how much memory the server has left; in a Cluster, that which has least."""
        servers = await servers_of(self._connections.redis)
        told = [cast(Mapping[str, object], await command(server, "INFO", "memory")) for server in servers]
        self._room = min(room(each, self._marks.bytes) for each in told)

    async def _keep(self, what: str, look: Callable[[], Awaitable[None]]) -> None:
        while True:
            await retrying(look, transient=lambda error: isinstance(error, Exception), what=what)
            await asyncio.sleep(EVERY)


def room(told: Mapping[str, object], most: int) -> int:
    """Bytes that a journal may have, `most` of them, by what a server says of its memory."""
    policy = str(told.get("maxmemory_policy", "noeviction"))
    limit = int(str(told.get("maxmemory") or 0)) or int(str(told.get("total_system_memory") or 0)) // 2
    if not limit or policy.startswith("allkeys"):
        return most
    return min(most, int(limit * _USABLE) - int(str(told.get("used_memory", 0))))
