"""One scorer for every clause: how much a sentence looks like what a cue table describes.

A table holds *signs*, regular expressions with a weight, searched in the flat text of one sentence (lower case, no
accents); the weights of those that occur add up, each once. A heading the table knows adds to them, one that speaks
of something else takes away. A sentence counts from `threshold` on, so that a clause which is absent is quoted by
nothing; of those that count, the best few are quoted, as long as they are not far behind the best.

Sentences are quoted, not paragraphs: whoever reads a finding should not have to search in it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from ..documents import Document
from ..segments import Sentence, sentences

LONGEST = 1400

_RATIFIES = re.compile(
    r"\bratific(?:ad[oa]s?|am|a-se|am-se)\b|\b(?:other|remaining) (?:terms|provisions|clauses|conditions)\b.{0,60}"
    r"\b(?:remain|stay|continue)|\b(?:everything|all) else\b.{0,80}\b(?:stays?|remains?|unchanged|continues?)\b|"
    r"\b(?:tudo (?:o )?mais|todo o resto|o (?:mais|resto)|(?:os|as) (?:demais|outr[oa]s) (?:clausulas|condicoes|itens|"
    r"disposicoes|termos|pontos|regras))\b.{0,120}\b(?:fica\w* como|permanec\w+|continua\w*|mantem-se|mantid[oa]s|"
    r"(?:sao|ficam) mantid|inalterad\w+|nao mud\w+|igua(?:l|is)|segue\w*|valend\w+|como esta\w*)|"
    r"\b(?:mantem-se|mantidas?|permanecem|continuam)\b.{0,60}\b(?:demais|outras) (?:clausulas|condicoes|disposicoes)|"
    r"\bficam? como est(?:a|ao)\b|\bsem (?:qualquer )?alteracao (?:as|os|tudo|das|dos)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """`text` is `document.text[start:end]`."""

    clause: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cues:
    """What a clause looks like in one language.

    `heading` and `away` are searched in the heading nearest to the sentence, `heading` also, for less, in the one
    above. `never` rules a sentence out whatever else it says. Under a heading that `alone` knows, what comes nearest
    is quoted when nothing else counts: "Foro" needs no more below it than the name of a town. `keep` is the share of
    the best score that a further quotation needs.
    """

    signs: Sequence[tuple[float, str]]
    heading: str
    away: str = r"(?!)"
    never: str = r"(?!)"
    alone: str = r"(?!)"
    threshold: float = 4.0
    keep: float = 0.7
    most: int = 3
    under_heading: float = 3.0


@cache
def _said(sign: str) -> re.Pattern[str]:
    """The tables hold more signs than `re` remembers."""
    return re.compile(sign)


def score(sentence: Sentence, cues: Cues) -> float:
    """Zero when the sentence has none of the signs."""
    said = sum(weight for weight, sign in cues.signs if _said(sign).search(sentence.flat))
    if said <= 0 or _said(cues.never).search(sentence.flat) or _RATIFIES.search(sentence.flat):
        return 0.0
    nearest, _, above = sentence.heading.partition(" / ")
    if _said(cues.heading).search(nearest):
        said += cues.under_heading + (0.5 if sentence.first else 0.0)
    elif _said(cues.away).search(nearest):
        said -= 3.0
    elif above and _said(cues.heading).search(above):
        said += cues.under_heading / 2
    return said


@lru_cache(maxsize=640)
def scores(text: str, cues: Cues) -> tuple[float, ...]:
    """The score of every sentence of a text."""
    return tuple(score(sentence, cues) for sentence in sentences(text))


def best(
    clause: str,
    document: Document,
    cues: Cues,
    *,
    share: float = 1.0,
    keep: float | None = None,
    most: int | None = None,
    taken: Callable[[Sentence], bool] = lambda _: False,
) -> list[Quotation]:
    """The sentences that look most like the clause, best first; of equals, the earlier. `share` of the threshold is
    enough; what is `taken` says something else."""
    keep, most = cues.keep if keep is None else keep, cues.most if most is None else most
    scored = [*zip(scores(document.text, cues), sentences(document.text), strict=True)]
    ranked = [pair for pair in scored if pair[0] >= share * cues.threshold and not taken(pair[1])]
    if not ranked:
        ranked = [(w, s) for w, s in scored if _speaks_by_heading(s, w, cues) and not (w > 0 and taken(s))]
        keep, most = 0.0, min(most, 2)
    ranked.sort(key=lambda pair: (-pair[0], pair[1].start))
    chosen: list[Sentence] = []
    said: set[str] = set()
    for weight, sentence in ranked:
        if weight < keep * ranked[0][0] or len(chosen) == most:
            break
        if sentence.flat not in said:
            said.add(sentence.flat)
            chosen.append(sentence)
    return [quote(clause, document, sentence.start, sentence.end) for sentence in chosen]


def _speaks_by_heading(sentence: Sentence, weight: float, cues: Cues) -> bool:
    nearest = sentence.heading.partition(" / ")[0]
    return (
        (weight > 0 or sentence.first)
        and bool(_said(cues.alone).search(nearest))
        and not _said(cues.away).search(nearest)
        and not _said(cues.never).search(sentence.flat)
        and not _RATIFIES.search(sentence.flat)
    )


def quote(clause: str, document: Document, start: int, end: int) -> Quotation:
    """A quotation of at most `LONGEST` characters, cut at a word."""
    if end - start > LONGEST:
        cut = document.text.rfind(" ", start, start + LONGEST)
        end = cut if cut > start else start + LONGEST
    return Quotation(clause=clause, start=start, end=end, text=document.text[start:end])
