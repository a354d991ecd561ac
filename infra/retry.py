"""The one retry loop. A backend only names what is transient; how long and how often is decided here.

Waits grow from ten milliseconds to a second, with jitter, so that many clients of a server that comes back do not all
knock at the same moment. Every retry is logged with what was tried, never with what it carried.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from .errors import LousaError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


async def retrying(
    attempt: Callable[[], Awaitable[T]],
    *,
    transient: Callable[[BaseException], bool],
    what: str,
    within: timedelta | None = None,
) -> T:
    """The first answer of `attempt`; errors that are not `transient` pass through at once.

    `within` ends the trying, with the last error; None tries until cancelled. An attempt that has begun is let finish.
    """
    try:
        return await attempt()
    except Exception as error:
        if not transient(error):
            raise
        return await _again(attempt, transient, what, within, error)


async def _again(
    attempt: Callable[[], Awaitable[T]],
    transient: Callable[[BaseException], bool],
    what: str,
    within: timedelta | None,
    first: Exception,
) -> T:
    """The loop, once there was a failure: what succeeds at once does not pay for it."""
    from tenacity import (  # late: a program that meets no failure never needs it
        AsyncRetrying,
        RetryCallState,
        retry_if_exception,
        stop_after_delay,
        stop_never,
        wait_exponential,
        wait_random,
    )

    failures = [first]

    async def next_attempt() -> T:
        if failures:
            raise failures.pop()
        return await attempt()

    def log(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause = state.next_action.sleep if state.next_action else 0
        # A driver's message may quote what it was given; ours never do.
        why = error if isinstance(error, LousaError) else type(error).__name__
        _LOG.warning("%s failed (%s), trying again in %.2f s", what, why, pause)

    loop = AsyncRetrying(
        retry=retry_if_exception(transient),
        wait=wait_exponential(multiplier=0.01, exp_base=1.6, max=1) + wait_random(0, 0.01),
        stop=stop_after_delay(within) if within is not None else stop_never,
        before_sleep=log,
        reraise=True,
    )
    return await loop(next_attempt)
