"""A writer: several workers, each an agent with one operation at a time, told to the witness before and after.

A worker that was begun in place of a dead one sends again what that one had not been acknowledged, under the same
operation, and some of what it had. What a server's outage cuts off it sends again by itself, until there is an answer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from lousa.agents.remembering import Remembering
from lousa.infra.errors import LedgerUnavailable, LousaError, NotFound, Overloaded, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.memory_layers.contract import MOST
from lousa.memory_layers.conversation.board import ANY, Board, Conflict
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.window import Turn, Window
from lousa.memory_layers.execution.transcript import TranscriptTurn
from lousa.memory_layers.records import Json
from lousa.runtime.app import Runtime

from .channel import Channel, Words

FIELDS, SHARED, COUNTERS = 4, 6, 3
BURSTS = 0.03
"""How often a worker writes all its fields at once, so that changes travel in batches."""
LARGE = "x" * 11_000
"""More than a board holds in a field, so that the value goes to an artifact."""
MIX = (("own", 26), ("cas", 20), ("add", 14), ("back", 26), ("through", 3), ("fact", 4), ("say", 2), ("forget", 2),
       ("recall", 3), ("pry", 2))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a worker, whole: whoever has it can send it again."""

    key: str
    do: str
    execution: str
    what: Words


class Writer:
    """The workers of one process."""

    def __init__(self, runtime: Runtime, channel: Channel, order: Words) -> None:
        self._workers = [Worker(runtime, channel, words, order["pause"]) for words in order["workers"]]
        self._channel = channel

    async def play(self, heard: asyncio.Queue[Words]) -> None:
        """Work, and follow orders: another execution for a tenant, or to rest."""
        async with asyncio.TaskGroup() as group:
            for worker in self._workers:
                group.create_task(worker.work())
            while True:
                words = await heard.get()
                for worker in self._workers:
                    if words["do"] == "rest":
                        worker.go.clear()
                    elif words["do"] == "work":
                        worker.go.set()
                    elif words["tenant"] == worker.tenant:
                        worker.move(words["execution"])
                self._channel.say("obeyed", words["do"], words.get("execution", ""))


class Worker:
    """One agent at work."""

    def __init__(self, runtime: Runtime, channel: Channel, words: Words, pause: float) -> None:
        self.agent: str = words["agent"]
        self.tenant: str = words["tenant"]
        self.go = asyncio.Event()
        self.go.set()
        self._runtime = runtime
        self._channel = channel
        self._pause = pause
        self._execution: str = words["execution"]
        self._other: list[str] = words["other"]
        self._number: int = words["number"]
        self._versions: dict[str, int] = words["versions"]
        self._kept: list[tuple[str, str]] = [tuple(one) for one in words["kept"]]
        self._unanswered = [Operation(**one) for one in words["unanswered"]]
        self._answered = [Operation(**one) for one in words["answered"]]
        self._random = random.Random(f"{self.agent} {self._number}")

    def move(self, execution: str) -> None:
        """Go on with another execution."""
        self._execution, self._versions = execution, {}

    async def work(self) -> None:
        """Take up what was left, and go on; until cancelled."""
        for operation in self._answered:
            self._channel.say("again", operation.key, await self._surely(operation))
        for operation in self._unanswered:
            await self._acknowledged(operation)
        while True:
            await self.go.wait()
            if self._random.random() < BURSTS:
                own = [self._own(self._number + more) for more in range(FIELDS)]
                await asyncio.gather(*[self._acknowledged(self._intended(operation)) for operation in own])
            else:
                operation = await self._next()
                if operation is not None and operation.execution == self._execution and self.go.is_set():
                    await self._acknowledged(self._intended(operation))
            await asyncio.sleep(self._pause * self._random.uniform(0.5, 1.5))

    def _intended(self, operation: Operation) -> Operation:
        """The operation, once the witness knows of it."""
        self._number += 1
        said = (self.agent, operation.key, operation.do, operation.execution, operation.what)
        self._channel.say("intent", *said)
        return operation

    def _own(self, number: int) -> Operation:
        """A write to a field that is this worker's alone, so that it never meets a conflict."""
        field = f"own/{self.agent}/{number % FIELDS}"
        what = {"field": field, "expect": self._versions.get(field, 0), "large": self._random.random() < 0.02}
        return Operation(f"{self.agent} {number}", "own", self._execution, what)

    async def _acknowledged(self, operation: Operation) -> None:
        answer = await self._surely(operation)
        self._channel.say("ack", operation.key, answer)
        if operation.do == "own" and answer[0] == "written" and operation.execution == self._execution:
            self._versions[operation.what["field"]] = answer[1]
        if operation.do in ("back", "through"):
            self._kept = [*self._kept[-5:], (operation.key, answer[1])]
        if operation.do == "forget":
            self._kept = [one for one in self._kept if one[1] != operation.what["memory"]]

    async def _surely(self, operation: Operation) -> list[Any]:
        """The answer, however often it has to be sent."""
        while True:
            try:
                return await self._perform(operation)
            except (ServerUnavailable, LedgerUnavailable, Overloaded) as error:
                self._channel.say("unanswered", operation.key, str(error)[:200])
                await asyncio.sleep(0.05)
            except LousaError as error:
                return ["refused", type(error).__name__, str(error)[:300]]

    # What a worker does

    async def _next(self) -> Operation | None:
        do = self._random.choices([name for name, _ in MIX], [weight for _, weight in MIX])[0]
        key = f"{self.agent} {self._number}"
        what: Words = {}
        if do == "own":
            return self._own(self._number)
        if do == "cas":
            what = {"field": f"shared/{self._random.randrange(SHARED)}", "large": False}
            try:
                what["expect"] = (await self._board(self._execution).read_versioned(what["field"]))[1]
            except ServerUnavailable:
                return None
        elif do == "add":
            what = {"field": f"count/{self._random.randrange(COUNTERS)}"}
        elif do == "back":
            what = {"kind": self._random.choice(("semantic", "episodic"))}
            what["scope"] = self._random.choice(("shared", "private", "tenant"))
        elif do == "through":
            what = {"kind": "procedural", "scope": "private"}
        elif do == "fact":
            what = {"about": f"machine of {self.agent} {self._random.randrange(2)}"}
        elif do in ("forget", "recall"):
            if len(self._kept) < 3:
                return None
            what = {"memory": self._kept[0][1], "of": self._kept[0][0]}
            if do == "recall":
                what = {"memory": self._kept[-1][1], "of": self._kept[-1][0]}
        return Operation(key, do, self._execution, what)

    async def _perform(self, operation: Operation) -> list[Any]:
        key, what = operation.key, operation.what
        match operation.do:
            case "own" | "cas":
                value: Json = {"op": key, "tenant": self.tenant, "filling": key + LARGE if what["large"] else ""}
                board = self._board(operation.execution)
                written = await board.write(what["field"], value, expect=what["expect"], key=key)
                if isinstance(written, Conflict):
                    return ["conflict", written.version]
                return ["written", written.version, written.cursor, written.repeated]
            case "add":
                board = self._board(operation.execution)
                written = await board.update(what["field"], _one_more, key=key)
                return ["written", written.version, written.cursor, written.repeated]
            case "back" | "through":
                receipt = await self._desk(operation.execution).remember(
                    _text(key),
                    kind=what["kind"],
                    scope=what["scope"],
                    metadata={"op": key, "tenant": self.tenant, "scope": what["scope"]},
                    key=key,
                )
                return ["kept", str(receipt.id), receipt.state]
            case "fact":
                receipt = await self._desk(operation.execution).state_fact(
                    what["about"],
                    "state",
                    _token(key),
                    metadata={"op": key, "tenant": self.tenant, "scope": "shared"},
                    key=key,
                )
                return ["kept", str(receipt.id), receipt.state]
            case "say":
                turn = Turn(role="assistant", body={"op": key}, calls=())
                kept = await self._window(operation.execution).append(turn, key=key)
                return ["kept", str(kept.id), "said"]
            case "forget":
                receipt = await self._desk(operation.execution).forget(what["memory"], "to see it gone", key=key)
                return ["kept", str(receipt.id), receipt.state]
            case "recall":
                return await self._recall(operation)
            case _:
                return await self._pry(operation)

    async def _recall(self, operation: Operation) -> list[Any]:
        """What it had kept last must come back, however it ranks before it is embedded, and nothing of others."""
        what = operation.what
        found = await self._desk(operation.execution).recall(_text(what["of"]), k=MOST)
        for hit in found:
            told = (hit.metadata["op"], hit.metadata["tenant"], hit.metadata["scope"], hit.owner)
            if told[1] != self.tenant or (told[2] == "private" and hit.owner != self.agent):
                self._channel.say("leak", f"a recall of {self.agent} brought {told}")
        whole = not found.silent and not found.behind
        if whole and all(str(hit.id) != what["memory"] for hit in found):
            self._channel.say("unseen", operation.key, what["memory"], what["of"])
        return ["recalled", len(found)]

    async def _pry(self, operation: Operation) -> list[Any]:
        """Ask for what another tenant has: there must be nothing of it."""
        other = self._random.choice(self._other)
        board = self._board(other)
        found = await board.read_all()
        if found:
            self._channel.say("leak", f"{self.agent} read {len(found)} fields of another tenant's board {other}")
        for name, call in (
            ("wrote to", board.write("pried", 1, expect=ANY)),
            ("read the trail of", self._runtime.trail(other, tenant=self.tenant)),
        ):
            try:
                await call
            except NotFound:
                continue
            self._channel.say("leak", f"{self.agent} {name} another tenant's execution {other}")
        own = await self._board(operation.execution).read_all("own/*")
        for value in own.values():
            if isinstance(value, dict) and value["tenant"] != self.tenant:
                self._channel.say("leak", f"the board of {self.tenant} holds {value['op']!r} of another")
        return ["pried", len(own)]

    # With what

    def _who(self, execution: str) -> Principal:
        session = f"session {self.tenant}"
        return Principal(tenant=self.tenant, agent=self.agent, session=session, execution=UUID(execution))

    def _board(self, execution: str) -> Board:
        return self._runtime.board(execution, self.agent, session=f"session {self.tenant}", tenant=self.tenant)

    def _desk(self, execution: str) -> Remembering:
        return Remembering(self._runtime.services, self._who(execution), Operations(UUID(execution)))

    def _window(self, execution: str) -> Window:
        services, who = self._runtime.services, self._who(execution)

        async def archive(turns: Sequence[Turn]) -> None:
            said = [TranscriptTurn(id=t.id, agent=t.agent, role=t.role, body=t.body, occurred_at=t.at) for t in turns]
            await services.transcript.append(who, said)

        operations = Operations(UUID(execution))
        return Window(services.connections, who, artifacts=services.artifacts, archive=archive, operations=operations)


def _one_more(value: Json) -> Json:
    assert isinstance(value, int | None), f"a counter holds {value!r}"
    return (value or 0) + 1


def _text(key: str) -> str:
    """What a memory says; asked for word by word, it is the likest there is."""
    return f"{_token(key)} was noted while the load went on"


def _token(key: str) -> str:
    """A word that no other operation has."""
    return key.replace(" ", "n").replace("-", "")
