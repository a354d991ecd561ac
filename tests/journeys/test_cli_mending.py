"""A pipeline with a mistake, as a newcomer meets it: where it is, how to go on, and no hint that cannot help."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

COUNT = dedent(
    """
    import asyncio, sys
    import lousa
    from lousa import Accept, Finding, Pipeline, Task

    async def planner(desk, goal):
        return [Task("count", number, retries=0) for number in goal["numbers"]]

    async def count(desk, task):
        if task.input == "wait":
            print("waiting", flush=True)
            await asyncio.sleep(60)
        return Finding(12 // task.input)

    async def critic(desk, findings):
        return Accept(sum(found.value for found in findings))

    async def main():
        async with lousa.open() as runtime:
            numbers = [int(word) if word.isdigit() else word for word in sys.argv[1:]]
            print((await runtime.run(Pipeline(planner, workers=[count], critic=critic), {"numbers": numbers})).decision)

    asyncio.run(main())
    """
)
LINE = COUNT.splitlines().index("    return Finding(12 // task.input)") + 1
ID = r"[0-9a-f]{8}-[0-9a-f-]{27}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "count.py"
    path.write_text(COUNT, encoding="utf-8")
    return path


def python(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50)


def lousa(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return python(environment, "-m", "lousa", *words)


def heeding_interrupts() -> None:
    """A job in the background of a shell is started with SIGINT ignored, and would hand that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def execution_in(text: str) -> str:
    found = re.search(ID, text)
    assert found, text
    return found[0]


def test_a_mended_worker_is_run_again_by_resume(environment: dict[str, str], file: Path) -> None:
    failed = lousa(environment, "run", file, "--goal", '{"numbers": [4, 0]}')
    assert failed.returncode == 1
    place = f"(count.py:{LINE} in count)"
    assert f"count-2 failed: ZeroDivisionError: integer division or modulo by zero {place}" in failed.stderr
    assert "error: task 'count-2' failed: ZeroDivisionError" in failed.stderr
    assert "Traceback" not in failed.stderr and "can go on: " in failed.stderr
    file.write_text(COUNT.replace("12 // task.input", "12 // (task.input or 1)"), encoding="utf-8")
    resumed = lousa(environment, "resume", execution_in(failed.stderr))
    assert resumed.returncode == 0, resumed.stderr
    assert "accepted: 15" in resumed.stdout
    assert "count-2 finished" in resumed.stderr and "count-1 finished" not in resumed.stderr


def test_debug_shows_the_whole_traceback_of_a_worker(environment: dict[str, str], file: Path) -> None:
    failed = lousa(environment, "run", file, "--debug", "--goal", '{"numbers": [0]}')
    note = failed.stderr[failed.stderr.index("note: task 'count-1' failed") :]
    assert re.search(rf'File ".*count\.py", line {LINE}, in count\n +return Finding\(12 // task\.input\)', note)


@pytest.mark.parametrize("goal", ['{"numbers": []}', '{"numbers": ["no"]}'])
def test_a_wrong_plan_gets_no_hint_and_a_failing_critic_does(
    environment: dict[str, str], file: Path, goal: str
) -> None:
    failed = lousa(environment, "run", file, "--goal", goal)
    assert failed.returncode == (2 if goal == '{"numbers": []}' else 1)
    assert ("can go on" in failed.stderr) == ("no" in goal)


def test_the_script_itself_names_its_execution_when_it_fails(environment: dict[str, str], file: Path) -> None:
    failed = python(environment, file, "4", "0")
    assert failed.returncode == 1
    last = failed.stderr.strip().splitlines()[-1]
    assert "task 'count-2' failed: ZeroDivisionError" in last and f"resume execution {execution_in(last)}" in last
    assert "langgraph" not in failed.stderr


def test_an_execution_that_is_alive_is_not_resumed_and_its_interruption_names_it(
    environment: dict[str, str], file: Path
) -> None:
    command = [sys.executable, str(file), "wait"]
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeding_interrupts,
    ) as running:
        assert running.stdout and running.stderr
        assert running.stdout.readline() == "waiting\n"
        execution = execution_in(lousa(environment, "board").stdout)
        source = lousa(environment, "resume", execution)
        assert "was run by a program" in source.stderr and "can go on" not in source.stderr
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert f"this was execution {execution}; `runtime.resume('{execution}', pipeline)` goes on" in said
    assert said.strip().splitlines()[-1].startswith("KeyboardInterrupt")


def test_a_run_that_is_alive_is_busy_and_nothing_else_is_said(environment: dict[str, str], file: Path) -> None:
    command = [sys.executable, "-m", "lousa", "run", str(file), "--goal", '{"numbers": ["wait"]}']
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            assert running.stdout and running.stdout.readline() == b"waiting\n"
            execution = execution_in(lousa(environment, "board").stdout)
            busy = lousa(environment, "resume", execution)
        finally:
            running.send_signal(signal.SIGTERM)
    assert busy.returncode == 1
    assert "another living process runs execution" in busy.stderr
    assert "resumed" not in busy.stderr and "can go on" not in busy.stderr
