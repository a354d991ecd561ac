"""The lines of a context: a memory or a turn as one line, with its dates in the reader's language and the ids it is
cited by; and when two of them say the same.

A line is one line. Ends of lines in a text become spaces, signs that are not seen are taken out, and a bracket that
holds an id loses its form: what stands at the end of a line is Lousa's word, what stands before it somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

from .execution.memories import folded
from .records import Hit, MemoryKind

Language = Literal["en", "pt"]
Cite = Literal["full", "short"]

MOST_CITED = 4
"""Ids at the end of a line; of more repeats only the number is told."""
_SHORTEST = 8
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SAID: Mapping[Language, tuple[str, str, str, str]] = {
    "en": ("confirmed", "last confirmed", "contested", "held back, nobody confirmed it"),
    "pt": ("confirmado em", "confirmado pela última vez em", "contestado", "retido, ninguém confirmou"),
}
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_ID = re.compile(r"\[(?=[^\]\n]*[0-9a-f]{8})([0-9a-f,+ -]+)\]", re.I)
_PART = re.compile(r"[<>=+−-]*\d(?:[\d.,:/]*\d)?%?|[^\W_]+|[%$€£<>=+#&@*/?]")
_ARTICLES = frozenset(("a", "an", "the", "o", "os", "as", "um", "uma", "uns", "umas"))


def flat(text: str) -> str:
    """A text as one line, of what can be seen."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = " ".join(_UNSEEN.sub("", line).split())
    return _ID.sub(r"(\1)", line) if "[" in line else line


def day(moment: datetime, language: Language) -> str:
    """A day, as it is written."""
    if language == "pt":
        return f"{moment:%d/%m}/{moment.year:04}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def memory_line(hit: Hit, language: Language, labels: Mapping[UUID, str]) -> str:
    """A memory: what it says, in which context and since when that is known, and its ids."""
    said = f"{flat(hit.speaker)}: {flat(hit.text)}" if hit.speaker else flat(hit.text)
    aside = "; ".join(_aside(hit, language))
    return f"- {said} ({aside}) [{cited(hit, labels)}]" if aside else f"- {said} [{cited(hit, labels)}]"


def _aside(hit: Hit, language: Language) -> Iterable[str]:
    """What is added to a memory in brackets."""
    confirmed, last, contested, _ = _SAID[language]
    if hit.fact is not None and hit.fact.qualifier.strip():
        yield flat(hit.fact.qualifier)
    if hit.kind in (MemoryKind.PROCEDURAL, MemoryKind.BLOCK):
        return
    if hit.status == "contested":
        yield contested
    when = day(hit.confirmed_at or hit.occurred_at, language)
    if hit.to_confirm:
        yield f"{last} {when}"
    elif hit.kind is MemoryKind.FACT:
        yield f"{confirmed} {when}"
    else:
        yield day(hit.occurred_at, language)


def cited(hit: Hit, labels: Mapping[UUID, str]) -> str:
    """The ids of a memory and of what says the same."""
    ids = [hit.id, *hit.also]
    more = [f"+{len(ids) - MOST_CITED}"] if len(ids) > MOST_CITED else []
    return ", ".join([labels[identifier] for identifier in ids[:MOST_CITED]] + more)


def turn_line(role: str, text: str) -> str:
    """A turn: who speaks, and what is said."""
    return f"{flat(role)}: {flat(text)}"


def held_back(role: str, language: Language) -> str:
    """A turn that is not shown, named."""
    return f"{flat(role)}: ({_SAID[language][3]})"


def labelled(ids: Iterable[UUID], cite: Cite) -> dict[UUID, str]:
    """What each id is called: itself, or its last signs, as many as tell these apart."""
    every = set(ids)
    if cite == "full":
        return {identifier: str(identifier) for identifier in every}
    size = next(size for size in range(_SHORTEST, 33, 4) if len({one.hex[-size:] for one in every}) == len(every))
    return {identifier: identifier.hex[-size:] for identifier in every}


def gist(text: str) -> tuple[str, ...]:
    """What texts share that say the same: their words in order, without articles, case, accents and most signs."""
    plain = folded(text)
    return tuple(part for part in _PART.findall(plain) if part not in _ARTICLES) or (plain,)
