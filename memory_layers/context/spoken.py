"""What a memory is found by: the text that is indexed and the text that is embedded, and the names in it.

A standalone memory is found by its text alone. A turn of a conversation (it has a speaker) says little by itself: its
words are indexed with who said it and on which day, and it is embedded behind the turn before it, as a reader would
meet it.

A name is a run of words that begin with a capital, or hold a digit behind one; at the beginning of a sentence one word
is none, unless it stands elsewhere in the text too. Where small words hold a name together (Universidade de Évora, Duke
of Wellington) its parts are names as well. Names are compared folded, without an article before them, a genitive behind
them and any signs: St. Louis is St Louis, and the Nile's is Nile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..execution.memories import folded
from ..records import Memory
from .terms import STOP_WORDS, WORD

MOST_NAMES = 40
_MOST_PARTS = 20
_SAYS_ENOUGH = 6
_LACK = 0.5
_NEWS = 0.5
_MONTHS = (
    "January janeiro",
    "February fevereiro",
    "March março",
    "April abril",
    "May maio",
    "June junho",
    "July julho",
    "August agosto",
    "September setembro",
    "October outubro",
    "November novembro",
    "December dezembro",
)
_LONGEST_NAME = 100
_BEFORE_NAMES = """
hey hi hello thanks thank yeah yes no wow oh ok okay well dear sorry please sure great good glad last next happy
oi ola ei obrigado obrigada valeu nossa sim claro bom boa caro cara prezado prezada desculpa feliz
"""
_CALLS = frozenset(_BEFORE_NAMES.split())
"""Words, folded, that stand before a name and are no part of it."""
_WORD = r"[^\W\d_](?:[\w'’&]|[-.](?=\w))*"
# With a full stop: initials, and what is often cut short before a name; but a sentence may end with a letter.
_BEGINS = "The|Then|It|He|She|We|They|I|This|That|O|A|Os|As|Ele|Ela|Eles|Elas|Isso|Este|Esta|Depois"
_SHORT = rf"(?:[A-Z]|St|Sta|Sto|Dr|Dra|Sr|Sra|Mr|Mrs|Ms|Prof)\.(?= (?!(?:{_BEGINS}) ))"
_CAPITAL = rf"(?:\b{_SHORT}|(?=[^\W\d_])(?![a-zà-öø-ÿ]){_WORD})"
# Small words that stand between two parts of a name, in both languages.
_SMALL = "of|the|for|de|da|do|das|dos|del|von|van|der"
_RUN = re.compile(rf"{_CAPITAL}(?: (?:(?:{_SMALL}) ){{0,2}}{_CAPITAL}| \d+)*")
_BETWEEN = re.compile(rf" (?:(?:{_SMALL}) )+")
_ARTICLE = re.compile(r"\A(?:the|an?|os?|as?) (?=\w)")
_GENITIVE = re.compile(r"(?:['’]s|(?<=s)['’])(?!\w)")
_CONTRACTED = re.compile(r"['’](?![A-ZÀ-Ý])")
_APOSTROPHE = re.compile("['’]")
_SIGNS = re.compile(r"[^\w ]+")
_SPOKEN_TO = re.compile(
    r"(?:^|(?<=[.!?,;…–-])|\b(?i:" + "|".join(sorted(_CALLS)) + r")(?=[ ,]))"
    r"[ ,]{0,2}[A-ZÀ-Ý][\w'’]{0,40}(?= {0,2}(?:[,.!?;…–-]|$))",
    re.MULTILINE,
)
_GREETS = re.compile(
    r"\W*(?:hey|hi|hello|hiya|yo|good (?:morning|afternoon|evening)|what'?s up|long time"
    r"|oi|ola|e ai|bom dia|boa (?:tarde|noite)|quanto tempo)\b"
)
_NUMBER = re.compile(r"\d")
_SENTENCES = re.compile(r"[^.!?？…\n]*[.!?？…\n]+|[^.!?？…\n]+")
_SENTENCE = re.compile(r"(?:^|[.!?:;…\n]['\")\]]*\s+|[“\"(\[])$")


@dataclass(frozen=True, slots=True)
class Before:
    """The turn before a turn."""

    speaker: str
    text: str


def indexed(memory: Memory) -> str:
    """The text whose words a memory is found by."""
    if memory.speaker is None:
        return memory.text
    day = memory.occurred_at
    return f"{memory.speaker}: {memory.text}\n{day.day} {_MONTHS[day.month - 1]} {day.year}"


def embedded(memory: Memory, before: Before | None = None) -> str:
    """The text whose likeness a memory is found by."""
    if memory.speaker is None:
        return memory.text
    said = f"{memory.speaker}: {memory.text}"
    if before is None:
        return said
    # A picture shown before is not what this turn is about: with it, conversations lose a point.
    return f"{before.speaker}: {_unpictured(before.text)}\n{said}"


def asks(text: str) -> bool:
    """Whether a turn ends with a question, apart from what is said of a picture behind it."""
    return _unpictured(text).rstrip().endswith(("?", "？"))


def telling(text: str, speaker: str) -> float:
    """How much a turn tells, from -1 to 1: up for a number, for a name that is not of who speaks or is spoken to, and
    half as much for a greeting that is no more than the beginning, because who greets brings news; down for the words
    that it lacks to say something. `Wow, thanks Ana!` answers no question, and what a turn asks it does not tell."""
    told = _SPOKEN_TO.sub(" ", _unasked(_unpictured(text)))
    own = set(WORD.findall(folded(speaker)))
    said = {word for word in WORD.findall(folded(told)) if word not in STOP_WORDS} - own
    lacks = min(1, _LACK * max(0, _SAYS_ENOUGH - len(said)))
    if _NUMBER.search(told) is not None or any(not own.issuperset(name.split(" ")) for name in names(told)):
        return 1 - lacks
    return (_NEWS if not lacks and _GREETS.match(folded(text)) is not None else 0) - lacks


def names(text: str) -> list[str]:
    """The names in a text, folded, each once, in the order in which they appear."""
    found: dict[str, None] = {}
    doubtful: list[str] = []
    for start, run in _runs(text):
        if not (name := _name(run)):
            continue
        if " " not in name and _SENTENCE.search(text, max(0, start - 4), start):
            doubtful.append(name)
        else:
            found[name] = None
    for name in doubtful:
        if any(name in other.split(" ") for other in found):
            found[name] = None
    whole = list(found)[:MOST_NAMES]
    parts = [part for name in whole for part in _parts(name)]
    return list(dict.fromkeys([*whole, *parts[:_MOST_PARTS]]))


def ends(memory: Memory) -> list[str]:
    """The ends of a fact, as names of what it was drawn from."""
    if memory.fact is None:
        return []
    return [name for end in (memory.fact.subject, memory.fact.object) if (name := _name(end))]


def _unasked(text: str) -> str:
    """A text without its questions."""
    return " ".join(one for one in _SENTENCES.findall(text) if "?" not in one and "？" not in one)


def _unpictured(text: str) -> str:
    """A text without what is said of a picture behind it, `[image: …]`, and without the blanks before that."""
    bare = text.rstrip()
    if not bare.endswith("]"):
        return text
    start = bare.find("[", max(bare.rfind("]", 0, -1), bare.rfind("\n")) + 1)
    return text if start < 0 else bare[:start].rstrip()


def _name(run: str) -> str:
    """A name as it is compared; '' for what is none."""
    name = _GENITIVE.sub("", _ARTICLE.sub("", folded(run).strip(" .'’&-")))
    name = " ".join(_SIGNS.sub(" ", _APOSTROPHE.sub("", name)).split())
    return name if 1 < len(name) <= _LONGEST_NAME and name not in STOP_WORDS else ""


def _parts(name: str) -> list[str]:
    """What small words hold together in a name; a number is no name."""
    found = _BETWEEN.split(name)
    return [
        part for part in found if len(found) > 1 and len(part) > 2 and not part.isdigit() and part not in STOP_WORDS
    ]


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Runs of capitalised words; a function word that begins a sentence is no part of one, but São Paulo's is."""
    for match in _RUN.finditer(text):
        words = match.group().split(" ")
        start = match.start()
        while len(words) > 1 and folded(words[0]).strip(".,!") in _CALLS:
            start += len(words[0]) + 1
            words.pop(0)
        while words and (first := folded(_CONTRACTED.split(words[0])[0])) in STOP_WORDS and first != "sao":
            start += len(words[0]) + 1
            words.pop(0)
        if words:
            yield start, " ".join(words)
