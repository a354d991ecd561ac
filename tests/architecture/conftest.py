"""What the architecture tests look at: the sources as they are in the repository, by their path from its root."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("infra", "memory_layers", "agents", "consolidation", "runtime")

Texts = dict[Path, str]
Trees = dict[Path, ast.Module]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def texts() -> Texts:
    """Every Python file of ours, tests and benchmarks included."""
    folders = [ROOT / name for name in (*PACKAGES, "examples", "tests", "benchmarks")]
    paths = [*ROOT.glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))]
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in sorted(paths)}


@pytest.fixture(scope="session")
def trees(texts: Texts) -> Trees:
    return {path: ast.parse(text) for path, text in texts.items()}


@pytest.fixture(scope="session")
def packaged(trees: Trees) -> Trees:
    """The library itself."""
    return {path: tree for path, tree in trees.items() if len(path.parts) == 1 or path.parts[0] in PACKAGES}
