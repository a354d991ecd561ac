"""What the board costs over the server it stands on.

Each measure takes turns with what it is held against, in one process, on one client and one server: a write of the
board with one raw HSET of the same value (median time of one; and how many a second while 50 tasks write), a watcher
with a raw blocking XREAD of the same stream (from the sending of a write to the sight of its change), a turn of a
window, its transcript aside, with one raw RPUSH. The value is the median of the rounds' ratios.

    python benchmarks/board.py [--json] [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import cast

from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.infra.errors import NotFound
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import ANY, Board, Written
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.opening import open_board
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.window import Turn, Window
from lousa.memory_layers.records import Json
from redis.asyncio import Redis

VALUE: Json = {
    "clause": "payment",
    "text": "net 30 days, by bank transfer",
    "start": 1_204,
    "end": 1_233,
    "found": True,
}
RAW = json.dumps(VALUE, separators=(",", ":")).encode()
WRITES = 200
TASKS = 50
EACH = 20
Pair = tuple[float, float]
Raw = Callable[..., Awaitable[object]]


class NoArtifacts:
    """The values here are small; none is put away."""

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        raise NotFound("nothing is put away")

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Boards of one execution, one an agent, and the clients they use."""

    boards: list[Board]
    window: Window
    raw: Raw
    blocking_raw: Raw
    stream: str


@asynccontextmanager
async def opened(home: Path) -> AsyncGenerator[Bench]:
    """A bench on embedded servers."""
    async with AsyncExitStack() as stack:
        servers = await EmbeddedServers(home).start(stack)
        connections = Connections(servers.redis_url, servers.postgres_url)
        await connections.start(stack)
        feed = Feed(connections)
        await feed.start(stack)
        execution = new_id()
        await open_board(connections, "bench", execution)
        agents = [
            Principal(tenant="bench", agent=f"agent-{n}", session="bench", execution=execution) for n in range(TASKS)
        ]
        boards = [
            Board(connections, who, feed=feed, artifacts=NoArtifacts(), operations=Operations(execution))
            for who in agents
        ]
        window = Window(
            connections, agents[0], artifacts=NoArtifacts(), archive=_nowhere, operations=Operations(execution)
        )
        yield Bench(
            boards=boards,
            window=window,
            raw=_raw(connections.redis),
            blocking_raw=_raw(connections.blocking_redis),
            stream=board_keys("bench", execution).changes,
        )


async def _nowhere(turns: Sequence[Turn]) -> None:
    """The transcript is Postgres's part, and not measured here."""


def _raw(client: Redis) -> Raw:
    return cast(Raw, client.execute_command)  # pyright: ignore[reportUnknownMemberType]  # vague stubs


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    begin = perf_counter()
    await call()
    return perf_counter() - begin


async def one_write(bench: Bench) -> Pair:
    """Median seconds of one write of the board, and of one raw HSET, in turns."""
    board = bench.boards[0]
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(WRITES):
        ours.append(await timed(lambda: board.write("field", VALUE)))
        raw.append(await timed(lambda: bench.raw("HSET", "lousa:bench:raw", "field", RAW)))
    return median(ours), median(raw)


async def many_writes(bench: Bench) -> Pair:
    """Writes a second of 50 tasks at once: of the board, and raw."""

    async def ours(number: int) -> None:
        for _ in range(EACH):
            assert isinstance(await bench.boards[number].write(f"field/{number}", VALUE), Written)

    async def raw(number: int) -> None:
        for _ in range(EACH):
            await bench.raw("HSET", "lousa:bench:raw", f"field/{number}", RAW)

    async def rate(task: Callable[[int], Awaitable[None]]) -> float:
        return TASKS * EACH / await timed(lambda: asyncio.gather(*map(task, range(TASKS))))

    return await rate(ours), await rate(raw)


async def one_change(bench: Bench) -> Pair:
    """Median seconds from the sending of a write to the sight of its change: by a watcher, and by a raw reader."""
    board = bench.boards[0]

    async def until(seen: Awaitable[object]) -> tuple[float, str]:
        waiting = asyncio.ensure_future(seen)
        await asyncio.sleep(0.002)  # until the server knows that somebody waits
        begin = perf_counter()
        writing = asyncio.ensure_future(board.write("watched", VALUE, expect=ANY))
        await waiting
        seconds = perf_counter() - begin
        written = await writing
        assert isinstance(written, Written)
        return seconds, written.cursor

    ours: list[float] = []
    raw: list[float] = []
    cursor = ""
    async with board.watch() as changes:
        for _ in range(WRITES // 4):
            seconds, cursor = await until(anext(changes))
            ours.append(seconds)
    for _ in range(WRITES // 4):
        read = ("XREAD", "COUNT", 500, "BLOCK", 10_000, "STREAMS", bench.stream, cursor)
        seconds, cursor = await until(bench.blocking_raw(*read))
        raw.append(seconds)
    return median(ours), median(raw)


async def one_turn(bench: Bench) -> Pair:
    """Median seconds of one turn of a window that is full, and of one raw RPUSH, in turns."""
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(WRITES):
        ours.append(await timed(lambda: bench.window.append(Turn(role="user", body=VALUE))))
        raw.append(await timed(lambda: bench.raw("RPUSH", "lousa:bench:turns", RAW)))
    return median(ours), median(raw)


MEASURES: dict[str, tuple[str, str, float, bool, Callable[[Bench], Awaitable[Pair]]]] = {
    "write, one at a time": ("ms", "one raw HSET of the same value", 2.0, False, one_write),
    "writes a second, 50 tasks": ("/s", "raw HSET by 50 tasks", 0.6, True, many_writes),
    "a watcher sees a change": ("ms", "a raw blocking XREAD of the same stream", 2.0, False, one_change),
    "turn of a window": ("ms", "one raw RPUSH of the same value", 2.0, False, one_turn),
}


async def measure(home: Path, rounds: int) -> dict[str, list[Pair]]:
    """All pairs of all rounds, after one round that does not count."""
    async with opened(home) as bench:
        for *_, run in MEASURES.values():
            await run(bench)
        return {name: [await run(bench) for _ in range(rounds)] for name, (*_, run) in MEASURES.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lousa-board-") as folder:
        found = asyncio.run(measure(Path(folder), max(7, options.rounds)))

    report: dict[str, dict[str, object]] = {}
    if not options.json:
        print(f"{'':26} {'ours':>12} {'raw':>12} {'ratio':>6} {'bar':>6}")
    for name, pairs in found.items():
        unit, against, bar, more_is_better, _ = MEASURES[name]
        ratio = round(median(ours / raw for ours, raw in pairs), 2)
        holds = ratio >= bar if more_is_better else ratio <= bar
        report[name] = {"value": ratio, "unit": "x", "against": against, "bar": bar, "holds": holds}
        if not options.json:
            scale, digits = (1, 0) if unit == "/s" else (1_000, 3)
            ours, raw = (f"{median(side) * scale:,.{digits}f} {unit}" for side in zip(*pairs, strict=True))
            sign = "≥" if more_is_better else "≤"
            verdict = "holds" if holds else "FAILS"
            print(f"{name:26} {ours:>12} {raw:>12} {ratio:>6} {sign}{bar:>5}  {verdict}  (against {against})")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
