"""The ten clauses a review looks for, and `find`, which quotes them.

Nine are found by cue tables, one module a clause with a table a language, all read by the same scorer. The parties
are names, not sentences, and have a module of their own.
"""

import re

from ..documents import Document
from ..parties import party_quotations
from ..segments import Sentence
from . import (
    assignment,
    confidentiality,
    data_protection,
    governing_law,
    liability_cap,
    payment,
    service_levels,
    term,
    termination,
)
from .scoring import Cues, Quotation, best, score

__all__ = ["CLAUSES", "Quotation", "find", "second_look", "wider"]

CLAUSES: tuple[str, ...] = (
    "parties",
    "term",
    "payment",
    "termination",
    "liability_cap",
    "confidentiality",
    "data_protection",
    "governing_law",
    "service_levels",
    "assignment",
)

SECOND = 0.8
"""The share of a clause's threshold that is enough at a second look."""

_CUES: dict[str, dict[str, Cues]] = {
    module.__name__.rpartition(".")[2]: {"en": module.EN, "pt": module.PT}
    for module in (
        term,
        payment,
        termination,
        liability_cap,
        confidentiality,
        data_protection,
        governing_law,
        service_levels,
        assignment,
    )
}


def find(clause: str, document: Document) -> list[Quotation]:
    """Quotations of one clause, best first: at most three (ten for the parties), none when the clause is absent."""
    if clause == "parties":
        return [
            Quotation(clause=clause, start=s, end=e, text=document.text[s:e]) for s, e in party_quotations(document)
        ]
    return best(clause, document, _CUES[clause][document.language])


def second_look(clause: str, document: Document) -> list[Quotation]:
    """The one sentence that looks most like the clause, for a reader that was told to expect it: less is certain
    enough, but what plainly says another clause is not this one, nor is what stands under another's heading."""
    if clause == "parties":
        return find(clause, document)
    tables = {name: by_language[document.language] for name, by_language in _CUES.items()}
    cues = tables.pop(clause)

    def taken(sentence: Sentence) -> bool:
        nearest = sentence.heading.partition(" / ")[0]
        if re.search(cues.heading, nearest):
            return False
        return bool(re.search(cues.away, nearest)) or any(
            score(sentence, other) >= 0.8 * other.threshold for other in tables.values()
        )

    return best(clause, document, cues, share=SECOND, most=1, taken=taken)


def wider(clause: str, document: Document, share: float = 1.0) -> list[Quotation]:
    """What `find` gives and the next best besides, for a reader that looks for one value; `share` of the threshold is
    enough."""
    return best(clause, document, _CUES[clause][document.language], share=share, keep=0.4 * share, most=8)
