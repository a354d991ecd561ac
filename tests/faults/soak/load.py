"""The load of one process: everything a program does with Lousa, in closed loops, until it is told to rest.

Three kinds of loops run side by side. *Boards*: an execution by hand, with writes and updates from several agents, a
watcher, notes, mail, a claim and a value so large that it becomes an artifact. *Pipelines*: planner → three workers →
critic, every other one made anew as a program does that builds one per request. *Memories*: written through and back,
facts, recalls, a prompt; the last receipt is waited for, so that no backlog hides a leak. Names come from small sets:
what grows is then not the number of names.

The process speaks with whoever started it in lines: ``look`` is answered with what it counts, ``rest`` once its loops
have ended; at the end of its input it closes and goes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import lousa
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Principal, Runtime, Task
from lousa.memory_layers.conversation.board import Board, Conflict
from lousa.memory_layers.conversation.mailbox import Mailbox
from lousa.memory_layers.conversation.scratchpad import Scratchpad
from lousa.memory_layers.conversation.watch import Watch
from lousa.memory_layers.conversation.window import Turn

TENANTS = ("north", "south", "east", "west")
PEOPLE = [f"client-{n}" for n in range(40)]
# fmt: off
WORDS = [
    "agreement", "payment", "delay", "clause", "penalty", "supplier", "invoice", "delivery", "quality", "warranty",
    "contrato", "prazo", "multa", "entrega", "garantia", "fornecedor", "pagamento", "atraso", "rescisão", "foro",
]
# fmt: on
BOARDS, PIPELINES, MEMORIES = 3, 2, 2
"""Loops of each kind."""
FIELDS = 6


class Load:
    """The loops of one process."""

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._runtime = runtime
        self._random = random.Random(seed)
        self._resting = asyncio.Event()
        self._pipeline = _pipeline()
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin."""
        for work, count in ((self._board, BOARDS), (self._run, PIPELINES), (self._memories, MEMORIES)):
            for number in range(count):
                self._loops.append(asyncio.create_task(self._loop(work), name=f"{work.__name__} {number}"))

    async def rest(self) -> None:
        """End, each loop after the round it is in; what failed is raised."""
        self._resting.set()
        await asyncio.gather(*self._loops)

    def check(self) -> None:
        """Raise what ended a loop."""
        for loop in self._loops:
            if loop.done():
                loop.result()

    async def _loop(self, work: Callable[[], Awaitable[None]]) -> None:
        while not self._resting.is_set():
            await work()

    def _text(self) -> str:
        return f"{self._random.choice(PEOPLE)} " + " ".join(self._random.choices(WORDS, k=12))

    # Boards

    async def _board(self) -> None:
        services = self._runtime.services
        tenant, session = self._random.choice(TENANTS), f"session-{self._random.randrange(8)}"
        begun = Principal(tenant=tenant, agent="hand", session=session)
        execution = await services.executions.create(begun, "by hand", {"what": "soak"})
        who = replace(begun, execution=execution)

        def board(agent: str) -> Board:
            return self._runtime.board(execution, agent, session=session, tenant=tenant)

        first = board("watcher")
        async with first.watch() as changes:
            wanted = 3 * (FIELDS + 4)
            following = asyncio.create_task(self._follow(changes, wanted))
            await asyncio.gather(*(self._agent(board(f"agent-{n}"), n) for n in range(3)))
            await following
        notes = Scratchpad(services.connections, who, artifacts=services.artifacts)
        await notes.write("mine", self._text())
        await notes.all()
        mail = Mailbox(services.connections, who, board=board("hand"), feed=services.feed, artifacts=services.artifacts)
        await mail.tell("*", self._text())
        assert len(await mail.inbox()) == 1
        await first.write("large", self._text() * 200)
        assert await first.wait_for(["sum", "large"], 10)
        claim = await first.claim("a-task", 30)
        assert claim is not None
        await claim.renew()
        await claim.release()
        await services.executions.finish(who, execution, "accepted")
        self.done["executions"] += 1
        self.done["operations"] += wanted + 12

    async def _agent(self, board: Board, number: int) -> None:
        for field in range(FIELDS):
            assert not isinstance(await board.write(f"{number}/{field}", self._text()), Conflict)
        for _ in range(3):
            await board.update("sum", lambda old: cast(int, old or 0) + 1)
        await board.delete(f"{number}/0")
        assert len(await board.read_all(f"{number}/*")) == FIELDS - 1

    async def _follow(self, changes: Watch, wanted: int) -> None:
        for _ in range(wanted):
            await anext(changes)

    # Pipelines

    async def _run(self) -> None:
        fresh = self._random.random() < 0.5
        pipeline = _pipeline() if fresh else self._pipeline
        session = f"session-{self._random.randrange(8)}"
        goal = {"person": self._random.choice(PEOPLE), "text": self._text()}
        result = await self._runtime.run(
            pipeline, goal, session=session, tenant=self._random.choice(TENANTS), source=None
        )
        assert result.status == "accepted"
        assert len(await result.board.read_all("found/*")) == 3
        self.done["executions"] += 1
        self.done["operations"] += 30

    # Memories

    async def _memories(self) -> None:
        tenant, session = self._random.choice(TENANTS), f"session-{self._random.randrange(8)}"
        desk = self._runtime.desk("scribe", session=session, tenant=tenant)
        person = self._random.choice(PEOPLE)
        for _ in range(4):
            await desk.remember(self._text(), kind="semantic", scope="tenant")
        last = await desk.remember(self._text(), kind="episodic")
        await desk.state_fact(person, self._random.choice(WORDS), self._random.choice(WORDS), scope="tenant")
        rule = await desk.remember(self._text(), kind="procedural", scope="private")
        await desk.recall(self._text(), k=5)
        await desk.facts(person)
        await last.settled()
        await desk.forget(rule.id, "the soak is done with it")
        self.done["operations"] += 10


async def _plan(desk: Desk, goal: Any) -> list[Task]:
    await desk.window.append(Turn(role="user", body=goal["text"]))
    return [Task("look", {**goal, "part": part}) for part in range(3)]


async def _look(desk: Desk, task: Any) -> Finding:
    known = await desk.recall(task.input["text"], k=3)
    await desk.notes.write("seen", len(known))
    await desk.remember(f"{task.input['text']} {task.input['part']}", scope="shared")
    await desk.board.write(f"found/{task.id}", task.input["text"])
    await desk.tell("critic", {"task": task.id})
    done = await desk.effect("look", lambda: task.input["part"])
    return Finding(done, evidence=[hit.id for hit in known])


async def _judge(desk: Desk, findings: Outcomes) -> Accept:
    context = await desk.context("what is agreed", 500)
    assert len(await desk.inbox()) == 3
    return Accept(len(findings), [f"{len(context.text)} characters were read"])


def _pipeline() -> Pipeline:
    return Pipeline(_plan, workers={"look": _look}, critic=_judge, name="soak")


async def serve(home: str, embedder: str, kept: float, seed: int) -> None:
    """Open the home, and do what the lines of the input say until it ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    patient = timedelta(seconds=20)  # a busy machine is no silent layer
    async with lousa.open(
        home=home, embedder=embedder, deadline=patient, board_kept=timedelta(seconds=kept)
    ) as runtime:
        load = Load(runtime, seed)
        for tenant in TENANTS:  # whoever relays for nobody yet has a task less
            receipt = await runtime.desk("scribe", tenant=tenant).remember("The soak begins.", kind="episodic")
            await receipt.settled(60)
        _say({"open": True})
        while line := (await lines.readline()).decode().strip():
            if line == "begin":
                load.start()
            elif line == "rest":
                await load.rest()
            load.check()
            _say({"tasks": Counter(map(_name, asyncio.all_tasks())), "done": load.done})


def _name(task: asyncio.Task[Any]) -> str:
    """What a task is, without what tells it from others of its kind."""
    own = re.sub(r"[0-9a-f-]{12,}|\d+", "…", task.get_name())
    return own if own != "Task-…" else getattr(task.get_coro(), "__qualname__", own)


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
