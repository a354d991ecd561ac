"""From what was said to facts, episodes and rules: what a model answers, held against the text it read.

Everything here is pure: a `Source` and an answer go in, what stands comes out, and what does not is counted by why.
Nothing is put right: an item that the text does not bear out is dropped, as a whole.

- the answer has the three lists, or it is none; an item has its fields and no others, so a model can give nothing an
  owner, a trust or a standing
- a quotation is in the text; object and qualifier are in the text's own words, the subject too, or it is who spoke, or
  somebody named just before: then what was said before is a source as well
- a date is one that the text names
- the sentence of an episode or a rule is made of the text's words, in its language, and says no where it says no
- a rule is only what a user said; nothing that reads as an instruction to an assistant is kept from anybody

What is derived is for the same readers as its source, about the same person, and trusted no more than the least trusted
source that it leans on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import Literal, cast
from uuid import UUID

from ..infra.errors import ModelFailed
from ..infra.ids import derived_id
from ..infra.text import flaw
from ..memory_layers.execution.memories import folded
from ..memory_layers.guard import commands
from ..memory_layers.records import TRUST, Fact, Json, Memory, MemoryKind, Scope, ScopeKind, Source
from . import dates
from .grounding import asks, borne_out, denied, holds, language_for, same_language, tells, tokens, turned_round

AT_ONCE = 24_000
"""Characters that a model is shown at a time."""
MOST = 24
"""Items that one text can give; a model that says more rambles."""
LONGEST = 500
"""Characters of any part of an item."""
LONGEST_PREDICATE = 80
_LISTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "facts": (
        frozenset({"subject", "predicate", "object", "quotation"}),
        frozenset({"qualifier", "since", "many"}),
    ),
    "episodes": (frozenset({"text", "quotation"}), frozenset()),
    "rules": (frozenset({"text", "quotation"}), frozenset()),
}
"""What an item of each list has, and what it may have."""
_KINDS = {"episodes": MemoryKind.EPISODIC, "rules": MemoryKind.PROCEDURAL}

Why = Literal[
    "shape", "quotation", "question", "subject", "object", "date", "words", "language", "negation", "contradiction",
    "instruction", "not the user's", "twice", "too many",
]  # fmt: skip
"""Why an item was dropped."""
FAULTS = frozenset(
    {"shape", "quotation", "question", "subject", "object", "date", "words", "language", "negation", "contradiction"}
)
"""Those of these that say of a model that it did not read well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something said: by whom, and how far it is trusted. `id` is its memory's, or its turn's.

    `named`: the speaker goes by a name, and not merely as the user, the tool, the agent.
    """

    id: UUID
    speaker: str
    named: bool = False
    text: str
    source: Source
    trust: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A line that is read, with whatever its memories will share; `before` are the lines just before it."""

    line: Line
    tenant: str
    owner: str
    session: str
    execution: UUID | None
    scope: Scope
    subject: str | None
    occurred_at: datetime
    before: tuple[Line, ...] = ()

    @property
    def known(self) -> bool:
        """Whether its readers know who speaks: by name, or because it is the one user of their conversation."""
        return self.line.named or self.scope.kind is ScopeKind.SHARED

    def parts(self) -> list[Text]:
        """The text in parts that a model can be shown, cut where a paragraph, a sentence or a word ends."""
        parts: list[Text] = []
        rest = self.line.text
        while len(rest) > AT_ONCE:
            places = [rest.rfind(mark, AT_ONCE // 2, AT_ONCE) for mark in ("\n\n", "\n", ". ", " ")]
            cut = next((place + 1 for place in places if place > 0), AT_ONCE)
            parts.append(replace(self, line=replace(self.line, text=rest[:cut])))
            rest = rest[cut:]
        return [*parts, replace(self, line=replace(self.line, text=rest))]

    def message(self) -> dict[str, Json]:
        """As a model is shown it."""
        return {
            "said_by": self.line.speaker,
            "said_on": self.occurred_at.date().isoformat(),
            "before": [{"said_by": line.speaker, "text": line.text[-LONGEST:]} for line in self.before],
            "text": self.line.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What stands of an answer, as memories without ids of their own, and how many items were dropped, by why."""

    memories: tuple[Memory, ...] = ()
    quotations: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def misread(self) -> bool:
        """Whether nothing stands, and something was dropped for a fault of the model's."""
        return not self.memories and bool(FAULTS & self.dropped.keys())

    def with_next(self, further: Reading) -> Reading:
        """With what was read in the next part of the same text; what both have counts once."""
        known = {_same(memory) for memory in self.memories}
        pairs = zip(further.memories, further.quotations, strict=True)
        fresh = [(memory, quotation) for memory, quotation in pairs if _same(memory) not in known]
        dropped = Counter(self.dropped) + Counter(further.dropped)
        if twice := len(further.memories) - len(fresh):
            dropped["twice"] += twice
        return Reading(
            memories=(*self.memories, *(memory for memory, _ in fresh)),
            quotations=(*self.quotations, *(quotation for _, quotation in fresh)),
            dropped=dict(dropped),
        )

    def only(self, kept: Sequence[Memory], why: str) -> Reading:
        """With these of its memories; the others are dropped, by why."""
        left = {memory.id for memory in kept}
        pairs = zip(self.memories, self.quotations, strict=True)
        dropped = Counter(self.dropped)
        dropped[why] += len(self.memories) - len(kept)
        return Reading(
            memories=tuple(kept),
            quotations=tuple(quotation for memory, quotation in pairs if memory.id in left),
            dropped=dict(+dropped),
        )

    def named(self, source: UUID, version: str) -> Reading:
        """With the ids that a reading of this source by this version always has."""
        given = enumerate(self.memories)
        return replace(
            self,
            memories=tuple(replace(one, id=derived_id(source, "extract", version, place)) for place, one in given),
        )


def read(answer: Json, text: Text, now: datetime) -> Reading:
    """What stands of a model's answer about a text.

    Raises:
        ModelFailed: it is not the form that was asked for.
    """
    if not isinstance(answer, dict) or answer.keys() != _LISTS.keys():
        raise ModelFailed("the answer has not the three lists that were asked for", kind="shape")
    lists = {name: given for name, given in answer.items() if isinstance(given, list)}
    if len(lists) < len(_LISTS):
        raise ModelFailed("what should be lists of the answer is something else", kind="shape")
    judge = _Judge(text, now)
    kept: list[tuple[Memory, str]] = []
    seen: set[tuple[str, ...]] = set()
    dropped: Counter[str] = Counter()
    for name in _LISTS:
        for item in lists[name]:
            found = judge.judged(name, item)
            if isinstance(found, str):
                dropped[found] += 1
            elif (same := _same(found[0])) in seen:
                dropped["twice"] += 1
            elif len(kept) == MOST:
                dropped["too many"] += 1
            else:
                seen.add(same)
                kept.append(found)
    torn = _torn([memory for memory, _ in kept])
    dropped["contradiction"] += len(torn)
    kept = [(memory, quotation) for memory, quotation in kept if _same(memory) not in torn]
    return Reading(
        memories=tuple(memory for memory, _ in kept),
        quotations=tuple(quotation for _, quotation in kept),
        dropped=dict(+dropped),
    )


class _Judge:
    """Holds items against one text."""

    def __init__(self, text: Text, now: datetime) -> None:
        self._text = text
        self._now = now
        self._said = tokens(text.line.text)
        self._day_first = language_for(text.line.text) == "pt"

    def judged(self, name: str, item: Json) -> tuple[Memory, str] | Why:
        """The memory that an item is, and what it quotes; or why it is none."""
        needed, more = _LISTS[name]
        if not isinstance(item, dict) or not needed <= item.keys() <= needed | more:
            return "shape"
        parts = {key: value for key, value in item.items() if value is not None and value != ""}
        told = {key: value.strip() for key, value in parts.items() if isinstance(value, str)}
        if told.keys() | {"many"} != parts.keys() | {"many"} or not all(map(_fits, told.values())):
            return "shape"
        if not needed <= told.keys() or not isinstance(many := parts.get("many", False), bool):
            return "shape"
        if not holds(self._said, told["quotation"]) or len(tokens(told["quotation"]).split()) < 2:
            return "quotation"
        if asks(self._text.line.text, told["quotation"]):
            return "question"
        found = self._fact(told, many=many) if name == "facts" else self._sentence(name, told)
        if isinstance(found, Memory) and any(map(commands, (found.text, *told.values()))):
            return "instruction"
        return found if isinstance(found, str) else (found, told["quotation"])

    def _fact(self, told: Mapping[str, str], *, many: bool) -> Memory | Why:
        leans: list[Line] = []
        if not tells(told["subject"]) or not self._names(told["subject"], leans):
            return "subject"
        thing, quotation = told["object"], told["quotation"]
        if not (tells(thing) and holds(tokens(quotation), thing)) or folded(thing) == folded(told["subject"]):
            return "object"
        if len(told["predicate"]) > LONGEST_PREDICATE or not tokens(told["predicate"]).strip():
            return "shape"
        if denied(f"{told['predicate']} {thing}", quotation):
            return "negation"
        if "qualifier" in told and not self._names(told["qualifier"], leans):
            return "object"
        since = None
        if "since" in told and (since := self._since(told["since"])) is None:
            return "date"
        fact = Fact(
            subject=told["subject"],
            predicate=told["predicate"],
            object=told["object"],
            qualifier=told.get("qualifier", ""),
            since=since,
            many=many,
        )
        return self._memory(
            MemoryKind.FACT, fact.sentence(), leans, fact=fact, metadata={"quotation": told["quotation"]}
        )

    def _sentence(self, name: str, told: Mapping[str, str]) -> Memory | Why:
        text = self._text
        if name == "rules" and text.line.source != "user":
            return "not the user's"
        if tokens(told["text"]) == self._said and name == "episodes":
            return "twice"
        if not same_language(told["text"], text.line.text):
            return "language"
        words = [self._said, tokens(text.line.speaker)]
        leans: Sequence[Line] = ()
        if not borne_out(told["text"], words):
            leans = text.before
            if not borne_out(told["text"], [*words, *(tokens(f"{line.speaker} {line.text}") for line in leans)]):
                return "words"
        if name == "rules" and any(line.source != "user" for line in leans):
            return "not the user's"
        if name == "rules" and turned_round(told["text"], told["quotation"]):
            return "negation"
        return self._memory(_KINDS[name], told["text"], leans)

    def _names(self, name: str, leans: list[Line]) -> bool:
        """Whether somebody or something is named here, or is who speaks, or was named just before; that is leant on."""
        speaks = folded(name) == folded(self._text.line.speaker)
        if (speaks and self._text.known) or holds(self._said, name):
            return True
        for line in reversed(self._text.before):
            if folded(name) == folded(line.speaker) or holds(tokens(line.text), name):
                leans.append(line)
                return True
        return False

    def _since(self, written: str) -> datetime | None:
        said_on = self._text.occurred_at.date()
        span = dates.span_of(written)
        if span is None:
            return None
        first, last = span
        if first == last == said_on:
            return self._text.occurred_at
        if not dates.names(self._text.line.text, span, said_on, day_first=self._day_first):
            return None
        return datetime.combine(first, time(), UTC)

    def _memory(
        self,
        kind: MemoryKind,
        sentence: str,
        leans: Sequence[Line],
        fact: Fact | None = None,
        metadata: Mapping[str, Json] | None = None,
    ) -> Memory:
        text = self._text
        lines = [text.line, *leans]
        least = min(lines, key=lambda line: line.trust)
        return Memory(
            id=text.line.id,
            tenant=text.tenant,
            owner=text.owner,
            session=text.session,
            execution=text.execution,
            scope=text.scope,
            kind=kind,
            text=sentence,
            fact=fact,
            subject=text.subject,
            # More than a source is trusted by itself is the word of whoever let it out of quarantine.
            source=least.source if least.trust <= TRUST[least.source] else "agent",
            trust=least.trust,
            occurred_at=text.occurred_at,
            recorded_at=self._now,
            sources=tuple(dict.fromkeys(line.id for line in lines)),
            metadata=metadata or {},
        )


def _fits(part: str) -> bool:
    return 0 < len(part) <= LONGEST and flaw(part) is None


def _same(memory: Memory) -> tuple[str, ...]:
    """What two items share that say the same."""
    if (fact := memory.fact) is not None:
        return tuple(folded(part) for part in ("fact", fact.subject, fact.predicate, fact.object, fact.qualifier))
    return memory.kind.value, tokens(memory.text)


def _torn(memories: Sequence[Memory]) -> set[tuple[str, ...]]:
    """Facts that say two things of one moment, where nobody said that both may hold."""
    values: dict[tuple[object, ...], set[tuple[str, ...]]] = defaultdict(set)
    for memory in memories:
        if (fact := memory.fact) is not None and not fact.many:
            key = (folded(fact.subject), folded(fact.predicate), folded(fact.qualifier), fact.since)
            values[key].add(_same(memory))
    return {one for several in values.values() if len(several) > 1 for one in several}


def text_of(said: Json) -> str:
    """The words of a turn's body: a text, or the texts among its blocks; '' where it has none."""
    if isinstance(said, str):
        return said
    if not isinstance(said, list):
        return ""
    blocks = [cast(Json, block.get("text")) if isinstance(block, dict) else block for block in said]
    return "\n".join(block for block in blocks if isinstance(block, str))
