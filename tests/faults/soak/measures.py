"""What is measured of processes and servers while the soak runs, by looking from outside. Needs Linux' `/proc`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import cast

from lousa.infra.connections import Connections
from lousa.memory_layers.journal import Journal

_PROC = Path("/proc")
_PAGE = 1_000
_STANDING = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       (SELECT count(*) FROM lousa.debt),
       (SELECT count(*) FROM lousa.execution WHERE NOT drained)
"""


def memory(pid: int) -> Mapping[str, float]:
    """A process' memory by kind, in MB: Rss, Pss, Pss_Anon, …"""
    lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    return {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines)}


def handles(pid: int) -> int:
    """How many files, sockets and pipes a process holds open."""
    return len(list((_PROC / str(pid) / "fd").iterdir()))


def children(pid: int) -> list[int]:
    """The processes that one started, as far as they live."""
    found: list[int] = []
    for task in (_PROC / str(pid) / "task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def together(pid: int) -> dict[str, float]:
    """The memory of a process and its children, in MB: what is their own, and what they share counted once."""
    own = shared = 0.0
    for each in (pid, *children(pid)):
        try:
            found = memory(each)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        own, shared = own + found["Pss_Anon"], shared + found["Pss"] - found["Pss_Anon"]
    return {"own": own, "shared": shared}


def kind_of(key: str) -> str:
    """What a key is for: its name without what is in braces, and without the ids of relays."""
    head, _, rest = key.partition("{")
    tail = rest.partition("}")[2]
    if head.startswith("lousa:relay:"):
        return "relay"
    return (head.removesuffix(":") + tail).removeprefix("lousa:")


class Servers:
    """Both servers, asked."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._journal = Journal(connections)

    async def redis(self) -> dict[str, float]:
        """Clients, and memory in MB."""
        told = cast(Mapping[str, int], await self._connections.redis.info())  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        return {"clients": told["connected_clients"], "used": told["used_memory"] / 2**20}

    async def standing(self) -> dict[str, int]:
        """Connections of Postgres; what is owed: journal entries, debts of layers, boards not let go."""
        async with self._connections.owner_transaction() as connection:
            row = await (await connection.execute(_STANDING)).fetchone()
        assert row is not None
        lengths = [await self._journal.length(tenant) for tenant in await self._journal.tenants()]
        return {"connections": row[0], "debts": row[1], "undrained": row[2], "journal": sum(lengths)}

    async def keys(self) -> Counter[str]:
        """How many keys of each kind there are."""
        return Counter([kind_of(key) async for key in self._scan("*")])

    async def endless(self) -> list[str]:
        """The keys of boards that have no end."""
        found = [key async for key in self._scan("lousa:board:*")]
        ends = [await self._connections.redis.pttl(key) for key in found]
        return [key for key, end in zip(found, ends, strict=True) if end == -1]

    async def _scan(self, pattern: str) -> AsyncGenerator[str]:
        async for key in self._connections.redis.scan_iter(pattern, count=_PAGE):  # pyright: ignore
            yield cast(bytes, key).decode()
