"""Layer 2 is rebuilt while a program writes, withdraws and recalls, and the rebuild is killed once with SIGKILL.

What is counted as wrong: a recall that does not find an acknowledged memory by its own text, that brings back one whose
withdrawal was acknowledged, or that fails; a write that fails, or that is not in the record and in layer 2 at the end.

By itself: `PYTHONPATH=tests:tests/support:tests/faults python tests/faults/rebuild_campaign.py --size 50000 --to two`
starts servers of its own and prints the figures. With `--home DIR` it keeps them, and goes on with what is there; with
`--fill` it writes memories and does no more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import lousa
import models
import psycopg
from lousa.agents.remembering import Remembering
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.identity import Principal
from lousa.infra.settings import Settings
from lousa.runtime.app import Runtime

WORDS = ("garden", "harbour", "library", "orchard", "foundry", "station", "bridge", "mill", "forge", "inn", "tower")
_WRITERS, _READERS = 4, 2


@dataclass
class Figures:
    """What happened."""

    size: int = 0
    written: int = 0
    withdrawn: int = 0
    recalls: int = 0
    recalls_silent: int = 0
    recalls_without_likeness: int = 0
    missed: list[str] = field(default_factory=list)
    brought_back: list[str] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    killed_at: int = 0
    gone_on_from: int = 0
    lost: int = 0
    without_vector: int = 0
    surplus_vectors: int = 0
    found_by_likeness: str = ""
    slowest_write: float = 0.0
    slowest_recall: float = 0.0
    seconds: float = 0.0
    rebuilt: dict[str, Any] = field(default_factory=dict)


class Traffic:
    """A program that writes, withdraws and recalls until it is told to stop, and keeps account."""

    def __init__(self, runtime: Runtime, figures: Figures) -> None:
        self.texts: dict[UUID, str] = {}
        """Of memories that were acknowledged and not withdrawn."""
        self.withdrawn: set[UUID] = set()
        self.committed: set[UUID] = set()
        """Of these some time ago: what a reader of another session must find."""
        self._runtime = runtime
        self._desk = runtime.desk()
        self._reading = runtime.desk("reader", session="another")
        self._figures = figures
        self._numbers = iter(range(10**9))
        self._stopped = asyncio.Event()
        self._random = random.Random(7)

    async def fill(self, size: int) -> None:
        """As many memories as that, those that are there already included."""
        there = await rows(self._runtime, "SELECT id, text FROM memory WHERE status = 'live'")
        self.texts.update(dict(there))
        self._numbers = iter(range(max((int(text.split()[1]) for _, text in there), default=-1) + 1, 10**9))
        for done in range(len(there), size, 500):
            await asyncio.gather(*(self.write() for _ in range(min(500, size - done))))

    async def write(self, kind: str = "semantic") -> None:
        text = f"number {next(self._numbers)} of the {' '.join(self._random.sample(WORDS, 3))} is kept"
        receipt = await self._desk.remember(text, kind=kind, scope="tenant")
        self.texts[receipt.id] = text
        self._figures.written += 1

    async def withdraw(self) -> None:
        identifier = self._random.choice([*self.texts][-500:])
        del self.texts[identifier]  # whether it is found from here on is open, until that is acknowledged
        await self._desk.forget(identifier, "enough")
        self.withdrawn.add(identifier)
        self._figures.withdrawn += 1

    async def recall(self) -> None:
        """In the session of the writers, which waits for what they wrote."""
        await self._find(self._desk, self._random.choice([*self.texts]))

    async def recall_elsewhere(self) -> None:
        """In another session, of what was in the record a moment ago."""
        if not self.committed:
            self.committed = {row[0] for row in await rows(self._runtime, "SELECT id FROM memory")}
        identifier = self.committed.pop()
        if identifier in self.texts:
            await self._find(self._reading, identifier)

    async def _find(self, desk: Remembering, identifier: UUID) -> None:
        text, withdrawn = self.texts[identifier], set(self.withdrawn)
        found = await desk.recall(text, k=10)
        hits = {hit.id: hit for hit in found.hits}
        self._figures.recalls += 1
        self._figures.recalls_silent += bool(found.silent)
        if identifier not in hits:
            if identifier in self.texts and not found.behind:
                self._figures.missed.append(f"{text} (silent: {found.silent})")
        elif "dense" not in hits[identifier].via:
            self._figures.recalls_without_likeness += 1
        self._figures.brought_back += [hit.text for hit in found.hits if hit.id in withdrawn]

    @asynccontextmanager
    async def flowing(self) -> AsyncGenerator[None]:
        tasks = [asyncio.create_task(self._keep(self._some_write, "write")) for _ in range(_WRITERS)]
        for recall in (self.recall, self.recall_elsewhere):
            tasks += [asyncio.create_task(self._keep(recall, "recall")) for _ in range(_READERS)]
        try:
            yield
        finally:
            self._stopped.set()
            await asyncio.gather(*tasks)

    async def _some_write(self) -> None:
        await self.write("procedural" if self._random.random() < 0.1 else "semantic")
        if self._random.random() < 0.1:
            await self.withdraw()
        await asyncio.sleep(0.005)

    async def _keep(self, work: Any, what: str) -> None:
        slowest = f"slowest_{what}"
        while not self._stopped.is_set():
            begun = time.monotonic()
            try:
                await work()
            except Exception as error:
                self._figures.failed[f"{what}: {type(error).__name__}: {error}"[:200]] += 1
            took = time.monotonic() - begun
            setattr(self._figures, slowest, max(getattr(self._figures, slowest), round(took, 3)))


async def run(settings: Settings, size: int, to: str, *, hurry: bool = False) -> Figures:
    """The whole of it, on servers that are there; `settings` are those of the program that serves.

    In a hurry the lease of the one that was killed is ended by hand; else it is waited for.
    """
    begun = time.monotonic()
    figures = Figures(size=size)
    async with lousa.open(settings) as runtime:
        traffic = Traffic(runtime, figures)
        await traffic.fill(size)
        await _nothing_owed(runtime)
        if to == "":
            return figures
        async with traffic.flowing():
            first = await _rebuild(settings, to)
            try:
                while (kept := await _kept(runtime)) < size * 0.4 and first.returncode is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            finally:
                if first.returncode is None:
                    first.send_signal(signal.SIGKILL)
                assert await first.wait() == -signal.SIGKILL, "it ended before it could be killed"
            figures.killed_at, figures.gone_on_from = kept, await _kept(runtime)
            if hurry:
                async with runtime.services.connections.owner_transaction() as connection:
                    await connection.execute("UPDATE lousa.rebuild SET held_until = clock_timestamp()")
            second = await _rebuild(settings, to)
            out, _ = await second.communicate()
            assert second.returncode == 0, "the second one went on to the end"
            figures.rebuilt = json.loads(out)
            await asyncio.sleep(1.0)
    newer = settings.model_copy(update={"embedder": f"models:{to}"})
    async with lousa.open(newer) as runtime:
        await _nothing_owed(runtime)
        live = {row[0] for row in await rows(runtime, "SELECT id FROM memory WHERE status = 'live'")}
        [(space,)] = await rows(runtime, "SELECT name FROM layer_space WHERE layer = 'context'")
        there = {row[0] for row in await rows(runtime, f"SELECT id FROM memory_vector_{space}")}
        figures.lost = len(traffic.texts.keys() - live)
        figures.without_vector, figures.surplus_vectors = len(live - there), len(there - live)
        sample = random.Random(1).sample(sorted(traffic.texts), min(300, len(traffic.texts)))
        found = 0
        for identifier in sample:
            hits = (await runtime.desk().recall(traffic.texts[identifier], k=10)).hits
            found += any(hit.id == identifier and "dense" in hit.via for hit in hits)
        figures.found_by_likeness = f"{found} of {len(sample)}"
    figures.seconds = round(time.monotonic() - begun, 1)
    return figures


async def _rebuild(settings: Settings, to: str) -> asyncio.subprocess.Process:
    environment = {
        **os.environ,
        "LOUSA_REDIS_URL": settings.redis_url or "",
        "LOUSA_POSTGRES_URL": settings.postgres_url or "",
        "LOUSA_HOME": str(settings.home),
        "LOUSA_TENANT": settings.tenant,
        "LOUSA_EMBEDDER": f"models:{to}",
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path(models.__file__).parent)]),
    }
    words = (sys.executable, "-m", "lousa", "rebuild", "context", "--json")
    return await asyncio.create_subprocess_exec(
        *words, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )


async def rows(runtime: Runtime, query: str) -> list[tuple[Any, ...]]:
    async with runtime.services.connections.system_transaction(runtime.settings.tenant) as connection:
        return await (await connection.execute(query.encode())).fetchall()


async def _kept(runtime: Runtime) -> int:
    """How many vectors the space that is being filled has."""
    filling = await rows(runtime, "SELECT name FROM layer_space WHERE layer = 'context' AND state = 'filling'")
    return (await rows(runtime, f"SELECT count(*) FROM memory_vector_{filling[0][0]}"))[0][0] if filling else 0


async def _nothing_owed(runtime: Runtime) -> None:
    while (await rows(runtime, "SELECT count(*) FROM debt"))[0][0] or not await _committed(runtime):  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def _committed(runtime: Runtime) -> bool:
    who = Principal(tenant=runtime.settings.tenant, agent="user", session="default")
    return await runtime.services.router.caught_up(who, timedelta(seconds=60))


async def _alone(size: int, to: str, home: Path | None) -> Figures:
    async with AsyncExitStack() as stack:
        folder = home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-rebuild-")))
        servers = await EmbeddedServers(folder).start(stack)
        serving = await _serving(servers.postgres_url)
        settings = Settings(
            redis_url=servers.redis_url,
            postgres_url=servers.postgres_url,
            home=folder / "program",
            embedder=f"models:{serving}",
            consolidate=False,
            truth=False,  # texts that resemble one another by design
        )
        return await run(settings, size, to)


async def _serving(postgres_url: str) -> str:
    """The model whose vectors are there."""
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        ((there,),) = await (await connection.execute("SELECT to_regclass('lousa.layer_space') IS NOT NULL")).fetchall()
        query = "SELECT model FROM lousa.layer_space WHERE layer = 'context' AND state = 'serving'"
        found = await (await connection.execute(query)).fetchone() if there else None
    return str(found[0]).split()[-1] if found else "one"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2_000)
    parser.add_argument("--to", choices=("one", "two"), default="two")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--fill", action="store_true")
    chosen = parser.parse_args()
    ended = asyncio.run(_alone(chosen.size, "" if chosen.fill else chosen.to, chosen.home))
    print(json.dumps(asdict(ended), indent=1, default=str))
