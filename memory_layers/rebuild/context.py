"""Layer 2 made anew while it serves: another embedding model, another store, or the same ones once more.

    a space beside the one that serves → owe it everything → pay → compare with the record → let it serve

From the moment that the new space is there, whatever is owed to layer 2 is owed to it as well, and what leaves layer 2
leaves both; and it is made while nobody writes, so no memory falls between the first list and what comes later. Those
who serve go on as before. The switch is one transaction: the new space serves, the old one's table is gone, and what
the new one still lacks is owed to layer 2. Who asks the old table then meets none, and goes on in the new one.

Whoever is killed leaves a space that is filled in part and a list of what it lacks. The next one goes on there; only
what was being embedded is embedded again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, LiteralString, cast
from uuid import UUID

from ...infra.connections import Connection, Connections
from ...infra.errors import BadInput, LousaError, NotFound, ServerUnavailable
from ...infra.retry import retrying
from ...infra.tasks import end
from ..context.outside import OutsideContextLayer
from ..context.pgvector import ContextLayer
from ..debts import Debts
from ..moment import in_a_moment
from ..policy import Policy
from ..records import Memory, MemoryKind
from .agreement import PAGE, Agreement, Comparison
from .work import LEASE, QUERIES, Standing, Work

Phase = Literal["owing", "filling", "reading back", "comparing", "switching", "clearing"]

FEW = 200
"""What may still be owed when the new space takes over: writers go on, so there is always something."""
_SETTLING = 3.0
"""Seconds for which less than that is waited for, from the moment on that it was least."""
_AT_ONCE = 2
"""While the one waits for the model, the other writes."""
_IN_A_ROW = 10
_LOOK = 0.5
_ROUNDS = 3
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rebuild is: `done` of `total` memories in this phase, and what is still owed."""

    phase: Phase
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Where vectors lie, or lay."""

    name: str
    store: str
    fingerprint: str
    model: str
    dimensions: int
    state: Literal["serving", "filling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild did. `former` served before; `resumed` says that somebody else had begun it."""

    space: str
    store: str
    model: str
    former: tuple[Space, ...]
    resumed: bool
    agreement: Agreement
    inherited: int
    """Memories that layer 2 is still owed: what was written in the last moment."""
    seconds: float


class ContextRebuild:
    """The rebuild of layer 2 towards a layer as the settings have it, not started."""

    def __init__(
        self,
        connections: Connections,
        target: ContextLayer,
        policy: Mapping[MemoryKind, Policy],
        *,
        tell: Callable[[Progress], object] = lambda _: None,
        patience: timedelta = timedelta(seconds=90),
        lease: timedelta = LEASE,
    ) -> None:
        self._connections = connections
        self._target = target
        self._kinds = [kind.value for kind, row in policy.items() if 2 in row.also]
        self._tell = tell
        self._patience = patience.total_seconds()
        """How long nothing may be paid before it is given up for now."""
        self._work = Work(connections, "context", lease)
        self._filled = _Filled(target)
        self._debts = Debts(connections, {"rebuild": self._filled})

    async def run(self) -> Rebuilt:
        """Do it, or go on with it.

        Raises:
            BadInput: one towards another model or store is under way.
            ServerUnavailable: the store, or the model, gives no answer for too long; run it again to go on.
            LousaError: another process is at it, or what was filled does not agree with the record.
        """
        began = time.monotonic()
        async with AsyncExitStack() as stack, self._work.held() as standing:
            space = standing.space or await self._begin()
            await self._check_target(space)
            try:
                await self._target.fill(stack, space)
            except LousaError:
                if standing.space is None:  # nothing is in it: who mistyped an address has nothing to give up
                    await in_a_moment(lambda patience: self._give_up(space, patience))
                raise
            await self._owe(standing)
            agreement = await self._agree()
            await self._fill()  # what was written while that was looked at
            former, inherited = await in_a_moment(self._switch)
            return Rebuilt(
                space=space,
                store=self._target.store_name,
                model=self._target.embedder.name,
                former=former,
                resumed=standing.space is not None,
                agreement=agreement,
                inherited=inherited,
                seconds=time.monotonic() - began,
            )

    async def abandon(self) -> Space:
        """Give up what was begun: the space that serves stays, the other goes.

        Raises:
            NotFound: none is under way.
            LousaError: another process is at it.
        """
        async with self._work.held() as standing:
            filling = next((space for space in await self._spaces() if space.state == "filling"), None)
            if standing.space is None or filling is None:
                async with self._connections.system_transaction("") as connection:
                    await self._work.write(connection, "done")
                raise NotFound("no rebuild of context is under way")
            await in_a_moment(lambda patience: self._give_up(filling.name, patience))
            return filling

    # Steps

    async def _begin(self) -> str:
        """A space to be filled, to which is owed from now on whatever is owed to layer 2."""

        async def opened(patience: str) -> str:
            embedder = self._target.embedder
            async with self._connections.system_transaction("") as connection:
                await connection.execute(QUERIES["take_turns"])
                held: dict[str, object] = {"spaces": [], "patience": patience}
                await connection.execute(QUERIES["hold_writers"], held)
                ((number,),) = await (await connection.execute(QUERIES["number"])).fetchall()
                parameters = {
                    "space": f"{embedder.fingerprint}_{number}",
                    "store": self._target.store_name,
                    "fingerprint": embedder.fingerprint,
                    "model": embedder.name,
                    "dimensions": embedder.dimensions,
                }
                await connection.execute(QUERIES["open_space"], parameters)
                await connection.execute(QUERIES["mirror"], {"wanted": True})
                await self._work.write(connection, "begun", space=parameters["space"])
            return str(parameters["space"])

        await self._inherit_strays()
        return await in_a_moment(opened)

    async def _check_target(self, space: str) -> None:
        (there,) = [each for each in await self._spaces() if each.name == space]
        if (there.store, there.fingerprint) != (self._target.store_name, self._target.embedder.fingerprint):
            raise BadInput(
                f"a rebuild towards vectors of {there.model!r} in {there.store} is under way: go on with it under"
                " those settings, or give it up with 'lousa rebuild context --abandon'"
            )

    async def _owe(self, standing: Standing) -> None:
        """Everything that belongs in layer 2; of what somebody else had begun, what they had taken is due at once."""
        if standing.filled:
            for tenant in await self._listed("creditors"):
                async with self._connections.system_transaction(tenant) as connection:
                    await connection.execute(QUERIES["due"], {"layer": "rebuild"})
            return
        tenants = await self._listed("tenants")
        for done, tenant in enumerate(tenants):
            self._tell(Progress(phase="owing", done=done, total=len(tenants)))
            if isinstance(self._target, OutsideContextLayer):
                await self._target.store.clear(tenant)  # what an earlier one, given up, may have left
            async with self._connections.system_transaction(tenant) as connection:
                await connection.execute(QUERIES["owe_all"], {"kinds": self._kinds})
            self._work.check()
        async with self._connections.system_transaction("") as connection:
            await self._work.write(connection, "filled")

    async def _agree(self) -> Agreement:
        """Pay and compare, until both sides agree."""
        comparison = Comparison(self._connections, self._target, self._kinds)
        found = Agreement()
        for _ in range(_ROUNDS):
            await self._fill()
            if isinstance(self._target, OutsideContextLayer):
                await self._read_back(self._target)
            self._tell(Progress(phase="comparing", done=0, total=0))
            found = await comparison.made(await self._listed("tenants"))
            if found.right:
                return found
        raise LousaError(
            f"the new vectors do not agree with the record, so the old ones go on serving: {found.lacking} memories"
            f" lack one, {found.surplus} have one too many, {found.sampled - found.alike} of {found.sampled} are not"
            " what the model makes of the text now. Run it again, or give it up with 'lousa rebuild context --abandon'"
            " and begin anew"
        )

    async def _fill(self) -> None:
        """Pay until little is owed, and something was paid: what takes nothing at all is not switched to."""
        payers = [asyncio.create_task(self._pay(), name=f"lousa rebuild: paying {one}") for one in range(_AT_ONCE)]
        paid_before, standstill, few_since, least = self._filled.count, time.monotonic(), 0.0, FEW + 1
        try:
            while True:
                self._work.check()
                owed, refused, why = await self._owed()
                now = time.monotonic()
                paid = self._filled.count
                self._tell(Progress(phase="filling", done=paid, total=paid + owed))
                if owed < least:
                    few_since, least = now, owed
                if owed == 0 or (paid and owed <= FEW and now - few_since > _SETTLING):
                    return
                if paid > paid_before:
                    paid_before, standstill = paid, now
                elif now - standstill > self._patience:
                    said = f", {refused} of them because of {why}" if why else ""
                    raise ServerUnavailable(
                        f"nothing was filled for {self._patience:g} s, and {owed} memories are left{said}: does the"
                        " model work, does the store answer? 'lousa rebuild context' goes on from here"
                    )
                for payer in payers:
                    if payer.done():
                        payer.result()
                await asyncio.sleep(_LOOK if owed > FEW else _LOOK / 10)
        finally:
            await end(*payers)

    async def _pay(self) -> None:
        while True:
            more = False
            for tenant in await self._patiently(lambda: self._listed("debtors")):
                for _ in range(_IN_A_ROW):
                    if not await self._patiently(lambda tenant=tenant: self._debts.pay([tenant])):
                        break
                    more = True
            if not more:
                await asyncio.sleep(_LOOK / 10)

    async def _patiently(self, attempt: Callable[[], Any]) -> Any:
        return await retrying(
            attempt, transient=lambda error: isinstance(error, ServerUnavailable), what="filling a space of vectors"
        )

    async def _read_back(self, target: OutsideContextLayer) -> None:
        """Let go of our own copies of what the store shows; what it does not show in time stays, and is found here."""
        moved = time.monotonic()
        while time.monotonic() - moved < _SETTLING:
            left = 0
            for tenant in await self._listed("tenants"):
                after = _FIRST
                while page := await self._copies(tenant, after):
                    after = page[-1]
                    if shown := await target.store.shown(tenant, page):
                        await target.let_go(tenant, shown)
                        moved = time.monotonic()
                    left += len(page) - len(shown)
                    self._tell(Progress(phase="reading back", done=0, total=left))
                    self._work.check()
            if not left:
                return
            await asyncio.sleep(_LOOK)

    async def _switch(self, patience: str) -> tuple[tuple[Space, ...], int]:
        """The new space serves from here on; what did before, and how much the new one is still owed."""
        self._tell(Progress(phase="switching", done=0, total=0))
        outside = isinstance(self._target, OutsideContextLayer)
        tenants = await self._listed("tenants" if outside else "creditors")
        async with self._connections.system_transaction("") as connection:
            await connection.execute(QUERIES["know_space"], {"space": self._target.space})
        async with self._connections.system_transaction("") as connection:
            await self._work.write(connection, "done")
            await connection.execute(QUERIES["take_turns"])
            former = tuple(space for space in await self._spaces(connection) if space.state == "serving")
            held = {"spaces": [space.name for space in former], "patience": patience}
            await connection.execute(QUERIES["hold_writers"], held)
            await connection.execute(QUERIES["mirror"], {"wanted": False})
            creditors = await (await connection.execute(QUERIES["creditors"])).fetchall()
            inherited = 0
            for tenant in sorted({*tenants, *(row[0] for row in creditors)}):
                await connection.execute(QUERIES["act_for"], {"tenant": tenant})
                inherited += (await connection.execute(QUERIES["inherit"])).rowcount
                if outside:
                    await connection.execute(self._query("read_back"))
            for space in former:
                await connection.execute(QUERIES["close_space"], {"space": space.name})
            await connection.execute(QUERIES["serve_space"], {"space": self._target.space})
        return former, inherited

    async def _give_up(self, space: str, patience: str) -> None:
        async with self._connections.system_transaction("") as connection:
            await self._work.write(connection, "done")
            await connection.execute(QUERIES["hold_writers"], {"spaces": [], "patience": patience})
            await connection.execute(QUERIES["mirror"], {"wanted": False})
            for (tenant,) in await (await connection.execute(QUERIES["creditors"])).fetchall():
                await connection.execute(QUERIES["act_for"], {"tenant": tenant})
                await connection.execute(QUERIES["forgive"])
            await connection.execute(QUERIES["close_space"], {"space": space})

    # What they share

    async def _inherit_strays(self) -> None:
        """What somebody who was overtaken wrote down too late is layer 2's."""
        for tenant in await self._listed("creditors"):
            async with self._connections.system_transaction(tenant) as connection:
                await connection.execute(QUERIES["inherit"])

    async def _copies(self, tenant: str, after: UUID) -> Sequence[UUID]:
        async with self._connections.system_transaction(tenant) as connection:
            cursor = await connection.execute(self._query("copies"), {"after": after, "limit": PAGE})
            return [row[0] for row in await cursor.fetchall()]

    async def _owed(self) -> tuple[int, int, str | None]:
        async with self._connections.system_transaction("") as connection:
            ((owed, refused, why),) = await (await connection.execute(QUERIES["owed"])).fetchall()
            return owed, refused, why

    async def _listed(self, what: Literal["tenants", "creditors", "debtors"]) -> list[str]:
        async with self._connections.system_transaction("") as connection:
            return [row[0] for row in await (await connection.execute(QUERIES[what])).fetchall()]

    async def _spaces(self, within: Connection | None = None) -> list[Space]:
        if within is None:
            async with self._connections.system_transaction("") as connection:
                return await self._spaces(connection)
        names = ("name", "store", "fingerprint", "model", "dimensions", "state")
        cursor = await within.execute(QUERIES["spaces"])
        return [Space(**dict(zip(names, row, strict=True))) for row in await cursor.fetchall()]

    def _query(self, name: str) -> LiteralString:
        table = cast(LiteralString, f"memory_vector_{self._target.space}")  # digits and `_`, checked by the database
        return QUERIES[name].replace("{table}", table)


class _Filled:
    """The layer that is being filled, and how much of it was. Satisfies `debts.Layer`."""

    def __init__(self, target: ContextLayer) -> None:
        self._target = target
        self.capabilities = target.capabilities
        self.count = 0

    async def put(self, tenant: str, memories: Sequence[Memory]) -> Collection[UUID]:
        late = await self._target.put(tenant, memories)
        self.count += len(memories)
        return late

    async def drop(self, tenant: str, ids: Collection[UUID]) -> None:
        await self._target.drop(tenant, ids)
