"""The tables of signs, `instructions.signs` and `instruction_parts.signs`, as patterns.

The first tells attacks by what they say. The second takes them apart: that a machine is spoken to, or that what only a
machine has is touched (signs that are `aimed`), and what is wanted of it (signs `beside`, which count in the company of
an aimed one only, since people ask people for the same things all day).

A family is looked at only when one of its words is in the text, and its patterns are compiled when that first happens:
ordinary text costs a few set operations, and a process that remembers nothing pays nothing.

What makes the difference between "ignore all previous instructions" and "the jury may not disregard the instructions of
the judge" is mostly the place of the verb: signs want it where a command stands, at the start of a clause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal, cast, get_args

ENOUGH = 4
"""Points that make an instruction of a passage."""

Role = Literal["alone", "called", "aimed", "beside"]
"""How the signs of a family count: each for itself; as the strongest of them; as `aimed`; beside what is aimed."""

_USE = re.compile(r"%([A-Z_]+)%")


@dataclass(frozen=True)
class Family:
    """Signs of one sort."""

    name: str
    role: Role
    words: frozenset[str]
    table: tuple[tuple[int, str], ...]

    @cached_property
    def signs(self) -> tuple[tuple[int, re.Pattern[str]], ...]:
        """Points and patterns."""
        return tuple((points, re.compile(pattern)) for points, pattern in self.table)


@cache
def families() -> tuple[Family, ...]:
    """All of them; those that need the company of others come last."""
    folder = files(__package__ or "")
    named: dict[str, str] = {}
    found = [
        family
        for table in ("instructions.signs", "instruction_parts.signs")
        for family in parsed((folder / table).read_text(encoding="utf-8"), named)
    ]
    return tuple(sorted(found, key=lambda family: family.role == "beside"))


def parsed(text: str, named: dict[str, str] | None = None) -> tuple[Family, ...]:
    """The families of a table; the form is described at its head. What it names is added to `named`."""
    named = {} if named is None else named
    found: list[Family] = []

    def whole(pattern: str) -> str:
        while _USE.search(pattern):
            pattern = _USE.sub(lambda use: named[use[1]], pattern)
        return pattern

    for line in table_lines(text, lambda whole: whole.startswith("words")):
        if line.startswith("["):
            name, _, role = line.removeprefix("[").partition("]")
            role = role.strip() or "alone"
            if role not in get_args(Role):
                raise ValueError(f"a family stands {' or '.join(get_args(Role))}, got {role!r}")
            found.append(Family(name, cast(Role, role), frozenset(), ()))
            continue
        first, _, rest = line.partition(" ")
        if first == "words":
            found[-1] = replace(found[-1], words=frozenset(rest.split()))
        elif first.isdigit():
            found[-1] = replace(found[-1], table=(*found[-1].table, (int(first), whole(rest))))
        else:
            named[first] = rest.removeprefix("= ")
    return tuple(found)


def table_lines(text: str, apart: Callable[[str], bool]) -> Iterator[str]:
    """A table's lines without comments, continued ones in one; with a space between where they are `apart`."""
    whole = ""
    for line in text.splitlines():
        if line.startswith("    "):
            whole += (" " if apart(whole) else "") + line[4:]
            continue
        if whole and not whole.startswith("#"):
            yield whole
        whole = line
    if whole and not whole.startswith("#"):
        yield whole
