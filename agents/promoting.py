"""A language model as the judge of what becomes knowledge: what it answers, held against the episodes it was shown.

It is shown episodes of one circle of readers, under short names that mean nothing elsewhere. What it decides about
anything else, in another form, or in words that the episodes do not bear out is refused and counted; a merged sentence
has all the numbers of its episodes, and episodes whose numbers differ are not merged. Whether a verdict may be carried
out is asked once more where it is (`memory_layers.promotion.settled`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from ..infra.errors import ModelFailed
from ..infra.text import flaw
from ..memory_layers.guard import commands
from ..memory_layers.promotion import Candidate, Judged, Verdict
from ..memory_layers.records import Fact, Json, Memory, MemoryKind
from . import prompts
from .extraction import LONGEST
from .grounding import borne_out, holds, language_for, same_language, tokens, turned_round
from .llm import Model

_PARTS = frozenset({"verdict", "ids", "as", "text", "subject", "predicate", "object"})


class Promoter:
    """Satisfies `memory_layers.promotion.Judge`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.prompt = prompts.digest(prompts.PROMOTE)

    async def judge(self, shown: Sequence[Candidate]) -> Judged:
        """What the model makes of them.

        Raises:
            ModelFailed: it gave no answer that can be used.
        """
        names = {f"e{place}": one for place, one in enumerate(shown, 1)}
        told: list[Json] = [
            {
                "id": name,
                "text": one.memory.text[: 4 * LONGEST],
                "said_on": one.memory.occurred_at.date().isoformat(),
                "told": one.told,
                "used": one.used,
            }
            for name, one in names.items()
        ]
        language = language_for("\n".join(one.memory.text for one in shown))
        said = json.dumps({"episodes": told}, ensure_ascii=False)
        answer = await self._model.fill(prompts.PROMOTE[language], said, prompts.DECIDED)
        return decided(answer, {name: one.memory for name, one in names.items()})


def decided(answer: Json, shown: Mapping[str, Memory]) -> Judged:
    """The verdicts of an answer that stand, about episodes by the names under which they were shown.

    Raises:
        ModelFailed: it is not the form that was asked for.
    """
    decisions = answer.get("decisions") if isinstance(answer, dict) and answer.keys() == {"decisions"} else None
    if not isinstance(decisions, list):
        raise ModelFailed("the answer has not the list that was asked for", kind="shape")
    verdicts: list[Verdict] = []
    refused: Counter[str] = Counter()
    for decision in decisions:
        found = _verdict(decision, shown)
        if isinstance(found, str):
            refused[found] += 1
        else:
            verdicts.append(found)
    return Judged(verdicts=tuple(verdicts), refused=refused)


def _verdict(decision: Json, shown: Mapping[str, Memory]) -> Verdict | str:
    if not isinstance(decision, dict) or not {"verdict", "ids"} <= decision.keys() <= _PARTS:
        return "shape"
    names = decision["ids"]
    told = {key: value.strip() for key, value in decision.items() if isinstance(value, str) and value.strip()}
    if not isinstance(names, list) or any(len(part) > LONGEST or flaw(part) for part in told.values()):
        return "shape"
    about = [shown.get(name) for name in names if isinstance(name, str)]
    memories = [memory for memory in about if memory is not None]
    if not memories or len(memories) < len(names):
        return "unknown" if names else "shape"
    ids = tuple(memory.id for memory in memories)
    match told.get("verdict"):
        case "DISCARD":
            return Verdict(verdict="DISCARD", ids=ids)
        case "KEEP" if len(memories) == 1:
            return _kept(told, memories[0])
        case "MERGE" if len(memories) > 1 and "text" in told:
            return _merged(told["text"], ids, [memory.text for memory in memories])
        case _:
            return "shape"


def _kept(told: Mapping[str, str], memory: Memory) -> Verdict | str:
    match told.get("as", "semantic"):
        case "semantic":
            return Verdict(verdict="KEEP", ids=(memory.id,))
        case "procedural":
            return Verdict(verdict="KEEP", ids=(memory.id,), kind=MemoryKind.PROCEDURAL)
        case "fact" if {"subject", "predicate", "object"} <= told.keys():
            said = tokens(memory.text)
            if not (holds(said, told["subject"]) and holds(said, told["object"]) and tokens(told["predicate"]).strip()):
                return "words"
            fact = Fact(subject=told["subject"], predicate=told["predicate"], object=told["object"])
            if commands(fact.sentence()):
                return "instruction"
            return Verdict(verdict="KEEP", ids=(memory.id,), kind=MemoryKind.FACT, fact=fact)
        case _:
            return "shape"


def _merged(text: str, ids: tuple[UUID, ...], texts: Sequence[str]) -> Verdict | str:
    said = [tokens(each) for each in texts]
    mine, numbers = _numbers(tokens(text)), [_numbers(each) for each in said]
    if not borne_out(text, said) or not all(each <= mine for each in numbers):
        return "words"
    most = max(numbers, key=len)
    if any(not each <= most for each in numbers):
        return "contradiction"
    if not all(same_language(text, each) for each in texts):
        return "language"
    if any(turned_round(text, each) for each in texts):
        return "negation"
    if commands(text):
        return "instruction"
    return Verdict(verdict="MERGE", ids=ids, text=text)


def _numbers(text: str) -> set[str]:
    return {token for token in text.split() if any(sign.isdigit() for sign in token)}
