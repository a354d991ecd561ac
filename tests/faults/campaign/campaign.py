"""One campaign: the load goes on, moments come, and at the end everything is compared with what was acknowledged."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any

from lousa.infra.ids import new_id

from . import checks, slow_disk
from .broken import TENANTS
from .household import Child, Household, Words
from .witness import Agent, Witness

WRITERS = 3
AGENTS = 10
RECOVERY = 5.0
"""Seconds within which the load must go on once a server is back."""
MOST_FAILURES = 5
"""After so many there is nothing to be learnt."""
FEWEST = 200
"""Acknowledgements a second between moments, at least."""


class Campaign:
    """Children, witness, and what was measured."""

    def __init__(self, folder: Path, seed: int, broken: str) -> None:
        self.rng = random.Random(seed)
        self.witness = Witness()
        self.household = Household(folder, self._heard, self._ended)
        self.moments = 0
        self.reached = asyncio.Event()
        self.hopeless = asyncio.Event()
        self.recoveries: list[float] = []
        self.failures: list[str] = []
        self.acknowledged_between = 0
        self.seconds_between = 0.0
        self.boards: dict[str, str] = {}
        """Tenant: the execution that its agents work in."""
        self.begun: dict[str, list[str]] = {tenant: [] for tenant in TENANTS}
        self.urls = ("", "")
        self._broken = broken
        self._shim = slow_disk.build(folder)
        self._done: set[tuple[str, str]] = set()
        self._moved: dict[str, set[str]] = {}
        self._closing = self._settling = False
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def slows(self) -> Path | None:
        """The folder in which a file slows a server's disk; None without a shim."""
        return self._shim.parent if self._shim else None

    # Beginning

    async def begin(self) -> None:
        """Everything that the load needs, and the load."""
        await self.household.start()
        await (await self._again("relay")).ready.wait()
        for tenant in TENANTS:
            self.boards[tenant] = await self._begin_board(tenant)
        for writer in range(WRITERS):
            for number in range(AGENTS):
                name = f"{TENANTS[number % 2]}-w{writer}-{number}"
                self.witness.agents[name] = Agent(name, TENANTS[number % 2])
        for name in (*(f"writer-{number}" for number in range(WRITERS)), "watcher"):
            await self._again(name)
        await self.all_ready()

    async def _again(self, name: str) -> Child:
        """A process under that name, with all that its predecessor left."""
        part = name.partition("-")[0]
        order: Words = {"part": part, "broken": self._broken, "shim": str(self._shim or "")}
        if part == "writer":
            others = {tenant: self.begun[TENANTS[1 - TENANTS.index(tenant)]][-3:] for tenant in TENANTS}
            mine = f"-w{name.partition('-')[2]}-"
            agents = [agent for agent in self.witness.agents if mine in agent]
            order["workers"] = [self.witness.order(agent, self.boards, others, self.rng) for agent in agents]
            order["pause"] = 0.02
            self._moved[name] = set(self.boards.values())
        elif part == "watcher":
            order["boards"] = [self._watching(tenant, one) for tenant in TENANTS for one in self.begun[tenant][-4:]]
        return await self.household.begin(name, order)

    async def _later(self, name: str) -> None:
        """A watcher may be away for long, so that it falls behind what its boards keep."""
        if name == "watcher" and not self._settling and not self._broken:
            await asyncio.sleep(self.rng.choice((0, 0, 3, 5)))
        await self._again(name)

    def _watching(self, tenant: str, execution: str) -> Words:
        cursor = f"0-{self.witness.watched[execution].cursor}"
        return {"do": "watch", "tenant": tenant, "execution": execution, "since": cursor}

    # What children tell

    def _heard(self, child: Child, words: list[Any]) -> None:
        match words[0]:
            case "hello":
                pass
            case "ready":
                self.urls = (words[1], words[2])
            case "reached":
                child.expected = words[1]
                self.reached.set()
            case "done":
                self._done.add((words[1], words[2]))
            case "obeyed":
                self._moved[child.name].add(words[2] or words[1])
            case "unopened":
                child.expected = True
            case "unanswered":
                pass
            case word:
                getattr(self.witness, word)(*words[1:])

    def _ended(self, child: Child) -> None:
        if self._closing or self.household.children[child.name] is not child:
            return
        if not child.expected:
            self.failures.append(f"{child.name} died by itself: its log is kept with --keep")
            if len(self.failures) > MOST_FAILURES:
                self.hopeless.set()
        task = asyncio.create_task(self._later(child.name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # While it runs

    async def all_ready(self, within: float = 30.0) -> None:
        """Wait until every child has Lousa open; for a watcher only at the end."""
        await self._until(lambda: not self._late(), within, "processes without Lousa open")

    def _late(self) -> list[str]:
        children = self.household.children
        waited_for = [name for name in children if name != "watcher" or self._settling]
        return [name for name in waited_for if not children[name].works]

    async def load(self, seconds: float) -> None:
        """The load alone, and counted."""
        before, began = self.witness.acknowledged, time.monotonic()
        await asyncio.sleep(seconds)
        self.acknowledged_between += self.witness.acknowledged - before
        self.seconds_between += time.monotonic() - began

    async def recovered(self, server: str, since: int) -> None:
        """Wait until a server is back, and the load goes on."""
        try:
            async with asyncio.timeout(30):
                await self.household.back(server, since)
        except TimeoutError:
            self.failures.append(f"{server} was not back within 30 s")
            return
        await self.goes_on(server)

    async def goes_on(self, server: str) -> None:
        """Wait until something that needs a server is acknowledged, from now on."""
        back = time.monotonic()
        while self.witness.last[server] < back:
            await asyncio.sleep(0.005)
            if time.monotonic() - back > 3 * RECOVERY:
                self.failures.append(f"the load did not go on within {3 * RECOVERY:g} s after {server} was back")
                break
        self.recoveries.append(time.monotonic() - back)

    async def rotate(self, tenant: str) -> None:
        """Go over to a new execution, and end the old one once nothing of it is under way."""
        old = self.boards[tenant]
        self.boards[tenant] = new = await self._begin_board(tenant)
        self.household.children["watcher"].tell(self._watching(tenant, new))
        writers = [name for name in self.household.children if name.startswith("writer")]
        for name in writers:
            self.household.children[name].tell({"do": "move", "tenant": tenant, "execution": new})
        settled = lambda: all(new in self._moved[name] for name in writers) and not self.witness.under_way(old)  # noqa: E731
        await self._until(settled, 60.0, f"operations under way in {old}")
        await self.conduct("finish", tenant, old)

    async def _begin_board(self, tenant: str) -> str:
        execution = str(new_id())
        self.begun[tenant].append(execution)
        await self.conduct("begin", tenant, execution)
        return execution

    async def conduct(self, what: str, tenant: str, execution: str) -> None:
        """Have the relay's process begin or end an execution, whatever becomes of it meanwhile."""
        asked: Child | None = None
        while (what, execution) not in self._done:
            child = self.household.children["relay"]
            if child is not asked and child.ready.is_set():
                child.tell({"do": what, "tenant": tenant, "execution": execution})
                asked = child
            await asyncio.sleep(0.01)

    async def glance(self) -> None:
        """See that no board has a time to live before all of it is in the ledger."""
        async with checks.Stores(*self.urls) as stores:
            await checks.let_go(stores, self.witness)

    # The end

    async def settle(self, patience: float) -> None:
        """Stop the load, end every execution, see every watcher to the end, and compare."""
        self._settling = True
        await self.all_ready()
        writers = [child for name, child in self.household.children.items() if name.startswith("writer")]
        for child in writers:
            child.tell({"do": "rest"})
        executions = [execution for tenant in TENANTS for execution in self.begun[tenant]]
        await self._until(lambda: not any(map(self.witness.under_way, executions)), patience, "operations under way")
        for tenant in TENANTS:
            await self.conduct("finish", tenant, self.boards[tenant])
            for execution in self.begun[tenant]:
                self.household.children["watcher"].tell(self._watching(tenant, execution))
        async with checks.Stores(*self.urls) as stores:
            await checks.settled(stores, self.witness, executions, patience, self.failures.append)
            await checks.compare(stores, self.witness, executions)

    async def _until(self, holds: Any, within: float, what: str) -> None:
        end = time.monotonic() + within
        while not holds():
            if time.monotonic() > end:
                self.failures.append(f"after {within:g} s there were still {what}")
                return
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Leave nothing running."""
        self._closing = True
        await self.household.close(kindly=self._settling)
