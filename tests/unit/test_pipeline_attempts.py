"""An attempt: claimed, timed, repeated where that can help, cancelled when it is overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from lousa.agents import attempt as attempts
from lousa.agents.attempt import Exhausted, Hold, Step, There, attempt
from lousa.infra.errors import BadInput, EffectUncertain, LousaError, Stale, TaskFailed
from lousa.memory_layers.records import Json


class Claimed:
    """A claim that can be lost."""

    def __init__(self) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Place:
    """A workplace without a board. Satisfies `attempt.Workplace`."""

    def __init__(self, there: Json = None) -> None:
        self.claims: list[Claimed] = []
        self.written: list[Json] = []
        self.let_go_of = 0
        self._there = there

    async def hold(self, step: Step) -> Hold | There:
        if self._there is not None:
            return There(value=self._there)
        self.claims.append(Claimed())
        return Hold(step=step, held=cast(Any, self.claims[-1]), desk=cast(Any, None))

    async def write(self, hold: Hold, value: Json) -> Json:
        self.written.append(value)
        return value

    async def let_go(self, hold: Hold) -> None:
        self.let_go_of += 1


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(attempts, "GRACE", 0.05)


def step(call: Callable[[Any, int], Awaitable[object]], *, retries: int = 2, timeout: float = 5) -> Step:
    return Step(
        task="t",
        agent="a",
        round=1,
        field="f",
        call=call,
        write=lambda value, number: cast(Json, value),
        retries=retries,
        timeout=timeout,
    )


def quiet(step: Step, number: int, why: Exhausted) -> None:
    return None


async def test_what_may_pass_is_tried_again_and_the_last_error_is_told():
    told: list[tuple[int, str]] = []

    async def call(desk: Any, number: int) -> object:
        raise OSError(f"attempt {number}")

    place = Place()
    came = await attempt(step(call), place, lambda step, number, why: told.append((number, why.words)))
    assert isinstance(came, Exhausted) and (came.attempts, came.words) == (3, "OSError: attempt 3")
    assert told == [(1, "OSError: attempt 1"), (2, "OSError: attempt 2")]
    assert (len(place.claims), place.let_go_of) == (3, 3)


@pytest.mark.parametrize("error", [BadInput("no"), EffectUncertain("perhaps"), TaskFailed("nothing there")])
async def test_what_will_not_pass_is_not_tried_again(error: LousaError):
    async def call(desk: Any, number: int) -> object:
        raise error

    came = await attempt(step(call), Place(), quiet)
    assert isinstance(came, Exhausted) and came.attempts == 1 and came.error is error


async def test_one_that_comes_through_is_written_once():
    async def call(desk: Any, number: int) -> object:
        if number == 1:
            raise OSError
        return number

    place = Place()
    assert await attempt(step(call), place, quiet) == 2
    assert (place.written, place.let_go_of) == ([2], 1)


async def test_what_is_there_already_is_not_done_again():
    async def call(desk: Any, number: int) -> object:
        raise AssertionError

    assert await attempt(step(call), Place(there="found before"), quiet) == "found before"


async def test_one_that_takes_too_long_is_cancelled():
    cancelled: list[int] = []

    async def call(desk: Any, number: int) -> object:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return None

    came = await attempt(step(call, retries=1, timeout=0.01), Place(), quiet)
    assert isinstance(came, Exhausted) and came.words.startswith("TimeoutError: no result within 0.01 s")
    assert cancelled == [1, 2]


async def test_one_that_swallows_its_cancellation_is_left_behind_and_its_result_ignored():
    end = asyncio.Event()

    async def call(desk: Any, number: int) -> object:
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    place = Place()
    came = await attempt(step(call, retries=0, timeout=0.01), place, quiet)
    assert isinstance(came, Exhausted) and place.let_go_of == 1
    end.set()
    await asyncio.sleep(0)
    assert place.written == []


async def test_one_whose_claim_is_lost_is_cancelled_and_stale():
    place = Place()

    async def call(desk: Any, number: int) -> object:
        place.claims[-1].lost.set_result(None)
        await asyncio.sleep(10)
        return None

    came = await attempt(step(call, retries=0), place, quiet)
    assert isinstance(came, Exhausted) and isinstance(came.error, Stale)


async def test_one_that_cancels_itself_has_failed_and_nobody_else_is_cancelled():
    async def call(desk: Any, number: int) -> object:
        raise asyncio.CancelledError

    came = await attempt(step(call, retries=0), Place(), quiet)
    assert isinstance(came, Exhausted) and came.words == "RuntimeError: it cancelled itself"


async def test_when_the_run_is_cancelled_the_attempt_ends_and_lets_go():
    ended: list[int] = []

    async def call(desk: Any, number: int) -> object:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append(number)

    place = Place()
    going = asyncio.ensure_future(attempt(step(call), place, quiet))
    await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert (ended, place.let_go_of) == ([1], 1)
