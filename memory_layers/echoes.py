"""What was just recalled, so that a memory which only says it again is known for an echo.

An agent that recalls a note and writes it down again has learnt nothing: counted as evidence, each round would make the
note seem better founded and never let it age. So the last hits of each session are kept in mind, by this process alone,
and what an agent says of the same is written as an echo: it meets its equal and confirms nothing. What a user or a tool
says is evidence, however often it was recalled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from uuid import UUID

from ..infra.identity import Principal
from .execution.sameness import core, retold
from .records import Hit, Memory

_HITS = 64
_SESSIONS = 500
_LONGEST = 4_000

_Place = tuple[str, str | UUID | None]


class Echoes:
    """The last hits of the last sessions, as texts; how they compare is found out when an agent writes."""

    def __init__(self) -> None:
        self._heard: OrderedDict[_Place, OrderedDict[str, str | None]] = OrderedDict()

    def heard(self, principal: Principal, hits: Iterable[Hit]) -> None:
        """Keep in mind what came back."""
        place = _place(principal)
        texts = self._heard.setdefault(place, OrderedDict())
        self._heard.move_to_end(place)
        for hit in hits:
            if len(hit.text) <= _LONGEST:
                texts.setdefault(hit.text, None)
                texts.move_to_end(hit.text)
        while len(texts) > _HITS:
            texts.popitem(last=False)
        while len(self._heard) > _SESSIONS:
            self._heard.popitem(last=False)

    def repeats(self, principal: Principal, memory: Memory) -> bool:
        """Whether an agent says what its session recalled, perhaps with the words that it was told so, or in quotes."""
        if memory.source != "agent" or not (texts := self._heard.get(_place(principal))):
            return False
        said = core(retold(memory.text))
        for text, known in texts.items():
            if known is None:
                texts[text] = known = core(retold(text))
            if known == said:
                return True
        return False


def _place(principal: Principal) -> _Place:
    return principal.tenant, principal.session or principal.execution
