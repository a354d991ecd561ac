"""Processes that run pipelines and die: started by `test_crashes_pipeline`, never imported.

It reads one order a line and forks a child for each, after the slow imports and before any event loop or thread, so
that a crash costs a tenth of a second and not two. A child lives through one `run` or `resume`; at the moment that its
order names it kills itself with signal 9, once: a marker file remembers. What happens outside is a line in a log file,
which is how the test counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import langgraph.graph  # noqa: F401  # pyright: ignore[reportUnusedImport]  # so that children have it
import lousa
import numpy
from lousa import Accept, Desk, Escalate, Finding, Outcomes, Pipeline, Revise, Task
from lousa.infra.errors import LousaError
from lousa.memory_layers import embedding


class Order:
    """What one child is to do."""

    def __init__(self, words: dict[str, Any]) -> None:
        self.words = words
        self.log = Path(words["log"])

    def note(self, line: str) -> None:
        """Something happened outside: one line, appended at once and synced."""
        fd = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def moment(self, name: str) -> None:
        """A moment at which this child may have to die, or to stop."""
        marker = self.log.with_suffix(f".{name}")
        if self.words.get("die") == name and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.words.get("stop") == name and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGSTOP)


def words(order: Order) -> Pipeline:
    """The example of the design, with its moments."""

    async def planner(desk: Any, goal: Any) -> list[Task]:
        order.moment("planner")
        order.note("plan")
        await desk.board.write("planned", len(goal["files"]))
        order.moment("planned")
        return [Task("count", {"file": f}) for f in goal["files"]]

    async def count(desk: Any, task: Any) -> Finding:
        order.note(f"start {task.id}")
        text = Path(task.input["file"]).read_text(encoding="utf-8")  # noqa: ASYNC240  # as the design writes it
        order.moment(f"{task.id} read")
        await desk.remember(f"{task.input['file']} has {len(text.split())} words", kind="semantic")
        order.moment(f"{task.id} remembered")
        await desk.board.write(f"words/{task.id}", len(text.split()))
        add: Callable[[Any], Any] = lambda value: (value or 0) + len(text.split())  # noqa: E731
        await desk.board.update("sum", add)
        order.moment(f"{task.id} written")
        return Finding({"words": len(text.split())})

    async def critic(desk: Any, findings: Any) -> Revise | Accept:
        order.note("judge")
        order.moment("critic")
        await desk.board.write("judged", len(findings))
        order.moment("judged")
        missing = [f.task for f in findings if not f.value["words"]]
        return Revise(missing, "empty files") if missing else Accept(f"{sum(f.value['words'] for f in findings)} words")

    return Pipeline(planner, workers=[count], critic=critic, parallel=1)


def mail(order: Order) -> Pipeline:
    """A worker that sends something outside."""

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("send", retries=1)]

    async def send(desk: Desk, task: Task) -> Finding:
        def deed() -> str:
            order.moment("begun")
            order.note("sent")
            order.moment("sent")
            return "message 7"

        order.moment("before")
        sent = await desk.effect("mail", deed)
        order.moment("recorded")
        return Finding(sent)

    async def critic(desk: Desk, findings: Outcomes) -> Accept | Escalate:
        if findings.failed:
            return Escalate(findings.failed[0].error)
        return Accept(findings[0].value)

    return Pipeline(planner, workers=[send], critic=critic)


def slow(order: Order) -> Pipeline:
    """A worker that is in the middle of its task for as long as a file is there."""

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("idle", goal)]

    async def idle(desk: Desk, task: Any) -> Finding:
        order.note("idle")
        await desk.board.write("idle", task.input["by"])
        order.moment("idle")
        while os.path.exists(task.input["while"]):  # noqa: ASYNC110, ASYNC240  # another process takes it away
            await asyncio.sleep(0.01)
        await desk.board.write("done", order.words["who"])
        return Finding(order.words["who"])

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept(findings[0].value)

    return Pipeline(planner, workers=[idle], critic=critic, retries=0)


def mended(order: Order) -> Pipeline:
    """A worker that fails as long as a file is there, one that needs it, and a critic that wants all values."""

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("count", 1), Task("count", 2), Task("count", 3, needs=["count-2"])]

    async def count(desk: Desk, task: Any) -> Finding:
        order.note(f"start {task.id}")
        add: Callable[[Any], Any] = lambda value: (value or 0) + task.input  # noqa: E731
        await desk.board.update("sum", add)
        broken = os.path.exists(order.words["broken"])  # noqa: ASYNC240  # the test takes it away
        if not broken:
            order.moment(f"{task.id} mended")
        elif task.id == "count-2":
            raise ZeroDivisionError("not yet mended")
        return Finding(task.input)

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        order.moment("critic")
        values: list[Any] = [finding.value for finding in findings]
        order.moment("all there")
        return Accept(sum(values))

    return Pipeline(planner, workers=[count], critic=critic, retries=0, parallel=1)


def quickly(texts: Sequence[str], query: bool) -> Any:
    """Vectors in no time: nobody recalls anything here, and a model would take most of a child's life."""
    return numpy.ones((len(texts), 384), dtype=numpy.float32)


PIPELINES: dict[str, Callable[[Order], Pipeline]] = {"words": words, "mail": mail, "slow": slow, "mended": mended}


def with_moments(order: Order, executions: Any) -> None:
    """The row of the execution moves between two moments, wherever it is taken up again or ends."""

    def watched(name: str, move: Callable[..., Any]) -> Callable[..., Any]:
        async def moved(*words: Any, **more: Any) -> Any:
            order.moment(f"before {name}")
            came = await move(*words, **more)
            order.moment(f"after {name}")
            return came

        return moved

    executions.reopen = watched("reopen", executions.reopen)
    executions.finish = watched("finish", executions.finish)


async def obey(order: Order) -> dict[str, Any]:
    """Run or resume, and tell what came of it."""
    asked = order.words
    pipeline = PIPELINES[asked["pipeline"]](order)
    lease = timedelta(seconds=asked.get("lease", 20))
    async with lousa.open(
        redis_url=asked["redis_url"],
        postgres_url=asked["postgres_url"],
        home=asked["home"],
        tenant=asked["tenant"],
        lease=lease,
    ) as runtime:
        with_moments(order, runtime.services.executions)
        try:
            if "execution" in asked:
                given = {"answer": asked["answer"]} if "answer" in asked else {}
                result = await runtime.resume(UUID(asked["execution"]), pipeline, **given)
            else:
                result = await runtime.run(pipeline, asked["goal"])
        except LousaError as error:
            return {"error": type(error).__name__, "text": str(error)}
        return {
            "execution": str(result.execution),
            "status": result.status,
            "decision": result.decision,
            "values": [outcome.value for outcome in result.outcomes if outcome.ok],
            "board": await result.board.read_all(),
            "question": result.question.question if result.question else None,
        }


def main() -> None:
    """A child an order; `wait` tells how one ended."""
    model: Any = embedding.load("e5")
    model._made[model.fingerprint] = quickly
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "wait":
            _, status = os.waitpid(asked["pid"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            pid = os.fork()
            if pid == 0:
                try:
                    told = asyncio.run(obey(Order(asked)))
                    Path(asked["out"]).write_text(json.dumps(told), encoding="utf-8")
                    os._exit(0)
                finally:
                    sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]  # there is one, or we had exited
                    os._exit(70)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
