"""Kill -9 of the process that runs a pipeline, at named moments and at random; then another one goes on with it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from lousa.agents.ownership import RUN
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.keys import board_keys
from lousa.memory_layers.conversation.script import command


class Nursery:
    """Starts processes that run a pipeline, and tells how they ended."""

    def __init__(self, servers: Endpoints, folder: Path) -> None:
        child = Path(__file__).with_name("crash_child.py")
        self._process = subprocess.Popen(
            [sys.executable, str(child)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._common = {
            "redis_url": servers.redis_url,
            "postgres_url": servers.postgres_url,
            "home": str(folder),
        }
        self._folder = folder
        self._count = 0

    def start(self, pipeline: str, tenant: str, log: Path, **more: Any) -> tuple[int, Path]:
        """A process at work: its pid, and where it will tell what came of it."""
        self._count += 1
        out = self._folder / f"{self._count}.json"
        told = self._ask(
            {**self._common, "pipeline": pipeline, "tenant": tenant, "log": str(log), "out": str(out)} | more
        )
        return told["pid"], out

    def end(self, started: tuple[int, Path]) -> dict[str, Any]:
        """What came of it: its words, or the signal that killed it."""
        code = self._ask({"do": "wait", "pid": started[0]})["code"]
        return json.loads(started[1].read_text(encoding="utf-8")) if code == 0 else {"code": code}

    def do(self, pipeline: str, tenant: str, log: Path, **more: Any) -> dict[str, Any]:
        """A process from its start to its end."""
        return self.end(self.start(pipeline, tenant, log, **more))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _ask(self, words: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps({"do": "start", **words}), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def nursery(servers: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(servers, tmp_path_factory.mktemp("home"))
    yield nursery
    nursery.close()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{number}.txt" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_text("palavra " * (number + 1), encoding="utf-8")
    return [str(path) for path in paths]


async def execution_of(connections: Connections, tenant: str) -> str:
    """The one execution of a tenant."""
    who = Principal(tenant=tenant, agent="tester", session="default")
    async with connections.transaction(who) as connection:
        cursor = await connection.execute("SELECT id FROM execution")
        [(identifier,)] = await cursor.fetchall()
    return str(identifier)


WHOLE = {
    "words/count-1": 1,
    "words/count-2": 2,
    "words/count-3": 3,
    "words/count-4": 4,
    "sum": 10,
    "planned": 4,
    "judged": 4,
}


@pytest.mark.parametrize(
    ("moment", "again"),
    [
        ("planner", Counter[str]()),
        ("planned", Counter({"plan": 1})),
        ("count-1 read", Counter({"start count-1": 1})),
        ("count-2 remembered", Counter({"start count-2": 1})),
        ("count-3 written", Counter({"start count-3": 1})),
        ("critic", Counter({"judge": 1})),
        ("judged", Counter({"judge": 1})),
    ],
)
async def test_after_a_crash_the_totals_are_the_same_and_nothing_finished_runs_again(
    nursery: Nursery,
    connections: Connections,
    tenant: str,
    tmp_path: Path,
    files: list[str],
    moment: str,
    again: Counter[str],
):
    log = tmp_path / "log"
    died = nursery.do("words", tenant, log, goal={"files": files}, die=moment)
    assert died == {"code": -signal.SIGKILL}
    started = time.monotonic()
    result = nursery.do("words", tenant, log, execution=await execution_of(connections, tenant))
    assert (result["status"], result["decision"]) == ("accepted", "10 words")
    assert result["board"] == WHOLE
    once = Counter(["plan", "judge", *(f"start count-{number}" for number in range(1, 5))])
    assert Counter(log.read_text().splitlines()) == once + again
    assert time.monotonic() - started < 10  # the dead owner's lease was 20 s: nobody waited for it


async def test_a_process_killed_again_and_again_at_any_moment_finishes_with_the_same_totals(
    nursery: Nursery, connections: Connections, tenant: str, tmp_path: Path, files: list[str]
):
    log = tmp_path / "log"
    chance = random.Random(7)
    started = nursery.start("words", tenant, log, goal={"files": files})
    deaths = 0
    while deaths < 8:
        await asyncio.sleep(chance.uniform(0.02, 0.25))
        os.kill(started[0], signal.SIGKILL)
        result = nursery.end(started)
        if "status" in result:
            break
        deaths += 1
        try:
            execution = await execution_of(connections, tenant)
        except ValueError:  # it died before it had begun
            started = nursery.start("words", tenant, log, goal={"files": files})
            continue
        started = nursery.start("words", tenant, log, execution=execution)
    else:
        result = nursery.end(started)
    assert (result["status"], result["decision"], result["board"]) == ("accepted", "10 words", WHOLE)
    starts = [line for line in log.read_text().splitlines() if line.startswith("start")]
    assert starts == sorted(starts)  # one at a time, in order: none that another followed was run again


@pytest.mark.parametrize(
    ("moment", "again"),
    [
        ("before finish", Counter[str]()),
        ("after finish", Counter[str]()),
        ("before reopen", Counter[str]()),
        ("after reopen", Counter[str]()),
        ("count-2 mended", Counter({"start count-2": 1})),
        ("count-3 mended", Counter({"start count-3": 1})),
        ("all there", Counter[str]()),
    ],
)
async def test_a_failed_run_that_is_mended_and_killed_while_it_goes_on_runs_again_only_what_failed(
    nursery: Nursery, connections: Connections, tenant: str, tmp_path: Path, moment: str, again: Counter[str]
):
    log, broken = tmp_path / "log", tmp_path / "broken"
    broken.touch()
    told = nursery.do("mended", tenant, log, goal=None, die=moment, broken=str(broken))
    execution = await execution_of(connections, tenant)
    broken.unlink()
    if moment.endswith("finish"):
        assert told == {"code": -signal.SIGKILL}
    else:
        assert told["error"] == "RunFailed" and told["text"].startswith("task 'count-2' failed: ZeroDivisionError")
        died = nursery.do("mended", tenant, log, execution=execution, die=moment, broken=str(broken))
        assert died == {"code": -signal.SIGKILL}
    result = nursery.do("mended", tenant, log, execution=execution, broken=str(broken))
    assert (result["status"], result["decision"]) == ("accepted", 6), result
    assert result["board"] == {"sum": 6}  # what the failed attempt added was not added again
    once = Counter({"start count-1": 1, "start count-2": 2, "start count-3": 1})
    assert Counter(log.read_text().splitlines()) == once + again


async def test_a_failed_run_that_is_mended_and_killed_again_and_again_finishes_with_the_same_totals(
    nursery: Nursery, connections: Connections, tenant: str, tmp_path: Path
):
    log, broken = tmp_path / "log", tmp_path / "broken"
    broken.touch()
    assert nursery.do("mended", tenant, log, goal=None, broken=str(broken))["error"] == "RunFailed"
    broken.unlink()
    execution = await execution_of(connections, tenant)
    chance = random.Random(11)
    for _ in range(8):
        started = nursery.start("mended", tenant, log, execution=execution, broken=str(broken))
        await asyncio.sleep(chance.uniform(0.02, 0.25))
        os.kill(started[0], signal.SIGKILL)
        if "status" in nursery.end(started):
            break
    result = nursery.do("mended", tenant, log, execution=execution, broken=str(broken))
    assert (result["status"], result["decision"], result["board"]) == ("accepted", 6, {"sum": 6})
    assert log.read_text().splitlines().count("start count-1") == 1


@pytest.mark.parametrize(
    ("moment", "sent", "status"),
    [
        ("before", 1, "accepted"),
        ("begun", 0, "waiting"),
        ("sent", 1, "waiting"),
        ("recorded", 1, "accepted"),
    ],
)
async def test_what_is_sent_outside_is_sent_once_or_asked_about_and_never_twice(
    nursery: Nursery, connections: Connections, tenant: str, tmp_path: Path, moment: str, sent: int, status: str
):
    log = tmp_path / "log"
    assert nursery.do("mail", tenant, log, goal=None, die=moment) == {"code": -signal.SIGKILL}
    result = nursery.do("mail", tenant, log, execution=await execution_of(connections, tenant))
    assert result["status"] == status
    assert (log.read_text().splitlines() if log.exists() else []) == ["sent"] * sent
    if status == "accepted":
        assert result["decision"] == "message 7"
    else:
        assert result["question"].startswith("EffectUncertain: effect 'mail' was begun by 'send'")


async def test_two_processes_with_the_same_goal_have_an_execution_each_and_nothing_mixed(
    nursery: Nursery, tenant: str, tmp_path: Path, files: list[str]
):
    log = tmp_path / "log"
    both = [nursery.start("words", tenant, log, goal={"files": files}) for _ in range(2)]
    first, second = (nursery.end(started) for started in both)
    assert first["execution"] != second["execution"]
    for result in (first, second):
        assert (result["status"], result["decision"], result["board"]) == ("accepted", "10 words", WHOLE)
    assert set(Counter(log.read_text().splitlines()).values()) == {2}


async def test_a_living_owner_is_not_disturbed_and_one_that_was_paused_and_overtaken_is_refused(
    nursery: Nursery, connections: Connections, tenant: str, tmp_path: Path
):
    log, gate = tmp_path / "log", tmp_path / "gate"
    gate.touch()
    goal = {"by": "first", "while": str(gate)}
    first = nursery.start("slow", tenant, log, goal=goal, who="first", stop="idle", lease=12)
    await wait_for(lambda: log.with_suffix(".idle").exists())
    execution = await execution_of(connections, tenant)
    busy = nursery.do("slow", tenant, log, execution=execution, who="second", lease=1)
    assert busy["error"] == "ExecutionBusy"
    await let_the_lease_run_out(connections, tenant, execution)
    second = nursery.start("slow", tenant, log, execution=execution, who="second", lease=1)
    await wait_for(lambda: log.read_text().splitlines() == ["idle", "idle"])
    os.kill(first[0], signal.SIGCONT)
    overtaken = nursery.end(first)
    assert overtaken["error"] == "ExecutionBusy", overtaken
    gate.unlink()
    result = nursery.end(second)
    assert (result["status"], result["decision"]) == ("accepted", "second")
    assert result["board"] == {"idle": "first", "done": "second"}


async def let_the_lease_run_out(connections: Connections, tenant: str, execution: str) -> None:
    """Whoever runs the execution was silent for longer than its lease."""
    key = board_keys(tenant, UUID(execution)).claims
    claim = cast(bytes | None, await command(connections.redis, "HGET", key, RUN))
    assert claim is not None
    token, _, holder = claim.split(b" ", 2)
    await command(connections.redis, "HSET", key, RUN, b" ".join((token, b"1", holder)))


async def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; half a minute at most."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
