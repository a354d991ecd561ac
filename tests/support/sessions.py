"""A session whose transcript is a list, and how it is summarised on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from lousa.agents.llm import Model
from lousa.agents.summarise import Kept, Plan, Summariser
from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.summaries import Summaries, Summary
from scripted import Talking

MORNING = datetime(2026, 11, 30, 9, tzinfo=UTC)
SMALL = Plan(keep=4, turns=4, parts=3, fold=2, steps=50, topics=3, topic_turns=5)
PATIENCE = 30.0


@dataclass
class Session:
    """A session whose transcript is a list."""

    room: Any
    turns: list[Kept] = field(default_factory=list[Kept])
    numbers: Any = field(default_factory=count)

    def say(self, text: Any, role: str = "user", **parts: Any) -> Kept:
        arrived = MORNING + timedelta(seconds=next(self.numbers))
        given: dict[str, Any] = {"role": role, "body": text, "id": new_id(), "at": arrived, "arrived": arrived, **parts}
        self.turns.append(Kept(**given))
        return self.turns[-1]

    def talk(self, turns: int) -> None:
        for _ in range(turns):
            if len(self.turns) % 2:
                self.say(f"Noted, the pump {len(self.turns)} of the lido is inspected.", "assistant")
            else:
                self.say(f"The pump {len(self.turns)} of the lido must be inspected before summer.")

    @property
    def summaries(self) -> Summaries:
        return Summaries(self.room.connections, self.room.principal)

    def summariser(self, chat: Talking | None = None, **parts: Any) -> Summariser:
        model = Model("scripted", chat, within=parts.pop("within", timedelta(seconds=PATIENCE))) if chat else None
        plan = parts.pop("plan", SMALL)
        return Summariser(self.summaries, self.reading, model, plan=plan, **parts)

    async def reading(self, summary: Summary, most: int) -> list[Kept]:
        await asyncio.sleep(0)
        order = sorted(self.turns, key=lambda turn: (turn.arrived, turn.id))
        new = [turn for turn in order if summary.through is None or (turn.arrived, turn.id) > summary.through]
        return [turn for turn in new if turn.id not in summary.turns][:most]


def minutes(said: str) -> dict[str, Any]:
    """What a good model answers."""
    return {"summary": "The pumps of the lido must be inspected before summer, as the user said.", "topics": []}


async def until(met: Callable[[], bool | Awaitable[bool]]) -> None:
    """Ask again and again, for half a minute at most."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = met()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.01)
