"""Many processes update one field, all updates in flight at once, while a watcher is killed again and again.

    python tests/faults/updates.py [--processes 4] [--updates 500] [--kills 5]

None may be lost or done twice; an update may take three attempts, which are counted by the calls of its function; and
the watcher, resumed each time from the cursor it last wrote down, must see every change once and in order. The last
line is JSON; exits with 1 when one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import cast
from uuid import UUID

from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.changes import START, Change
from lousa.memory_layers.conversation.opening import open_board

sys.path.insert(0, str(Path(__file__).resolve().parent))

from linearizability.clients import TENANT, Place, entered

FIELD = "sum"
MOST_ATTEMPTS = 3.0


async def update(place: Place, execution: UUID, name: str, updates: int) -> None:
    """A process that updates: all at once, when it is told to go. Prints how often the function was called."""
    board = place.board(execution, name)
    calls = 0

    def one_more(old: object) -> int:
        nonlocal calls
        calls += 1
        return cast(int, old or 0) + 1

    await board.write(f"ready/{name}", True)
    await board.wait_for("go", 60)
    await asyncio.gather(*(board.update(FIELD, one_more) for _ in range(updates)))
    print(calls, flush=True)


async def watch(place: Place, execution: UUID, log: Path) -> None:
    """A process that watches, from the last cursor in its log on. A change is seen once its line is written."""
    seen = _lines(log)
    with log.open("ab", buffering=0) as kept:
        async with place.board(execution, "watcher").watch(seen[-1][0] if seen else START, FIELD) as changes:
            async for change in changes:
                assert isinstance(change, Change), "the stream is kept as a whole"
                kept.write(json.dumps([change.cursor, change.value]).encode() + b"\n")


async def run(servers: Endpoints, folder: Path, *, processes: int, updates: int, kills: int) -> dict[str, float]:
    """The whole of it; the figures."""
    execution, log, total = new_id(), folder / "seen", processes * updates
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(entered(servers.redis_url, servers.postgres_url))
        await open_board(place.connections, TENANT, execution)
        board = place.board(execution, "all")

        async def child(*words: object) -> asyncio.subprocess.Process:
            command = (*(servers.redis_url, servers.postgres_url, execution), *words)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, __file__, "--part", *map(str, command)), stdout=asyncio.subprocess.PIPE
            )
            stack.push_async_callback(_end, process)
            return process

        names = [f"process-{number}" for number in range(processes)]
        updating = [await child("update", name, updates) for name in names]
        await board.wait_for([f"ready/{name}" for name in names], 60)
        watcher = await child("watch", log)
        began = monotonic()
        await board.write("go", True)
        killing = asyncio.create_task(_kill_and_resume(watcher, lambda: child("watch", log), log, total, kills))
        calls = [int((await process.communicate())[0]) for process in updating]
        took = monotonic() - began
        await killing
        value, version = await board.read_versioned(FIELD)
    seen = [value for _, value in _lines(log)]
    return {
        "updates": total,
        "value": cast(int, value),
        "version": version,
        "attempts_per_update": round(sum(calls) / total, 2),
        "watcher_killed": kills,
        "changes_seen": len(seen),
        "missed": len({*range(1, total + 1)} - {*seen}),
        "doubled_or_out_of_order": sum(now <= before for before, now in pairwise(seen)),
        "seconds": round(took, 2),
    }


def holds(figures: dict[str, float]) -> bool:
    """Whether nothing is lost, doubled or missed, and no update takes too many attempts."""
    total = figures["updates"]
    exact = figures["value"] == figures["version"] == figures["changes_seen"] == total
    return exact and not figures["missed"] and figures["attempts_per_update"] <= MOST_ATTEMPTS


async def _kill_and_resume(
    watcher: asyncio.subprocess.Process,
    start: Callable[[], Awaitable[asyncio.subprocess.Process]],
    log: Path,
    total: int,
    kills: int,
) -> None:
    for kill in range(1, kills + 1):
        await _until(log, random.randint(kill - 1, kill) * total // (kills + 1) + 1)
        await _end(watcher)
        watcher = await start()
    await _until(log, total)


async def _until(log: Path, lines: int) -> None:
    async with asyncio.timeout(60):
        while len(_lines(log)) < lines:  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(0.005)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


def _lines(log: Path) -> list[tuple[str, int]]:
    """What the watcher saw: cursors and values. A line that a kill cut off was not seen."""
    if not log.exists():
        return []
    whole = log.read_bytes().split(b"\n")
    return [tuple(json.loads(line)) for line in whole[:-1]]


async def _part(redis_url: str, postgres_url: str, execution: str, part: str, *words: str) -> None:
    async with entered(redis_url, postgres_url) as place:
        if part == "update":
            await update(place, UUID(execution), words[0], int(words[1]))
        else:
            await watch(place, UUID(execution), Path(words[0]))


async def _command(told: argparse.Namespace) -> dict[str, float]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-updates-")))
        servers = await EmbeddedServers(folder / "home").start(stack)
        return await run(servers, folder, processes=told.processes, updates=told.updates, kills=told.kills)


def main(words: Sequence[str]) -> None:
    """Run it from the command line."""
    if words[:1] == ["--part"]:
        return asyncio.run(_part(*words[1:]))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--updates", type=int, default=500, help="of each process")
    parser.add_argument("--kills", type=int, default=5, help="how often the watcher is killed")
    figures = asyncio.run(_command(parser.parse_args(words)))
    print(json.dumps(figures))
    sys.exit(0 if holds(figures) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
