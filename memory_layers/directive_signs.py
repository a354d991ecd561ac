"""The table of directives, `directives.signs`: signs by the word they begin with, and words that open an order.

A sign is looked for only behind its word, so a text costs about what looking up each of its words costs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .instruction_signs import table_lines

STEM = 5
"""Letters of a stem by which it is looked up; none has fewer."""

_SIGN = re.compile(r"([^#\n]+?) ::(?: (.*))?")
_NAME = re.compile(r"([A-Z]+) = (.+)")
_NAMED = re.compile(r"%([A-Z]+)%")
_WORDS = re.compile(r"([a-z_]+): (.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What must stand behind a word (`signs`) or what begins with a stem (`stems`), and `words` by their sort."""

    signs: Mapping[str, re.Pattern[str]]
    stems: Mapping[str, Sequence[tuple[str, re.Pattern[str]]]]
    words: Mapping[str, frozenset[str]]


@cache
def table() -> Table:
    """The table that is shipped."""
    return parsed((files(__package__ or "") / "directives.signs").read_text(encoding="utf-8"))


def parsed(text: str) -> Table:
    """A table; the form is described at its head."""
    named: dict[str, str] = {}
    words: dict[str, frozenset[str]] = {}
    behind: defaultdict[str, list[str]] = defaultdict(list)
    for line in table_lines(text, _of_words):
        if sign := _SIGN.fullmatch(line):
            pattern = _NAMED.sub(lambda name: named[name[1]], sign[2] or "")
            for word in sign[1].split():
                behind[word].append(f"(?:{pattern})")
        elif name := _NAME.fullmatch(line):
            named[name[1]] = name[2]
        elif sort := _WORDS.fullmatch(line):
            words[sort[1]] = frozenset(sort[2].split())
    signs: dict[str, re.Pattern[str]] = {}
    stems: defaultdict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
    for word, patterns in behind.items():
        pattern = re.compile("|".join(patterns))
        if word.endswith("*"):
            stems[word[:STEM]].append((word[:-1], pattern))
        else:
            signs[word] = pattern
    return Table(signs=signs, stems=dict(stems), words=words)


def _of_words(line: str) -> bool:
    """Whether a line goes on with further words, and not where a pattern stopped."""
    return " = " not in line and ":: " not in line
