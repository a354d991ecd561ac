"""What was just recalled, so that a memory which only says it again is known for an echo.

An agent that recalls a note and writes it down again has learnt nothing: counted as evidence, each round would make the
note seem better founded and never let it age. So the last hits of each session are kept in mind, by this process alone,
and what an agent says of the same is an echo: it confirms nothing, and where its readers are told already it is not
written at all, so that it does not outlive what it repeats. What a user or a tool says is evidence, however often it
was recalled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from ..infra.identity import Principal
from .execution.sameness import core, retold
from .records import Hit, Memory, MemoryKind, ScopeKind

_HITS = 128
_SESSIONS = 500
_LONGEST = 4_000
_NOTES = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC)

_Place = tuple[str, str | UUID | None]


class Echoes:
    """The last hits of the last sessions, as texts; how they compare is found out when an agent writes."""

    def __init__(self) -> None:
        self._heard: OrderedDict[_Place, OrderedDict[str, _Heard]] = OrderedDict()

    def heard(self, principal: Principal, hits: Iterable[Hit]) -> None:
        """Keep in mind what came back."""
        place = _place(principal)
        texts = self._heard.setdefault(place, OrderedDict())
        self._heard.move_to_end(place)
        for hit in hits:
            if len(hit.text) <= _LONGEST:
                texts[hit.text] = _Heard(hit.id)
                texts.move_to_end(hit.text)
        while len(texts) > _HITS:
            texts.popitem(last=False)
        while len(self._heard) > _SESSIONS:
            self._heard.popitem(last=False)

    def repeats(self, principal: Principal, memory: Memory) -> UUID | None:
        """What an agent says again of what its session recalled, perhaps as something told, or in quotes; or None."""
        if (
            memory.source != "agent"
            or memory.kind is MemoryKind.DECISION
            or not (texts := self._heard.get(_place(principal)))
        ):
            return None
        said = core(retold(memory.text))
        for text, heard in texts.items():
            heard.core = heard.core or core(retold(text))
            if heard.core == said and heard.id != memory.id:
                return heard.id
        return None


@dataclass(slots=True)
class _Heard:
    """A hit, by its id, and how it compares once that was asked."""

    id: UUID
    core: str = ""


def tells(held: Memory, echo: Memory) -> bool:
    """Whether whoever may read an echo is told as much by what it repeats, as long as that holds."""
    if echo.kind is not held.kind and echo.kind not in _NOTES:
        return False  # a rule that is made of a note is more than the note
    if echo.fact is not None and (echo.fact != held.fact or held.status not in ("live", "contested")):
        return False  # of another context, or since another day, or true again
    if (echo.value is not None and echo.value != held.value) or not echo.metadata.items() <= held.metadata.items():
        return False
    match held.scope.kind:
        case ScopeKind.TENANT:
            return True
        case ScopeKind.PRIVATE:
            return echo.scope == held.scope and echo.owner == held.owner
        case ScopeKind.SHARED if held.session is not None:
            return echo.scope == held.scope and echo.session == held.session
        case ScopeKind.SHARED:
            return echo.scope == held.scope and echo.session is None and echo.execution == held.execution
        case ScopeKind.HIERARCHICAL:
            return echo.scope == held.scope and echo.owner == held.owner


def _place(principal: Principal) -> _Place:
    return principal.tenant, principal.session or principal.execution
