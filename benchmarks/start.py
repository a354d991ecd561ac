"""How long it takes until something happens: the import, the help, and an `open()` on servers that run.

Each is held against what nobody can do without: importing the two drivers, a typer app with as many commands and
nothing behind them, one plain connection to each server. Imports and helps are processes of their own, in turns; the
value is the median of the rounds' ratios.

    python benchmarks/start.py [--json] [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import lousa
import psycopg
from lousa.infra.embedded.supervisor import EmbeddedServers, Endpoints
from lousa.runtime.cli import app
from redis.asyncio import Redis

Timed = Callable[[], Awaitable[float]]

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
BARE = f"""
import typer
app = typer.Typer()
for name in {COMMANDS!r}:
    app.command(name)(lambda: None)
app()
"""
TIMED = "from time import perf_counter\nbegin = perf_counter()\nimport {what}\nprint(perf_counter() - begin)"


async def imported(what: str) -> float:
    """Seconds that an import takes in a new process, without the interpreter's own start."""
    return float(await _output("-c", TIMED.format(what=what)))


async def help_of(*command: str) -> float:
    """Seconds from the start of a process to the end of its help."""
    begin = perf_counter()
    await _output(*command, "--help")
    return perf_counter() - begin


async def _output(*words: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{words} ended with {process.returncode}")
    return said


async def opened(home: Path) -> float:
    """Seconds until a runtime is ready, on servers that run already."""
    begin = perf_counter()
    async with lousa.open(home=home):
        return perf_counter() - begin


async def connected(servers: Endpoints) -> float:
    """Seconds until each server has answered one plain connection."""
    begin = perf_counter()
    async with Redis.from_url(servers.redis_url) as redis:  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        await redis.ping()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
        async with await psycopg.AsyncConnection.connect(servers.postgres_url) as connection:
            await connection.execute("SELECT 1")
            return perf_counter() - begin


async def in_turns(rounds: int, ours: Timed, theirs: Timed) -> list[tuple[float, float]]:
    """Both once a round; who begins changes each time."""
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        first, second = (ours, theirs) if number % 2 else (theirs, ours)
        begun, ended = await first(), await second()
        pairs.append((begun, ended) if number % 2 else (ended, begun))
    return pairs


async def measured(rounds: int) -> list[Measure]:
    """All three."""
    with tempfile.TemporaryDirectory(prefix="lousa-start-") as folder:
        home, bare = Path(folder) / "home", Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        drivers = "redis.asyncio, psycopg"
        imports = await in_turns(rounds, lambda: imported("lousa"), lambda: imported(drivers))
        helps = await in_turns(rounds, lambda: help_of("-m", "lousa"), lambda: help_of(str(bare)))
        async with AsyncExitStack() as stack:
            servers = await EmbeddedServers(home).start(stack)  # somebody else keeps them up
            await opened(home)  # once for the schema
            opens = await in_turns(rounds, lambda: opened(home), lambda: connected(servers))
    return [
        Measure("import lousa", f"import {drivers}", 1.5, imports),
        Measure("lousa --help", f"a bare typer app of {len(COMMANDS)} commands", 1.5, helps),
        Measure("warm open()", "one connection to each server", 5.0, opens),
    ]


@dataclass(frozen=True, slots=True)
class Measure:
    """What took how long, in pairs of ours and theirs."""

    name: str
    against: str
    bar: float
    pairs: list[tuple[float, float]]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(ours / theirs for ours, theirs in self.pairs)

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bar

    def milliseconds(self, place: int) -> float:
        """The median of ours (0) or theirs (1)."""
        return statistics.median(pair[place] for pair in self.pairs) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args()
    measures = asyncio.run(measured(max(7, options.rounds)))
    if options.json:
        print(
            json.dumps(
                {
                    one.name: {
                        "value": round(one.ratio, 2),
                        "unit": "x",
                        "against": one.against,
                        "bar": one.bar,
                        "holds": one.holds,
                    }
                    for one in measures
                }
            )
        )
        return
    print(f"{'':14}{'ours':>10} {'theirs':>10} {'ratio':>6} {'bar':>5}")
    for one in measures:
        line = f"{one.name:14}{one.milliseconds(0):7.1f} ms {one.milliseconds(1):7.1f} ms {one.ratio:6.2f} {one.bar:5}"
        print(f"{line}  {'holds' if one.holds else 'FAILS'} (against {one.against})")


if __name__ == "__main__":
    main()
