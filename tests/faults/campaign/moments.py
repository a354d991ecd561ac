"""The moments: what is killed, cut, stopped or slowed, and when.

A name with a slash is a seam and whom it kills: ``journaled/valkey`` is Valkey, killed when an `XADD` was answered and
the writer not. Without a victim it is the process itself. Others are killed at random.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from .campaign import Campaign
from .household import Child
from .seams import CUT, SEAMS

Moment = Callable[[Campaign], Awaitable[bool]]
_IN_RELAY = ("execution-begun", "execution-ended")
_SELDOM = (*_IN_RELAY, "board-closed", "before-trim", "trimming-board", "trimmed", "audited", "in-audit")
_ENDS = ("board-closed", "execution-begun", "execution-ended")
_PATIENCE = 4.0
"""Seconds within which a seam has to be reached, or it was no moment."""
_SERVERS = ("valkey", "postgres")


def _any_of(campaign: Campaign, *parts: str) -> Child:
    """One of the children that play one of these parts, and have Lousa open."""
    children = campaign.household.children
    found = [children[name] for name in sorted(children) if name.partition("-")[0] in parts]
    return campaign.rng.choice(found)


async def _kill(campaign: Campaign, *names: str) -> bool:
    """Kill processes at the same moment, and wait for their successors."""
    children = [campaign.household.children[name] for name in names]
    for child in children:
        child.kill()
    for child in children:
        await child.gone.wait()
    return True


async def _kill_server(campaign: Campaign, server: str) -> bool:
    await asyncio.sleep(campaign.rng.uniform(0, 0.1))
    pid = campaign.household.pid_of(server)
    if not pid:
        return False
    os.kill(pid, signal.SIGKILL)
    await campaign.recovered(server, pid)
    return True


async def newcomer_dies(campaign: Campaign) -> bool:
    """A process is killed, and its successor while it opens Lousa."""
    name = _any_of(campaign, "writer", "relay").name
    await _kill(campaign, name)
    while (successor := campaign.household.children[name]).gone.is_set():  # noqa: ASYNC110  # it is begun at once
        await asyncio.sleep(0.001)
    await successor.met.wait()
    await asyncio.sleep(campaign.rng.uniform(0, 0.15))
    return await _kill(campaign, name)


def server_dies(server: str) -> Moment:
    """A server is killed."""

    async def moment(campaign: Campaign) -> bool:
        return await _kill_server(campaign, server)

    return moment


def part_dies(part: str) -> Moment:
    """A process that plays that part is killed."""

    async def moment(campaign: Campaign) -> bool:
        child = _any_of(campaign, part)
        return child.works and await _kill(campaign, child.name)

    return moment


async def runtimes_die(campaign: Campaign) -> bool:
    """Every process that has Lousa open is killed at the same moment; the servers stay."""
    return await _kill(campaign, *campaign.household.children)


async def everything_dies(campaign: Campaign) -> bool:
    """Every process and both servers."""
    pids = {server: campaign.household.pid_of(server) for server in _SERVERS}
    for pid in filter(None, pids.values()):
        os.kill(pid, signal.SIGKILL)
    await _kill(campaign, *campaign.household.children)
    for server, pid in pids.items():
        await campaign.recovered(server, pid)
    return True


async def backend_dies(campaign: Campaign) -> bool:
    """One of Postgres' own processes is killed, so that it ends all transactions and recovers."""
    pid = campaign.household.pid_of("postgres")
    with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: ASYNC230  # it is not on a disk
        children = file.read().split()
    backends = [int(child) for child in children if b"lousa" in _title(int(child))]
    if not backends:
        return False
    os.kill(campaign.rng.choice(backends), signal.SIGKILL)
    await campaign.goes_on("postgres")
    return True


def server_stops(server: str) -> Moment:
    """A server stands still for 1.5 s, and goes on."""

    async def moment(campaign: Campaign) -> bool:
        pid = campaign.household.pid_of(server)
        if not pid:
            return False
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(1.5)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        await campaign.recovered(server, 0)
        return True

    return moment


def disk_slows(server: str, *, dies: bool = False) -> Moment:
    """Each fsync that a server begins within 0.2 s takes 1.5 s longer; `dies`: it is killed in the middle of one."""

    async def moment(campaign: Campaign) -> bool:
        assert campaign.slows is not None
        file = campaign.slows / {"valkey": "slow-valkey-server", "postgres": "slow-postgres"}[server]
        file.touch()
        await asyncio.sleep(0.2)
        file.unlink()
        if dies:
            await asyncio.sleep(0.3)
            return await _kill_server(campaign, server)
        await asyncio.sleep(1.3)
        await campaign.goes_on(server)
        return True

    return moment


def seam(name: str, victim: str = "") -> Moment:
    """A process, or a server by its hand, dies at a seam."""

    async def moment(campaign: Campaign) -> bool:
        pid = campaign.household.pid_of(victim) if victim else 0
        armed = _armed(campaign, name)
        passes = 0 if name in _SELDOM else campaign.rng.choice((0, 0, 1, 3))
        campaign.reached.clear()
        for child in armed:
            child.tell({"do": "arm", "seam": name, "victim": pid, "passes": passes})
        rotating = campaign.rotate(campaign.rng.choice(sorted(campaign.boards))) if name in _ENDS else asyncio.sleep(0)
        ending = asyncio.create_task(rotating)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await campaign.reached.wait()
        for child in armed:
            child.tell({"do": "arm", "seam": "", "victim": 0, "passes": 0})
        happened = campaign.reached.is_set()
        if happened and victim:
            await campaign.recovered(victim, pid)
        await ending
        return happened

    return moment


def _armed(campaign: Campaign, name: str) -> list[Child]:
    """Who may reach that seam."""
    if name == "board-closed":  # whose turn it will be is not known
        return list(campaign.household.children.values())
    return [_any_of(campaign, "relay" if name in _IN_RELAY else "writer")]


def _title(pid: int) -> bytes:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()
    return b""


RANDOM: dict[str, Moment] = {
    "kill-writer": part_dies("writer"),
    "kill-newcomer": newcomer_dies,
    "kill-relay": part_dies("relay"),
    "kill-watcher": part_dies("watcher"),
    "kill-valkey": server_dies("valkey"),
    "kill-postgres": server_dies("postgres"),
    "kill-backend": backend_dies,
    "kill-runtimes": runtimes_die,
    "kill-everything": everything_dies,
    "stop-valkey": server_stops("valkey"),
    "stop-postgres": server_stops("postgres"),
}
SLOW: dict[str, Moment] = {
    "slow-valkey": disk_slows("valkey"),
    "slow-postgres": disk_slows("postgres"),
    "slow-valkey-dies": disk_slows("valkey", dies=True),
    "slow-postgres-dies": disk_slows("postgres", dies=True),
}
ALSO = (
    "change-sent/valkey",
    "batch-sent/valkey",
    "journaled/valkey",
    "in-commit/postgres",
    "before-xack/valkey",
    "trimming-journal/valkey",
    "through-committed/postgres",
    "projected/postgres",
    "in-audit/postgres",
    "audited/valkey",
    "trimming-board/valkey",
    "board-closed/postgres",
)
"""Seams at which a server dies."""


def moments(slow: bool) -> dict[str, Moment]:
    """Every kind of moment there is."""
    named = {CUT: seam(CUT)} | {name: seam(name) for name in SEAMS}
    also = {name: seam(*name.split("/")) for name in ALSO}
    return {**RANDOM, **(SLOW if slow else {}), **named, **also}


class Deck:
    """All kinds in random order, over and over, so that each comes equally often."""

    def __init__(self, kinds: dict[str, Moment], rng: random.Random) -> None:
        self._kinds = kinds
        self._rng = rng
        self._left: list[str] = []

    def draw(self) -> tuple[str, Moment]:
        """The next."""
        if not self._left:
            self._left = sorted(self._kinds)
            self._rng.shuffle(self._left)
        name = self._left.pop()
        return name, self._kinds[name]
