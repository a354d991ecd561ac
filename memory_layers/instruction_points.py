"""Whether signs of an instruction enough stand together in a text.

Signs add up within a passage, each once. One that is `aimed` (a machine is spoken to, or something is touched that only
a machine has) makes count what is wanted of it nearby. A family is looked for only around its words, in pieces, so that
ordinary text costs little and one that is written to be slow lets others have their turn (`guard`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from .instruction_signs import Family, families

PASSAGE = 500
"""Characters within which signs count together."""
BEFORE, BEHIND = 200, 300
"""Characters around an aimed sign in which what is wanted counts with it."""

_LEFT, _RIGHT = 300, 500
"""Characters around one of its words in which a family is looked for."""
_PIECE, _OVERLAP = 4_000, 800

_WORD = re.compile(r"[\w-]+")
_PARTS = re.compile(r"[^\W_]+")

Found = tuple[int, int, int]
"""Place, number and points of a sign."""


def enough(plain: str, wanted: int) -> bool:
    """Whether signs of so many points stand together in a folded text."""
    places = _places(plain)
    pieces = range(0, max(1, len(plain) - _OVERLAP), _PIECE - _OVERLAP)
    return any(_within(plain, places, start, start + _PIECE, wanted) for start in pieces)


def _within(plain: str, places: Mapping[int, Sequence[int]], start: int, end: int, wanted: int) -> bool:
    """Whether they do in a piece of it."""
    found: list[Found] = []
    beside: list[Found] = []
    aimed: list[int] = []
    for number, family in enumerate(families()):
        if family.role == "beside":
            here = sorted(place + extra for place in aimed for extra in (0, BEHIND - _LEFT))
        else:
            known = places.get(number, ())
            here = known[bisect_left(known, start) : bisect_left(known, end)]
        for sign in _signs(plain, number, family, _stretches(here, start, end)):
            if sign[2] >= wanted:
                return True
            (beside if family.role == "beside" else found).extend(_shares(sign) if family.role == "called" else (sign,))
            if family.role in ("called", "aimed") and sign[2] > 1:
                aimed.append(sign[0])
    found.sort()
    return _reached(found, [place for place, _, _ in found], 0, PASSAGE, wanted) or (
        bool(beside) and _reached(sorted(found + beside), sorted(aimed), BEFORE, BEHIND, wanted)
    )


@cache
def _by_word() -> Mapping[str, Sequence[int]]:
    """Numbers of the families that a word belongs to."""
    known: defaultdict[str, list[int]] = defaultdict(list)
    for number, family in enumerate(families()):
        for word in family.words:
            known[word].append(number)
    return dict(known)


def _places(plain: str) -> dict[int, list[int]]:
    """Where the words of each family are, in order."""
    known = _by_word()
    places: defaultdict[int, list[int]] = defaultdict(list)
    for match in _WORD.finditer(plain):
        word = match[0]
        for part in {word, *_PARTS.findall(word)} if "_" in word or "-" in word else (word,):
            for number in known.get(part, ()):
                places[number].append(match.start())
    return dict(places)


def _signs(plain: str, number: int, family: Family, stretches: Iterable[tuple[int, int]]) -> Iterator[Found]:
    """Those of a family in stretches of the text."""
    for start, end in stretches:
        for index, (points, pattern) in enumerate(family.signs):
            for match in pattern.finditer(plain, start, end):
                yield match.start(), number * 1_000 + index, points


def _shares(sign: Found) -> Iterator[Found]:
    """A sign as so many of one point, which others share: those that say who is spoken to count as the strongest."""
    place, _, points = sign
    return ((place, -1 - share, 1) for share in range(points))


def _stretches(places: Iterable[int], first: int, last: int) -> Iterator[tuple[int, int]]:
    """What lies around places that come in order, those that touch in one."""
    start = end = -1
    for place in places:
        left, right = max(first, place - _LEFT), min(last, place + _RIGHT)
        if left > end:
            if end >= 0:
                yield start, end
            start = left
        end = max(end, right)
    if end >= 0:
        yield start, end


def _reached(found: Sequence[Found], places: Iterable[int], before: int, behind: int, wanted: int) -> bool:
    """Whether around one of the places, which come in order, different signs have so many points."""
    counted: Counter[int] = Counter()
    total = first = last = 0
    for place in places:
        while last < len(found) and found[last][0] <= place + behind:
            _, sign, points = found[last]
            counted[sign] += 1
            total += points * (counted[sign] == 1)
            last += 1
        while first < last and found[first][0] < place - before:
            _, sign, points = found[first]
            counted[sign] -= 1
            total -= points * (counted[sign] == 0)
            first += 1
        if total >= wanted:
            return True
    return False
