"""Every benchmark speaks to people and, with `--json`, to programs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_offers_json_and_says_what_it_measures(root: Path, name: str) -> None:
    path = root / "benchmarks" / name
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    done = subprocess.run([sys.executable, str(path), "--help"], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout
