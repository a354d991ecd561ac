"""Which episodes become knowledge: what they have shown by being used and told again, and what may be decided of them.

An episode counts for as much as it was of use (a recall said so by `touch=True`) and was told again, times its trust;
over a week at least, because what fills one day is not yet knowledge. One mark decides who is looked at, and the same
one who is promoted: what selects and what promotes cannot part.

A judge (a language model) decides KEEP, MERGE or DISCARD, and sees episodes of one circle of readers and about one
person at a time, so nothing it writes is read by anybody who may not read what it was shown. For a judge several
episodes that tell much the same also count as one that was told as often. Its verdicts are held against what it was
shown: an id that it was not, one that comes twice, a MERGE of fewer than two are refused. DISCARD deletes nothing: the
episode stays what it is, and is looked at again once it was used or told again.

Without a judge what reaches the mark is kept as it is, word for word, as semantic memory. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol
from uuid import UUID

from .execution.memories import folded
from .records import Fact, Memory, MemoryKind, ScopeKind

MARK = 2.0
"""What an episode has to be worth: used or told again twice by a user, four times by an agent."""
SPAN = timedelta(days=7)
"""From when it was recorded to when it was last told or used, at least."""
ALIKE = 0.5
"""The part of their words that two episodes share which tell much the same."""
SHOWN_AT_ONCE = 20
_BEGINNING = 5
KINDS = (MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL, MemoryKind.FACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An episode, how often it was told and of use, and when it was last."""

    memory: Memory
    told: int
    used: int
    last: datetime
    used_at: datetime | None = None

    @property
    def worth(self) -> float:
        """What it has shown, by how far it is trusted."""
        return self.memory.trust * (self.used + self.told - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of some episodes. KEEP and MERGE make one memory of `kind`: a MERGE of `text`, a fact of `fact`."""

    verdict: Literal["KEEP", "MERGE", "DISCARD"]
    ids: tuple[UUID, ...]
    kind: MemoryKind = MemoryKind.SEMANTIC
    text: str = ""
    fact: Fact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Verdicts, and how many were refused, by why."""

    verdicts: tuple[Verdict, ...] = ()
    refused: Counter[str] = field(default_factory=Counter[str])


class Judge(Protocol):
    """Whoever decides. `name` and `prompt` stand in the ledger."""

    @property
    def name(self) -> str: ...
    @property
    def prompt(self) -> str: ...

    async def judge(self, shown: Sequence[Candidate]) -> Judged:
        """What becomes of episodes of one circle.

        Raises:
            ModelFailed: it gave no answer that can be used.
        """
        ...


def circles(episodes: Iterable[Candidate]) -> list[list[Candidate]]:
    """Episodes by who may read them and whom they are about."""
    groups: dict[tuple[object, ...], list[Candidate]] = defaultdict(list)
    for one in episodes:
        groups[_circle(one.memory)].append(one)
    return [*groups.values()]


def _circle(memory: Memory) -> tuple[object, ...]:
    scope = memory.scope
    match scope.kind:
        case ScopeKind.PRIVATE:
            circle: tuple[object, ...] = (memory.owner,)
        case ScopeKind.SHARED:
            circle = (memory.session, memory.execution if memory.session is None else None)
        case ScopeKind.HIERARCHICAL:
            circle = (memory.owner, scope.readers, scope.roles)
        case ScopeKind.TENANT:
            circle = ()
    return (scope.kind, *circle, memory.subject)


def proven(one: Candidate) -> bool:
    """Whether an episode has by itself shown enough."""
    return one.worth >= MARK and one.last - _begun(one) >= SPAN


def to_show(circle: Sequence[Candidate]) -> list[list[Candidate]]:
    """What a judge is shown of one circle, in parts: what is proven, alone or with what tells much the same."""
    parts: list[list[Candidate]] = [[]]
    for group in _alike(circle):
        chosen = group if _proven_together(group) else [one for one in group if proven(one)]
        for start in range(0, len(chosen), SHOWN_AT_ONCE):
            some = chosen[start : start + SHOWN_AT_ONCE]
            if len(parts[-1]) + len(some) > SHOWN_AT_ONCE:
                parts.append([])
            parts[-1] += some
    return [part for part in parts if part]


def _proven_together(group: Sequence[Candidate]) -> bool:
    trust = min(one.memory.trust for one in group)
    shown = sum(one.told + one.used for one in group) - 1
    return trust * shown >= MARK and max(one.last for one in group) - min(map(_begun, group)) >= SPAN


def _begun(one: Candidate) -> datetime:
    return one.memory.recorded_at


def _alike(circle: Sequence[Candidate]) -> list[list[Candidate]]:
    """Episodes in groups that tell much the same, each with the first that began its group; in their order."""
    words = [
        frozenset(word[:_BEGINNING] for word in folded(one.memory.text).split() if len(word) > 3) for one in circle
    ]
    holding: dict[str, list[int]] = defaultdict(list)
    groups: dict[int, list[int]] = {}
    for place, own in enumerate(words):
        shared = Counter(other for word in own for other in holding[word])
        near = [
            (both / len(own | words[other]), -other)
            for other, both in shared.items()
            if both >= ALIKE * len(own | words[other])
        ]
        if near:
            groups[-max(near)[1]].append(place)
            continue
        groups[place] = [place]
        for word in own:
            holding[word].append(place)
    return [[circle[place] for place in group] for group in groups.values()]


def as_they_are(circle: Sequence[Candidate]) -> list[Verdict]:
    """What is decided without a judge."""
    return [Verdict(verdict="KEEP", ids=(one.memory.id,)) for one in circle if proven(one)]


def settled(judged: Judged, shown: Sequence[Candidate]) -> Judged:
    """The verdicts that are about what was shown, each episode once, and each as its kind may be."""
    known = {one.memory.id: one.memory for one in shown}
    taken: set[UUID] = set()
    kept: list[Verdict] = []
    refused = Counter(judged.refused)
    for verdict in judged.verdicts:
        if why := _flaw(verdict, known, taken):
            refused[why] += 1
        else:
            kept.append(verdict)
            taken.update(verdict.ids)
    return Judged(verdicts=tuple(kept), refused=refused)


def _flaw(verdict: Verdict, known: dict[UUID, Memory], taken: set[UUID]) -> str | None:
    ids = set(verdict.ids)
    if not ids <= known.keys():
        return "unknown"
    if len(ids) < len(verdict.ids) or ids & taken:
        return "twice"
    if (len(ids) < 2) if verdict.verdict == "MERGE" else (len(ids) != 1):
        return "shape"
    if verdict.verdict != "DISCARD":
        if verdict.kind not in KINDS or (verdict.kind is MemoryKind.FACT) != (verdict.fact is not None):
            return "shape"
        if verdict.verdict == "MERGE" and not verdict.text.strip():
            return "shape"
        if verdict.kind is MemoryKind.PROCEDURAL and any(known[one].source != "user" for one in ids):
            return "not the user's"
    return None
