"""A plan that can be run: what a planner or a `Revise` asked for, checked and completed, or refused with the way out.

Everything that can be known before the first task starts is refused here: a worker that nobody gave, an id used twice,
a need that nothing meets, a circle (it is named), an input that is not JSON. A plan that passes is complete: every
task has an id, and its needs are ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast
from uuid import UUID

from ..infra.errors import PipelineError
from ..infra.text import MOST_BITS, flaw, told
from ..memory_layers.conversation.values import DEEPEST
from ..memory_layers.records import Json
from .contract import Task

MOST_TASKS = 10_000
LONGEST_ID = 200


def check_plan(
    asked: object,
    workers: Iterable[str],
    *,
    by: str = "the planner",
    round: int = 1,
    known: Mapping[str, Task] | None = None,
) -> tuple[Task, ...]:
    """The tasks of a round, complete. `known` are those of earlier rounds, by id, in the order they were planned.

    Raises:
        PipelineError: the plan cannot be run.
    """
    known = known or {}
    tasks = _listed(asked, by, known)
    ids = _names(tasks, known)
    names = tuple(workers)
    by_object = {id(task): name for task, name in zip(tasks, ids, strict=True)}
    here = {*ids, *known}
    plan: list[Task] = []
    for task, identifier in zip(tasks, ids, strict=True):
        if task.worker not in names:
            raise PipelineError(
                f"{by} asks for the worker {task.worker!r}, and there is none of that name; there is {_listing(names)}."
                " A worker's name is its `name`, else its function's or class's name"
            )
        if task.retries is not None and task.retries < 0:
            raise PipelineError(f"task {identifier!r} asks for {task.retries} retries: give 0 or more")
        if task.timeout is not None and seconds(task.timeout) <= 0:
            raise PipelineError(f"task {identifier!r} asks for a timeout of {task.timeout!r}: give more than 0 seconds")
        plan.append(
            replace(
                task,
                id=identifier,
                input=to_json(task.input, f"the input of task {identifier!r}"),
                needs=_needs(task, identifier, by_object, here),
                needed={},
                round=round,
                attempt=1,
            )
        )
    _refuse_circles({task.id: task.need_ids for task in plan})
    return tuple(plan)


def _listed(asked: object, by: str, known: Mapping[str, Task]) -> list[Task]:
    """The tasks that were asked for; the id of an earlier one stands for that task."""
    if asked is None:
        raise PipelineError(f"{by} returned nothing: return a list of Task(worker, input), at least one")
    if not _is_list(asked):
        raise PipelineError(f"{by} returned {told(asked)}: return a list of Task(worker, input)")
    tasks: list[Task] = []
    for item in cast(Iterable[object], asked):
        if isinstance(item, str) and item in known:
            item = known[item]
        elif isinstance(item, str):
            raise PipelineError(f"{by} names the task {item!r}, and no round had it; there is {_listing(known)}")
        if not isinstance(item, Task):
            raise PipelineError(f"{by} put {type(item).__name__} {told(item)} into the plan: each must be a Task")
        tasks.append(item)
        if len(tasks) > MOST_TASKS:
            raise PipelineError(
                f"{by} asks for more than {MOST_TASKS:,} tasks in one round: let a task do more than one thing,"
                " or plan the rest in a later round (Revise)"
            )
    if not tasks:
        raise PipelineError(
            f"{by} returned an empty plan: return at least one Task, or let the goal be refused earlier"
        )
    return tasks


def _is_list(value: object) -> bool:
    return isinstance(value, (Sequence, Iterator)) and not isinstance(value, (str, bytes))


def _names(tasks: Sequence[Task], known: Mapping[str, Task]) -> list[str]:
    """Every task's id, given or numbered by worker."""
    taken = set(known)
    for task in tasks:
        if not isinstance(task.id, str) or len(task.id) > LONGEST_ID or flaw(task.id):  # pyright: ignore[reportUnnecessaryIsInstance]  # users are not all typed
            raise PipelineError(
                f"task id {told(task.id)} cannot be used: text, at most {LONGEST_ID} characters, no NUL and no half"
                " of a character"
            )
        taken.add(task.id)
    given = [task.id for task in tasks if task.id]
    if len(set(given)) < len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise PipelineError(
            f"two tasks have the id {twice!r}: ids are unique in a round; leave one out to have it numbered"
        )
    counts: dict[str, int] = {}
    ids: list[str] = []
    for task in tasks:
        name = task.id
        while not name or (not task.id and name in taken):
            counts[task.worker] = counts.get(task.worker, 0) + 1
            name = f"{task.worker}-{counts[task.worker]}"
        ids.append(name)
        taken.add(name)
    return ids


def _needs(task: Task, identifier: str, by_object: Mapping[int, str], names: Iterable[str]) -> tuple[str, ...]:
    """The ids of what a task needs, each once."""
    if isinstance(task.needs, (str, Task)):
        raise PipelineError(f"the needs of task {identifier!r} must be a list: write needs=[{told(task.needs)}]")
    needs: dict[str, None] = {}
    for need in task.needs:
        name = by_object.get(id(need), need.id) if isinstance(need, Task) else need
        if name not in names:
            raise PipelineError(
                f"task {identifier!r} needs {told(name or need)}, which is in no plan; there is {_listing(names)}"
            )
        needs[name] = None
    return tuple(needs)


def _refuse_circles(needs: Mapping[str, Sequence[str]]) -> None:
    """Walks the needs depth first, with a stack of its own: a chain may be as long as the plan."""
    done: set[str] = set()
    for start in needs:
        path: dict[str, None] = {}
        stack = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path:
                names = list(path)
                circle = [*names[names.index(name) :], name]
                raise PipelineError(
                    f"tasks wait for each other in a circle: {' needs '.join(map(repr, circle))}; cut one need"
                )
            elif name not in done and name in needs:
                path[name] = None
                stack.append((name, True))
                stack.extend((need, False) for need in needs[name])


class _Unfit(Exception):
    """Something that JSON, or a store, does not take. Its place is put together on the way out."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.place = ""


def to_json(value: object, what: str) -> Json:
    """`value` as JSON would bring it back: tuples as lists, UUIDs as text.

    Raises:
        PipelineError: it holds something that JSON or our stores do not, at this place.
    """
    try:
        return _plain(value, 0)
    except _Unfit as unfit:
        why, place = unfit.why, unfit.place
    raise PipelineError(f"{what}{f' at {place}' if place else ''} {why}")


def _plain(value: object, depth: int) -> Json:
    match value:
        case None | bool():
            return value
        case int():
            if value.bit_length() > MOST_BITS:
                raise _Unfit("holds an int of more than 4,300 digits: write it as text")
            return value
        case str():
            if (wrong := flaw(value)) is not None:
                raise _Unfit(wrong)
            return value
        case float():
            if not math.isfinite(value):
                raise _Unfit(f"holds {value}, which JSON cannot carry")
            return value
        case UUID():
            return str(value)
        case list() | tuple() | dict() if depth == DEEPEST:
            raise _Unfit(f"is nested deeper than {DEEPEST}, or holds itself")
        case list() | tuple():
            return [_inner(index, item, depth) for index, item in enumerate(cast(Sequence[object], value))]
        case dict():
            return {_key(key): _inner(key, item, depth) for key, item in cast(dict[object, object], value).items()}
        case _:
            raise _Unfit(f"holds {type(value).__name__} {told(value)}, which JSON cannot carry")


def _inner(key: object, value: object, depth: int) -> Json:
    try:
        return _plain(value, depth + 1)
    except _Unfit as unfit:
        if len(unfit.place) < 200:
            unfit.place = f"[{key!r}]{unfit.place}"
        raise


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _Unfit(f"has the key {told(key)}, and in JSON keys are text: write str(…) of it")
    if (wrong := flaw(key)) is not None:
        raise _Unfit(f"has the key {key[:60]!r}, which {wrong}")
    return key


def seconds(duration: timedelta | float) -> float:
    """A duration in seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


def _listing(names: Iterable[str]) -> str:
    some = sorted(names)
    shown = ", ".join(map(repr, some[:8]))
    return (shown + f" and {len(some) - 8} more" if len(some) > 8 else shown) or "none"
