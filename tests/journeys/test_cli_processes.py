"""The command line among other processes: pipes that close, signals, locales, a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest
from lousa.infra.embedded.supervisor import Endpoints

SLOW = dedent(
    """
    import asyncio
    from pathlib import Path
    from lousa import Accept, Finding, Task

    async def planner(desk, goal):
        return [Task("quick", 1), Task("slow", goal)]

    async def quick(desk, task):
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
def environment(servers: Endpoints, tmp_path: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LOUSA_", "LC_", "LANG"))},
        "LOUSA_REDIS_URL": servers.redis_url,
        "LOUSA_POSTGRES_URL": servers.postgres_url,
        "LOUSA_EMBEDDER": os.environ["LOUSA_EMBEDDER"],
        "LOUSA_HOME": str(tmp_path / "home"),
        "LOUSA_TENANT": f"tenant-{uuid4().hex[:12]}",
    }


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    return path


@pytest.fixture
def running(environment: dict[str, str], slow: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose quick task has finished and whose slow one waits for a file."""
    goal = json.dumps({"go": str(tmp_path / "go")})
    process = started(environment, "run", str(slow), "--goal", goal)
    try:
        assert process.stderr is not None
        while "quick" not in (line := process.stderr.readline()) or "finished" not in line:
            assert line, "the run ended"
        yield process
    finally:
        process.kill()
        process.communicate()


def started(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lousa", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=_heeds_ctrl_c,
    )


def _heeds_ctrl_c() -> None:
    """A job in the background of a shell is started with SIGINT ignored, and would hand that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    process = started(environment, *words)
    out, err = process.communicate(timeout=50)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def told_id(text: str) -> str:
    """The execution in the line that says how to go on."""
    words = next(line for line in text.splitlines() if "can go on" in line).split()
    return words[words.index("resume") + 1]


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_go_on_and_goes_on(
    running: subprocess.Popen[str],
    environment: dict[str, str],
    slow: Path,
    tmp_path: Path,
    sign: signal.Signals,
    code: int,
) -> None:
    running.send_signal(sign)
    _, err = running.communicate(timeout=20)
    assert running.returncode == code
    assert "interrupted" in err and "Traceback" not in err
    checks = json.loads(ended(environment, "doctor", "--json").stdout)["checks"]
    assert any(check["what"] == "interrupted" and told_id(err) in check["said"] for check in checks)
    (tmp_path / "go").touch()
    resumed = ended(environment, "resume", told_id(err), "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["decision"] == ["quick", "slow"]
    assert slow.with_suffix(".runs").read_text() == "x"


def test_a_killed_run_goes_on_without_doing_again_what_was_finished(
    running: subprocess.Popen[str], environment: dict[str, str], slow: Path, tmp_path: Path
) -> None:
    running.kill()
    running.communicate()
    (tmp_path / "go").touch()
    listed = json.loads(ended(environment, "board", "--json").stdout)["executions"]
    assert [one["status"] for one in listed] in (["running"], ["interrupted"])  # its lease may not have run out yet
    resumed = ended(environment, "resume", listed[0]["id"], "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["decision"] == ["quick", "slow"]
    assert slow.with_suffix(".runs").read_text() == "x"


def test_a_watcher_in_another_process_sees_changes_as_they_come(
    running: subprocess.Popen[str], environment: dict[str, str]
) -> None:
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    identifier = told_id(err)
    watcher = started(environment, "board", identifier, "--watch", "--json")
    try:
        assert watcher.stdout is not None
        assert "cursor" in json.loads(watcher.stdout.readline())
        assert ended(environment, "board", identifier, "note", "--write", '"olá"').returncode == 0
        change = json.loads(watcher.stdout.readline())
        assert (change["field"], change["value"], change["agent"]) == ("note", "olá", "user")
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(timeout=10) == 130
    finally:
        watcher.kill()
        watcher.communicate()


def test_a_reader_that_goes_away_ends_the_program_without_a_word(environment: dict[str, str]) -> None:
    process = started(environment, "doctor")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=30) == 141


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_text_is_utf_8_whatever_the_locale(environment: dict[str, str], locale: str) -> None:
    refused = ended({**environment, "LC_ALL": locale, "PYTHONCOERCECLOCALE": "0"}, "run", "não há – ☂.py")
    assert refused.returncode == 2 and "não há – ☂.py" in refused.stderr


def test_what_is_remembered_comes_back_as_it_was_and_harmless(environment: dict[str, str]) -> None:
    """Also where the locale is poor; control characters of others never reach a terminal."""
    poor = {**environment, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    assert ended(poor, "remember", "ação às três – ☂ \x1b[31malerta\x07 \x9b2J").returncode == 0
    found = ended(poor, "recall", "ação às três").stdout
    assert "ação às três – ☂" in found and "alerta" in found
    assert not {"\x1b", "\x07", "\x9b"} & set(found)


def test_the_module_and_the_script_are_the_same(environment: dict[str, str]) -> None:
    script = Path(sys.executable).with_name("lousa")
    outputs = [
        subprocess.run([*command, "--version"], env=environment, capture_output=True, text=True, check=True).stdout
        for command in ([str(script)], [sys.executable, "-m", "lousa"])
    ]
    assert outputs[0] == outputs[1]


def test_time_is_not_spent_on_a_model_that_is_not_needed(environment: dict[str, str]) -> None:
    """A board needs no embedder: the verb answers before a model could have been loaded."""
    begin = time.monotonic()
    missing = ended(environment, "board", "019a0000-0000-7000-8000-000000000000")
    assert missing.returncode == 4
    assert time.monotonic() - begin < 10
