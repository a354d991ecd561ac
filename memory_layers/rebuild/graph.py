"""Layer 3 made anew: facts derived from the record once more, and a graph outside brought to what the record says.

Facts are resolved in Postgres, wherever the graph is read. So they are derived there, key by key under their locks, as
they were when they were stated; what differs is counted. A graph outside is compared with the record, id by id with its
revisions, and is owed what differs. It is read only once it was owed nothing more: until then, Postgres is.

    it is owed what changes → compare, owe, pay, until nothing differs that is not owed → it is read from now on

A database that is opened under the address of another graph brings it there by itself: one process does, under a lease,
and whoever comes after a dead one only finds less that differs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal
from uuid import UUID

from ...infra.connections import Connections
from ...infra.errors import LousaError, ServerUnavailable
from ...infra.tasks import end
from ..debts import Debts
from ..execution import memories
from ..knowledge.outside import OutsideKnowledgeLayer
from ..knowledge.postgres import KnowledgeLayer
from ..knowledge.spaces import adopt, serve
from ..moment import in_a_moment
from .context import FEW, Progress
from .work import LEASE, QUERIES, Work

_LOG = logging.getLogger(__name__)
_PAGE = 500
_FIRST = UUID(int=0)
_ROUNDS = 20
_LOOK = 0.2
LOOK_AGAIN = 1.0
"""Seconds between two looks at where the graph lies, by a process whose settings name one outside."""

Tell = Callable[[Progress], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What deriving facts from the record found: how many there are, and which were lacking, other or unfounded."""

    tenants: int = 0
    facts: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a graph outside holds now: `given` records were brought, in so many rounds; `owed` are on their way."""

    store: str
    held: int
    given: int
    owed: int
    rounds: int


class KnowledgeRebuild:
    """The rebuild of layer 3, of a layer that is started."""

    def __init__(
        self,
        connections: Connections,
        layer: KnowledgeLayer,
        *,
        tell: Tell = lambda _: None,
        patience: timedelta = timedelta(seconds=90),
        lease: timedelta = LEASE,
    ) -> None:
        self._connections = connections
        self._layer = layer
        self._tell = tell
        self._patience = patience.total_seconds()
        self._work = Work(connections, "knowledge", lease)

    async def derive(self) -> Derived:
        """Derive every fact from the record anew.

        Raises:
            LousaError: another process is at it.
        """
        async with self._work.held():
            tenants = await self._listed("tenants")
            found = Derived(tenants=len(tenants))
            for done, tenant in enumerate(tenants):
                self._tell(Progress(phase="filling", done=done, total=len(tenants)))
                found = await self._derived(tenant, found)
            await self._done()
            return found

    async def bring(self, graph: OutsideKnowledgeLayer) -> Brought:
        """Bring a graph outside to what the record says, and have it read from then on.

        Raises:
            ServerUnavailable: it does not answer for too long; run it again to go on.
            LousaError: another process is at it, or brings the graph elsewhere.
        """
        async with self._work.held():
            await graph.look()
            if graph.standing == "elsewhere":
                await in_a_moment(lambda patience: self._adopt(graph.graph.name, patience))
                await graph.look()
            for tenant in await self._listed("graph_debtors"):
                async with self._connections.system_transaction(tenant) as connection:
                    await connection.execute(QUERIES["due"], {"layer": "knowledge"})
            given, rounds = 0, 0
            while True:
                rounds += 1
                held, new = await self._compared(graph)
                given += new
                await self._pay(graph)
                # What differs while others write is on its way, as all they write is.
                if not new or (rounds >= _ROUNDS and new <= FEW):
                    break
            async with self._connections.system_transaction("") as connection:
                await self._work.write(connection, "done")
                if not await serve(connection, graph.graph.name):
                    raise LousaError(f"the graph is brought elsewhere than to {graph.graph.name} by now")
            await graph.look()
            owed, _ = await self._owed()
            return Brought(store=graph.graph.name, held=held, given=given, owed=owed, rounds=rounds)

    async def release(self) -> int:
        """Have the graph read in Postgres, and owe none outside anything; how many debts that ends."""
        async with self._work.held():
            await in_a_moment(lambda patience: self._adopt("postgres", patience))
            ended = 0
            for tenant in await self._listed("graph_debtors"):
                async with self._connections.system_transaction(tenant) as connection:
                    ended += (await connection.execute(QUERIES["forgive_graph"])).rowcount
            await self._done()
            return ended

    # Steps

    async def _derived(self, tenant: str, found: Derived) -> Derived:
        after = _FIRST
        while True:
            self._work.check()
            async with self._connections.system_transaction(tenant) as connection:
                cursor = await connection.execute(QUERIES["facts"], {"after": after, "limit": _PAGE})
                ids = [row[0] for row in await cursor.fetchall()]
                if not ids:
                    break
                stated = await memories.get(connection, ids)
                ((added_before, changed_before),) = await (await connection.execute(QUERIES["touched"])).fetchall()
                await self._layer.derive(connection, [*stated.values()])
                ((added, changed),) = await (await connection.execute(QUERIES["touched"])).fetchall()
            after = ids[-1]
            found = replace(
                found,
                facts=found.facts + len(ids),
                added=found.added + added - added_before,
                changed=found.changed + changed - changed_before,
            )
        async with self._connections.system_transaction(tenant) as connection:
            unfounded = [row[0] for row in await (await connection.execute(QUERIES["unfounded"])).fetchall()]
            await self._layer.remove(connection, unfounded)
        return replace(found, removed=found.removed + len(unfounded))

    async def _adopt(self, store: str, patience: str) -> None:
        async with self._connections.system_transaction("") as connection:
            await adopt(connection, store, patience)

    async def _compared(self, graph: OutsideKnowledgeLayer) -> tuple[int, int]:
        """How much it holds, and how much of what differs it was not owed yet; it is from now on."""
        held, new = 0, 0
        tenants = await self._listed("tenants")
        for done, tenant in enumerate(tenants):
            self._tell(Progress(phase="comparing", done=done, total=len(tenants)))
            differing: list[UUID] = []
            async with aclosing(_merged(graph, tenant)) as pairs:
                async for identifier, wanted, there in pairs:
                    held += there is not None
                    if wanted != there:
                        differing.append(identifier)
                    if len(differing) == _PAGE:
                        new += await self._owe(tenant, differing)
                        differing = []
                        self._work.check()
            new += await self._owe(tenant, differing)
        return held, new

    async def _owe(self, tenant: str, ids: list[UUID]) -> int:
        if not ids:
            return 0
        async with self._connections.system_transaction(tenant) as connection:
            ((new, _),) = await (await connection.execute(QUERIES["owe_graph"], {"ids": ids})).fetchall()
            return new

    async def _pay(self, graph: OutsideKnowledgeLayer) -> None:
        """Pay what is owed to it, beside whoever else does, until little is left."""
        debts = Debts(self._connections, {"knowledge": graph}, lambda: () if graph.payable else ("knowledge",))
        moved, before = time.monotonic(), 0
        while True:
            self._work.check()
            owed, why = await self._owed()
            self._tell(Progress(phase="filling", done=0, total=owed))
            if owed <= FEW and (owed == 0 or time.monotonic() - moved > LOOK_AGAIN):
                return
            if owed != before:
                moved, before = time.monotonic(), owed
            elif time.monotonic() - moved > self._patience:
                raise ServerUnavailable(
                    f"nothing was brought to {graph.graph.name} for {self._patience:g} s, and {owed} records are left"
                    f"{f' ({why})' if why else ''}: does it answer? 'lousa rebuild knowledge' goes on from here"
                )
            if not graph.payable:
                raise LousaError(f"the graph is brought elsewhere than to {graph.graph.name} by now")
            if not await debts.pay(await self._listed("graph_debtors")):
                await asyncio.sleep(_LOOK)

    async def _owed(self) -> tuple[int, str | None]:
        async with self._connections.system_transaction("") as connection:
            ((owed, why),) = await (await connection.execute(QUERIES["graph_owed"])).fetchall()
            return owed, why

    async def _done(self) -> None:
        async with self._connections.system_transaction("") as connection:
            await self._work.write(connection, "done")

    async def _listed(self, what: Literal["tenants", "graph_debtors"]) -> list[str]:
        async with self._connections.system_transaction("") as connection:
            return [row[0] for row in await (await connection.execute(QUERIES[what])).fetchall()]


class Adoption:
    """Brings the graph to where the settings say, while everything serves, and sees where it lies."""

    def __init__(self, connections: Connections, graph: OutsideKnowledgeLayer) -> None:
        self._graph = graph
        self._rebuild = KnowledgeRebuild(connections, graph)

    async def start(self, stack: AsyncExitStack) -> None:
        """Begin; the end is left on the stack."""
        task = asyncio.create_task(self._keep(), name="lousa: where the graph lies")
        stack.push_async_callback(end, task)

    async def _keep(self) -> None:
        wanted = self._graph.standing != "serving"
        while True:
            try:
                await self._graph.look()
                if wanted and self._graph.standing != "serving":
                    await self._rebuild.bring(self._graph)
                wanted = wanted and self._graph.standing != "serving"
            except LousaError as error:
                _LOG.info("the graph is not read in %s yet: %s", self._graph.graph.name, error)
            except Exception as error:
                _LOG.warning("bringing the graph to %s failed (%s)", self._graph.graph.name, type(error).__name__)
            with suppress(TimeoutError):
                await asyncio.sleep(LOOK_AGAIN)


_Pages = Callable[..., Awaitable[list[tuple[UUID, int]]]]


async def _merged(graph: OutsideKnowledgeLayer, tenant: str) -> AsyncGenerator[tuple[UUID, int | None, int | None]]:
    """Every id that either side knows of a tenant, with the revision of each, in order."""
    async with aclosing(_all(graph.expected, tenant)) as wanted, aclosing(_all(graph.graph.held, tenant)) as there:
        one, other = await anext(wanted, None), await anext(there, None)
        while one is not None or other is not None:
            if other is None or (one is not None and one[0] < other[0]):
                assert one is not None, "one of the two is left"
                yield one[0], one[1], None
                one = await anext(wanted, None)
            elif one is None or other[0] < one[0]:
                yield other[0], None, other[1]
                other = await anext(there, None)
            else:
                yield one[0], one[1], other[1]
                one, other = await anext(wanted, None), await anext(there, None)


async def _all(pages: _Pages, tenant: str) -> AsyncGenerator[tuple[UUID, int]]:
    after: UUID | None = None
    while page := await pages(tenant, after=after, most=_PAGE):
        for each in page:
            yield each
        after = page[-1][0]
