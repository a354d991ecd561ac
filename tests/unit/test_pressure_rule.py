"""The rule that slows writers: nothing below the soft mark, a bounded delay above it, a bounded wait at the mark."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from lousa.infra.errors import Overloaded, ServerUnavailable
from lousa.infra.settings import load
from lousa.memory_layers.lookout import room
from lousa.memory_layers.pressure import Brake, Marks

MB = 2**20


def test_an_acknowledgement_is_held_back_in_proportion_and_never_longer_than_the_bound() -> None:
    marks = Marks(soft=0.5, delay=timedelta(milliseconds=200))
    assert [marks.hold(share) for share in (0.0, 0.5, 0.75, 1.0, 7.0)] == pytest.approx([0, 0, 0.1, 0.2, 0.2])
    assert Marks(soft=1.0).hold(1.0) == 0.0
    assert Marks(delay=timedelta(0)).hold(1.0) == 0.0


def test_the_marks_are_what_is_set() -> None:
    marks = Marks.of(load(debt_entries=10, debt_megabytes=2, debt_soft=0.1, debt_delay=1, debt_patience=0))
    assert (marks.entries, marks.bytes, marks.soft) == (10, 2 * MB, 0.1)
    assert (marks.delay, marks.patience) == (timedelta(seconds=1), timedelta(0))


async def test_whoever_waits_for_room_gets_it_in_turn_and_nobody_jumps_the_queue() -> None:
    brake, free, told = Brake(Marks(patience=timedelta(seconds=10))), 0, list[int]()

    async def write(number: int) -> None:
        async def attempt() -> None:
            nonlocal free
            if not free:
                raise Overloaded("full")
            free -= 1
            told.append(number)

        await brake.admitted("back journal t", attempt)

    waiting: list[asyncio.Task[None]] = []
    for number in range(5):
        waiting.append(asyncio.create_task(write(number)))
        await asyncio.sleep(0)
    while len(told) < 5:
        free = 1  # room for one at a time, and a newcomer who asks at that moment
        if len(waiting) < 10:
            waiting.append(asyncio.create_task(write(len(waiting))))
        await asyncio.sleep(0.01)
    free = 100
    await asyncio.gather(*waiting)
    assert told == list(range(len(waiting)))


async def test_whoever_finds_no_room_in_time_is_refused_with_what_is_owed_and_another_queue_does_not_wait() -> None:
    brake = Brake(Marks(patience=timedelta(milliseconds=50)))

    async def full() -> None:
        raise Overloaded("7 writes of tenant 't' wait")

    async def free() -> str:
        return "done"

    refused = [asyncio.create_task(brake.admitted("back journal t", full)) for _ in range(20)]
    await asyncio.sleep(0)
    assert await brake.admitted("back journal u", free) == "done"
    for ended in await asyncio.gather(*refused, return_exceptions=True):
        assert isinstance(ended, Overloaded) and "7 writes of tenant 't' wait; it waited 0.05 s" in str(ended)
    assert await brake.admitted("back journal t", free) == "done"


async def test_a_server_that_is_away_is_not_waited_for() -> None:
    async def gone() -> None:
        raise ServerUnavailable("gone")

    with pytest.raises(ServerUnavailable, match="gone"):
        await Brake().admitted("back journal t", gone)


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ({"maxmemory": 100 * MB, "used_memory": 20 * MB, "maxmemory_policy": "noeviction"}, 70 * MB),
        ({"maxmemory": 100 * MB, "used_memory": 95 * MB, "maxmemory_policy": "noeviction"}, -5 * MB),
        ({"maxmemory": 100 * MB, "used_memory": 95 * MB, "maxmemory_policy": "volatile-lru"}, -5 * MB),
        ({"maxmemory": 100 * MB, "used_memory": 95 * MB, "maxmemory_policy": "allkeys-lru"}, 128 * MB),
        ({"maxmemory": 0, "used_memory": 20 * MB, "total_system_memory": 8_000 * MB}, 128 * MB),
        ({"maxmemory": 0, "used_memory": 20 * MB, "total_system_memory": 100 * MB}, 25 * MB),
        ({"used_memory": 20 * MB}, 128 * MB),
    ],
)
def test_a_journal_may_not_outgrow_the_memory_that_is_left(told: dict[str, object], left: int) -> None:
    assert room(told, 128 * MB) == left
