"""A sheet of paper for a prompt: sections of lines, in which no more is written than a budget holds, whoever counts.

A counter is any function from text to a number, and the count of two lines together may be more or less than the sum of
theirs: tokens grow together over a line's end, a counter may add something for each text, round, or count anything
else. So lines are only *proposed* by what each counts alone. What is written is always the text as a whole after it was
counted as a whole, and the largest part of a proposal that stays within the limit.

An empty sheet counts nothing: there is nothing to send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import index
from typing import Literal, SupportsIndex, cast

from ..infra import shape
from ..infra.errors import BadInput
from .records import Hit

Counter = Callable[[str], int]
Order = Literal["as given", "ends", "backwards"]
_TRIES = 4
"""Lines in a row that are tried although their counts alone say that they do not fit."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line, or some that stay together, and the memories it shows."""

    text: str
    about: tuple[Hit, ...] = ()


@dataclass(slots=True, eq=False)
class Section:
    """Lines under a heading, given best first. `ends` puts the best at the beginning and the next best at the end."""

    heading: str
    order: Order = "ends"

    def arranged(self, lines: Sequence[Line]) -> list[Line]:
        """The lines as they stand."""
        match self.order:
            case "as given":
                return list(lines)
            case "backwards":
                return list(reversed(lines))
            case "ends":
                return [*lines[0::2], *reversed(lines[1::2])]


class Sheet:
    """Sections in their order; `text` is what is written, `used` what it counts."""

    def __init__(self, sections: Sequence[Section], counter: Counter) -> None:
        self.sections = sections
        self.text = ""
        self.used = 0
        self._counter = counter
        self._held: dict[Section, list[Line]] = {section: [] for section in sections}
        self._costs: dict[str, int] = {}

    def cost(self, *lines: str) -> int:
        """What lines count, each alone."""
        return sum(map(self._alone, lines))

    def lines(self, *sections: Section) -> list[Line]:
        """What is written in these sections, or in all, from top to bottom."""
        held = [section.arranged(self._held[section]) for section in sections or self.sections]
        return list(chain.from_iterable(held))

    def fits(self, section: Section, lines: Sequence[Line], limit: int) -> bool:
        """Write all of the lines into a section, or none of them."""
        return len(self._most(section, lines, limit, all_of_them=True)) == len(lines)

    def add(self, section: Section, lines: Sequence[Line], limit: int) -> None:
        """Write what fits; a line that is too long gives way to the next."""
        waiting, failed = list(lines), 0
        while waiting and failed < _TRIES:
            proposed = self._affordable(section, waiting, limit - self.used) or waiting[:1]
            taken = self._most(section, proposed, limit)
            failed = 0 if taken else failed + 1
            gone = {id(line) for line in taken or proposed[:1]}
            waiting = [line for line in waiting if id(line) not in gone]

    def add_in_a_row(self, section: Section, lines: Sequence[Line], limit: int) -> None:
        """Write the first of the lines, as many as fit without leaving one out."""
        waiting = list(lines)
        while waiting:
            affordable = self._affordable(section, waiting, limit - self.used)
            run = [line for line, given in zip(affordable, waiting, strict=False) if line is given] or waiting[:1]
            taken = self._most(section, run, limit)
            waiting = waiting[len(taken) :]
            if len(taken) < len(run):
                return

    def _affordable(self, section: Section, lines: Sequence[Line], room: int) -> list[Line]:
        """The lines that there is room for, by what each counts alone."""
        if not self._held[section]:
            room -= self.cost(f"## {section.heading}\n")
        chosen: list[Line] = []
        for line in lines:
            if (cost := self._alone(line.text + "\n")) <= room:
                chosen.append(line)
                room -= cost
        return chosen

    def _most(self, section: Section, lines: Sequence[Line], limit: int, *, all_of_them: bool = False) -> list[Line]:
        """Write the longest beginning of the lines that stays within the limit, as far as halving finds it."""
        written, used, most = self.text, self.used, 0
        low, high, size = 0, len(lines) + 1, len(lines)
        while low < size < high:
            text = self._with(section, lines[:size])
            if (counted := self._count(text)) <= limit:
                written, used, low = text, counted, size
                most = size
            else:
                high = size
            if all_of_them:
                break
            size = (low + high) // 2
        self.text, self.used = written, used
        self._held[section] += lines[:most]
        return list(lines[:most])

    def _with(self, section: Section, more: Sequence[Line]) -> str:
        """The text with some more lines in a section."""
        texts: list[str] = []
        for each, held in self._held.items():
            lines = [*held, *more] if each is section else held
            if lines:
                texts += [f"## {each.heading}", *(line.text for line in each.arranged(lines))]
        return "\n".join(texts)

    def _alone(self, text: str) -> int:
        if text not in self._costs:
            self._costs[text] = self._count(text)
        return self._costs[text]

    def _count(self, text: str) -> int:
        given = cast(object, self._counter(text))
        if not isinstance(given, SupportsIndex) or (counted := index(given)) < 0:
            raise BadInput(f"a counter gives a number of tokens, got {shape.shown(given)} for {len(text):,} characters")
        return counted
