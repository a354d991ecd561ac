"""The table of signs, `instructions.signs`, as patterns.

A family is looked at only when one of its words is in the text, and its patterns are compiled when that first happens:
ordinary text costs a few set operations, and a process that remembers nothing pays nothing.

What makes the difference between "ignore all previous instructions" and "the jury may not disregard the instructions of
the judge" is mostly the place of the verb: signs want it where a command stands, at the start of a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

ENOUGH = 4
"""Points that make an instruction of a passage."""

_USE = re.compile(r"%([A-Z_]+)%")


@dataclass(frozen=True)
class Family:
    """Signs of one sort."""

    name: str
    words: frozenset[str]
    table: tuple[tuple[int, str], ...]

    @cached_property
    def signs(self) -> tuple[tuple[int, re.Pattern[str]], ...]:
        """Points and patterns."""
        return tuple((points, re.compile(pattern)) for points, pattern in self.table)


@cache
def families() -> tuple[Family, ...]:
    """All of them."""
    return parsed((files(__package__ or "") / "instructions.signs").read_text(encoding="utf-8"))


def parsed(text: str) -> tuple[Family, ...]:
    """The families of a table; the form is described at its head."""
    named: dict[str, str] = {}
    found: list[Family] = []

    def whole(pattern: str) -> str:
        while _USE.search(pattern):
            pattern = _USE.sub(lambda use: named[use[1]], pattern)
        return pattern

    for line in _lines(text):
        if line.startswith("["):
            found.append(Family(line.strip("[]"), frozenset(), ()))
            continue
        first, _, rest = line.partition(" ")
        if first == "words":
            found[-1] = Family(found[-1].name, frozenset(rest.split()), ())
        elif first.isdigit():
            last = found[-1]
            found[-1] = Family(last.name, last.words, (*last.table, (int(first), whole(rest))))
        else:
            named[first] = rest.removeprefix("= ")
    return tuple(found)


def _lines(text: str) -> Iterator[str]:
    """The table's lines, continued ones in one; those of words keep a space between."""
    whole = ""
    for line in text.splitlines():
        if line.startswith("    "):
            whole += (" " if whole.startswith("words") else "") + line[4:]
            continue
        if whole and not whole.startswith("#"):
            yield whole
        whole = line
    if whole and not whole.startswith("#"):
        yield whole
