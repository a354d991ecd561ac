"""One piece of a user's code, run until it has an outcome: claimed, timed, repeated, written under its claim.

An attempt claims its step on the board and gets a fencing token, which everything it writes carries, its result above
all. Whoever claims the step after it (the next attempt, or the run of another process that took this one over) makes
that token stale: a late attempt is refused wherever it still tries to write. A claim lives as long as the run renews
it (see `ownership`); when it is lost the attempt is cancelled.

An attempt that does not end in time is cancelled. If it swallows that too, it is abandoned after a moment: it may go
on, but its token is stale and nothing waits for it.

Repeated are errors that another attempt may not meet. Never repeated are refusals of what was asked (`BadInput`), a
value that is not there (`TaskFailed`), and `EffectUncertain`: what may have happened outside is not done again blindly.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..infra.errors import BadInput, EffectUncertain, Stale, TaskFailed
from ..infra.telemetry import Attribute, span
from ..infra.text import fit
from ..memory_layers.records import Json
from .contract import Task, placed
from .desk import Desk
from .ownership import Held
from .whereabouts import whereabouts

T = TypeVar("T")

FINAL = (BadInput, EffectUncertain, TaskFailed)
"""Errors that another attempt would meet again."""
GRACE = 1.0
"""Seconds that a cancelled attempt has to end."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is to be run: `call` by `agent`, at most `retries` more than once, each attempt for `timeout` seconds.

    `task` is what is claimed. What came of it is made JSON by `write` and lies under `field`, which no other step has,
    so operation ids derive from it. `work` is the task of the plan, for a worker's step.
    """

    task: str
    agent: str
    round: int
    field: str
    call: Callable[[Desk, int], Awaitable[object]]
    write: Callable[[object, int], Json]
    retries: int
    timeout: float
    work: Task | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Every attempt ended in an error; this is the last."""

    error: BaseException
    attempts: int

    @property
    def words(self) -> str:
        """The error as people read it."""
        text = fit(str(self.error))
        return f"{type(self.error).__name__}: {text}" if text else type(self.error).__name__

    @property
    def where(self) -> str:
        """The place in the user's code that it came from, '' if none."""
        return fit(whereabouts(self.error))

    @property
    def told(self) -> str:
        """The words with the place."""
        return placed(self.words, self.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A step under a claim, and the desk that was laid under it."""

    step: Step
    held: Held
    desk: Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """A step needs no attempt: this is there already."""

    value: Json


class Workplace(Protocol):
    """What an attempt needs of the run it belongs to."""

    async def hold(self, step: Step) -> Hold | There:
        """Claim the step, and lay a desk under that claim; or what came of the step already."""
        ...

    async def write(self, hold: Hold, value: Json) -> Json:
        """Write what came of the step under its claim; what is written now, which may be somebody else's."""
        ...

    async def let_go(self, hold: Hold) -> None:
        """Make the token of a failed attempt stale."""
        ...


Retried = Callable[[Step, int, Exhausted], None]


async def attempt(step: Step, place: Workplace, retried: Retried) -> Json | Exhausted:
    """Run a step to its end: what was written, or why there is nothing. `retried` hears of each attempt but the last.

    Raises:
        ServerUnavailable: the board is gone; the step has no outcome yet.
    """
    number = 0
    while True:
        number += 1
        hold = await place.hold(step)
        if isinstance(hold, There):
            return hold.value
        try:
            with span("plan" if step.agent == "planner" else "invoke_agent", _attributes(step, number)):
                came = await _in_time(step.call(hold.desk, number), step.timeout, hold.held.lost)
            return await place.write(hold, step.write(came, number))
        except asyncio.CancelledError:
            await asyncio.shield(place.let_go(hold))
            raise
        except Exception as error:  # whatever a user's code raises is this attempt's outcome, not ours
            failed = Exhausted(error=error, attempts=number)
            await place.let_go(hold)
        if number > step.retries or isinstance(failed.error, FINAL):
            return failed
        retried(step, number, failed)
        await asyncio.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (number - 1)) * random.uniform(0.8, 1.2))


def _attributes(step: Step, attempt: int) -> dict[str, Attribute | None]:
    """What a span tells of an attempt: names and counts."""
    return {
        "gen_ai.agent.name": step.agent,
        "lousa.task": step.work.id if step.work else None,
        "lousa.round": step.round,
        "lousa.attempt": attempt,
    }


async def _in_time(call: Awaitable[T], limit: float, lost: asyncio.Future[None]) -> T:
    """What the call returns, unless it takes too long or its claim is lost; then it is cancelled, or left behind."""
    going = asyncio.ensure_future(call)
    try:
        await asyncio.wait({going, lost}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _stop(going)
        raise
    if going.done():
        if going.cancelled():
            raise RuntimeError("it cancelled itself")
        return going.result()
    await _stop(going)
    if lost.done():
        raise Stale("another process has taken this task over")
    raise TimeoutError(f"no result within {limit:g} s; `timeout=` of the task or the pipeline allows more")


async def _stop(going: asyncio.Future[T]) -> None:
    """Cancel it and give it a moment; one that will not end is left to itself, and its last words are not asked for."""
    going.cancel()
    await asyncio.wait({going}, timeout=GRACE)
    going.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
