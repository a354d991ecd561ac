"""What a text tells: its sentences, each with its values, the words around them, and the mood that it is in.

A value has a part to play besides its sentence's mood: it is told, it is what was before (`from A to B`, `B instead of
A`, `A left`), it is denied, it says from when on something holds, or it is a name that only stands there (`Ana, …`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Literal

from .moods import Mood, mood_of
from .values import LABEL, Value, bare, plain, values
from .words import CHANGES, LIGHT, NUMBERS, OWN, SCOPES, SPANS, WORD, sense

Part = Literal["told", "before", "denied", "when", "named"]

_END = re.compile(r"[.!?;…]+(?=\s|$)|\n+")
_JOINED = re.compile(r"[^\W_]+(?:-[^\W_]+)?")
_SHORT = re.compile(r"\b(?:dr|dra|sr|sra|mr|mrs|ms|st|no|art|av|ex|prof|profa|approx|aprox|tel|vs|etc|inc|ltda)\.$")
_COMMA = re.compile(r"[,:()]\s|\s[-–—]\s")
_BEFORE = re.compile(
    r"(?:\b(?:instead of|rather than|no longer|not|in place of|replac\w+|em vez d[aeo]|ao inves d[aeo]|no lugar d[aeo]"
    r"|nao (?:e|sao|fica|ficam|usa|usamos|vai|vale|mais)(?: mais)?|substitu\w+|troc(?:amos|ou|aram|ar)|deixamos|saiu"
    r"|was|were|era|eram|used to be|from|de|do|da|out of|abandon\w+|dropp?\w+|left|quit|away from)"
    r"(?: (?:the|a|o|as|os|in|on|at|em|no|na|com|with|up to|ate))?)\s*$"
)
_FROM = re.compile(r"\b(?:from|de|do|da|replac\w+|troc\w+|substitu\w+)(?: (?:the|o|a))?\s*$")
_TO = re.compile(r"^[^,;.]{0,12}?(?:\bto\b|\bpara\b|\bpra\b|\bpro\b|\bby\b|\bwith\b|\bpor\b|\bpelo\b|\bpela\b|->|→)")
_GONE = re.compile(
    r"^(?: \w+)?(?: has)? (?:left|quit|retired|is gone|saiu|deixou|se aposentou|foi embora|was replaced|no longer"
    r"|nao)\b"
)
_DENIED = re.compile(
    r"(?:\b(?:not|n't|never|nao|nunca|nem)\b)"
    r"(?!\s+(?:more|over|above|exceed|later|pode|podem|deve|passa|mais de|ultrapass))"
    r"(?:\s+\S+){0,5}\s*$"
)
_WHEN = re.compile(
    r"\b(?:from|since|as of|starting|effective|until|next|this|last|a partir d[eao]s?|desde(?: [oa])?|proxim[ao]|ate"
    r"|on and after|signed|dated|on the|do dia|no dia|yesterday|came on|moved on|changed on)"
    r"(?: (?:next|this|o|a|dia|the|de|early|late))?\s*$"
)
_SLOT = re.compile(
    r"(?:\b(?:is|are|be|called|named|at|by|with|use|uses|using|on|in|to|until|than|above|via|through|runs?"
    r"|e|sao|chama|chamad[ao]|com|por|pel[ao]|usa|usam|usamos|usar|em|n[ao]|para|pr[ao]|d[ao]|ao|ate|acima de|roda"
    r"|rodam)|[:=])"
    r"(?: (?:the|an?|our|o|a|os|as|um|uma|mr\.?|mrs\.?|ms\.?|dr\.?|dra\.?|sr\.?|sra\.?))?\s*$"
)
_LIMIT = re.compile(
    r"\s*(?:for|in|at|on|during|with|when|whenever|if|unless|except|only|under|above|below|between|without"
    r"|no|na|nos|nas|em|para|pra|pro|quando|se|exceto|somente|so|sem|durante|entre|acima|abaixo) "
)
_MOST_VALUES = 8
"""A sentence with more is a list, and tells nothing anew."""
_MOST_SENTENCES = 40
_LONGEST_TOLD = 800
_HEADING = re.compile(r"[^\n]{0,118}[^\s.!?:;,…-]\n+\s*[^\s*•#-][^\n]{149}")
"""A line of its own that ends without a sign, over a paragraph."""
_ENTRY = re.compile(r"(?P<thing>[^\W_]{2,})[^\n]{0,118}\n+(?:[^\w\n]*\w+ )?[^\w\n]*(?P=thing)\b")
_DATED = ("weekday", "month", "date", "year")


@dataclass(frozen=True, slots=True)
class Told:
    """A value with its part, and the mood that it is told in."""

    value: Value
    part: Part
    mood: Mood


@dataclass(frozen=True)
class Sentence:
    """One sentence: folded, with where it begins in the folded text, and what it tells."""

    text: str
    begin: int
    told: tuple[Told, ...]

    @cached_property
    def tokens(self) -> tuple[tuple[str, int, int], ...]:
        """Its words that say something, stemmed, with their places in the folded text; values are not among them."""
        taken = [one.value for one in self.told if one.value.sort != "name"]
        found: list[tuple[str, int, int]] = []
        for word in WORD.finditer(self.text):
            begin, end = self.begin + word.start(), self.begin + word.end()
            inside = [value for value in taken if begin < value.end and value.begin < end]
            # `25 vacation days` is a span, and tells of vacation.
            if inside and (
                inside[0].sort != "span" or word[0].rstrip("s") in SPANS or word[0] in NUMBERS or not word[0].isalpha()
            ):
                continue
            spelt = word[0].split("'")[0].split("’")[0]
            if spelt in LIGHT:
                continue
            if (compared := sense(spelt)) not in CHANGES:
                found.append((compared, begin, end))
        return tuple(found)

    def scopes(self, value: Value) -> Mapping[int, frozenset[int]]:
        """Rows of words that keep things apart → which of the row stand around a value."""
        found: dict[int, set[int]] = {}
        names = [one.value for one in self.told if one.value.sort == "name" and " " in one.value.same]
        for word in _JOINED.finditer(self.text):
            begin = self.begin + word.start()
            if any(name.begin <= begin < name.end for name in names):
                continue
            place = SCOPES.get(word[0]) or SCOPES.get(word[0].replace("-", ""))
            if place and self._part_of(begin) in (self._part_of(value.begin), None):
                found.setdefault(place[0], set()).add(place[1])
        return {row: frozenset(places) for row, places in found.items()}

    @cached_property
    def own(self) -> bool:
        """Whether it speaks of somebody's own thing."""
        return any(word[0] in OWN for word in WORD.finditer(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """All its stems."""
        return frozenset(word for word, _, _ in self.tokens)

    def words_near(self, value: Value, enough: int = 2) -> tuple[str, ...]:
        """The stems around a value: of its part of the sentence, and of what limits that part (`for …,`).

        A part of fewer than `enough` words says too little and is read with the whole sentence.
        """
        words = self.tokens
        if value.sort == "name":
            words = tuple(one for one in words if not (one[1] < value.end and value.begin < one[2]))
        near = [one[0] for one in words if self._part_of(one[1]) in (self._part_of(value.begin), None)]
        return tuple(near if len(set(near)) >= enough else [one[0] for one in words])

    def _part_of(self, place: int) -> int | None:
        """Where the part of the sentence begins that a place is in; None of one that limits the others."""
        begin = max(edge for edge in self._edges if edge <= place)
        return None if _LIMIT.match(self.text[begin - self.begin :]) else begin

    @cached_property
    def _edges(self) -> tuple[int, ...]:
        return (self.begin, *(self.begin + comma.end() for comma in _COMMA.finditer(self.text)))


def label_of(text: str) -> str:
    """Who says it, or what is listed, where a text begins with that and a colon."""
    found = LABEL.match(bare(text))
    return plain(found[1]) if found else ""


def tells(text: str) -> bool:
    """Whether a text tells how a thing is, or that it has changed, with a value."""
    return any(
        one.part == "told" and one.mood in ("state", "change") for sentence in read(text) for one in sentence.told
    )


def terms_of(text: str) -> dict[str, str]:
    """The words of a text that say something: stem → the word as it stands there, folded."""
    found: dict[str, str] = {}
    flat = plain(bare(text))
    for sentence in read(text):
        for stem, begin, end in sentence.tokens:
            found.setdefault(stem, flat[begin:end])
    return found


def spellings(text: str) -> list[str]:
    """Whatever in a text may be a value that another gave up: values as they are compared, and words."""
    found = [one.value.same for sentence in read(text) for one in sentence.told]
    return [*dict.fromkeys([*found, *(word[0] for word in WORD.finditer(plain(bare(text))))])][:200]


def is_document(text: str) -> bool:
    """Whether it is a page rather than something that is told: long, under a heading, or an entry that begins with its.

    Pages describe one thing after another in the same words, with other values: none of them takes another's place.
    """
    return len(text) > _LONGEST_TOLD or _HEADING.match(text) is not None or _ENTRY.match(text) is not None


@lru_cache(maxsize=4_000)
def read(text: str) -> tuple[Sentence, ...]:
    """A text's sentences; of a document none."""
    if is_document(text):
        return ()
    text = bare(text)
    flat, found = plain(text), values(text)
    places = islice(_sentences(flat, found), _MOST_SENTENCES)
    return tuple(_sentence(flat, begin, end, found) for begin, end in places)


def _sentences(flat: str, found: list[Value]) -> Iterator[tuple[int, int]]:
    begin = 0
    for stop in _END.finditer(flat):
        if _SHORT.search(flat[: stop.start() + 1]) or any(
            v.begin <= stop.start() and stop.end() < v.end for v in found
        ):
            continue
        if flat[begin : stop.start()].strip():
            yield begin, stop.end()
        begin = stop.end()
    if flat[begin:].strip():
        yield begin, len(flat)


def _sentence(flat: str, begin: int, end: int, found: list[Value]) -> Sentence:
    text = flat[begin:end]
    edges = [begin, *(begin + comma.end() for comma in _COMMA.finditer(text)), end]
    told: list[Told] = []
    held = [value for value in found if begin <= value.begin < end]
    for value in held if len(held) <= _MOST_VALUES else ():
        start = max(edge for edge in edges if edge <= value.begin)
        stop = min((edge for edge in edges if edge >= value.end), default=end)
        told.append(
            Told(value, _part(flat, begin, start, end, value), mood_of(flat[begin:start], flat[start:stop], text))
        )
    return Sentence(text, begin, tuple(told))


def _part(flat: str, begin: int, start: int, end: int, value: Value) -> Part:
    before, after = flat[begin : value.begin], flat[value.end : end]
    if value.sort in _DATED and _WHEN.search(before):
        return "when"
    if _FROM.search(before) and _TO.search(after):
        return "before"
    if _GONE.search(after):
        return "before"
    if (found := _BEFORE.search(before)) and not re.match(r"(?:de|do|da|from)\b", found[0].strip()):
        return "before"
    if _DENIED.search(flat[start : value.begin]):
        return "denied"
    return "told" if not _is_label(value) or _has_place(value, before, after) else "named"


def _has_place(value: Value, before: str, after: str) -> bool:
    """Whether a place is made for a value before it (`runs Postgres 14` has one as well)."""
    if after.lstrip().startswith("!"):
        return False
    counts = value.sort in ("number", "version")
    return any(_SLOT.search(text) for text in (before, *([re.sub(r"\S+\s*$", "", before)] if counts else ())))


def _is_label(value: Value) -> bool:
    """Whether such a value tells something only where a place is made for it: `in room 4`, and not `room 4`."""
    return value.sort in ("name", "number", "version", "code", "host") or value.sort.startswith("which ")
