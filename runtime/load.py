"""A pipeline from a file or a folder, as `lousa run PATH` and `resume` need it.

What a user writes stays a plain Python file. It names a `pipeline`, or simply has a `planner` and a `critic`; every
public async function whose second parameter is called `task`, and every public class with an async `work`, is then a
worker. Three hooks may stand beside them: `goal(arguments)` makes a goal of the words on the command line,
`report(result)` says what `--json` prints, `render(report)` shows that to people.

A file may import its neighbours, as a script may; a folder is a package of its own, so its relative imports work, and
its names may live in `__init__.py` or in `pipeline.py`. A file that ends with `asyncio.run(main())` is a script and a
pipeline at once: that line is left out here, because the loading must not run anything. Whatever else starts an event
loop on import is refused, with the way out.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ..agents.pipeline import Pipeline
from ..infra.errors import BadInput, LousaError, PipelineError
from ..memory_layers.records import Json

if TYPE_CHECKING:
    from .execution import Result

Goal = Callable[[list[str]], Json]
Report = Callable[["Result"], Awaitable[Json]]
Render = Callable[[Json], object]

_NO_WORKERS = ("planner", "critic", "goal", "report", "render")
_LOOP = re.compile("event loop|another loop is running|[Aa]lready running asyncio")
_OURS = __name__.split(".", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A pipeline and its hooks. `path` is absolute: it is recorded with the execution, which is resumed from it."""

    path: Path
    pipeline: Pipeline
    goal: Goal
    report: Report | None = None
    render: Render | None = None


def load(path: str | Path) -> Loaded:
    """The pipeline at `path`, or that of an installed module when it is a dotted name and no such file is there.

    Raises:
        BadInput: nothing there that could be one.
        PipelineError: the code fails when it is imported, or names no planner, worker or critic.
    """
    place = _place(path)
    modules = _modules(place)
    found = {
        name: value
        for module in reversed(modules)
        for name, value in vars(module).items()
        if not isinstance(value, ModuleType)  # a package has its submodules as attributes, `report` and `pipeline` too
    }
    return Loaded(
        path=place,
        pipeline=_pipeline(place, modules, found),
        goal=cast(Goal, _hook(place, found, "goal") or _files),
        report=cast("Report | None", _hook(place, found, "report", asynchronous=True)),
        render=cast("Render | None", _hook(place, found, "render")),
    )


def _place(path: str | Path) -> Path:
    place = Path(path).expanduser().absolute()
    if place.exists() or not all(map(str.isidentifier, str(path).split("."))):
        return place
    with _failures_in(place), suppress(ModuleNotFoundError):
        spec = find_spec(str(path))
        if spec is not None and spec.submodule_search_locations:
            return Path(spec.submodule_search_locations[0])
        if spec is not None and spec.origin is not None:
            return Path(spec.origin)
    return place


def _files(arguments: list[str]) -> Json:
    """The goal of a file that has no `goal` of its own."""
    return {"files": [*arguments]}


def _modules(place: Path) -> list[ModuleType]:
    """The module at `place` and, in a folder, its `pipeline` module; names of the first win."""
    if place.is_dir():
        start = place / "__init__.py"
        if not start.is_file():
            raise BadInput(f"the folder {str(place)!r} has no __init__.py: add one, or name the pipeline's file")
        package = _import(place, start, folder=place)
        if not (place / "pipeline.py").is_file():
            return [package]
        with _failures_in(place):
            return [package, importlib.import_module(f"{package.__name__}.pipeline")]
    if not place.is_file():
        raise BadInput(f"there is no pipeline at {str(place)!r}: name a Python file, or a folder with an __init__.py")
    if place.suffix != ".py":
        raise BadInput(f"{str(place)!r} is no Python file: name the pipeline first, then what it works on")
    return [_import(place, place)]


def _import(place: Path, start: Path, folder: Path | None = None) -> ModuleType:
    name = f"lousa_run_{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}"
    for stale in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[stale]
    if folder is None and str(place.parent) not in sys.path:
        sys.path.insert(0, str(place.parent))
    spec = spec_from_file_location(
        name, start, loader=_Quiet(name, str(start)), submodule_search_locations=[str(folder)] if folder else None
    )
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _failures_in(place):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


class _Quiet(SourceFileLoader):
    """Leaves out a top-level `asyncio.run(…)`; keeps no bytecode, because whoever imports the file wants all of it."""

    def path_stats(self, path: object) -> Any:
        raise OSError("no bytecode")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # typeshed names the parts that we only hand on
        tree = ast.parse(data, filename=path)
        tree.body = [statement for statement in tree.body if not _starts_a_loop(statement)]
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)


def _starts_a_loop(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio" | "anyio"), attr="run"))):
            return True
        case _:
            return False


@contextmanager
def _failures_in(place: Path) -> Generator[None]:
    """Whatever the user's code raises on import becomes a `PipelineError` that names the line."""
    try:
        yield
    except (LousaError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, RuntimeError) and _LOOP.search(str(error)):
            _close_what_never_ran(error)
            raise BadInput(
                f"{str(place)!r} starts an event loop on import, where one runs already{_where(place, error)}: put that"
                ' line under `if __name__ == "__main__":`'
            ) from error
        raise PipelineError(f"{str(place)!r} cannot be imported: {_in_words(place, error)}") from error


def _in_words(place: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    return f"{type(error).__name__}: {error}{_where(place, error)}"


def _where(place: Path, error: BaseException) -> str:
    inside = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(place))]
    return f" ({inside[-1].filename}, line {inside[-1].lineno})" if inside else ""


def _close_what_never_ran(error: BaseException) -> None:
    """The coroutines handed to a loop that refused them; unclosed, each would warn that it was never awaited."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in [*frame.f_locals.values()]:
            if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
                value.close()


def _hook(place: Path, found: dict[str, Any], name: str, *, asynchronous: bool = False) -> object:
    hook = found.get(name)
    if not callable(hook):
        return None
    if inspect.iscoroutinefunction(hook) != asynchronous:
        kind = "an async function" if asynchronous else "a plain function"
        raise PipelineError(f"`{name}` in {str(place)!r} must be {kind}")
    return hook


def _pipeline(place: Path, modules: list[ModuleType], found: dict[str, Any]) -> Pipeline:
    ready = found.get("pipeline")
    if isinstance(ready, Pipeline):
        return ready
    missing = [name for name in ("planner", "critic") if not callable(found.get(name))]
    workers = _workers(modules)
    if missing or not workers:
        wanted = " and ".join([*(f"a `{name}`" for name in missing), *([] if workers else ["a worker"])])
        near = [] if workers else _near_misses(modules)
        raise PipelineError(
            f"{str(place)!r} has no `pipeline`, and lacks {wanted}: write async functions planner(desk, goal),"
            " critic(desk, findings) and one or more workers; a worker is an async function whose second parameter is"
            " called `task`, name(desk, task), or a class with an async `work`"
            + "".join(f"; found {miss}" for miss in near)
        )
    return Pipeline(found["planner"], workers=workers, critic=found["critic"], name=place.stem)


def _workers(modules: list[ModuleType]) -> list[Any]:
    """In the order in which they are defined, each once."""
    named = {name: value for module in modules for name, value in vars(module).items() if not name.startswith("_")}
    workers: dict[int, object] = {id(value): value for name, value in named.items() if _is_worker(name, value)}
    return [*workers.values()]


def _near_misses(modules: list[ModuleType]) -> list[str]:
    """What was perhaps meant as a worker, and why it is none; at most three."""
    found: list[str] = []
    for module in modules:
        for name, value in vars(module).items():
            if name in _NO_WORKERS or _is_ours(value) or getattr(value, "__module__", "") != module.__name__:
                continue
            if inspect.isclass(value):
                if inspect.isfunction(work := getattr(value, "work", None)) and not inspect.iscoroutinefunction(work):
                    found.append(f"`class {name}`: its `work` must be async")
                continue
            if not inspect.isfunction(value):
                continue
            parameters = list(inspect.signature(value).parameters)
            shown = f"`{name}({', '.join(parameters)})`"
            takes_a_task = len(parameters) > 1 and parameters[1] == "task"
            if name.startswith("_"):
                if takes_a_task:
                    found.append(f"{shown}: a name that begins with _ is private")
            elif takes_a_task:
                found.append(f"{shown}: it must be async")
            elif inspect.iscoroutinefunction(value) and len(parameters) == 2:
                found.append(f"{shown}: its second parameter must be called `task`")
    return found[:3]


def _is_ours(value: object) -> bool:
    return getattr(value, "__module__", "").split(".", 1)[0] == _OURS


def _is_worker(name: str, value: object) -> bool:
    if name in ("planner", "critic") or _is_ours(value):
        return False
    if inspect.isclass(value):
        return inspect.iscoroutinefunction(getattr(value, "work", None)) and not inspect.isabstract(value)
    if not inspect.iscoroutinefunction(value):
        return False
    parameters = list(inspect.signature(value).parameters)
    return len(parameters) > 1 and parameters[1] == "task"
