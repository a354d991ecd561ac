"""The present first: of found memories that answer a question with different values, the one told last leads.

`truth.outdated` says which of them tell an old answer, from what was read of each when it was examined; they come last
and are marked as to be confirmed. Where nothing that was found tells a value, or nothing tells one that differs, this
is a look at each row and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from .ranking import Ranked
from .records import Memory, MemoryKind
from .truth.outdated import Answer, Telling, outdated, telling

_LAST = 0.5
"""Of the least score of the others: what an old answer has at most, so that it comes behind them."""


def present_first(question: str, found: Sequence[Ranked]) -> Sequence[Ranked]:
    """Found memories with old answers behind the others."""
    if len(found) < 2 or not any(one.memory.told for one in found):
        return found
    rested_on = {source for one in found if one.memory.fact is not None for source in one.memory.sources}
    answers = [_answer(one, vouched=one.memory.id in rested_on) for one in found]
    gone = outdated(question, answers)
    least = min((one.score for one in found if one.memory.id not in gone), default=0.0)
    return [
        replace(one, score=_LAST * min(one.score, least), memory=replace(one.memory, to_confirm=True))
        if one.memory.id in gone
        else one
        for one in found
    ]


def _answer(found: Ranked, *, vouched: bool) -> Answer:
    memory = found.memory
    free = memory.kind in (MemoryKind.SEMANTIC, MemoryKind.EPISODIC) and memory.value is None
    return Answer(
        id=memory.id,
        text=memory.text,
        score=found.score,
        trust=memory.trust,
        told_at=memory.told_at or memory.occurred_at,
        told=_told(memory),
        subject=memory.subject,
        stands=vouched or not free or memory.speaker is not None,
        vouched=vouched or memory.fact is not None,
        speaks=memory.speaker is None and (free or _speaks(memory)),
    )


def _told(memory: Memory) -> Sequence[Telling]:
    if memory.fact is not None and _speaks(memory):
        return telling(f"It is {memory.fact.object}.")
    return cast("Sequence[Telling]", memory.told or ())


def _speaks(memory: Memory) -> bool:
    """Whether it is a fact that holds alone, whatever the context."""
    return memory.fact is not None and not memory.fact.many and not memory.fact.qualifier
