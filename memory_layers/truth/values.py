"""Values: what a text tells of a thing in a form that can be compared, in Portuguese and in English.

A value has a sort, which says what it may be compared with (times with times, sums with sums, kilograms with
kilograms), and a canonical form, which is the same however it is written: `14:00`, `2 pm` and `14h` are one time, and
`12 000` is one number. Where two readings overlap the earlier in the table wins. Words are not values, but for names:
what is written with a capital inside a sentence, or in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..context.terms import STOP_WORDS
from ..execution.memories import folded
from .words import MONTHS, NUMBERS, SPANS, WEEKDAYS, stem

_NUMBER = r"(?<![\d.,])(?:\d{1,3}(?:[ .,\u00a0\u202f]\d{3}(?!\d)){1,4}(?:[.,]\d{1,2}(?!\d))?|\d{1,15}(?:[.,]\d{1,9})?)"
_COUNT = rf"(?:{_NUMBER}|\b(?:{'|'.join(NUMBERS)})\b)"
_SCALE = r"(?:\s?(?:mil|k|thousand|mi|milhao|milhoes|million|bi|bilhao|bilhoes|billion)\b)?"
_SCALES = {"mil": 1e3, "k": 1e3, "thousand": 1e3, "mi": 1e6, "bi": 1e9}
_CURRENCY = r"(?:reais|real|brl|euros?|eur|dolares|dolar|dollars?|usd|bucks|pounds?|gbp|libras?)"
_SIGNS = {"r$": "brl", "us$": "usd", "$": "usd", "€": "eur", "£": "gbp"}
_WORDS = {"rea": "brl", "brl": "brl", "eur": "eur", "dol": "usd", "usd": "usd", "buc": "usd"}
_UNITS = {
    "mg": ("kg", 1e-6), "g": ("kg", 1e-3), "gram": ("kg", 1e-3), "grama": ("kg", 1e-3), "kg": ("kg", 1.0),
    "kilo": ("kg", 1.0), "quilo": ("kg", 1.0), "kilogram": ("kg", 1.0), "quilograma": ("kg", 1.0),
    "t": ("kg", 1e3), "ton": ("kg", 1e3), "tonne": ("kg", 1e3), "tonelada": ("kg", 1e3),
    "mm": ("m", 1e-3), "cm": ("m", 1e-2), "m": ("m", 1.0), "metre": ("m", 1.0), "meter": ("m", 1.0),
    "metro": ("m", 1.0), "km": ("m", 1e3), "kilometre": ("m", 1e3), "kilometer": ("m", 1e3), "quilometro": ("m", 1e3),
    "ml": ("l", 1e-3), "l": ("l", 1.0), "litre": ("l", 1.0), "liter": ("l", 1.0), "litro": ("l", 1.0),
    "kb": ("gb", 1e-6), "mb": ("gb", 1e-3), "gb": ("gb", 1.0), "tb": ("gb", 1e3),
}  # fmt: skip
"""Units that measure the same, in one of them."""
_ARTICLES = ("um", "uma", "one")
_MONTH, _WEEKDAY, _SPAN = "|".join(MONTHS), "|".join(WEEKDAYS), "|".join(SPANS)
LABEL = re.compile(r"\s*([A-ZÀ-Ý][\w'’.-]*(?: [A-ZÀ-Ý][\w'’.-]*){0,2}):\s")
"""What stands before a colon at the beginning of a text, every word with a capital: who speaks, as a rule."""
_YEARLY = "|".join(
    rf"(?<=\b{word} \d{{4}})"
    for word in ("in", "of", "by", "since", "until", "year", "is", "for", "em", "de", "ano", "desde", "ate", "e")
)
"""Before a year, looked at behind it: without one of these such a number may be anything's (`invoice 2034`)."""
LONGEST = 2_000
"""Signs of a text that are read."""
_PLACES = (
    "room sala floor andar dock doca gate portao line linha bus onibus platform plataforma port porta level nivel aisle"
    " corredor shelf prateleira box caixa lane pista zone zona ward ala desk mesa channel canal ramal extension page"
    " pagina bay baia seat assento track trilha unit unidade slot vaga apartment apartamento block bloco hall number"
    " numero stage etapa tier faixa grade class turma locker armario court quadra"
)
_PLACE = "|".join(_PLACES.split())


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text, and where it stands there: `sort` says what it compares with, `same` what it is equal to."""

    sort: str
    same: str
    begin: int
    end: int


def plain(text: str) -> str:
    """A text as it is read here: like `folded`, one sign for each, so that places in both are the same."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=10_000)
def _folded(sign: str) -> str:
    return sign if sign.isspace() else folded(sign)[:1] or " "


def bare(text: str) -> str:
    """A text with blanks in the place of what stands in square brackets, and of a stamp of day and time before it."""
    shown = _ASIDE.sub(lambda aside: " " * len(aside[0]), text[:LONGEST])
    if stamp := _STAMP.match(plain(shown)):
        shown = " " * stamp.end() + shown[stamp.end() :]
    return shown


_ASIDE = re.compile(r"\[[^\]]*\]")
_CLOCK = r"\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?|\d{1,2}\s?[ap]\.?m\b\.?"
_DAY = (
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?|\d{{1,2}}(?: de)? (?:{_MONTH}|may)(?:,? (?:de )?\d{{4}})?"
    rf"|(?:{_MONTH}|may) \d{{1,2}}(?:,? \d{{4}})?"
)
_STAMP = re.compile(rf"\s*\(?(?:{_DAY}|{_CLOCK})(?:t|,? (?:(?:on|at|as|em) )?)(?:{_DAY}|{_CLOCK})z?\)?[,:;]?\s+")


def values(text: str) -> list[Value]:
    """The values of a text, in the order in which they stand."""
    flat = plain(text)
    free = bytearray(b"\1" * len(flat))
    taken: list[Value] = []
    for pattern, read in _READERS:
        for found in pattern.finditer(flat):
            begin, end = found.span()
            if 0 in free[begin:end] or (value := read(found)) is None:
                continue
            free[begin:end] = bytes(end - begin)
            taken.append(Value(*value, begin, end))
    taken += _names(text, flat, free)
    return sorted(taken, key=lambda value: value.begin)


def holds_value(text: str) -> bool:
    """Whether a text may hold a value: a cheap look before it is read."""
    text = bare(text)
    if label := LABEL.match(text):
        text = text[label.end() :]
    return _MAYBE.search(text) is not None or _DAYS.search(plain(text)) is not None


_MAYBE = re.compile(
    r"\d|[a-z]\.[a-z]|[@%$€£\"“«]|\s'"
    r"|(?:\b(?:is|are|by|with|uses?|using|in|at|via|through|to|on|called|named|é|É|são|com|por|pel[ao]|usa|usam|usamos|em|n[ao]|d[ao]"
    r"|para|pr[ao])|[:=])(?: (?:the|our|an?|o|a|os|as|um|uma|dra?\.|sra?\.|mrs?\.))? [A-ZÀ-Ý]"
)
_DAYS = re.compile(
    rf"\b(?:(?:{_WEEKDAY}|{_MONTH})s?|noon|midnight|midday|meio-?dia|meia-?noite|(?:{'|'.join(NUMBERS)}) [a-z]+)\b"
)


def number(written: str) -> float | None:
    """A number as either language writes it, in digits or as a word."""
    written = written.strip()
    if written in NUMBERS:
        return float(NUMBERS[written])
    plain = re.sub(r"[ \u00a0\u202f](?=\d{3})", "", written)
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", plain):
        plain = re.sub(r"[.,]", "", plain)
    elif found := re.fullmatch(r"(\d{1,3}(?:[.,]\d{3})+)[.,](\d{1,2})", plain):
        plain = re.sub(r"[.,]", "", found[1]) + "." + found[2]
    else:
        plain = plain.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None


def _shown(amount: float) -> str:
    return f"{amount:g}" if abs(amount) < 1e6 else f"{amount:.2f}"


Read = tuple[str, str] | None


def _exact(sort: str) -> Callable[[re.Match[str]], Read]:
    return lambda found: (sort, found[0].rstrip(".,"))


def _money(found: re.Match[str]) -> Read:
    amount = number(found["n"] or found["m"] or "")
    if amount is None:
        return None
    scale = (found["s"] or found["t"] or "").strip()
    sign = found["sign"]
    currency = _SIGNS[sign] if sign else _WORDS.get((found["word"] or "")[:3], "gbp")
    return "money", f"{_shown(amount * _scaled(scale))} {currency}"


def _scaled(scale: str) -> float:
    return next((factor for name, factor in _SCALES.items() if scale and scale.startswith(name)), 1.0)


def _time(found: re.Match[str]) -> Read:
    hour, minute = int(found["h"] or found["g"] or found["i"] or found["k"]), int(found["m"] or found["n"] or 0)
    if (half := found["half"]) and hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return ("time", f"{hour:02}:{minute:02}") if hour < 25 and minute < 60 else None


def _date(found: re.Match[str]) -> Read:
    day = found["d"] or found["e"] or ""
    month = MONTHS[found["m"] or found["n"]]
    return "date", f"{month}-{int(day)}"


def _span(found: re.Match[str]) -> Read:
    amount = number(found["n"])
    return None if amount is None else ("span", _shown(amount * SPANS[found["u"]]))


def _percent(found: re.Match[str]) -> Read:
    amount = number(found["n"])
    return None if amount is None else ("percent", _shown(amount))


def _measure(found: re.Match[str]) -> Read:
    amount, unit = number(found["n"]), found["u"]
    if amount is None or unit in STOP_WORDS or found["n"] in _ARTICLES:
        return None
    amount *= _scaled((found["s"] or "").strip())
    if (known := _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))) is not None:
        unit, factor = known
        amount *= factor
    else:
        unit = stem(unit)
    return f"of {unit}", _shown(amount)


def _numbered(found: re.Match[str]) -> Read:
    return f"which {stem(found['p'])}", found["n"]


def _version(found: re.Match[str]) -> Read:
    return "version", found[0].removeprefix("v")


def _bare(found: re.Match[str]) -> Read:
    return "number", _shown(number(found[0]) or 0.0)


def _weekday(found: re.Match[str]) -> Read:
    return "weekday", str(next(day for name, day in WEEKDAYS.items() if found[0].startswith(name)))


def _month(found: re.Match[str]) -> Read:
    return "month", str(MONTHS[found[0]])


def _always(sort: str, same: str) -> Callable[[re.Match[str]], Read]:
    return lambda _: (sort, same)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Read]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"\bhttps?://\S+[\w/]", _exact("address")),
        (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", _exact("mail")),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", _exact("host")),
        (r"\b\d{4}-\d\d-\d\d\b", _exact("date")),
        (r"\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b", _exact("date")),
        (
            rf"(?P<sign>r\$|us\$|[$€£])\s?(?P<n>{_NUMBER})(?P<s>{_SCALE})"
            rf"|(?P<m>{_NUMBER})(?P<t>{_SCALE})\s?(?:de\s)?(?P<word>{_CURRENCY}\b|[€£])",
            _money,
        ),
        (rf"(?P<n>{_NUMBER})\s?(?:%|\bpercent\b|\bpor cento\b)", _percent),
        (
            r"\b(?P<h>\d{1,2})(?:[:.](?P<m>\d\d))?\s?(?P<half>[ap]\.?m\b\.?)|\b(?P<g>\d{1,2})[:h](?P<n>\d\d)\b(?:h\b)?"
            r"|(?<=\bas )(?P<i>\d{1,2})(?:h\b| horas\b)|(?<!\d[.,:])\b(?P<k>\d{1,2})h\b",
            _time,
        ),
        (r"\b(?:noon|midday|meio-?dia)\b", _always("time", "12:00")),
        (r"\b(?:midnight|meia-?noite)\b", _always("time", "00:00")),
        (
            rf"\b(?P<d>\d{{1,2}})[ºo]?(?:st|nd|rd|th)?\s(?:of\s|de\s)?(?P<m>{_MONTH})\b"
            rf"|\b(?P<n>{_MONTH})\s(?P<e>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)",
            _date,
        ),
        (rf"\b(?:19|20)\d\d\b(?:{_YEARLY})(?![-.,]\d)", _exact("year")),
        (rf"\b(?P<n>{_COUNT})[\s-](?:(?!(?:{_SPAN})s?\b|of |de )[a-z]{{4,}}\s)?(?P<u>{_SPAN})s?\b", _span),
        (r"\b(?P<n>\d+)\s?(?P<u>min|ms|s|d)\b", _span),
        (rf"\b(?:{_WEEKDAY})s?(?:-feiras?)?\b", _weekday),
        (rf"\b(?:{_MONTH})\b", _month),
        (rf"\b(?P<p>{_PLACE})s?\s(?:no?\.?\s|#)?(?P<n>\d+\w?)\b", _numbered),
        (r"\b(?!\d{1,3}(?:\.\d{3})+\b)v?\d+(?:\.\d+)+(?:-\w+)?\b(?!\s?(?:mil|k)\b)", _version),
        (r"\b(?=[\w.-]*\d)(?=[\w.-]*[a-z])\w+(?:[-._]\w+)+\b", _exact("code")),
        (r"\b[a-z]+\d+\w*\b", _exact("code")),
        (r"\b[a-z][\w-]*(?:\.[a-z][\w-]*)+\b(?:/\S*)?", _exact("host")),
        (rf"\b(?P<n>{_COUNT})(?P<s>{_SCALE})\s(?P<u>[a-z]{{2,}})", _measure),
        (rf"\b(?P<n>{_COUNT})\s?(?P<s>)(?P<u>[kmcg]?[gmlb]|[kmgt]b)\b", _measure),
        (rf"(?<![\w.,-]){_NUMBER}(?![\w-])", _bare),
    )
)


_NAME = re.compile(r"[A-ZÀ-Ý][\w'&+-]*(?:(?: (?:de|da|do|dos|das|of|van|von|&) (?=[A-ZÀ-Ý]))? ?[A-ZÀ-Ý0-9][\w'&+-]*)*")
_QUOTED = re.compile(r"[\"“«]([^\"”»]{1,60})[\"”»]|(?<!\w)'([^']{1,60})'(?!\w)")
_CALLED_WITH = """
hey hi hello hiya oh wow yeah yes yep no nope thanks thank congrats congratulations well sure great awesome cool nice
absolutely totally definitely exactly agreed right sorry dear good welcome happy love aw aww haha hmm ok okay
oi ola opa nossa poxa valeu obrigado obrigada bom boa parabens sim nao claro desculpa querido querida legal otimo
"""
_CALLS = frozenset(_CALLED_WITH.split())
"""What a name is called with at the beginning of a sentence."""
_TITLES = frozenset({"i", "i'm", "i've", "i'll", "i'd", "eu", "dr", "dra", "sr", "sra", "mr", "mrs", "ms"})


def _names(text: str, flat: str, free: bytearray) -> Iterator[Value]:
    for sort, pattern in (("quote", _QUOTED), ("name", _NAME)):
        for found in pattern.finditer(text):
            begin, end = found.span()
            if 0 in free[begin:end]:
                continue
            if sort == "name" and _opens(text, begin, "") and (opening := re.match(r"(\w+) ", flat[begin:end])):
                begin += opening.end() if opening[1] in STOP_WORDS or opening[1] in _CALLS else 0
            same = flat[begin:end].strip("\"“”«»' ").removesuffix("'s")
            if sort == "name" and (_opens(text, begin, text[begin:end]) or same in _TITLES):
                continue
            free[begin:end] = bytes(end - begin)
            yield Value(sort, same, begin, end)


def _opens(text: str, begin: int, name: str) -> bool:
    """Whether it stands where every word has a capital; what goes on with another, or is in capitals, may be a name."""
    before = text[max(0, begin - 40) : begin].rstrip(" \"“«'([-")
    first = not before or before[-1] in ".!?:\n…"
    return first and " " not in name and not (len(name) > 1 and name[:2].isupper())
