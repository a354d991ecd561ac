"""Files stay small, say what they are, belong to the wheel, and know nothing of the machine they were written on."""

from __future__ import annotations

import ast
import fnmatch
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

LONGEST = 400
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wo" + r"rk/",
            r"\.\./sha" + r"red",
            r"/home/\w+/(?!\.)\w",
            r"/Use" + r"rs/\w+",
            r"\bTO" + r"DO\b",
            r"\bFIX" + r"ME\b",
            r"\b[Ii]ssue #?\d",
            r"\bco-authored-by\b",
        ]
    )
)


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[Path]:
    """Every file that would be committed; outside a clone, every file of the packages."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip("not a git clone")
    return [Path(name) for name in done.stdout.split("\0") if name and (root / name).is_file()]


def test_a_file_holds_one_idea(texts: dict[Path, str]) -> None:
    assert {str(path): count for path, text in texts.items() if (count := text.count("\n")) > LONGEST} == {}


def test_a_module_opens_with_what_it_is(texts: dict[Path, str], trees: dict[Path, ast.Module]) -> None:
    assert [str(path) for path, tree in trees.items() if texts[path].strip() and not ast.get_docstring(tree)] == []


def test_no_file_knows_the_machine_it_was_written_on(root: Path, tracked: list[Path]) -> None:
    found: list[str] = []
    for path in tracked:
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    assert found == []


def test_every_package_is_in_the_wheel(project: dict[str, Any], root: Path) -> None:
    listed = set(project["tool"]["setuptools"]["packages"])
    folders = [folder for folder in root.iterdir() if folder.name in _packages(listed)]
    there = {
        ".".join(["lousa", *path.parent.relative_to(root).parts])
        for folder in folders
        for path in folder.rglob("__init__.py")
    }
    assert listed == {"lousa", *there}


def test_every_data_file_is_in_the_wheel(project: dict[str, Any], root: Path, tracked: list[Path]) -> None:
    packages = set(project["tool"]["setuptools"]["packages"])
    data = project["tool"]["setuptools"]["package-data"]
    left_out: list[str] = []
    for path in tracked:
        if path.suffix in (".py", "") or path.parts[0] not in _packages(packages):
            continue
        package = next(
            (folder for folder in path.parents if ".".join(["lousa", *folder.parts]) in packages and folder.parts), None
        )
        own: list[str] = data.get(".".join(["lousa", *package.parts]), []) if package else []
        patterns: list[str] = [*data.get("*", []), *own]
        if package is None or not any(_matches(path.relative_to(package), pattern) for pattern in patterns):
            left_out.append(str(path))
    assert left_out == []


def _matches(path: Path, pattern: str) -> bool:
    """As the build tool reads a pattern: a star stays within its folder."""
    parts = Path(pattern).parts
    return len(parts) == len(path.parts) and all(map(fnmatch.fnmatch, path.parts, parts))


def _packages(listed: set[str]) -> set[str]:
    return {name.split(".")[1] for name in listed if "." in name}
