"""The judge: whether a newer text tells the same thing with another value, or repeats a value that was replaced.

No word of change is asked for. What is compared is what stands around two values of one sort: the words of the older
sentence have to come again in the newer one, weighed by how rare they are. Two texts are about different things where
the words that do not come again stand in one another's place (`standard | express shipping takes …`), where words of
one row exclude each other (`staging | production`), or where besides the value a name, a day or another value differs.
What is asked, doubted, denied, reported, over, or merely happened tells nothing. In doubt nothing is superseded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ..records import Fact, Json
from .moods import doubts
from .told import Sentence, Told, label_of, read
from .values import Value, plain, values
from .words import BEGINNINGS, LIGHT, WORD, implied, sense

Weigh = Callable[[str], float]
"""How rare a word is, by its stem: its idf."""

COVERED, NEARLY, SOME = 0.55, 0.95, 0.3
REPEATED = 0.25
ALIKE = 0.75
ALIGNED = 0.5
_SPELT = ("word", "name", "quote", "code", "host", "mail", "address")
_DAYS = ("weekday", "month", "date", "year", "time")
_BETWEEN = re.compile(r"[ ,]*(?:at|as|a|on|the|de|do|em|in|from|das|of)?[ ,]*(?:the|as)? *")

_CASE = re.compile(
    r"\W*(?:[^\W\d_]+\.?\s+(?:n[o.]*\s*)?){1,2}(?P<sign>#)?"
    r"(?P<case>[a-z]{1,6}-?\d{2,}(?:[-/]\d+)*|(?!(?:19|20)\d\d\b)\d{4,})(?P<colon>:)?(?=[\s,;.)]|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The newer text takes the older one's place: of this sort of value it says `after` instead of `before`.

    `thing` are the stems that say what the value is of, `words` the same as they stood there, `spelling` the old value
    as it stood. `plain`: it tells all that the older one told, or that there was a change. `parts`: what else the old
    value is made of that the new one lacks, where a fact tells it: `Unit 7, Calder Road, Leeds`.
    """

    sort: str
    before: str
    after: str
    thing: frozenset[str]
    words: tuple[str, ...] = ()
    spelling: str = ""
    covered: float = 1.0
    plain: bool = True
    parts: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """In a line, with nothing of what was said."""
        what = (
            "value"
            if self.sort in ("number", "code", "quote")
            else self.sort.removeprefix("of ").removeprefix("which ")
        )
        return f"it was told anew with another {what}: {self.covered:.0%} of the words around it came again"

    def to_json(self) -> dict[str, Json]:
        """As the record keeps it."""
        return {
            "sort": self.sort,
            "before": self.before,
            "after": self.after,
            "thing": [*sorted(self.thing)],
            "words": [*self.words],
            "spelling": self.spelling,
        }

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Verdict:
        """What `to_json` wrote."""
        return cls(
            sort=stored["sort"],
            before=stored["before"],
            after=stored["after"],
            thing=frozenset(stored["thing"]),
            words=tuple(stored["words"]),
            spelling=stored["spelling"],
        )


def restates(older: str, newer: str, weigh: Weigh, likeness: float = 1.0) -> Verdict | None:
    """What `newer` tells instead of what `older` told; None where it does not plainly do so."""
    said, says = label_of(older), label_of(newer)
    if said and says and said != says:
        return None  # two voices, or two things that are listed
    best: Verdict | None = None
    for old in read(older):
        for new in read(newer):
            found = _compared(old, new, weigh, likeness)
            if found is not None and (best is None or found.covered > best.covered):
                best = found
    return None if best is not None and _two_cases(older, newer, best) else best


def _two_cases(older: str, newer: str, verdict: Verdict) -> bool:
    """Whether each begins with the number of its case (`Ticket INC-4471: …`, `PR #2219 …`), which is another's.

    Without a sign it may be the value itself: `Version 1204 runs …`.
    """
    one, other = _CASE.match(plain(older)), _CASE.match(plain(newer))
    if one is None or other is None or one["case"] == other["case"]:
        return False
    if (one["sign"] and other["sign"]) or (one["colon"] and other["colon"]):
        return True
    return one["case"] not in f"{verdict.spelling} {verdict.before}" and other["case"] not in verdict.after


def _compared(old: Sentence, new: Sentence, weigh: Weigh, likeness: float) -> Verdict | None:
    differing = _differing(old, new)
    if differing is None:
        return None
    before, after = differing
    if _apart(old, before.value, new, after.value):
        return None
    words, again = old.words_near(before.value), new.words_near(after.value, 1)
    known = implied(before.value.sort)

    def rarity(word: str) -> float:
        return weigh(word) ** 0.5 * (0.5 if word in known else 1.0)

    said_by_both = set(words) & new.words
    covered, covering = _share(said_by_both, words, rarity), _share(said_by_both, again, rarity)
    if not said_by_both:
        return None
    extra = _extra(old, new, after)
    if extra and not (after.mood == "change" and covered >= NEARLY and "name" not in extra):
        return None
    named = any(one.part != "told" and one.value.same == before.value.same for one in new.told)
    if covered < NEARLY and not (named and covered >= SOME):
        if _substituted(words, new.words_near(after.value), known):
            return None
        terse = covering >= NEARLY and words[0] in said_by_both and likeness >= ALIKE
        if covered < COVERED and not (covered >= SOME and terse):
            return None
    return Verdict(
        sort=before.value.sort,
        before=before.value.same,
        after=after.value.same,
        thing=frozenset(said_by_both),
        words=_as_they_stand(old, said_by_both),
        spelling=old.text[before.value.begin - old.begin : before.value.end - old.begin],
        covered=covered,
        plain=covered >= NEARLY or after.mood == "change",
    )


def _as_they_stand(sentence: Sentence, stems: Collection[str]) -> tuple[str, ...]:
    begin = sentence.begin
    return tuple(sentence.text[a - begin : b - begin] for stem, a, b in sentence.tokens if stem in stems)


def _apart(old: Sentence, before: Value, new: Sentence, after: Value) -> bool:
    """Whether words that exclude each other keep the two apart; what only the newer one says makes it narrower."""
    if (new.own and not old.own) or _labelled(old) != _labelled(new):
        return True
    known = old.scopes(before)
    return any(
        not places & known[row] if row in known else not (row in BEGINNINGS and places == frozenset({0}))
        for row, places in new.scopes(after).items()
    )


def _labelled(sentence: Sentence) -> set[tuple[str, str]]:
    """What a sentence calls its things by: `room 4`, `order 1234`, `topic7`; names are another matter."""
    return {
        (one.value.sort, one.value.same) for one in sentence.told if one.part == "named" and one.value.sort != "name"
    }


def _differing(old: Sentence, new: Sentence) -> tuple[Told, Told] | None:
    """The one value that differs, in either sentence; two that stand side by side are one."""
    olds, news = _told(old), _told(new)
    differing: list[tuple[Told, Told]] = []
    for sort in {one.value.sort for one in olds} & {one.value.sort for one in news}:
        before = {one.value.same: one for one in olds if one.value.sort == sort}
        after = {one.value.same: one for one in news if one.value.sort == sort}
        gone = {same for same in before.keys() - after.keys() if sort != "name" or not _named(same, new)}
        come = {same for same in after.keys() - before.keys() if sort != "name" or not _stands(same, old.text)}
        if not come:
            continue
        if len(gone) != 1 or len(come) != 1:
            return None
        differing.append((before[gone.pop()], after[come.pop()]))
    differing.sort(key=lambda pair: pair[0].value.sort in _DAYS[:4])
    if not differing or (len(differing) > 1 and not _side_by_side(old, new, differing)):
        return None
    before, after = differing[0]
    if before.mood not in ("state", "change") or after.mood not in ("state", "change"):
        return None
    return before, after


def _told(sentence: Sentence) -> list[Told]:
    return [one for one in sentence.told if one.part == "told"]


def _side_by_side(old: Sentence, new: Sentence, differing: list[tuple[Told, Told]]) -> bool:
    if len(differing) > 2 or any(pair[0].value.sort not in _DAYS for pair in differing):
        return False
    (first, second), (other, another) = differing
    return _near(old, first.value, other.value) and _near(new, second.value, another.value)


def _near(sentence: Sentence, one: Value, other: Value) -> bool:
    begin, end = (one.end, other.begin) if one.begin < other.begin else (other.end, one.begin)
    return _BETWEEN.fullmatch(sentence.text[begin - sentence.begin : end - sentence.begin]) is not None


def _extra(old: Sentence, new: Sentence, after: Told) -> set[str]:
    """Sorts of values that only the newer sentence tells: it speaks of less than the older one."""
    sorts = {one.value.sort for one in old.told}
    names = {one.value.same for one in old.told if one.value.sort in ("name", "code")}
    found = {one.value.sort for one in _told(new) if one.value.sort not in sorts and one.value != after.value}
    if after.value.sort != "name" and any(
        one.value.sort == "name" and one.value.same not in names and one.value.same not in old.text
        for one in new.told
        if one.part in ("told", "named")
    ):
        found.add("name")
    return found


def _substituted(old: Sequence[str], new: Sequence[str], implied_words: Collection[str]) -> bool:
    """Whether words that do not come again stand in one another's place, between the same neighbours.

    A newer word that a value of this sort implies anyway (`limited to`) takes nobody's place.
    """
    match = SequenceMatcher(None, old, new, autojunk=False)
    if match.ratio() < ALIGNED:
        return False
    return any(
        tag == "replace"
        and b - a == d - c
        and set(old[a:b]) - set(new)
        and set(new[c:d]) - set(old) - set(implied_words)
        for tag, a, b, c, d in match.get_opcodes()
    )


def _share(some: Collection[str], whole: Iterable[str], weigh: Weigh) -> float:
    """How much of the weight of some words a part of them has."""
    total = sum(weigh(word) for word in set(whole))
    return sum(weigh(word) for word in set(whole) if word in some) / total if total else 0.0


def replaced(old: Fact, new: Fact, told: str, anew: Sequence[str]) -> Verdict:
    """What the old fact said and the new one does not any more, in the words of the texts that they were drawn from.

    `told` is what the old one rests on, where it is known, and `anew` what the new one does.
    """
    before, after = _object(old), _object(new)
    about = WORD.findall(plain(f"{old.subject} {old.predicate}".replace("_", " ")))
    said = {word for text in (told, *anew) for each in read(text) for word in each.words}
    # The names that a fact gives things count where people use them, or where nothing else is known.
    thing = {sense(word) for word in about if not said or sense(word) in said}
    words: tuple[str, ...] = ()
    for sentence in read(told):
        held = [one.value for one in sentence.told if (one.value.sort, one.value.same) == before[:2]]
        if held or _stands(before[1], sentence.text) or _stands(before[2], sentence.text):
            near = {*sentence.words_near(held[0])} if held else {*sentence.words}
            again = near & {word for text in anew for each in read(text) for word in each.words}
            thing |= again or near
            words = _as_they_stand(sentence, again or near)
    return Verdict(
        sort=before[0],
        before=before[1],
        after=after[1],
        thing=frozenset(thing - LIGHT),
        words=words or tuple(about),
        spelling=before[2],
        parts=tuple(
            one.same
            for one in values(f"is {old.object.replace('_', ' ')}")
            if one.sort in _SPELT and one.same != before[1] and not _stands(one.same, plain(new.object))
        ),
    )


def _object(fact: Fact) -> tuple[str, str, str]:
    """The sort of a fact's object, what it is equal to, and how it is spelt."""
    spelling = plain(fact.object.replace("_", " ")).strip()
    for value in values(f"is {fact.object.replace('_', ' ')}"):
        return value.sort, value.same, spelling
    return "word", spelling, spelling


def repeats(text: str, verdict: Verdict, told: str, weigh: Weigh) -> bool:
    """Whether a text tells, of the same thing, the value that a verdict found replaced by that of `told`."""
    if _two_cases(text, told, verdict):
        return False
    for sentence in read(text):
        held = {one.value.same: one for one in sentence.told if one.value.sort == verdict.sort}
        one = held.get(verdict.before) or _part_of(sentence, verdict)
        if one is None and (verdict.sort not in _SPELT or not _stands(verdict.before, sentence.text)):
            continue
        if verdict.after in held or (one is not None and (one.part == "when" or _asks(sentence, one.value))):
            continue
        if _share(sentence.words, verdict.thing, lambda word: weigh(word) ** 0.5) < REPEATED:
            continue
        if not _conflict(sentence, read(told), verdict):
            return True
    return False


def _part_of(sentence: Sentence, verdict: Verdict) -> Told | None:
    """The name there that a part of a fact's old value is."""
    whole = (verdict.before, *verdict.parts) if verdict.sort == "name" else verdict.parts
    named = [one for one in sentence.told if one.value.sort in _SPELT and one.part in ("told", "named")]
    named = [one for one in named if not _stands(one.value.same, verdict.after)]
    return next((one for one in named if any(_stands(one.value.same, part) for part in whole)), None)


def _asks(sentence: Sentence, value: Value) -> bool:
    """Whether a value is asked or doubted; what comes behind it is another matter."""
    return sentence.text.rstrip().endswith("?") or doubts(sentence.text[: value.end - sentence.begin])


def _named(name: str, sentence: Sentence) -> bool:
    """Whether a name stands there, as something else than what was before."""
    apart = [one for one in sentence.told if one.part in ("before", "denied") and one.value.same == name]
    return not apart and _stands(name, sentence.text)


def _stands(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _conflict(sentence: Sentence, told: Sequence[Sentence], verdict: Verdict) -> bool:
    """Whether words that exclude each other stand around the old value here and the new one there."""
    here = [one.value for one in sentence.told if one.value.same == verdict.before]
    there = [(new, one.value) for new in told for one in new.told if one.value.same == verdict.after]
    return any(
        not old.get(row, places) & places
        for value in here
        for old in (sentence.scopes(value),)
        for new, other in there
        for row, places in new.scopes(other).items()
    )
