"""Backup and restore, typed: what is said, what is refused, and a run that goes on in another home."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from .conftest import Lousa

SLOW = dedent(
    """
    import asyncio
    from pathlib import Path
    from lousa import Accept, Finding, Task

    async def planner(desk, goal):
        return [Task("quick", 1), Task("slow", goal)]

    async def quick(desk, task):
        await desk.remember("rápido foi contado", kind="episodic")
        await asyncio.to_thread(_count)
        return Finding("quick")

    async def slow(desk, task):
        while not Path(task.input["go"]).exists():
            await asyncio.sleep(0.05)
        return Finding("slow")

    async def critic(desk, findings):
        return Accept(sorted(found.value for found in findings.found))

    def _count():
        with Path(__file__).with_suffix(".runs").open("a") as file:
            file.write("x")
    """
)


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """Embedded servers in a home of one's own."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LOUSA_", "LC_", "LANG"))},
        "LOUSA_HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def running(plain: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose quick task has finished and whose slow one waits for a file."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    words = ["run", str(path), "--goal", json.dumps({"go": str(tmp_path / "go")})]
    process = begun(plain, *words)
    try:
        assert process.stderr is not None
        while "quick" not in (line := process.stderr.readline()) or "finished" not in line:
            assert line, "the run ended"
        yield process
    finally:
        process.kill()
        process.communicate()


def begun(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lousa", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, encoding="utf-8",
    )  # fmt: skip


def ended(environment: dict[str, str], *words: str) -> tuple[int, str, str]:
    out, err = (process := begun(environment, *words)).communicate(timeout=150)
    return process.returncode, out, err


@pytest.mark.timeout(300)
def test_a_run_goes_on_in_another_home_while_the_first_still_works(
    plain: dict[str, str], running: subprocess.Popen[str], tmp_path: Path
) -> None:
    file, other = tmp_path / "cópia", tmp_path / "other"
    code, out, err = ended(plain, "backup", str(file))
    assert (code, out.count("sha256")) == (0, 1), err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    code, out, err = ended(plain, "backup", str(file))
    assert (code, out) == (2, "") and "--force" in err
    code, out, err = ended(plain, "restore", str(file))
    assert code == 5 and "in use" in err
    code, out, err = ended(plain, "--home", str(other), "restore", str(file), "--json")
    assert code == 0, err
    told = json.loads(out)
    (unended,) = told["running"]
    assert told["counts"]["executions"] == 1
    assert told["home"] == str(other)
    assert running.poll() is None, "the first run was disturbed"
    (tmp_path / "go").touch()
    code, out, err = ended(plain, "--home", str(other), "resume", unended["execution"], "--json")
    assert code == 0, err
    assert json.loads(out)["decision"] == ["quick", "slow"]
    assert (tmp_path / "slow.runs").read_text(encoding="utf-8") == "x", "a finished task ran again"


def test_servers_of_others_are_refused_with_the_page_that_says_how(lousa: Lousa, tmp_path: Path) -> None:
    for verb in ("backup", "restore"):
        refused = lousa(verb, tmp_path / "file")
        assert refused.code == 2
        assert "LOUSA_REDIS_URL and LOUSA_POSTGRES_URL" in refused.err
        assert "docs/backup.md" in refused.err
    assert not (tmp_path / "file").exists()


def test_what_is_no_backup_is_refused_and_makes_no_home(
    lousa: Lousa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOUSA_REDIS_URL")
    monkeypatch.delenv("LOUSA_POSTGRES_URL")
    (tmp_path / "letter").write_text("Olá", encoding="utf-8")
    refused = lousa("restore", tmp_path / "letter")
    assert (refused.code, "no backup" in refused.err) == (2, True)
    assert lousa("restore", tmp_path / "nothing").code == 2
    assert lousa("backup", tmp_path / "file").code == 4
    assert not (tmp_path / "home").exists()
