"""Outdated answers: which of the memories that a question found tell what a later one of them tells otherwise.

Two texts that share few words are no restatement by themselves: "unloading at the north depot is at six" and "the north
depot takes us at half past one". A question joins them: it asks for a value of one thing, both answer it, and the
values differ. Then the one that was told later holds, and the other comes last, marked as to be confirmed; so does
whatever else was found that repeats the old value. Nothing is stored of it and nothing is left out: to another question
the older one may be the answer.

It keeps its hands off wherever something speaks against it: a question that asks for no value (`may I …?`); one that
names what only the older and what only the newer one tells of (`for tents and for stoves`), or a name that only the
older one holds; words of the two that exclude each other; a newer text that holds too few of the question's words that
the older one holds, answers much worse, is trusted less, doubts, reports, or tells what once happened. Rules, facts,
what facts rest on, and turns of a conversation never come last.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import log
from uuid import UUID

from .rules import forbids
from .told import Sentence, read
from .values import Value, plain
from .words import IMPLIED, LIGHT, SCOPES, SPANS, WORD, sense

Telling = tuple[str, str, bool]
"""A value that a text tells: its sort, what it is equal to, and whether the text says that it is so."""

AS_WELL = 0.75
"""What a newer answer must have of an older one's score."""
SHARED = 0.6
"""The share that it must hold of those of the question's words that the older one holds, by how rare they are here."""

_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:time|day|date|month|year|hour|weekday)s?\b"
    r"|\bquando\b|\b(?:que|qual [oa]|quais [oa]s) (?:horas?|horarios?|dias?|datas?|mes|ano)\b"
)
_MUCH = re.compile(r"\bhow (?:many|much|long|far|big|tall|high|heavy|old|often|late|early|fast)\b|\bquant[oa]s?\b")
_WHO = re.compile(r"\bwho(?:m|se)?\b|\bquem\b")
_WHERE = re.compile(r"\bwhere\b|\b[ad]?onde\b")
_WHICH = re.compile(r"\b(?:what|which|what's|qual|quais)\b|(?:\b(?:em|de|com|por|pra|para|a|n[oa]|d[oa])|^\W*) ?que\b")
_PROCEDURE = re.compile(
    r"\b(?:what|how) (?:do|does|should|can|could|shall|must|may|am|are) (?:i|we)\b(?! (?:call|pay|charge))"
    r"|\bo que (?:(?:eu|a gente|nos) )?(?:faco|fazer|faz|posso|devo|digo|respondo)\b|\bcomo (?:eu|a gente|faco|fazer)\b"
    r"|\bwhat (?:now|next|then)\b|\bnow what\b|\bfaco o que\b"
)
_MAY = re.compile(
    r"(?:^\W*|[,;:.!-] ?|\b(?:and|so|but|then|e|ja|entao|mas) )"
    r"(?:(?:can|could|may|should|must|shall|do|am|are) (?:i|we|they|he|she)\b"
    r"|(?:eu )?(?:posso|podemos|devo|devemos|pode)\b)"
)
_BETWEEN = re.compile(r"(?<=[.!?])(?<!\b(?:Mr|Ms|Dr|Sr|St|No)\.)(?<!\b(?:Mrs|Sra|Dra|Rev)\.)\s+(?=\W*[A-ZÀ-Ý0-9])")
"""Between two sentences; `Ms.` ends none."""
_SHORT = 4
"""Words of a question that says nothing of what it is about, as behind a case."""
_ASKED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_WHEN, ("time", "date", "weekday", "month", "year", "span")),
    (_MUCH, ("number", "money", "span", "percent", "version", "of")),
    (_WHO, ("name", "mail")),
    (_WHERE, ("name", "quote", "host", "address", "mail", "code", "which", "number")),
)
_LOOSE = ("number", "month", "year")
"""Sorts that also stand in a text for something else, so that both texts have to state them."""
_SORT_WORDS = "hora data horario numero"
_SORTS = frozenset(map(sense, [*SPANS, *_SORT_WORDS.split()])) | IMPLIED
"""Words that only say which sort of answer is asked for."""
_PERSONS = """
someone somebody something anyone anybody anything everyone everything people person asks asked asking
mr mrs ms miss dr dra sr sra seu dona prof
alguem algo qualquer pessoa pergunta perguntou perguntaram perguntando
"""
_NOBODY = frozenset(map(sense, _PERSONS.split()))
_VERB = re.compile(
    r"\b(?:who|i|we|you|they|he|she|it|to|be|can|must|should|may|will|quem|onde|quando|horas|eu|gente|ele|ela)"
    r" ([^\W\d_]+)"
    r"|\b(?:does|did|(?:what|when|where|who|how|time|day|long|many|much|often) do) (?:the |an? |our |my )?[^\W\d_]+"
    r" (?:[^\W\d_]+ )??([^\W\d_]+)(?=\?| (?:at|on|in|from|to|for|by|with) )"
)
"""A verb stands behind whoever does it; which one is chosen says little of the thing that is asked about."""
_CAPITAL = re.compile(r"(?<=[^.!?:\n] )[A-ZÀ-Ý]\w*")


def telling(text: str) -> list[Telling]:
    """What a text tells, as it is kept with it; values that it denies or says are over are none.

    What stands behind a comma right after a told value goes on with it: `at Unit 7, Calder Road, Leeds`. A name that
    begins a sentence and goes on without a comma is told as well: `Dr Moe looks after …`.
    """
    found: dict[tuple[str, str], bool] = {}
    for sentence in read(text):
        end, goes_on = -1, False
        for one in sentence.told:
            value = one.value
            if one.part in ("told", "named", "when"):
                told = one.part == "told" or (goes_on and sentence.text[end : value.begin - sentence.begin] == ", ")
                told = told or (value.sort == "name" and _is_subject(sentence, value))
                states = told and one.mood in ("state", "change")
                found[value.sort, value.same] = found.get((value.sort, value.same), False) or states
                end, goes_on = value.end - sentence.begin, told
    return [(*key, states) for key, states in found.items()]


def _is_subject(sentence: Sentence, value: Value) -> bool:
    begin, end = value.begin - sentence.begin, value.end - sentence.begin
    return not sentence.text[:begin].strip() and re.match(r" [a-z]", sentence.text[end:]) is not None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A memory that a question found.

    `stands`: it never comes last; `speaks`: others may come last because of it; `vouched`: it is a fact, or a fact that
    was found as well rests on it.
    """

    id: UUID
    text: str
    score: float
    trust: float
    told_at: datetime
    told: Sequence[Telling]
    subject: str | None = None
    stands: bool = False
    speaks: bool = True
    vouched: bool = False

    @cached_property
    def plain(self) -> str:
        """Its text, folded."""
        return plain(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its stems that say something."""
        return _stems(self.plain)

    @cached_property
    def scopes(self) -> Mapping[int, set[int]]:
        """Words that keep things apart: row → places."""
        found: dict[int, set[int]] = {}
        for word in WORD.findall(self.plain):
            if place := SCOPES.get(word):
                found.setdefault(place[0], set()).add(place[1])
        return found


@dataclass(frozen=True)
class Question:
    """What a question asks for, and how rare its words are among the answers."""

    text: str
    answers: Sequence[Answer] = ()

    @cached_property
    def plain(self) -> str:
        """Folded."""
        return plain(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its stems that say something; `which day` names no thing."""
        return _stems(self.plain) - _SORTS - _NOBODY

    @cached_property
    def things(self) -> frozenset[str]:
        """Those that name the thing it asks about: all but verbs, where an answer holds any of these."""
        verbs = {sense(word) for found in _VERB.finditer(self.plain) for word in found.groups() if word}
        things = self.words - verbs
        return things if any(things & one.words for one in self.answers) else self.words

    @cached_property
    def names(self) -> frozenset[str]:
        """Whatever has a capital inside of it, folded."""
        return frozenset(plain(found[0]) for found in _CAPITAL.finditer(self.text))

    @cached_property
    def asks(self) -> frozenset[str]:
        """Sorts that may answer it, `of` for what is measured, `which` for what is numbered, `any`; none at all."""
        found = {sort for pattern, sorts in _ASKED if pattern.search(self.plain) for sort in sorts}
        if not found and _WHICH.search(self.plain) and not _PROCEDURE.search(self.plain):
            found.add("any")
        return frozenset(found)

    def asks_for(self, sort: str) -> bool:
        """Whether a value of that sort may answer it."""
        return "any" in self.asks or sort in self.asks or sort.split(" ")[0] in self.asks

    def held(self, answer: Answer) -> frozenset[str]:
        """What an answer holds of the thing it asks about, and of its names."""
        names = {name for name in self.names if sense(name) not in self.words and _stands(name, answer.plain)}
        return self.things & answer.words | names

    def rarity(self, word: str) -> float:
        """The idf of one of its words among the answers."""
        held = sum(word in self.held(one) for one in self.answers)
        return log(1 + (len(self.answers) - held + 0.5) / (held + 0.5))


def asks_for_conduct(question: str) -> bool:
    """Whether it asks what to do, or whether one may: `may I …?`, `what do I answer?`, or, of a case, `… Ship it?`."""
    sentences = _BETWEEN.split(question.strip())
    return any("?" in one and _is_about_conduct(one, alone=len(sentences) == 1) for one in sentences)


def _is_about_conduct(sentence: str, *, alone: bool) -> bool:
    flat = plain(sentence)
    if _MAY.search(flat) or _PROCEDURE.search(flat):
        return True
    return not (alone and len(flat.split()) > _SHORT) and not Question(sentence).asks


def asks_for_value(question: str) -> bool:
    """Whether it asks for a value of something, and not what to do."""
    return bool(Question(question).asks) and not asks_for_conduct(question)


def outdated(question: str, answers: Sequence[Answer]) -> dict[UUID, UUID]:
    """Those that tell an old answer → the memory that tells the present one."""
    asked = Question(question, answers)
    if not asked.asks:
        return {}
    given = sorted((one for one in answers if one.told), key=lambda one: (one.told_at, one.id))
    found: dict[UUID, UUID] = {}
    for place, newer in enumerate(given):
        for older in given[:place]:
            if not (gone := _gone(asked, older, newer)):
                continue
            found[older.id] = newer.id
            for other in answers:
                if other.id not in (older.id, newer.id) and _repeats(asked, other, gone, newer):
                    found.setdefault(other.id, newer.id)
    return found


def _gone(asked: Question, older: Answer, newer: Answer) -> set[tuple[str, str]]:
    """What the older one tells in the place of what the newer one does; nothing where that is not plain."""
    if older.stands or not newer.speaks or newer.trust < older.trust or newer.subject != older.subject:
        return set()
    if newer.told_at == older.told_at or newer.score < AS_WELL * older.score:
        return set()
    gone = _differing(asked, older, newer)
    if not gone or _apart(asked, older, newer) or forbids(older.text):
        return set()
    if not asked.held(older):  # it is there for its likeness alone
        return gone if newer.vouched and newer.score >= older.score else set()
    return gone if _share(asked, older, newer) >= SHARED else set()


def _differing(asked: Question, older: Answer, newer: Answer) -> set[tuple[str, str]]:
    old, stated = _values(asked, older), _values(asked, older, states=True)
    new, says = _values(asked, newer), _values(asked, newer, states=True)
    gone: set[tuple[str, str]] = set()
    for sort in old.keys() & says.keys():
        before = stated.get(sort, set()) if sort in _LOOSE else old[sort]
        if not before & new[sort]:
            gone |= {(sort, same) for same in before}
    return gone


def _values(asked: Question, one: Answer, *, states: bool = False) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for sort, same, stated in one.told:
        if (stated or not states) and asked.asks_for(sort) and not _stands(same, asked.plain):
            found.setdefault(_comparable(sort, same), set()).add(same)
    return found


def _comparable(sort: str, same: str) -> str:
    """A sort as it is compared: codes by their shape."""
    if sort != "code":
        return sort
    return "code " + re.sub(r"[a-z]+", "a", re.sub(r"\d", "0", same))


def _share(asked: Question, older: Answer, newer: Answer) -> float:
    """Of the question's words that the older one holds, the share that the newer one does."""
    said, says = asked.held(older), asked.held(newer)
    whole = sum(map(asked.rarity, said))
    return sum(map(asked.rarity, said & says)) / whole if whole else 0.0


def _apart(asked: Question, older: Answer, newer: Answer) -> bool:
    """Whether the question, or words of the two, keep them apart."""
    said, says = asked.held(older), asked.held(newer)
    if said - says and says - said:
        return True
    if any(row in newer.scopes and not places & newer.scopes[row] for row, places in older.scopes.items()):
        return True
    return any(_stands(name, older.plain) and not _stands(name, newer.plain) for name in asked.names)


def _repeats(asked: Question, one: Answer, gone: Collection[tuple[str, str]], newer: Answer) -> bool:
    """Whether it tells a value that is gone, of the thing that is asked about, and not the one that came."""
    if one.stands or one.trust > newer.trust or one.subject != newer.subject:
        return False
    if not asked.words & one.words and not asked.held(one):
        return False
    present = {(_comparable(sort, same), same) for sort, same, states in newer.told if states}
    told = {(_comparable(sort, same), same) for sort, same, _ in one.told}
    if told & present:
        return False
    return any((sort, same) in told or (sort in ("name", "quote") and _stands(same, one.plain)) for sort, same in gone)


def _stems(text: str) -> frozenset[str]:
    words = (word.partition("'")[0] for word in WORD.findall(text.replace("’", "'")))
    return frozenset(sense(word) for word in words if word not in LIGHT)


def _stands(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
