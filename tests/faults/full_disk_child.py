"""Runs in a home on a small disk: fills it while writing, frees it, and says what it saw as one JSON line."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import lousa
from lousa.infra.errors import LousaError
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.board import Written


async def main(home: Path) -> None:
    ballast = home / "ballast"
    refused: set[str] = set()
    kept: dict[str, str] = {}
    async with lousa.open(home=home) as runtime:
        execution = new_id()
        desk = runtime.desk("writer")
        await runtime.services.executions.create(desk.principal, "full disk", {}, execution=execution)
        board = runtime.board(execution)

        async def write(number: int) -> bool:
            try:
                async with asyncio.timeout(20):
                    if isinstance(await board.write(f"field/{number}", "x" * 5_000), Written):
                        kept[f"field/{number}"] = "board"
                    receipt = await desk.state_fact(f"thing {number}", "has", f"number {number}")
                    kept[str(receipt.id)] = "fact"
            except LousaError as error:
                refused.add(type(error).__name__)
                return False
            return True

        await asyncio.gather(*(write(number) for number in range(20)))
        with ballast.open("wb", buffering=0) as full:
            try:
                while True:
                    full.write(b"\0" * 65_536)
            except OSError:
                pass
        for number in range(20, 4_000):
            if not await write(number):
                break
        ballast.unlink()
        async with asyncio.timeout(30):
            number = 5_000
            while not await write(number):
                number += 1
        there = await board.read_all()
        async with runtime.services.connections.transaction(desk.principal) as connection:
            cursor = await connection.execute("SELECT id::text FROM memory")
            facts = {row[0] for row in await cursor.fetchall()}
        lost = [what for what, kind in kept.items() if what not in (there if kind == "board" else facts)]
        sys.stdout.write(json.dumps({"refused": sorted(refused), "kept": len(kept), "lost": lost}) + "\n")


asyncio.run(main(Path(sys.argv[1])))
