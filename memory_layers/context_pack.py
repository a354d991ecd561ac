"""A prompt's context, packed: what holds always first, then what is known, what was found, and what was said last.

Rules and blocks always come before anything else and may take the whole budget, because they must not be crowded out;
when it is too small for them, their heading says so, and `Context.rules_left_out` says which. Then facts, and apart
from them those that are to be confirmed; then whatever else was found, best first; the window comes last, nearest to
the question. A section is cut where the budget ends, the window at its old end. Every line of a memory ends with the id
it can be cited by.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput
from .conversation.window import Turn
from .records import Hit, MemoryKind

Language = Literal["en", "pt"]
_HEADINGS: dict[Language, tuple[str, str, str, str, str, str]] = {
    "en": ("Rules", "Rules (not all fit)", "Facts", "Possibly outdated, verify", "What is known", "Last said"),
    "pt": (
        "Regras",
        "Regras (nem todas couberam)",
        "Fatos",
        "Talvez desatualizado, verifique",
        "O que se sabe",
        "Dito por último",
    ),
}
ALWAYS = frozenset({MemoryKind.PROCEDURAL, MemoryKind.BLOCK})
"""The kinds that are in every context, as far as the reader may see them."""
FOUND = frozenset({MemoryKind.EPISODIC, MemoryKind.SEMANTIC, MemoryKind.FACT, MemoryKind.DECISION})
"""The kinds that a question has to find."""
WINDOW_SHARE = 0.4
"""The part of the budget that the window may take when memories want the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A packed context. `cited` are the memories in it, `tokens` what it counts, `left_out` how many did not fit.

    `rules_left_out` are the rules and blocks among these: a prompt without them may break what always holds.
    """

    text: str
    cited: tuple[UUID, ...]
    tokens: int
    left_out: int
    rules_left_out: tuple[UUID, ...] = ()

    def __str__(self) -> str:
        return self.text


def count_tokens(text: str) -> int:
    """About how many tokens: four characters each."""
    return (len(text) + 3) // 4


def pack(
    hits: Iterable[Hit],
    turns: Sequence[Turn] = (),
    *,
    budget: int,
    language: Language = "en",
    count: Callable[[str], int] = count_tokens,
) -> Context:
    """Hits, best first, and turns, oldest first, as one text of at most `budget` tokens.

    Raises:
        BadInput: no budget, or a language without headings.
    """
    check_frame(budget, language)
    rules, some_rules, facts, doubtful, known, said = _HEADINGS[language]
    every = {hit.id: hit for hit in hits}.values()
    always = [hit for hit in every if hit.kind in ALWAYS]
    spoken = [f"{turn.role}: {_words(turn.body)}" for turn in turns]
    sheet = _Sheet(budget, count)
    fits = sheet.cost(rules, [_line(hit) for hit in always]) <= budget
    sheet.section(rules if fits else some_rules, always)
    held = set(sheet.cited)
    rules_left_out = tuple(hit.id for hit in always if hit.id not in held)
    reserve = min(sheet.cost(said, spoken), int(budget * WINDOW_SHARE), budget - sheet.used)
    sheet.limit = budget - reserve
    stated = [hit for hit in every if hit.kind is MemoryKind.FACT]
    sheet.section(facts, [hit for hit in stated if not hit.to_confirm])
    sheet.section(doubtful, [hit for hit in stated if hit.to_confirm])
    sheet.section(known, [hit for hit in every if hit.kind not in ALWAYS and hit.kind is not MemoryKind.FACT])
    sheet.limit = budget
    sheet.window(said, spoken)
    return Context(
        text="\n".join(sheet.lines),
        cited=tuple(sheet.cited),
        tokens=sheet.used,
        left_out=sheet.left_out,
        rules_left_out=rules_left_out,
    )


def check_frame(budget: int, language: Language) -> None:
    """What a context can be packed into.

    Raises:
        BadInput: no budget, or a language without headings.
    """
    if shape.whole("budget", budget) < 1:
        raise BadInput(f"a budget is a number of tokens above 0, got {budget}")
    if language not in get_args(Language):
        raise BadInput(f"there are no headings in {language!r}; the languages are {', '.join(_HEADINGS)}")


class _Sheet:
    """Lines that stay within a limit of tokens."""

    def __init__(self, limit: int, count: Callable[[str], int]) -> None:
        self.limit = limit
        self.used = 0
        self.lines: list[str] = []
        self.cited: list[UUID] = []
        self.left_out = 0
        self._count = count

    def cost(self, heading: str, lines: Sequence[str]) -> int:
        """What a whole section would take."""
        return sum(self._count(line + "\n") for line in (f"## {heading}", *lines)) if lines else 0

    def section(self, heading: str, hits: Sequence[Hit]) -> None:
        """Those of the hits that fit, in their order."""
        title = self._count(f"## {heading}\n")
        begun = False
        for hit in hits:
            line = _line(hit)
            cost = self._count(line + "\n") + (0 if begun else title)
            if self.used + cost > self.limit:
                self.left_out += 1
                continue
            if not begun:
                self.lines.append(f"## {heading}")
                begun = True
            self.lines.append(line)
            self.cited.append(hit.id)
            self.used += cost

    def window(self, heading: str, lines: Sequence[str]) -> None:
        """The newest lines that fit."""
        kept: list[str] = []
        used = self.used + self._count(f"## {heading}\n")
        for line in reversed(lines):
            cost = self._count(line + "\n")
            if used + cost > self.limit:
                break
            used += cost
            kept.insert(0, line)
        self.left_out += len(lines) - len(kept)
        if kept:
            self.lines += [f"## {heading}", *kept]
            self.used = used


def _line(hit: Hit) -> str:
    return f"- {hit.text} [{hit.id}]"


def _words(body: object) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
