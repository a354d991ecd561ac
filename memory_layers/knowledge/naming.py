"""Which words of a text may be the name of a thing.

Names are compared whole and folded: every run of a few words is looked up by equality, so no list of all things is ever
read, and of two names that overlap the longer one counts. Who does not know a name as it was written looks for it by
how its words begin; the last third of a word may be another.
"""

from __future__ import annotations

import re

from ..context.terms import STOP_WORDS
from ..execution.memories import folded
from .facts import indexable

_LONGEST_NAME = 8
_WORDS_READ = 64
_WORD = re.compile(r"[^\W_]+")
_WORDS_ASKED = 16
_EDGES = "\"'“”‘’«»()[]{}<>!?;:,¿¡…"


def longest(name: str) -> tuple[int, str]:
    """The order in which names have their turn."""
    return -len(name), name


def runs(text: str) -> dict[str, list[range]]:
    """Every run of words that may be a name → where it stands, as ranges of word places."""
    tokens = folded(text).split(" ")[:_WORDS_READ]
    found: dict[str, list[range]] = {}
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + _LONGEST_NAME, len(tokens)) + 1):
            run = " ".join(tokens[start:end])
            bare = run.strip(_EDGES)
            for name in {run, bare, bare.rstrip("."), bare.removesuffix("'s").removesuffix("’s")}:
                if name and not (end == start + 1 and name in STOP_WORDS):
                    found.setdefault(indexable(name), []).append(range(start, end))
    return found


def words(key: str) -> list[str]:
    """The words of a folded name."""
    return _WORD.findall(key)


def beginnings(name: str) -> list[str]:
    """How the words of a name begin that is not known for sure, letters and digits only."""
    return [word[: max(3, len(word) * 2 // 3)][:40] for word in words(folded(name))[:_WORDS_ASKED]]
