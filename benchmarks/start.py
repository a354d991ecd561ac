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
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter

import lousa
import psycopg
from lousa.infra.embedded.supervisor import EmbeddedServers
from lousa.runtime.cli import app
from redis.asyncio import Redis

Pair = tuple[float, float]

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
BARE = f"""
import typer
app = typer.Typer()
for name in {COMMANDS!r}:
    app.command(name)(lambda: None)
app()
"""
TIMED = "from time import perf_counter\nbegin = perf_counter()\nimport {what}\nprint(perf_counter() - begin)"


def imported(what: str) -> float:
    """Seconds that an import takes in a new process, without the interpreter's own start."""
    done = subprocess.run([sys.executable, "-c", TIMED.format(what=what)], capture_output=True, check=True, text=True)
    return float(done.stdout)


def help_of(*command: str) -> float:
    """Seconds from the start of a process to the end of its help."""
    begin = perf_counter()
    subprocess.run([sys.executable, *command, "--help"], capture_output=True, check=True)
    return perf_counter() - begin


async def opened(home: Path) -> float:
    """Seconds until a runtime is ready, on servers that run already."""
    begin = perf_counter()
    async with lousa.open(home=home):
        return perf_counter() - begin


async def connected(redis_url: str, postgres_url: str) -> float:
    """Seconds until each server has answered one plain connection."""
    begin = perf_counter()
    async with Redis.from_url(redis_url) as redis:
        await redis.ping()
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            await connection.execute("SELECT 1")
            return perf_counter() - begin


async def opening(rounds: int) -> list[Pair]:
    """Warm opens and plain connections in turns, while somebody else keeps the servers up."""
    with tempfile.TemporaryDirectory(prefix="lousa-start-") as folder:
        async with AsyncExitStack() as stack:
            servers = await EmbeddedServers(Path(folder)).start(stack)
            await opened(Path(folder))  # once for the schema
            return await in_turns(
                rounds,
                lambda: opened(Path(folder)),
                lambda: connected(servers.redis_url, servers.postgres_url),
            )


async def in_turns(
    rounds: int, ours: Callable[[], Awaitable[float]], theirs: Callable[[], Awaitable[float]]
) -> list[Pair]:
    """Both once a round, the one that begins changing each time."""
    pairs: list[Pair] = []
    for number in range(rounds):
        if number % 2:
            second = await theirs()
            pairs.append((await ours(), second))
        else:
            first = await ours()
            pairs.append((first, await theirs()))
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args()
    rounds = max(7, options.rounds)

    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        commands = f"a bare typer app of {len(COMMANDS)} commands"
        measures: list[tuple[str, str, float, Callable[[], Awaitable[list[Pair]]]]] = [
            (
                "import lousa",
                "import redis.asyncio, psycopg",
                1.5,
                lambda: in_turns(
                    rounds,
                    lambda: asyncio.to_thread(imported, "lousa"),
                    lambda: asyncio.to_thread(imported, "redis.asyncio, psycopg"),
                ),
            ),
            (
                "lousa --help",
                commands,
                1.5,
                lambda: in_turns(
                    rounds,
                    lambda: asyncio.to_thread(help_of, "-m", "lousa"),
                    lambda: asyncio.to_thread(help_of, str(bare)),
                ),
            ),
            ("warm open()", "one connection to each server", 5.0, lambda: opening(rounds)),
        ]
        results = {name: (against, bar, asyncio.run(pairs())) for name, against, bar, pairs in measures}

    report = {
        name: {
            "value": round(ratio := statistics.median(ours / theirs for ours, theirs in pairs), 2),
            "unit": "x",
            "against": against,
            "bar": bar,
            "holds": ratio <= bar,
        }
        for name, (against, bar, pairs) in results.items()
    }
    if options.json:
        print(json.dumps(report))
        return
    print(f"{'':14} {'ours':>9} {'theirs':>9} {'ratio':>6} {'bar':>5}")
    for name, (against, bar, pairs) in results.items():
        ours, theirs = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        holds = "holds" if report[name]["holds"] else "FAILS"
        print(
            f"{name:14} {ours:6.1f} ms {theirs:6.1f} ms {report[name]['value']:6} {bar:5}  {holds}  (against {against})"
        )


if __name__ == "__main__":
    main()
