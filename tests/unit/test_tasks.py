"""Tasks end when they are told to, and when they did not hear it the first time."""

from __future__ import annotations

import asyncio

import pytest
from lousa.infra import tasks
from lousa.infra.tasks import end


async def test_a_task_that_lost_a_cancellation_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_AGAIN", 0.01)
    lost: list[str] = []

    async def hard_of_hearing() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                lost.append("one")
                if len(lost) == 3:
                    raise

    async def failing() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("at the end")

    both = [asyncio.create_task(work()) for work in (hard_of_hearing, failing)]
    await asyncio.sleep(0)
    await end(*both)
    assert len(lost) == 3 and both[0].cancelled()
    assert isinstance(both[1].exception(), ValueError)
    await end(*both)
    await end()
