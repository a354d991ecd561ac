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

import asyncio
import re
from collections.abc import Iterator, Sequence
from functools import cache

from .directive_signs import STEM, table
from .guard import LONG
from .instructions import readings
from .records import Memory

_REPORTERS = ("tool", "web")
"""Sources that tell what is, and nobody what to do."""
_BOUNDARY = re.compile(r"\\{1,8}[nrt]?|[^\w' /@%&$+\\-]+|(?<!\w)['-]|['/-](?!\w)")
_GAPS = re.compile(r" ?\n[ \n]*|_| {2,}")
_WORD = re.compile(r"[a-z][a-z0-9'-]*")
_CLAUSE = re.compile(r"[^\n]+")
_AND = re.compile(r" (?:and|then|but|or|e|mas|depois|ou) ([^\n ]+) ([^\n ]+)")
_CLITIC = re.compile(r"[a-z]+(?:e|em|a|am|[aei]r)-(?:se|lhes?|os?|as?|me|nos)\b|[a-z]+[aei]-l[oa]s?\b")
_LOCATED = re.compile(r"(?:trata|encontra|segue|estima|observa|nota|verifica|refere|localiza|torna)m?-se\b")
_NOUN_OR_PAST = ("ed", "ing", "ly", "ion", "ions", "ity", "ment", "ness")
_STATES = frozenset(("is", "was", "are", "were", "e", "foi", "foram", "era", "has", "have", "of"))
"""Behind what names something."""
_LIGHT = frozenset(("a", "an", "no", "me", "that", "how", "where", "what"))
"""What begins an object, and other things as often."""
_HARD = {"c": "qu", "g": "gu"}
_CHANGES = re.compile(
    r"\b(?:commit [0-9a-f]{6}|change ?log|release notes?|novidades|merged?\b|(?:version|release|versao|v) ?\d"
    r"|(?:feat|fix|chore|docs|refactor|perf|build|ci|test|style)(?: \w+)?\n)"
)
"""How news of a program begin, or what was done to it."""
_HEAD = 80
"""Signs within which they do."""
_LEADS = 3
"""Words that may stand before an order."""
_SEEN = 8
"""Words of a clause that are looked at for an order."""


def directs(text: str) -> bool:
    """Whether a text tells others what to do."""
    return any(_tells(reading) for reading in readings(text))


async def reported_directive(memory: Memory) -> bool:
    """Whether it was reported, and tells others what to do; a long text is read beside the event loop."""
    if memory.source not in _REPORTERS:
        return False
    return await asyncio.to_thread(directs, memory.text) if len(memory.text) > LONG else directs(memory.text)


def _tells(reading: str) -> bool:
    flat = "\n" + _GAPS.sub(_gap, _BOUNDARY.sub("\n", reading)).strip()
    signs, stems = table().signs, table().stems
    for match in _WORD.finditer(flat):
        word, end = match[0], match.end()
        sign = signs.get(word)
        if sign is not None and sign.match(flat, end):
            return True
        for stem, sign in stems.get(word[:STEM], ()):
            if word.startswith(stem) and sign.match(flat, end):
                return True
    orders = list(filter(None, map(_order, _clauses(flat))))
    if orders and _CHANGES.search(flat, 0, _HEAD):
        return not table().words["changes"].issuperset(orders)
    return bool(orders) or any(_goes_on(*match.groups()) for match in _AND.finditer(flat))


def _gap(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def _clauses(flat: str) -> Iterator[Sequence[str]]:
    """The words with which each begins."""
    for match in _CLAUSE.finditer(flat):
        clause = match[0].split(None, _SEEN)[:_SEEN]
        if len(clause) > 1:
            yield clause


def _order(clause: Sequence[str]) -> str | None:
    """The verb of the order that a clause opens with, if it does."""
    words = table().words
    start, last = 0, len(clause) - 1
    while start < min(_LEADS, last) and clause[start] in words["leads"]:
        start += 1
    if start == last:
        return clause[last] if _known(clause[last]) else None
    first, second = clause[start], clause[start + 1]
    if "-" in first and _CLITIC.match(first) and not _LOCATED.match(first):
        return first
    if second in _STATES:
        return None
    english, portuguese = _english(first, second, led=start > 0), _portuguese(first, second)
    if not (english or portuguese):
        return None
    foreign = sum((word in words["portuguese"]) - (word in words["english"]) for word in clause)
    return first if (english and foreign <= 0) or (portuguese and foreign >= 0) else None


def _known(verb: str) -> bool:
    """Whether it is one that orders, without an object: "just order"."""
    words = table().words
    return (
        verb in words["english_orders"]
        or verb.removesuffix("m") in words["portuguese_orders"]
        or (verb.endswith(("ar", "er", "ir")) and _asked(verb))
    )


def _goes_on(first: str, second: str) -> bool:
    """Whether an order goes on, or begins, within a clause."""
    words = table().words
    if first in words["english_orders"]:
        return second in words["english_objects"] and second not in _LIGHT
    return first.removesuffix("m") in words["portuguese_orders"] and second in words["portuguese_objects"]


def _english(first: str, second: str, *, led: bool) -> bool:
    words = table().words
    known = first in words["english_orders"]
    if known and (led or first not in words["english_nouns"]):
        return True
    if second not in words["english_objects"] or first in words["english_others"]:
        return False
    if not first.isalpha() or first.endswith(_NOUN_OR_PAST) or (first[-1] == "s" and not first.endswith("ss")):
        return False
    return known or second not in _LIGHT


def _portuguese(first: str, second: str) -> bool:
    words = table().words
    single = first.removesuffix("m")
    if single in words["portuguese_orders"]:
        return single not in words["portuguese_nouns"] or second in words["portuguese_objects"]
    if first in words["portuguese_familiar"]:
        return second in words["portuguese_behind"] and second[0] != "d"
    if first.endswith(("ar", "er", "ir")):
        return _asked(first) or (
            len(first) > 3 and first not in words["portuguese_others"] and second in words["portuguese_behind"]
        )
    return (
        len(single) > 3
        and single[-1] == "e"
        and second in words["portuguese_objects"]
        and not single.endswith(_portuguese_ends())
        and first not in words["english_others"]
    )


def _asked(infinitive: str) -> bool:
    """Whether it is one of the verbs that are asked for as a rule."""
    stem, orders = infinitive[:-2], table().words["portuguese_orders"]
    if infinitive[-2] != "a":
        return f"{stem}a" in orders
    return f"{stem}e" in orders or (stem[-1:] in ("c", "g") and f"{stem[:-1]}{_HARD[stem[-1]]}e" in orders)


@cache
def _portuguese_ends() -> tuple[str, ...]:
    return tuple(table().words["portuguese_ends"])
