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


@dataclass(frozen=True, slots=True, kw_only=True)
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


def score(sentence: Sentence, cues: Cues) -> float:
    """Zero when the sentence has none of the signs."""
    said = sum(weight for weight, sign in cues.signs if re.search(sign, sentence.flat))
    if said <= 0 or re.search(cues.never, sentence.flat) or _RATIFIES.search(sentence.flat):
        return 0.0
    nearest, _, above = sentence.heading.partition(" / ")
    if re.search(cues.heading, nearest):
        said += cues.under_heading + (0.5 if sentence.first else 0.0)
    elif re.search(cues.away, nearest):
        said -= 3.0
    elif above and re.search(cues.heading, above):
        said += cues.under_heading / 2
    return said


def best(
    clause: str, document: Document, cues: Cues, taken: Callable[[Sentence], bool] = lambda _: False
) -> list[Quotation]:
    """The sentences that look most like the clause, best first; of equals, the earlier. What is `taken` says something
    else."""
    scored = [(score(s, cues), s) for s in sentences(document.text)]
    scored = [(0.0 if weight > 0 and taken(s) else weight, s) for weight, s in scored]
    ranked = sorted((pair for pair in scored if pair[0] >= cues.threshold), key=lambda pair: (-pair[0], pair[1].start))
    if not ranked:
        titled = [(weight, s) for weight, s in scored if _speaks_by_heading(s, weight, cues)]
        ranked = sorted(titled, key=lambda pair: (-pair[0], pair[1].start))[:2]
    chosen: list[Sentence] = []
    said: set[str] = set()
    for weight, sentence in ranked:
        if weight < cues.keep * ranked[0][0] or len(chosen) == cues.most:
            break
        if sentence.flat not in said:
            said.add(sentence.flat)
            chosen.append(sentence)
    return [quote(clause, document, sentence.start, sentence.end) for sentence in chosen]


def _speaks_by_heading(sentence: Sentence, weight: float, cues: Cues) -> bool:
    nearest = sentence.heading.partition(" / ")[0]
    return (
        (weight > 0 or sentence.first)
        and bool(re.search(cues.alone, nearest))
        and not re.search(cues.away, nearest)
        and not re.search(cues.never, sentence.flat)
        and not _RATIFIES.search(sentence.flat)
    )


def quote(clause: str, document: Document, start: int, end: int) -> Quotation:
    """A quotation of at most `LONGEST` characters, cut at a word."""
    if end - start > LONGEST:
        cut = document.text.rfind(" ", start, start + LONGEST)
        end = cut if cut > start else start + LONGEST
    return Quotation(clause=clause, start=start, end=end, text=document.text[start:end])
