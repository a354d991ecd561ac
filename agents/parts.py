"""What a user gave as planner, worker or critic, brought to one shape: a name, and something to call with the desk.

A function, a callable object, an object with the contract's method, or a class with it. A class is made anew for each
call. What cannot be called that way is refused when the pipeline is made, not when its first task starts.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..infra.errors import PipelineError
from ..infra.text import flaw

Method = Literal["plan", "work", "judge", "answered"]
Call = Callable[..., Awaitable[object]]

RESERVED = ("planner", "critic", "pipeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One agent of a pipeline. `call` takes the desk and the goal, the task or the outcomes."""

    name: str
    call: Call
    given: object


def part_of(given: object, method: Method, role: str, *, name: str | None = None) -> Part:
    """The part that `given` is.

    Raises:
        PipelineError: it is not async, or has not the contract's method.
    """
    own = name if name is not None else _name(given, role)
    if inspect.isclass(given):
        _require_async(
            getattr(given, method, None), f"{role} class {given.__name__!r}", f"async def {method}(self, desk, …)"
        )
        made = cast(Callable[[], Any], given)
        return Part(name=own, call=lambda *words: getattr(made(), method)(*words), given=cast(object, given))
    if callable(getattr(given, method, None)):
        bound = getattr(given, method)
        _require_async(bound, f"{role} {own!r}", f"async def {method}(self, desk, …)")
        return Part(name=own, call=bound, given=given)
    _require_async(_called(given), f"{role} {own!r}", f"async def {own}(desk, …)")
    return Part(name=own, call=cast(Call, given), given=given)


def workers_of(given: Iterable[object] | Mapping[str, object]) -> dict[str, Part]:
    """The workers by name.

    Raises:
        PipelineError: none, two of one name, or one whose name is taken.
    """
    if isinstance(given, Mapping):
        named = [
            part_of(worker, "work", "worker", name=name) for name, worker in cast(Mapping[str, object], given).items()
        ]
    elif callable(given) or isinstance(given, str):
        raise PipelineError(f"workers must be a list or a mapping by name: write workers=[{_name(given, 'worker')}]")
    else:
        named = [part_of(worker, "work", "worker") for worker in given]
    workers: dict[str, Part] = {}
    for part in named:
        if not part.name.strip() or len(part.name) > 200:
            raise PipelineError(f"a worker's name has 1 to 200 characters, got {part.name[:60]!r}")
        if (wrong := flaw(part.name)) is not None:
            raise PipelineError(f"the worker's name {part.name[:60]!r} {wrong}")
        if part.name in workers:
            raise PipelineError(f"two workers are called {part.name!r}: pass a mapping, workers={{'name': worker, …}}")
        if part.name in RESERVED:
            raise PipelineError(f"no worker can be called {part.name!r}: the pipeline's own parts act under that name")
        workers[part.name] = part
    if not workers:
        raise PipelineError("a pipeline needs at least one worker: workers=[…]")
    return workers


def _called(given: object) -> object:
    """The function that calling `given` runs; None when it cannot be called."""
    if inspect.isroutine(given) or isinstance(given, functools.partial):
        return cast(object, given)
    return cast(object, type(given).__call__) if callable(given) else None


def _name(given: object, role: str) -> str:
    if isinstance(given, functools.partial):
        return _name(cast(functools.partial[object], given).func, role)
    chosen = getattr(given, "name", None)
    name = chosen if isinstance(chosen, str) else getattr(given, "__name__", type(given).__name__)
    if name == "<lambda>":
        raise PipelineError(
            f"a {role} that is a lambda has no name: write it as `async def`, or pass a mapping by name"
        )
    return name


def _require_async(target: object, what: str, wanted: str) -> None:
    if target is None:
        raise PipelineError(f"{what} cannot be called as its contract says: give it `{wanted}`")
    if not inspect.iscoroutinefunction(target):
        raise PipelineError(
            f"{what} is not async: write `{wanted}`, and put work that blocks into `await asyncio.to_thread(…)`"
        )
