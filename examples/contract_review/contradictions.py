"""Documents that disagree: an amendment against the agreement it amends, two drafts of one agreement.

Two documents can only disagree when they are about the same agreement. They are *related* when they name the same
parties, and either one amends the other (its title says so, and no number or date it cites is another's) or both bear
the same title and number. Whatever else a company signs, with whomever, contradicts nothing.

Related documents disagree on a clause when both fix the same attribute of it, each with one value, and the values
differ. The quotation on each side is the sentence that fixes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from .attributes import ATTRIBUTES, PRICES, read
from .clauses import Quotation, wider
from .documents import Document
from .expected import expected_of
from .parties import party_names
from .prices import NAMED
from .references import RECITAL, Change, changes
from .segments import flat
from .values import Value, after, dates, folded, same

_AMENDMENT = re.compile(
    r"\b(?:termo aditivo|aditivo|aditamento|amendment|addendum|retificacao|"
    r"alteracao (?:contratual|ao contrato)|rerratificacao|apostilamento)\b"
)
_TITLE = re.compile(
    r"\b(?:contrato|acordo|termos?|instrumento|aditivo|aditamento|agreement|amendment|"
    r"addendum|contract|terms|license|lease|ata|proposta|ordem)\b"
)
_NUMBER = re.compile(
    r"(?:\bn[o.°º]*\.? ?|\bnumber |# ?)([a-z]{0,5}-?\d{1,6}(?:[/.-]\d{2,4})?)\b|"
    r"(?<![/\d])(\d{1,6}/\d{2,4})(?![/\d])"
)
_SIGNED = re.compile(r"\b(?:firmado|celebrado|assinado|datado|dated|entered into|made|executed|effective)\b.{0,40}$")
_LEGAL_FORM = re.compile(
    r"\b(?:ltda|limitada|s ?a|eireli|epp|me|mei|inc|incorporated|corp|corporation|llc|ltd|"
    r"limited|co|company|plc|gmbh|slu|lp|s ?s)\b"
)
_BLANK = re.compile(
    r"\b(?:minuta|draft|versao|version|rascunho|copia|copy|v\d+|final|revisad[oa]|redline|" r"clean)\b|\d+ ?[ªaº]?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """`a` is quoted from `documents[0]`, `b` from `documents[1]`; of an agreement and its amendment the agreement
    comes first."""

    documents: tuple[str, str]
    clause: str
    a: str
    b: str
    reason: str


def contradictions(documents: Sequence[Document], quotations: Mapping[str, Sequence[Quotation]]) -> list[Contradiction]:
    """Every disagreement between related documents; `quotations` by document name."""
    opened = [_Opening.of(document) for document in documents]
    found: list[Contradiction] = []
    for one, other in combinations(opened, 2):
        if one.document.digest != other.document.digest and related(one, other):
            if one.amends and not other.amends:
                one, other = other, one
            pointed = _pointed(one, other, quotations)
            for clause in ATTRIBUTES:
                found += _on(clause, one.document, other.document, quotations, pointed)
    return found


def missing(document: Document, quotations: Sequence[Quotation]) -> list[str]:
    """Clauses one would expect in a whole agreement and that nothing was quoted for; an amendment need not repeat
    any."""
    if _Opening.of(document).amends:
        return []
    quoted = {q.clause for q in quotations}
    expected = expected_of(flat(title_of(document)), flat(document.text))
    return [clause for clause in expected if clause not in quoted]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """What a document says of itself before its first clause."""

    document: Document
    title: str
    parties: frozenset[str]
    numbers: frozenset[str]
    cited: frozenset[str]
    signed: frozenset[str]
    amends: bool

    @staticmethod
    def of(document: Document) -> "_Opening":
        head = document.text[:2500]
        title = title_of(document)
        plain = flat(title)
        cited = {v.canonical for v in dates(head) if _SIGNED.search(flat(head[max(0, v.start - 60) : v.start]))}
        return _Opening(
            document=document,
            title=" ".join(_BLANK.sub(" ", _NUMBER.sub(" ", plain)).split()),
            parties=frozenset(_bare(name) for name in party_names(document)),
            numbers=frozenset(n for m in _NUMBER.finditer(plain) if "/" in (n := m[1] or m[2]) or len(n) > 2),
            cited=frozenset(cited),
            signed=frozenset(v.canonical for v in [*dates(head), *dates(document.text[-1500:])]),
            amends=bool(_AMENDMENT.search(plain)),
        )


def related(one: _Opening, other: _Opening) -> bool:
    """Whether two documents are about the same agreement."""
    if one.numbers and other.numbers and not one.numbers & other.numbers:
        return False
    shared = one.parties & other.parties
    same_parties = len(shared) >= 2 and len(shared) >= min(len(one.parties), len(other.parties)) - 1
    if one.amends != other.amends:
        amendment, agreement = (one, other) if one.amends else (other, one)
        about = _covers(agreement.title, amendment.title)
        if amendment.numbers & agreement.numbers:
            return bool(shared) or (about and len(amendment.parties) < 2)
        if amendment.cited and agreement.signed and not amendment.cited & agreement.signed:
            return False
        dated = bool(amendment.cited & agreement.signed)
        return (same_parties and (dated or about)) or (bool(shared) and dated and about)
    if one.amends:
        return False
    return same_parties and _alike(one.title, other.title)


def title_of(document: Document) -> str:
    """The first lines that name the kind of document."""
    lines = [line.strip(" #*_\t\ufeff") for line in document.text[:3000].splitlines()]
    for position, line in enumerate(lines):
        if _TITLE.search(flat(line)) and len(line) < 400:
            below = lines[position + 1] if position + 1 < len(lines) else ""
            return f"{line} {below}".strip() if below and below.isupper() and line.isupper() else line
    return next((line for line in lines if line), document.name)[:200]


def _bare(name: str) -> str:
    """A party's name without its legal form, accents and punctuation."""
    plain = re.sub(r"[^\w ]", " ", flat(name).replace("/", " ").replace(".", ""))
    return " ".join(_LEGAL_FORM.sub(" ", plain).split()) or plain


def _words(title: str) -> set[str]:
    return {
        w
        for w in re.findall(r"[a-z]{3,}", title)
        if w
        not in {
            "contrato",
            "agreement",
            "instrumento",
            "termo",
            "primeiro",
            "segundo",
            "first",
            "second",
            "aditivo",
            "amendment",
            "the",
            "and",
            "para",
            "com",
            "dos",
            "das",
            "particular",
        }
    }


def _covers(agreement: str, amendment: str) -> bool:
    words = _words(agreement)
    return not words or len(words & _words(amendment)) >= 0.6 * len(words)


def _alike(one: str, other: str) -> bool:
    a, b = _words(one), _words(other)
    return bool(a | b) and len(a & b) >= 0.8 * len(a | b)


def _pointed(one: _Opening, other: _Opening, quotations: Mapping[str, Sequence[Quotation]]) -> Sequence[Change]:
    """What an amendment changes by citing where the agreement fixes it."""
    if not other.amends:
        return ()
    evidence = {clause: [*_evidence(clause, one.document, quotations)] for clause in ATTRIBUTES}
    return [*changes(one.document, other.document, evidence)]


def _on(
    clause: str,
    one: Document,
    other: Document,
    quotations: Mapping[str, Sequence[Quotation]],
    pointed: Sequence[Change],
) -> list[Contradiction]:
    """The attributes of one clause on which two documents differ; those fixed by the same two sentences are told
    together."""
    here, there = _fixed(clause, one, quotations), _fixed(clause, other, quotations)
    _same_price(here, there)
    _same_end(here, there)
    if clause == "term":
        _prolonged(here, there)
    _same_venue(here, there)
    elsewhere = {change.b for change in pointed} - {change.b for change in pointed if change.clause == clause}
    differing = [
        Change(clause=clause, name=name, old=value, a=a, new=there[name][0], b=there[name][1])
        for name, (value, a) in here.items()
        if name in there and there[name][1] not in elsewhere
    ]
    cited = [change for change in pointed if change.clause == clause]
    meant: dict[tuple[str, str], str] = {}
    for change in (*cited, *differing):
        place = _place(change)
        meant[place] = max(meant.get(place, change.a), change.a, key=lambda a, b=change.b: _likeness(a, b))
    differing = [change for change in differing if change.a == meant[_place(change)]]
    known = {change.name for change in differing}
    told: dict[tuple[str, str], dict[str, None]] = {}
    for change in (*differing, *(c for c in cited if c.name not in known and c.a == meant[_place(c)])):
        if not same(change.old, change.new):
            reason = f"{change.name}: {_shown(change.old)} / {_shown(change.new)}"
            told.setdefault((change.a, change.b), {})[reason] = None
    return [
        Contradiction(documents=(one.name, other.name), clause=clause, a=a, b=b, reason="; ".join(reasons))
        for (a, b), reasons in told.items()
    ]


def _same_price(here: dict[str, tuple[Value, str]], there: dict[str, tuple[Value, str]]) -> None:
    """Gives one name to the only price on either side: an amendment seldom repeats that it is paid by the month."""
    one, other = [name for name in here if name in PRICES], [name for name in there if name in PRICES]
    if len(one) == len(other) == 1 and one != other and "price" in one + other:
        here["price"], there["price"] = here.pop(one[0]), there.pop(other[0])


def _same_venue(here: dict[str, tuple[Value, str]], there: dict[str, tuple[Value, str]]) -> None:
    """Courts on one side only and arbitration on the other: both say where disputes are heard."""
    venue, seat = "venue", "seat of arbitration"
    for one, other in ((here, there), (there, here)):
        if venue in one and seat in other and venue not in other and seat not in one:
            one["disputes"], other["disputes"] = one.pop(venue), other.pop(seat)


def _same_end(here: dict[str, tuple[Value, str]], there: dict[str, tuple[Value, str]]) -> None:
    """Works out the last day where only one side names it and the other gives start and length."""
    for one, other in ((here, there), (there, here)):
        if "end" in other and "end" not in one and "length" not in other and {"start", "length"} <= one.keys():
            end = after(one["start"][0], one["length"][0])
            if end:
                one["end"] = end, one["length"][1]


def _place(change: Change) -> tuple[str, str]:
    """What a change puts something else in place of: one value, or a whole level of service, which is how much, how
    fast and how often in one sentence."""
    return change.b, "" if change.clause == "service_levels" else change.new.canonical


def _likeness(one: str, other: str) -> float:
    """The share of words that two sentences have in common: one new value takes the place of one old value, and of
    several sentences that might have fixed that, it is the one that reads like the new one."""
    a, b = (set(re.findall(r"[^\W\d_]{4,}", folded(text))) for text in (one, other))
    return len(a & b) / (len(a | b) or 1)


def _prolonged(here: dict[str, tuple[Value, str]], there: dict[str, tuple[Value, str]]) -> None:
    """An agreement that "is extended by another twelve months" lasts longer than it says itself."""
    more, _ = there.get("extension", (None, ""))
    if more and "length" in here and not there.keys() & {"length", "end"} and "extension" not in here:
        old, new = (value.canonical.partition(" ") for value in (here["length"][0], more))
        if old[2] == new[2] and old[0].isdigit() and new[0].isdigit():
            length = f"{int(old[0]) + int(new[0])} {old[2]}"
            shown = f"{here['length'][0].shown} + {more.shown}"
            there["length"] = replace(more, canonical=length, shown=shown), there["extension"][1]


def _shown(value: Value) -> str:
    return " ".join(value.shown.split())


def _fixed(
    clause: str, document: Document, quotations: Mapping[str, Sequence[Quotation]]
) -> dict[str, tuple[Value, str]]:
    """Attributes of a clause with the sentence that fixes each; what was quoted comes before what was found on a
    wider search."""
    fixed: dict[str, tuple[Value, str]] = {}
    doubtful: set[str] = set()
    for quotation in _evidence(clause, document, quotations):
        if RECITAL.match(folded(quotation.text)):
            continue
        for name, value in read(clause, quotation.text).items():
            first, _ = fixed.setdefault(name, (value, quotation.text))
            if name.startswith(NAMED) and not same(first, value):
                doubtful.add(name)
    return {name: fact for name, fact in fixed.items() if name not in doubtful}


def _evidence(clause: str, document: Document, quotations: Mapping[str, Sequence[Quotation]]) -> Iterator[Quotation]:
    yield from (q for q in quotations.get(document.name, ()) if q.clause == clause)
    yield from wider(clause, document, 0.5 if _Opening.of(document).amends else 1.0)
