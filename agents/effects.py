"""A deed outside, done once: intent, deed, result, each recorded before the next.

Inside one process two calls of the same key take turns, so the second finds the first one's result and not its intent.
Between processes the intent's row decides (see `memory_layers.execution.effects`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import cast
from uuid import UUID
from weakref import WeakValueDictionary

from ..infra.errors import EffectUncertain
from ..infra.identity import Principal
from ..infra.text import told
from ..memory_layers.execution.effects import Done, Effects, Intended, Uncertain
from ..memory_layers.records import Json
from .plan import to_json

Deed = Callable[[], Json | Awaitable[Json]]


class Outside:
    """The effects of one run."""

    def __init__(self, effects: Effects, execution: UUID) -> None:
        self._effects = effects
        self._execution = execution
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def do(
        self,
        principal: Principal,
        task: str,
        name: str,
        key: str,
        deed: Deed,
        *,
        alive: Callable[[], Awaitable[None]],
        again: EffectUncertain | None,
    ) -> Json:
        """The result of the deed, now or from before. `alive` raises when this attempt was overtaken."""
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            await alive()
            known = await self._effects.intend(principal, self._execution, key, name, task)
            if (
                isinstance(known, Uncertain)
                and again is not None
                and (again.key, again.since) == (key, known.since)
                and await self._effects.retake(principal, self._execution, key, task, known)
            ):
                known = Intended()
            match known:
                case Done(result=result):
                    return result
                case Uncertain():
                    raise _uncertain(key, known)
                case Intended():
                    return await self._run(principal, name, key, deed)

    async def settle(
        self, principal: Principal, key: str, result: Json, *, alive: Callable[[], Awaitable[None]]
    ) -> None:
        """It did happen. `alive` raises when this attempt was overtaken."""
        await alive()
        await self._effects.record(
            principal, self._execution, key, to_json(result, f"the result of effect {told(key)}")
        )

    async def _run(self, principal: Principal, name: str, key: str, deed: Deed) -> Json:
        try:
            result = to_json(await _done(deed), f"the result of effect {name!r}")
        except Exception as error:
            await self._effects.fail(principal, self._execution, key, f"{type(error).__name__}: {error}")
            raise
        await self._effects.record(principal, self._execution, key, result)
        return result


async def _done(deed: Deed) -> object:
    """What the deed returns; one that is not async may block, so it has a thread."""
    if inspect.iscoroutinefunction(deed):
        return await cast(Awaitable[object], deed())
    made = await asyncio.to_thread(deed)
    return await cast(Awaitable[object], made) if inspect.isawaitable(made) else made


def _uncertain(key: str, known: Uncertain) -> EffectUncertain:
    how = f"it raised {known.error}" if known.error else "nobody recorded its end"
    return EffectUncertain(
        f"effect {known.name!r} was begun by {known.agent!r} at {known.since:%Y-%m-%d %H:%M:%S} UTC and {how}."
        f" Look outside whether it happened: if so, `await desk.effect_settle({key!r}, result)`; if not, call it again"
        " with `again=` and this error",
        key=key,
        since=known.since,
    )
