"""Clients that walk at random over the objects of one board, and write down what they ask and are answered.

Each has a board object of its own; several share the connections of their process. Some are impatient: they give an
operation up after a moment, and it stays without an answer. This module is also the program of another process with
clients: it reads one line of JSON for each history it takes part in, and answers when its clients are done.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from lousa.infra.connections import Connections
from lousa.infra.errors import NotFound, ServerUnavailable, Stale
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.board import ANY, Conflict, RunBoard, Written
from lousa.memory_layers.conversation.claims import Claim, Fence, FirstClaim
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.operations import Operations

from .histories import Facts, Recorder
from .specifications import FIRST

TENANT = "linearizability"
FIELDS = [f"field-{n}" for n in range(4)]
TASKS = [f"task-{n}" for n in range(3)]
FRESH = [f"task-{n}" for n in range(3, 13)]
"""Tasks that are begun by a write."""
LEASES = (0.02, 60.0)
SOON = 0.003
"""Seconds after which an impatient client gives up, at most."""


class NoArtifacts:
    """The values here are small; none is put away. Satisfies `Artifacts`."""

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        raise NotFound("nothing is put away")

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        raise NotFound("nothing is put away")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A process' connections to the server, and the feed over them."""

    connections: Connections
    feed: Feed

    def board(self, execution: UUID, agent: str, fence: Fence | FirstClaim | None = None) -> RunBoard:
        """A board of its own for an agent."""
        who = Principal(tenant=TENANT, agent=agent, session="s", execution=execution)
        return RunBoard(
            self.connections,
            who,
            feed=self.feed,
            artifacts=NoArtifacts(),
            operations=Operations(execution),
            fence=fence,
        )


@asynccontextmanager
async def entered(redis_url: str, postgres_url: str) -> AsyncGenerator[Place]:
    """Connections, open while this lasts."""
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        feed = Feed(connections)
        await feed.start(stack)
        yield Place(connections=connections, feed=feed)


class Client:
    """One client of one history."""

    def __init__(self, place: Place, execution: UUID, name: str, recorder: Recorder, *, impatient: float = 0.0) -> None:
        self._place = place
        self._execution = execution
        self._name = name
        self._recorder = recorder
        self._impatient = impatient
        self._random = random.Random(f"{execution} {name}")
        self._board = place.board(execution, name)
        self._calls = 0
        self._known: dict[str, int] = {}
        self._claims: dict[str, tuple[str, Claim]] = {}
        self._old: list[Fence] = []

    async def walk(self, operations: int) -> None:
        """Do so many operations, one after the other."""
        while self._calls < operations:
            if self._random.random() < 0.7:
                await self._on_field(self._random.choice(FIELDS))
            else:
                await self._on_task(self._random.choice(TASKS if self._random.random() < 0.8 else FRESH))

    # What is asked

    async def _on_field(self, field: str) -> None:
        board = self._board
        match self._random.choices(("read", "write", "update", "delete"), (25, 40, 25, 10))[0]:
            case "read":
                await self._call(field, "read", {}, lambda _: self._read(field))
            case "update":
                await self._call(field, "update", {}, lambda call: self._update(field, call))
            case "write":
                expect = self._expected(field)
                await self._call(
                    field,
                    "write",
                    {"expect": expect, "new": self._next},
                    lambda call: self._answer(field, board.write(field, call, expect=_told(expect))),
                )
            case _:
                expect = self._expected(field)
                await self._call(
                    field,
                    "delete",
                    {"expect": expect},
                    lambda _: self._answer(field, board.delete(field, expect=_told(expect))),
                )

    async def _on_task(self, task: str) -> None:
        held = self._claims.get(task)
        if held is None:
            fresh = task in FRESH
            verbs, weights = ("begin", "claim", "look", "read", "write"), (60 * fresh, 60 - 50 * fresh, 15, 15, 10)
        else:
            verbs, weights = ("write", "renew", "release", "look", "read", "claim"), (45, 15, 20, 5, 10, 5)
        match self._random.choices(verbs, weights)[0]:
            case "begin":
                await self._begin(task)
            case "claim":
                await self._claim(task, self._random.choices((None, ANY.value), (85, 15))[0])
            case "look":
                await self._look(task)
            case "read":
                await self._call(task, "read", {}, lambda _: self._read(f"under/{task}"))
            case "write":
                fences = [fence for fence in self._old if fence.task == task][-3:]
                fence = (
                    held[1].fence if held and self._random.random() < 0.85 else self._random.choice(fences or [None])
                )
                if fence is not None:
                    await self._write_under(fence)
            case verb:
                assert held is not None
                await self._with(verb, *held)

    async def _claim(self, task: str, over: str | int | None) -> None:
        lease = self._random.choice(LEASES)
        given = {"lease": int(lease * 1000), "over": over, "wall": _wall()}

        async def claim(call: str) -> Facts:
            got = await self._board.claim(task, lease, over=ANY if over == ANY.value else over, note=call)  # pyright: ignore[reportArgumentType]  # a token, or nothing
            if got is None:
                return {"taken": True}
            self._claims[task] = (call, got)
            self._old.append(got.fence)
            return {"token": got.token, "until": round(got.until.timestamp() * 1000)}

        await self._call(task, "claim", given, claim)

    async def _begin(self, task: str) -> None:
        """A write that brings the first claim of its task along."""
        first = self._board.first_claim(task, LEASES[1])
        board = self._place.board(self._execution, self._name, first)
        given = {"lease": int(LEASES[1] * 1000), "wall": _wall(), "expect": ANY.value, "new": self._next}

        async def begin(call: str) -> Facts:
            try:
                answer = await self._answer(f"under/{task}", board.write(f"under/{task}", call, expect=ANY))
            except Stale:
                return {"stale": True}
            if first.fence is None:
                return answer  # it was sent again, and the answer kept does not tell the token
            self._claims[task] = (FIRST, await first.now())
            self._old.append(first.fence)
            return {**answer, "token": first.fence.token}

        await self._call(task, "begin", given, begin)

    async def _look(self, task: str) -> None:
        seen: list[int] = []

        async def look(_: str) -> Facts:
            holder = await self._board.holder(task)
            if holder is None:
                return {"nobody": True}
            seen.append(holder.token)
            return {"token": holder.token, "claim": holder.note}

        await self._call(task, "holder", {}, look)
        if seen and self._random.random() < 0.3:
            await self._claim(task, seen[0])

    async def _with(self, verb: str, id: str, claim: Claim) -> None:
        """Renew or release a claim."""

        async def renew(_: str) -> Facts:
            try:
                await claim.renew()
            except Stale:
                self._claims.pop(claim.task, None)
                return {"stale": True}
            return {"until": round(claim.until.timestamp() * 1000)}

        async def release(_: str) -> Facts:
            self._claims.pop(claim.task, None)
            await claim.release()
            return {"done": True}

        await self._call(claim.task, verb, {"claim": id}, renew if verb == "renew" else release)

    async def _write_under(self, fence: Fence) -> None:
        field = f"under/{fence.task}"
        expect = self._expected(field)
        board = self._place.board(self._execution, self._name, fence)

        async def write(call: str) -> Facts:
            try:
                return await self._answer(field, board.write(field, call, expect=_told(expect)))
            except Stale:
                if (held := self._claims.get(fence.task)) and held[1].fence == fence:
                    del self._claims[fence.task]
                return {"stale": True}

        await self._call(fence.task, "write", {"token": fence.token, "expect": expect, "new": self._next}, write)

    # How it is asked

    @property
    def _next(self) -> str:
        """The id of the next operation, which is also the value it writes: no value comes twice."""
        return f"{self._name}-{self._calls + 1}"

    async def _call(self, object: str, kind: str, given: Facts, ask: Callable[[str], Awaitable[Facts]]) -> None:
        call = self._next
        self._calls += 1
        patience = self._random.random() * SOON if self._random.random() < self._impatient else None
        self._recorder.invoked(call, object, kind, given)
        try:
            async with asyncio.timeout(patience):
                answer = await ask(call)
        except (TimeoutError, ServerUnavailable):
            return  # without an answer
        self._recorder.answered(call, answer)

    async def _read(self, field: str) -> Facts:
        value, version = await self._board.read_versioned(field)
        self._known[field] = version
        return {"version": version, "value": value}

    async def _update(self, field: str, call: str) -> Facts:
        tries = 0

        def again(old: Any) -> str:
            nonlocal tries
            tries += 1
            new = f"{call}.{tries}"
            self._recorder.tried(call, {"old": old, "new": new})
            return new

        return await self._answer(field, self._board.update(field, again))

    async def _answer(self, field: str, asked: Awaitable[Written | Conflict]) -> Facts:
        match await asked:
            case Written(version=version, cursor=cursor):
                self._known[field] = version
                return {"version": version, "changed": cursor != ""}
            case Conflict(version=version, value=value):
                self._known[field] = version
                return {"conflict": [version, value]}

    def _expected(self, field: str) -> int | str:
        """Mostly the version last seen; sometimes one that is out of date, and sometimes any."""
        known = self._known.get(field, 0)
        return self._random.choices((known, max(0, known - 1), ANY.value), (85, 8, 7))[0]


def _wall() -> int:
    return int(time.time() * 1000)


def _told(expect: int | str) -> Any:
    return ANY if expect == ANY.value else expect


async def serve(redis_url: str, postgres_url: str, impatient: float) -> None:
    """Take part in the histories that the lines of the input name, until it ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with entered(redis_url, postgres_url) as place:
        print("ready", flush=True)
        while line := await lines.readline():
            told = json.loads(line)
            with Recorder(Path(told["log"])) as recorder:
                clients = [
                    Client(place, UUID(told["execution"]), name, recorder, impatient=impatient)
                    for name in told["clients"]
                ]
                await asyncio.gather(*(client.walk(told["operations"]) for client in clients))
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], float(sys.argv[3])))
