"""Whether a text tells others what to do, rather than what is.

What a tool brings reports: a state, a measurement, a price, what happened. Who tells agents what to do are users and
agents. So a tool's text that asks, orders, permits, waives, forbids or advises, that speaks to somebody, says what
shall hold from now on, or wants something kept secret, is no report, whoever signed the mail it was found in. It is not
held back for that (a fetched mail asks, a manual orders, and both may be true); it only has to stand behind what was
reported or said, until a person confirms it. That is why the net is wide here, where that of `instructions`, which
holds back, is narrow.

It is known by how people tell each other what to do and by no matter of business: verbs of duty and leave, orders at
the start of a clause, what is waived or no longer needed, what counts as done, secrecy, the second person, machines
spoken to (`directive_signs`). It can be got around, by a false report above all: "the account is now ..." tells only
what is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .directive_signs import STEM, table
from .instructions import readings
from .truth.rules import is_rule

_BOUNDARY = re.compile(r"\\+[nrt]|[^\w' /@%&$+-]+|(?<!\w)['/-]|['/-](?!\w)|¶")
_GAPS = re.compile(r" *\n[ \n]*|_| {2,}")
_WORD = re.compile(r"[a-z][a-z0-9'-]*")
_CLAUSE = re.compile(r"[^\n]+")
_CLITIC = re.compile(r"[a-z]+(?:e|em|a|am|[aei]r)-(?:se|lhes?|os?|as?|me|nos)\b|[a-z]+[aei]-l[oa]s?\b")
_LOCATED = re.compile(r"(?:trata|encontra|segue|estima|observa|nota|verifica|refere|localiza|torna)m?-se\b")
_NOUN_OR_PAST = ("ed", "ing", "ly", "ion", "ions", "ity", "ment", "ness")
_STATES = frozenset(("is", "was", "are", "were", "e", "foi", "foram", "era", "has", "have", "of"))
"""Behind what names something."""
_LIGHT = frozenset(("a", "an", "no", "me", "that", "how", "where", "what"))
"""What begins an object, and other things as often."""
_LEADS = 3
_SEEN = 8
"""Words of a clause that are looked at for an order."""


def directs(text: str) -> bool:
    """Whether a text tells others what to do."""
    return any(_tells(reading) for reading in readings(text)) or is_rule(text)


def _tells(reading: str) -> bool:
    flat = _GAPS.sub(_gap, _BOUNDARY.sub("\n", reading)).strip()
    signs, stems = table().signs, table().stems
    for match in _WORD.finditer(flat):
        word, end = match[0], match.end()
        sign = signs.get(word)
        if sign is not None and sign.match(flat, end):
            return True
        for stem, sign in stems.get(word[:STEM], ()):
            if word.startswith(stem) and sign.match(flat, end):
                return True
    return any(_orders(clause) for clause in _clauses(flat))


def _gap(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def _clauses(flat: str) -> Iterator[list[str]]:
    """How each begins."""
    for match in _CLAUSE.finditer(flat):
        clause = match[0].split(None, _SEEN)[:_SEEN]
        if len(clause) > 1:
            yield clause


def _orders(clause: Sequence[str]) -> bool:
    """Whether it opens as an order does."""
    leads = table().words["leads"]
    start = 0
    while start < min(_LEADS, len(clause) - 2) and clause[start] in leads:
        start += 1
    first, second = clause[start], clause[start + 1]
    return second not in _STATES and (_english(first, second) or _portuguese(first, second, clause))


def _english(first: str, second: str) -> bool:
    words = table().words
    known = first in words["english_orders"]
    if known and first not in words["english_nouns"]:
        return True
    if second not in words["english_objects"] or first in words["english_others"]:
        return False
    if not first.isalpha() or first.endswith(_NOUN_OR_PAST) or (first[-1] == "s" and not first.endswith("ss")):
        return False
    return known or second not in _LIGHT


def _portuguese(first: str, second: str, clause: Sequence[str]) -> bool:
    words = table().words
    if "-" in first and _CLITIC.match(first) and not _LOCATED.match(first):
        return True
    single = first.removesuffix("m")
    if single in words["portuguese_orders"]:
        return single not in words["portuguese_nouns"] or second in words["portuguese_objects"]
    if first in words["portuguese_familiar"]:
        return second in words["portuguese_behind"]
    if len(first) > 3 and first.endswith(("ar", "er", "ir")) and first not in words["portuguese_others"]:
        return second in words["portuguese_behind"] or not words["portuguese"].isdisjoint(clause)
    return (
        len(single) > 3
        and single.endswith("e")
        and second in words["portuguese_objects"]
        and not single.endswith(tuple(words["portuguese_ends"]))
        and first not in words["english_others"]
    )
