"""Servers that are stopped under a run: it ends soon, says why in one line, and can be resumed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

WAITS = """
import asyncio
from pathlib import Path
from lousa import Accept, Task

async def planner(desk, goal):
    return [Task("wait", number) for number in range(5)]

async def wait(desk, task):
    while not Path(__file__).with_name("go").exists():
        await desk.board.write(f"seen/{task.id}", 1, expect=desk.board.seen.get(f"seen/{task.id}"))
        await asyncio.sleep(0.1)

async def critic(desk, findings):
    return Accept("done")
"""


def test_a_run_whose_servers_are_stopped_ends_soon_in_one_line_and_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS, encoding="utf-8")
    bare = {name: value for name, value in os.environ.items() if not name.startswith("LOUSA_")}
    environment = {**bare, "LOUSA_HOME": str(tmp_path / "home")}

    def started(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "lousa", *words]
        return subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)

    run = started("run", str(tmp_path / "waits.py"))
    try:
        assert run.stderr is not None
        while "tasks" not in (line := run.stderr.readline()):
            assert line, "the run ended"
        refused = started("stop")
        _, said = refused.communicate(timeout=20)
        assert refused.returncode == 5 and "--force" in said
        forced = started("stop", "--force")
        assert "stopped" in forced.communicate(timeout=20)[0]
        begin = time.monotonic()
        _, said = run.communicate(timeout=30)
        assert time.monotonic() - begin < 10
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 5
    lines = [line for line in said.splitlines() if "tried again" not in line]
    assert "were stopped" in lines[-2] and "can go on" in lines[-1] and "LOUSA_REDIS_URL" not in said
    assert len(said.splitlines()) <= 6
    (tmp_path / "go").touch()
    words = lines[-1].split()
    resumed = started("resume", words[words.index("resume") + 1])
    out, said = resumed.communicate(timeout=40)
    assert resumed.returncode == 0 and "accepted: done" in out, said
