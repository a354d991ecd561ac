"""Whether a space that was filled agrees with the record: by counts, by digests of ids, and by vectors made once more.

A space in the record's own database is compared with it as of one moment. A store outside shows what it has when it is
asked, so every memory that our own table holds no copy of is asked for. What the space is still owed is left out on
both sides: it is owed afterwards too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, LiteralString, cast
from uuid import UUID

import numpy

from ...infra.connections import Connections
from ..audience import marks_of
from ..context.outside import OutsideContextLayer
from ..context.pgvector import ContextLayer
from ..execution import memories
from .work import QUERIES

if TYPE_CHECKING:
    from ..embedding import Vectors
    from ..records import Memory

PAGE = 1_000
_SAMPLED, _TENANTS_SAMPLED = 64, 16
_ALIKE = 0.999
"""The cosine of two vectors of one text, which halves and the order of sums may move a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What was found: of all tenants, memories that belong in layer 2 (`live`) and vectors (`held`, those that a store
    outside shows included). `lacking` and `surplus` count those without the other; `owed` are on the list of what the
    space shall get. `digest` is of the ids; `alike` of the `sampled` vectors are what the model makes of the text now.
    `counted` is what a store outside says itself, which may be late.
    """

    tenants: int = 0
    live: int = 0
    held: int = 0
    owed: int = 0
    lacking: int = 0
    surplus: int = 0
    equal: bool = True
    digest: str = ""
    sampled: int = 0
    alike: int = 0
    counted: int | None = None

    @property
    def right(self) -> bool:
        """Whether the space may serve."""
        return self.equal and not self.lacking and not self.surplus and self.alike == self.sampled


class Comparison:
    """Compares a space that is being filled with the record."""

    def __init__(self, connections: Connections, target: ContextLayer, kinds: Collection[str]) -> None:
        self._connections = connections
        self._target = target
        self._kinds = [*kinds]

    async def made(self, tenants: Sequence[str]) -> Agreement:
        """Over all tenants. What is lacking is owed from now on, so that it need not lack the next time."""
        found = Agreement(tenants=len(tenants))
        digest = 0
        for tenant in tenants:
            found, part = await self._compared(found, tenant)
            digest ^= int(part, 16)
        step = max(1, len(tenants) // _TENANTS_SAMPLED)
        for tenant in tenants[::step]:
            sampled, alike = await self._sampled(tenant, max(4, _SAMPLED * step // len(tenants)))
            found = replace(found, sampled=found.sampled + sampled, alike=found.alike + alike)
        return replace(found, digest=f"{digest:016x}")

    async def _compared(self, sum: Agreement, tenant: str) -> tuple[Agreement, str]:
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(self._query("compare"), {"kinds": self._kinds})
            ((live, held, owed, lacking, surplus, equal, digest),) = await cursor.fetchall()
        counted = sum.counted
        if isinstance(self._target, OutsideContextLayer):
            shown, lacking = await self._shown(self._target, tenant)
            held, equal = held + shown, lacking == 0
            if (said := await self._target.store.count(tenant)) is not None:
                counted = (counted or 0) + said
        elif lacking:
            async with self._connections.system_transaction(tenant) as connection:
                await connection.execute(self._query("owe_lacking"), {"kinds": self._kinds})
        return (
            replace(
                sum,
                live=sum.live + live,
                held=sum.held + held,
                owed=sum.owed + owed,
                lacking=sum.lacking + lacking,
                surplus=sum.surplus + surplus,
                equal=sum.equal and equal,
                counted=counted,
            ),
            digest,
        )

    async def _shown(self, target: OutsideContextLayer, tenant: str) -> tuple[int, int]:
        """How many a store outside shows of those that we hold no copy of, and how many it does not."""
        shown, lacking = 0, 0
        async with aclosing(self._elsewhere(tenant)) as pages:
            async for page in pages:
                there = await target.store.shown(tenant, page)
                shown += len(there)
                if absent := [identifier for identifier in page if identifier not in there]:
                    lacking += await self._owe(tenant, absent)
        return shown, lacking

    async def _owe(self, tenant: str, absent: Sequence[UUID]) -> int:
        """Owe the space those of them that it still should have."""
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(self._query("still"), {"ids": [*absent]})
            lacking = [row[0] for row in await cursor.fetchall()]
            await connection.execute(QUERIES["owe"], {"ids": lacking})
        return len(lacking)

    async def _elsewhere(self, tenant: str) -> AsyncGenerator[list[UUID]]:
        async with (
            self._connections.system_transaction(tenant) as connection,
            connection.cursor("elsewhere") as cursor,
        ):
            await cursor.execute(self._query("elsewhere"), {"kinds": self._kinds})
            while rows := await cursor.fetchmany(PAGE):
                yield [row[0] for row in rows]

    async def _sampled(self, tenant: str, most: int) -> tuple[int, int]:
        """How many vectors were made once more, and how many of them are the same."""
        parameters = {"kinds": self._kinds, "seed": 7, "limit": most}
        async with self._connections.system_transaction(tenant) as connection:
            ids = [row[0] for row in await (await connection.execute(QUERIES["any_of"], parameters)).fetchall()]
            texts = await memories.get(connection, ids)
            cursor = connection.cursor(binary=True)
            await cursor.execute(self._query("vectors"), {"ids": ids})
            halves = dict(await cursor.fetchall())
        chosen = [texts[identifier] for identifier in ids if identifier in texts]
        if not isinstance(self._target, OutsideContextLayer):
            chosen = [memory for memory in chosen if memory.id in halves]
        if not chosen:
            return 0, 0
        made = await self._target.embedder.documents([memory.text for memory in chosen])
        alike = 0
        for memory, vector in zip(chosen, made, strict=True):
            if (known := halves.get(memory.id)) is not None:
                alike += float(_read(known) @ vector) > _ALIKE
            else:
                alike += await self._found(tenant, memory, vector)
        return len(chosen), alike

    async def _found(self, tenant: str, memory: Memory, vector: Vectors) -> bool:
        """Whether a store outside finds a memory by its own vector."""
        assert isinstance(self._target, OutsideContextLayer), "a space in the database holds every vector itself"
        found = await self._target.store.nearest(tenant, vector, circles=marks_of(memory), kinds=[memory.kind], k=10)
        return any(identifier == memory.id or score > _ALIKE for identifier, score in found)

    def _query(self, name: str) -> LiteralString:
        table = cast(LiteralString, f"memory_vector_{self._target.space}")  # digits and `_`, checked by the database
        return QUERIES[name].replace("{table}", table)


def _read(halves: bytes) -> Vectors:
    vector = numpy.frombuffer(halves, dtype=">f2", offset=4).astype(numpy.float32)
    return vector / numpy.float32(numpy.linalg.norm(vector))
