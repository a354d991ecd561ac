"""What the README shows works as it stands there; the Portuguese one shows the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """The example of the README as a file, beside two texts of 3 and 4 words."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 1
    path = tmp_path / "count.py"
    path.write_text(blocks[0], encoding="utf-8")
    (tmp_path / "a.txt").write_text("one two three", encoding="utf-8")
    (tmp_path / "b.txt").write_text("um dois três quatro", encoding="utf-8")
    return path


def test_the_example_runs_as_a_script(shown: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, str(shown), "a.txt", "b.txt"]
    done = subprocess.run(command, cwd=shown.parent, env=environment, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "7 words {'words/count-1': 3, 'words/count-2': 4}"


def test_the_example_runs_by_lousa_run(shown: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "lousa", "run", str(shown), "a.txt", "b.txt", "--json"]
    done = subprocess.run(command, cwd=shown.parent, env=environment, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["decision"] == "7 words"


def test_the_example_is_about_25_lines(shown: Path) -> None:
    code = [line for line in shown.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(code) <= 25
