"""Imports point one way: infra <- memory_layers <- agents, consolidation <- runtime <- front door."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

RANK = {"infra": 0, "memory_layers": 1, "agents": 2, "consolidation": 2, "runtime": 3, "": 4}
HEAVY = ("pydantic", "langgraph", "redis", "psycopg", "numpy", "asyncio")


Trees = dict[Path, ast.Module]


def imported(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What a file imports of ours: the line, and the top folder it reaches into ('' is the front door)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parent.parts[: len(path.parent.parts) - node.level + 1]
            for alias in node.names:
                reached = [*base, *(node.module or alias.name).split(".")][0]
                yield node.lineno, reached if reached in RANK else ""


def test_imports_point_one_way(packaged: Trees) -> None:
    wrong = [
        f"{path}:{line} imports from {target or 'the front door'}"
        for path, tree in packaged.items()
        if len(path.parts) > 1
        for line, target in imported(path, tree)
        if target != path.parts[0] and RANK[target] >= RANK[path.parts[0]]
    ]
    assert wrong == []


def test_the_library_imports_itself_relatively(packaged: Trees) -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in packaged.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "lousa")
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "lousa" for alias in node.names))
    ]
    assert wrong == []


def test_only_settings_reads_the_environment(packaged: Trees) -> None:
    """The launcher hands PATH and its like on to a server; nothing of ours is read there."""
    allowed = {Path("infra/settings.py"), Path("infra/embedded/launcher.py")}
    reading = {"environ", "environb", "getenv"}
    readers = {path for path, tree in packaged.items() for node in ast.walk(tree) if reading & set(names_in(node))}
    assert readers <= allowed


def test_only_connections_opens_and_holds_clients(packaged: Trees) -> None:
    """Those of Redis are opened on a page of their own; what their pool is, is another."""
    allowed = {Path("infra/connections.py"), Path("infra/redis.py"), Path("infra/redis_pool.py")}
    opening = {"AsyncConnectionPool", "ConnectionPool", "BlockingConnectionPool", "psycopg_pool", "from_url", "_pool"}
    wrong = [
        f"{path}:{getattr(node, 'lineno', 0)} names {', '.join(named)}"
        for path, tree in packaged.items()
        if path not in allowed
        for node in ast.walk(tree)
        if (named := opening & set(names_in(node)))
    ]
    assert wrong == []


def names_in(node: ast.AST) -> list[str]:
    """The names that one node mentions."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return [name]
        case ast.ImportFrom(module=module, names=names):
            return [*([module] if module else []), *(alias.name for alias in names)]
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case _:
            return []


def loaded_by(code: str) -> set[str]:
    """The packages that a new process has loaded after running `code`."""
    told = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stderr.split()}


def test_the_front_door_loads_nothing_of_others() -> None:
    assert loaded_by("import lousa") & {*HEAVY, "typer", "rich"} == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"]])
def test_help_loads_nothing_that_it_does_not_need(words: list[str]) -> None:
    """Typer itself fetches pydantic for the help of one verb."""
    code = f"from lousa.runtime.cli import main\ntry: main({words!r})\nexcept SystemExit: pass"
    assert loaded_by(code) & set(HEAVY) <= ({"pydantic"} if len(words) > 1 else set[str]())


def test_the_command_line_does_not_load_rich_before_it_shows_something() -> None:
    assert loaded_by("import lousa.runtime.cli") & {*HEAVY, "rich"} == set()
