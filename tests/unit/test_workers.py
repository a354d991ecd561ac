"""Threads of a store's own: in order, in the caller's context, and never waited for at the end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest
from lousa.memory_layers.context.workers import Workers

_SAID: ContextVar[str] = ContextVar("said")

_HANGS = """
import asyncio, threading
from lousa.memory_layers.context.workers import Workers

async def main():
    workers, running = Workers(1, "hangs"), threading.Event()
    def hang():
        running.set()
        threading.Event().wait()
    call = asyncio.create_task(workers.call(hang))
    await asyncio.to_thread(running.wait)
    call.cancel()
    workers.close()

asyncio.run(main())
"""


async def test_a_call_gives_what_the_function_gives_in_the_callers_context() -> None:
    workers = Workers(2, "gives")
    _SAID.set("olá")
    assert await asyncio.gather(*(workers.call(_SAID.get) for _ in range(5))) == ["olá"] * 5
    with pytest.raises(ZeroDivisionError):
        await workers.call(lambda: 1 // 0)
    assert await workers.call(lambda: threading.current_thread().name) in {"gives_0", "gives_1"}
    workers.close()


async def test_a_call_that_nobody_waits_for_any_more_is_not_begun() -> None:
    workers, gate, begun = Workers(1, "queues"), threading.Event(), list[int]()
    first = asyncio.create_task(workers.call(gate.wait))
    second = asyncio.create_task(workers.call(lambda: begun.append(2)))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.set()
    assert await first is True
    await workers.call(lambda: begun.append(3))
    assert begun == [3]
    workers.close()


def test_a_process_ends_though_a_call_hangs() -> None:
    ended = subprocess.run([sys.executable, "-c", _HANGS], timeout=30, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
