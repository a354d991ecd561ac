"""Tasks end when they are told to, and when they did not hear it the first time."""

from __future__ import annotations

import asyncio

import pytest
from lousa.infra import tasks
from lousa.infra.tasks import end, together


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


async def test_calls_that_are_made_together_answer_in_their_order() -> None:
    async def later(answer: int) -> int:
        await asyncio.sleep(0.01 / answer)
        return answer

    assert await together(later(1), later(2), later(3)) == (1, 2, 3)
    assert await together() == ()


@pytest.mark.parametrize("cancelled", [True, False])
async def test_none_that_was_called_together_with_others_goes_on_without_them(cancelled: bool) -> None:
    ended: list[str] = []

    async def slow_to_end() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            ended.append("slow")

    async def failing() -> None:
        await asyncio.sleep(60 if cancelled else 0.01)
        raise KeyError("x")

    calling = asyncio.create_task(together(slow_to_end(), failing()))
    if cancelled:
        await asyncio.sleep(0.01)
        calling.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else KeyError):
        await calling
    assert ended == ["slow"]
