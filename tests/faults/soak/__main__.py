"""A soak: two processes under full load on one home, and a judgement on what grew.

    python tests/faults/soak [--minutes 20] [--every 5] [--home FOLDER] [--embedder use]

Every few seconds it samples the memory, open handles and tasks of both processes and of the servers, the connections,
the keys by kind and what is owed. Then the load rests, and what ended has to be gone: nothing owed, and no key left of
an execution that is over. The last line is JSON; it exits with 1 when something grew more than it may (see `verdict`)
or is left. Boards are kept for 20 seconds after their end, in place of a day.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from typing import Any

FAULTS = Path(__file__).resolve().parents[1]
sys.path[0] = str(FAULTS)

from lousa.infra.connections import Connections  # noqa: E402
from lousa.infra.embedded.supervisor import EmbeddedServers, status  # noqa: E402

from soak.measures import Servers, handles, memory, together  # noqa: E402
from soak.verdict import Series, judge  # noqa: E402

KEPT = 20.0
LOOKS = 20
MEETING = 2.0
SETTLED = 90.0
"""Seconds within which nothing may be owed any more once the load rests."""


class Worker:
    """One process under load."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, home: Path, embedder: str, seed: int) -> Worker:
        """Start one; it is open when this returns."""
        command = ("-m", "soak.load", str(home), embedder, str(KEPT), str(seed))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(FAULTS)},
        )
        worker = cls(process)
        await worker.answer()
        return worker

    async def ask(self, what: str) -> dict[str, Any]:
        """Say a line; what is answered."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n".encode())
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process under load ended with {await self.process.wait()}")
        return json.loads(line)

    async def end(self) -> None:
        """Leave none behind."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def close(self) -> None:
        """Let it go in peace."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if await self.process.wait():
            raise SystemExit(f"a process under load ended with {self.process.returncode}")


class Soak:
    """What was measured so far, and how."""

    def __init__(self, servers: Servers, workers: list[Worker], valkey: int, postgres: int) -> None:
        self.samples: list[tuple[float, dict[str, float]]] = []
        self._servers = servers
        self._workers = workers
        self._valkey, self._postgres = valkey, postgres
        self._began = monotonic()
        self._idle = Counter[str]()

    @property
    def series(self) -> dict[str, Series]:
        """Every series over all samples; what was not there counts as none."""
        names = {name for _, found in self.samples for name in found}
        return {name: [(minute, found.get(name, 0.0)) for minute, found in self.samples] for name in names}

    async def sample(self) -> None:
        """Measure everything once."""
        found: dict[str, float] = {}
        for number, worker in enumerate(self._workers, 1):
            told = await worker.ask("look")
            pid = worker.process.pid
            found |= {
                f"memory/process-{number}": memory(pid)["Rss"],
                f"handles/process-{number}": handles(pid),
                f"tasks/process-{number}": sum(told["tasks"].values()),
            }
        redis, standing = await self._servers.redis(), await self._servers.standing()
        found |= {
            "memory/valkey": memory(self._valkey)["Rss"],
            "memory/valkey-used": redis["used"],
            "memory/postgres": together(self._postgres)["own"],
            "handles/valkey": handles(self._valkey),
            "connections/redis": redis["clients"],
            "connections/postgres": standing["connections"],
        }
        found |= {f"owed/{name}": standing[name] for name in ("journal", "debts", "undrained")}
        found |= {f"keys/{kind}": count for kind, count in (await self._servers.keys()).items()}
        self.samples.append(((monotonic() - self._began) / 60, found))

    async def settle(self) -> dict[str, int]:
        """Let the load rest; what is left then that should be gone."""
        for worker in self._workers:
            await worker.ask("rest")
        ends = monotonic() + SETTLED
        while True:
            standing = await self._servers.standing()
            owed = {name: standing[name] for name in ("journal", "debts", "undrained")}
            if not any(owed.values()) or monotonic() > ends:
                break
            await asyncio.sleep(0.5)
        endless = await self._servers.endless()
        await asyncio.sleep(KEPT + 2)
        boards = sum(count for kind, count in (await self._servers.keys()).items() if kind.startswith("board"))
        tasks = await self.idle(min) - self._idle
        if tasks:
            print(f"tasks left behind: {dict(tasks)}", file=sys.stderr)
        left = {"keys_without_end": len(endless), "keys_of_ended": boards, "tasks": tasks.total()}
        return {"owed": sum(owed.values()), **left}

    async def idle(self, of: Callable[[Iterable[int]], int]) -> Counter[str]:
        """The tasks that both processes have while they have nothing to do, by name: the most, or the fewest.

        A relay that waits has some more than one that just looks around.
        """
        looks: list[Counter[str]] = []
        for _ in range(LOOKS):
            both = Counter[str]()
            for worker in self._workers:
                both.update((await worker.ask("look"))["tasks"])
            looks.append(both)
            await asyncio.sleep(0.1)
        return Counter({name: of(each[name] for each in looks) for look in looks for name in look})

    async def begin(self) -> None:
        """Let the load begin, once each relay has met the tenants of the other."""
        await asyncio.sleep(MEETING)
        self._idle = await self.idle(max)
        for worker in self._workers:
            await worker.ask("begin")


async def soak(home: Path, minutes: float, every: float, embedder: str) -> dict[str, object]:
    """The whole of it; what came of it."""
    async with AsyncExitStack() as stack:
        workers = [await Worker.start(home, embedder, seed) for seed in (1, 2)]
        seen = await status(home)
        pids = {server.name: server.pid for server in seen.servers}
        where = await EmbeddedServers(home).start(stack)
        connections = Connections(where.redis_url, where.postgres_url)
        await connections.start(stack)
        for worker in workers:
            stack.push_async_callback(worker.end)
        course = Soak(Servers(connections), workers, pids["valkey"], pids["postgres"])
        await course.begin()
        ends = monotonic() + minutes * 60
        while monotonic() < ends:
            await asyncio.sleep(every)
            await course.sample()
            _tell(course)
        done: Counter[str] = Counter()
        for worker in workers:
            done.update((await worker.ask("look"))["done"])
        left = await course.settle()
        for worker in workers:
            await worker.close()
    courses = judge(course.series)
    grew = sorted(name for name, each in courses.items() if each.grew)
    return {
        "minutes": minutes,
        "executions": done["executions"],
        "operations": done["operations"],
        "slope": {name: round(each.slope, 3) for name, each in courses.items() if name.startswith("memory")},
        "growth": {name: [round(each.first, 1), round(each.last, 1)] for name, each in courses.items()},
        "left": left,
        "grew": grew,
        "flat": not grew and not any(left.values()),
    }


def _tell(course: Soak) -> None:
    minute, found = course.samples[-1]
    shown = " ".join(f"{name.partition('/')[2]}={value:.0f}" for name, value in found.items() if "keys/" not in name)
    print(f"{minute:6.2f} {shown} keys={sum(v for k, v in found.items() if 'keys/' in k):.0f}", file=sys.stderr)


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples")
    parser.add_argument("--home", type=Path, help="a folder for the servers' data; a temporary one by default")
    parser.add_argument("--embedder", default="use")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lousa-soak-") as folder:
        result = asyncio.run(soak(told.home or Path(folder), told.minutes, told.every, told.embedder))
    print(json.dumps(result))
    sys.exit(0 if result["flat"] else 1)


if __name__ == "__main__":
    main()
