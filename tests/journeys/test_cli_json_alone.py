"""With `--json`, standard output is one JSON object, whatever a user's code prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest
from lousa.infra.embedded.supervisor import Endpoints

TALKING = dedent(
    """
    import asyncio
    import sys
    from lousa import Accept, Escalate, Finding, Task

    print("printed: import")

    def goal(words):
        print("printed: goal")
        return {"ask": "ask" in words}

    async def planner(desk, goal):
        print("printed: planner")
        return [Task("work", goal)]

    async def work(desk, task):
        await asyncio.to_thread(print, "printed: worker")
        sys.stdout.write("printed: write\\n")
        return Finding(task.input["ask"])

    async def critic(desk, findings):
        print("printed: critic", flush=True)
        return Escalate("well?") if findings[0].value else Accept("done")

    async def report(result):
        print("printed: report")
        return {"report": result.decision}

    def render(report):
        return f"rendered: {report}"
    """
)


@pytest.mark.parametrize("way", ["run", "resume"])
def test_what_a_pipeline_prints_does_not_mix_with_the_answer(servers: Endpoints, tmp_path: Path, way: str) -> None:
    file = tmp_path / "talking.py"
    file.write_text(TALKING, encoding="utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LOUSA_")},
        "LOUSA_REDIS_URL": servers.redis_url,
        "LOUSA_POSTGRES_URL": servers.postgres_url,
        "LOUSA_EMBEDDER": os.environ["LOUSA_EMBEDDER"],
        "LOUSA_HOME": str(tmp_path / "home"),
        "LOUSA_TENANT": f"tenant-{uuid4().hex[:12]}",
    }

    def lousa(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lousa", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    if way == "run":
        ended = lousa("run", str(file), "--json")
        assert (ended.returncode, json.loads(ended.stdout)) == (0, {"report": "done"})
        heard = {"import", "goal", "planner", "worker", "write", "critic", "report"}
        shown = lousa("run", str(file))
        assert "rendered: {'report': 'done'}" in shown.stdout
        assert all(f"printed: {place}\n" in shown.stdout for place in heard)
    else:
        asked = json.loads(lousa("run", str(file), "ask", "--json").stdout)
        assert asked["status"] == "waiting"
        ended = lousa("resume", asked["execution"], "--answer", "done", "--json")
        assert (ended.returncode, json.loads(ended.stdout)) == (0, {"report": "done"})
        heard = {"import", "report"}
    assert {line.removeprefix("printed: ") for line in ended.stderr.splitlines() if "printed: " in line} == heard
