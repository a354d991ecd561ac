"""What an amendment changes by pointing at it: "the percentage of item 2.1 becomes 99.80%", 'replace "98.5%" with
"96.0%"'.

Such a sentence need not say which clause it is about: the agreement does. The item it cites is looked up there, and
what that item fixes, with one value of the same kind, is what changes; where the amendment also repeats the old value,
it must be that one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .attributes import ATTRIBUTES, read
from .clauses import Quotation
from .documents import Document
from .prices import NAMED
from .segments import paragraphs, sentences
from .values import Value, dates, days_of_month, durations, folded, money, percents, venues

_TENTHS = ("", "decima ", "vigesima ", "trigesima ")
_FIRSTS = ("primeira", "segunda", "terceira", "quarta", "quinta", "sexta", "setima", "oitava", "nona")
_ORDINALS = {f"{ten}{one}": 10 * n + m for n, ten in enumerate(_TENTHS) for m, one in enumerate(_FIRSTS, 1)} | {
    ten.strip(): 10 * n for n, ten in enumerate(_TENTHS) if ten
}
_NUMBER = rf"(?:[a-z]\.)?\d{{1,3}}(?:\.\d{{1,3}})*|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))}"
_CITES = re.compile(
    r"\b(?:(?:sub)?ite(?:m|ns)|(?:sub)?clausulas?|artigos?|art\.|secao|sections?|(?:sub-?)?clauses?|"
    rf"articles?) (?:n\S{{0,2}} )?(?P<n>{_NUMBER})(?![\d/])"
)
_LABEL = re.compile(
    r"[\s#*_|>]*(?:(?:clausula|section|article|artigo|art\.?|item|clause)\s+)?"
    rf"(?P<n>{_NUMBER})\s*[ªºa°o]?\b\s*(?:[.)–—:-]|\s|$)"
)
_CHANGES = re.compile(
    r"\b(?:passa\w* a|passa\w* (?:de|para)|muda\w*|alterad[oa]s?|altera-se|substitu\w+|sera|serao|fica\w*|sobe\w*|"
    r"baixa\w*|reduzid[oa]s?|elevad[oa]s?|aumentad[oa]s?|leia-se|em vez de|amend\w*|replac\w+|chang\w+|increas\w+|"
    r"reduc\w+|becomes?|is now|shall (?:now )?be|revis\w+|raised|lowered|moved|set (?:at|to)|instead of|substituted?|"
    r"extended)\b"
)
_NEW = re.compile(
    r"\b(?:para|to|with|por|until|becomes?|sera(?: de)?|passa\w* a(?: ser)?(?: de)?|leia-se|is now|shall (?:now )?be|"
    r"em lugar|o dia|dia)\b[\s:,\"“'o]*$"
)
_REPLACES = re.compile(
    r"\b(?:replac\w+|substitu\w+|deleted|onde se le|leia-se|em vez de|instead of|in lieu of|de .{1,50} para|"
    r"from .{1,50} to)\b"
)
_GOES = re.compile(
    r"[\"”']? (?:\([^)]{1,40}\) )?(?:(?:is|are|e|sao|fica|ficam) )?(?:hereby )?(?:deleted|removed|replaced|substituid|"
    r"suprimid|excluid|revogad|trocad)"
)
RECITAL = re.compile(r"\W*(?:considerando|whereas|tendo em vista|dado que|visto que|recital)\b")
"""How a sentence begins that tells why, and fixes nothing."""

_KINDS: dict[str, Callable[[str], list[Value]]] = {
    "money": money,
    "percent": percents,
    "duration": durations,
    "date": dates,
    "day": days_of_month,
    "place": venues,
}


_CALLED = {
    "end": "end|ends|expiry|expires|fim|termino|termo final|encerramento|encerra|termina",
    "start": "start|starts|begins|commencement|inicio|comeco|comeca|inicia",
    "notice": "notice|aviso|antecedencia",
    "length": "term|length|duration|prazo|vigencia|duracao",
    "day of payment": "due|payment|vencimento|pagamento|debito",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`name` is the attribute that changes from `old`, fixed by the agreement's sentence `a`, to `new` in `b`."""

    clause: str
    name: str
    old: Value
    a: str
    new: Value
    b: str


def changes(agreement: Document, amendment: Document, evidence: Mapping[str, Sequence[Quotation]]) -> Iterator[Change]:
    """`evidence` is what may have been fixed in the agreement, by clause."""
    items = _numbered(agreement.text)
    for sentence in sentences(amendment.text):
        text = amendment.text[sentence.start : sentence.end]
        plain = folded(text)
        if len(text) > 1_200 or not _CHANGES.search(plain) or RECITAL.match(plain):
            continue
        cited = {_number(m["n"]) for m in _CITES.finditer(plain)}
        for kind, values in _KINDS.items():
            old, new = _old_and_new(plain, values(text))
            if new is not None and (cited or (old is not None and _REPLACES.search(plain))):
                yield from _of_kind(kind, old, new, text, cited, items, evidence)


def _of_kind(
    kind: str,
    old: Value | None,
    new: Value,
    text: str,
    cited: set[str],
    items: Mapping[int, frozenset[str]],
    evidence: Mapping[str, Sequence[Quotation]],
) -> Iterator[Change]:
    """The only attribute of that kind among the cited items, or, when the old value is repeated, that has it."""
    found: list[Change] = []
    bare: list[Change] = []
    for clause in ATTRIBUTES:
        for quotation in evidence.get(clause, ()):
            if cited and not cited & items.get(quotation.start, frozenset()):
                continue
            found += [
                Change(clause=clause, name=name, old=value, a=quotation.text, new=new, b=text)
                for name, value in read(clause, quotation.text).items()
                if value.kind == kind and (old is None or value.canonical == old.canonical)
            ]
            only = _KINDS[kind](quotation.text)
            if (
                cited
                and len({value.canonical for value in only}) == 1
                and (old is None or old.canonical == only[0].canonical)
            ):
                bare.append(Change(clause=clause, name=kind, old=only[0], a=quotation.text, new=new, b=text))
    said = folded(text)
    named = [
        change
        for change in found
        if re.search(
            rf"\b"
            rf"(?:{_CALLED.get(change.name, change.name.removeprefix(NAMED[1]))})\b",
            said,
        )
    ]
    for candidates in (found, named, bare):
        if len({(change.clause, change.old.canonical) for change in candidates}) == 1:
            yield candidates[0]
            return
        if found and candidates is named:
            return


def _old_and_new(plain: str, values: Sequence[Value]) -> tuple[Value | None, Value | None]:
    """Of "from 60 to 90 days" both; of one value alone only the new one; of any others neither."""
    distinct = {value.canonical for value in values}
    if len(distinct) == 1:
        return None, values[-1]
    if len(distinct) == 2:
        new = [v for v in values if _NEW.search(plain[max(0, v.start - 30) : v.start])]
        gone = {v.canonical for v in values if _GOES.match(plain[v.end : v.end + 70])}
        if len(gone) == 1:
            new = [v for v in values if v.canonical not in gone]
        if len({v.canonical for v in new}) == 1:
            return next(v for v in values if v.canonical != new[0].canonical), new[0]
    return None, None


@lru_cache(maxsize=64)
def _numbered(text: str) -> Mapping[int, frozenset[str]]:
    """The numbers that each sentence stands under, by where it begins: its own, its paragraph's, its headings'."""
    openings = [(start, _label(text[start : start + 60])) for start, _ in paragraphs(text)]
    numbers: dict[int, frozenset[str]] = {}
    position, own = 0, ""
    for sentence in sentences(text):
        while position < len(openings) and openings[position][0] <= sentence.start:
            own = openings[position][1]
            position += 1
        line = text.rfind("\n", 0, sentence.start) + 1
        above = [_label(part) for part in sentence.heading.split(" / ")]
        numbers[sentence.start] = frozenset(n for n in (own, _label(text[line : sentence.end]), *above) if n)
    return numbers


def _label(text: str) -> str:
    match = _LABEL.match(folded(text))
    return _number(match["n"]) if match else ""


def _number(written: str) -> str:
    return str(_ORDINALS.get(written, written))
