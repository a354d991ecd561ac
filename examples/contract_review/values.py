"""Typed values as agreements write them: money, percentages, durations, dates, days of the month, places.

A value has a *kind* and a *canonical* form; two of a kind are the same when their canonical forms are equal, however
each was written: "R$ 14.850,00 (quatorze mil...)" is BRL 14850.00, "two (2) years" and "24 meses" are both 24 months.
`shown` keeps the characters of the document.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

Kind = Literal["money", "percent", "duration", "date", "day", "place", "months of fees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """`start` and `end` are offsets in the text that was read."""

    kind: Kind
    canonical: str
    shown: str
    start: int
    end: int


def folded(text: str) -> str:
    """Lower case without accents, character for character: offsets stay true."""
    return "".join(_fold(c) for c in text)


def _fold(character: str) -> str:
    if character.isspace():
        return " "
    plain = unicodedata.normalize("NFKD", character)[0].lower()
    return plain if len(plain) == 1 else character


_CURRENCIES = {
    "r$": "BRL",
    "reais": "BRL",
    "us$": "USD",
    "$": "USD",
    "usd": "USD",
    "dollars": "USD",
    "€": "EUR",
    "eur": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "gbp": "GBP",
}
_MONEY = re.compile(
    r"(?P<currency>r\$|us\$|\$|€|£|\busd|\beur|\bgbp) ?(?P<amount>\d[\d.,]*\d|"
    r"\d)(?P<scale> ?(?:mil\b|milh(?:ao|oes)|million|thousand|billion))?"
)
_SCALES = {"mil": 1000, "thousand": 1000, "milhao": 10**6, "milhoes": 10**6, "million": 10**6, "billion": 10**9}
_PERCENT = re.compile(r"\b(\d+(?:[.,]\d+)?) ?(?:\([^)]{3,60}\) ?)?(?:%|per ?cent\b|por cento\b)")
_ONES = [
    *("um|uma|one", "dois|duas|two", "tres|three", "quatro|four", "cinco|five"),
    *("seis|six", "sete|seven", "oito|eight", "nove|nine", "dez|ten"),
    *("onze|eleven", "doze|twelve", "treze|thirteen", "quatorze|catorze|fourteen", "quinze|fifteen"),
    *("dezesseis|sixteen", "dezessete|seventeen", "dezoito|eighteen", "dezenove|nineteen", "vinte|twenty"),
]
_TENS = [
    "trinta|thirty",
    "quarenta|forty",
    "cinquenta|fifty",
    "sessenta|sixty",
    "setenta|seventy",
    "oitenta|eighty",
    "noventa|ninety",
]


def _spelled() -> dict[str, int]:
    """Numbers in words, up to ninety-nine, and the hundreds that deadlines are made of."""
    ones = {word: n for n, words in enumerate(_ONES, 1) for word in words.split("|")}
    tens = {
        word: n for n, words in zip(range(20, 100, 10), [_ONES[-1], *_TENS], strict=True) for word in words.split("|")
    }
    both = {
        f"{ten}{joint}{one}": tens[ten] + ones[one]
        for ten in tens
        for joint in (" e ", "-")
        for one in ones
        if ones[one] < 10
    }
    return ones | tens | both | {"cento e vinte": 120, "cento e cinquenta": 150, "cento e oitenta": 180}


_SPELLED = _spelled()
_UNITS = {
    "ano": ("months", 12),
    "year": ("months", 12),
    "mes": ("months", 1),
    "month": ("months", 1),
    "dia": ("days", 1),
    "day": ("days", 1),
    "hora": ("hours", 1),
    "hour": ("hours", 1),
    "minuto": ("minutes", 1),
    "minute": ("minutes", 1),
    "semana": ("days", 7),
    "week": ("days", 7),
}
_DURATION = re.compile(
    rf"\b(?P<n>\d{{1,3}}|{'|'.join(sorted(_SPELLED, key=len, reverse=True))})(?:[ -]*\((?P<p>[^)]{{1,40}})\))?[ -]*"
    r"(?:(?:calendar|business|full|consecutive|uteis|corridos|consecutivos) )?(?P<unit>anos?|"
    r"mes(?:es)?|dias?|horas?|minutos?|semanas?|years?|months?|days?|hours?|minutes?|weeks?)\b"
)
_MONTHS = {
    m: i
    for i, names in enumerate(
        [
            "janeiro january",
            "fevereiro february",
            "marco march",
            "abril april",
            "maio may",
            "junho june",
            "julho july",
            "agosto august",
            "setembro september",
            "outubro october",
            "novembro november",
            "dezembro december",
        ],
        1,
    )
    for m in names.split()
}
_DATE = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:o|a|st|nd|rd|th)?\.? (?:de |"
    rf"day of )?(?P<m>{'|'.join(_MONTHS)}),? (?:de )?(?P<y>\d{{4}})\b|"
    rf"\b(?P<m2>{'|'.join(_MONTHS)}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b|"
    rf"\b(?P<d3>\d{{1,2}})o?/(?P<m3>\d{{1,2}})/(?P<y3>\d{{4}})\b"
)
_DAY = re.compile(
    r"\b(?:no |ate o |todo )?dia (\d{1,2})\b|\b(?:the )?(\d{1,2})(?:st|nd|rd|" r"th) day of (?:each|every|the) "
)
_NAME = r"[A-ZÀ-Ý][\w'’-]+(?:\s+(?:(?:de|da|do|das|dos|of|the)\s+)?[A-ZÀ-Ý][\w'’-]+){0,5}"
_PLACE = re.compile(
    r"(?:(?i:\bcomarca|\bforo(?:\s+central)?|\bf[óo]rum|\bcidade|\bju[íi]zos?|\bju[íi]zes|\bju[íi]z\s+de\s+direito|"
    r"\bjuiz|\bjusti[çc]a|\btribuna(?:l|is)(?:\s+de\s+justi[çc]a)?|\bvaras?|\bjudici[áa]rio|"
    r"\bsede)(?:\s+(?i:c[íi]vel|c[íi]veis|estadual|estaduais|comum|federal|competentes?)){0,2}\s+"
    r"(?:(?i:central\s+)?(?:da|do|de|"
    rf"em)\s+)(?:(?i:comarca|cidade|munic[íi]pio)\s+(?:da|do|de)\s+)?(?P<pt>{_NAME}))"
    rf"|(?:\b(?i:propost[oa]s?|ajuizad[oa]s?|tramitar[ãa]o|julgad[oa]s?|corre(?:m|r[ãa]o)?)\s+(?i:em|no|"
    rf"na)\s+(?P<at>{_NAME}))"
    rf"|(?:(?i:\bcourts?)\b[^.;]{{0,60}}?\b(?i:of|in|located\s+in)\s+(?:the\s+)?(?P<en>{_NAME}))"
)
_SEAT = re.compile(
    rf"(?i:\b(?:sede|lugar|local)\b[^.;]{{0,40}}?\b(?:em|na|no|de|do|da|ser[áa]|[ée])\s+(?:a\s+|"
    rf"o\s+)?(?:cidade\s+d[eoa]\s+)?)"
    rf"(?P<pt>(?!Arbitra){_NAME})|(?i:\b(?:seat|place|legal\s+place|seated|held|venue)\b[^.;]{{0,40}}?\b(?:in|be|is|"
    rf"being|at)"
    rf"\s+(?:the\s+)?(?:city\s+of\s+)?)(?P<en>(?!Arbitra){_NAME})"
)
_LAW = re.compile(
    r"(?i:\blaws?\s+of\s+(?:the\s+)?)(?:(?i:state|commonwealth|province|republic|"
    rf"people's\s+republic)\s+of\s+)?(?P<en>{_NAME})|\b(?P<adj>[A-Z][a-z]+)\s+law\b|"
    r"(?i:\b(?:leis?|direito|legislação)\s+)(?:(?i:da\s+rep[úu]blica\s+federativa\s+d[oe]|"
    rf"d[aoe])\s+)?(?P<pt>{_NAME}|(?i:brasileir[ao]s?|portugu[êe]sa?))"
)


def money(text: str) -> list[Value]:
    """Amounts with their currency."""
    found: list[Value] = []
    for m in _MONEY.finditer(folded(text)):
        amount = _decimal(m["amount"]) * _SCALES.get((m["scale"] or "").strip(), 1)
        found.append(_value("money", f"{_CURRENCIES[m['currency']]} {amount:.2f}", text, m))
    return found


def percents(text: str) -> list[Value]:
    """Percentages."""
    return [
        _value("percent", f"{Decimal(m[1].replace(',', '.')).normalize():f}%", text, m)
        for m in _PERCENT.finditer(folded(text))
    ]


def durations(text: str) -> list[Value]:
    """Lengths of time: years become months, weeks become days."""
    found: list[Value] = []
    for m in _DURATION.finditer(folded(text)):
        number = int(m["n"]) if m["n"].isdigit() else int(m["p"]) if (m["p"] or "").isdigit() else _SPELLED[m["n"]]
        unit, factor = _UNITS[
            m["unit"] if m["unit"] in _UNITS else "mes" if m["unit"].startswith("mes") else m["unit"].rstrip("s")
        ]
        found.append(_value("duration", f"{number * factor} {unit}", text, m))
    return found


def same(one: Value, other: Value) -> bool:
    """Whether two values say the same: a month is thirty days, a day is 24 hours, and a date may be off by a day."""
    if one.canonical == other.canonical:
        return True
    if one.kind == other.kind == "date":
        return abs((date.fromisoformat(one.canonical) - date.fromisoformat(other.canonical)).days) <= 1
    return _in_minutes(one) is not None and _in_minutes(one) == _in_minutes(other)


def _in_minutes(value: Value) -> int | None:
    number, _, unit = value.canonical.partition(" ")
    if value.kind != "duration" or not number.isdigit():
        return None
    return int(number) * {"months": 43_200, "days": 1_440, "hours": 60, "minutes": 1}[unit]


def after(start: Value, length: Value) -> Value | None:
    """The last day of a stretch of so many months, told in the words of its length."""
    number, _, unit = length.canonical.partition(" ")
    if unit != "months":
        return None
    begin = date.fromisoformat(start.canonical)
    months = begin.month - 1 + int(number)
    first = begin.replace(year=begin.year + months // 12, month=months % 12 + 1, day=1)
    last = first + timedelta(days=begin.day - 2)
    return replace(length, kind="date", canonical=last.isoformat())


def dates(text: str) -> list[Value]:
    """Full dates; a date that does not exist is none."""
    return list(_dates(text))


def _dates(text: str) -> Iterator[Value]:
    for m in _DATE.finditer(folded(text)):
        day = int(m["d"] or m["d2"] or m["d3"])
        month = _MONTHS[m["m"] or m["m2"]] if (m["m"] or m["m2"]) else int(m["m3"])
        year = int(m["y"] or m["y2"] or m["y3"])
        if 1900 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            yield _value("date", f"{year:04d}-{month:02d}-{day:02d}", text, m)


def days_of_month(text: str) -> list[Value]:
    """ "dia 10", "the 5th day of each month"."""
    return [
        _value("day", m[1] or m[2], text, m)
        for m in _DAY.finditer(folded(text))
        if not re.match(r" de [a-z]+ de \d{4}", folded(text)[m.end() :])
    ]


def venues(text: str) -> list[Value]:
    """The towns or states whose courts are named."""
    return [_named(text, m, m["pt"] or m["at"] or m["en"]) for m in _PLACE.finditer(text)]


def seats(text: str) -> list[Value]:
    """Where an arbitration has its seat."""
    return [_named(text, m, m["pt"] or m["en"]) for m in _SEAT.finditer(text)]


def laws(text: str) -> list[Value]:
    """Whose law governs."""
    found = [_named(text, m, m["pt"] or m["en"] or m["adj"]) for m in _LAW.finditer(text)]
    return [
        value
        for value in found
        if value.canonical not in {"applicable", "the", "this", "such", "copyright", "local", "federal", "any"}
    ]


def _named(text: str, m: re.Match[str], name: str) -> Value:
    start = m.start() + m[0].index(name)
    plain = " ".join(folded(name).split())
    plain = re.sub(r"^brasileir[ao]s?$|^brazilian$|^brazil$", "brasil", plain)
    return Value(
        kind="place", canonical=plain, shown=text[start : start + len(name)], start=start, end=start + len(name)
    )


def _value(kind: Kind, canonical: str, text: str, m: re.Match[str]) -> Value:
    return Value(kind=kind, canonical=canonical, shown=text[m.start() : m.end()].strip(), start=m.start(), end=m.end())


def _decimal(written: str) -> Decimal:
    """ "14.850,00", "14,850.00", "14.850" and "0,9": the last separator is decimal unless three digits follow it."""
    written = written.rstrip(".,")
    whole, separator, cents = re.sub(r"[.,]", "\0", written).rpartition("\0")
    if separator and len(cents) != 3:
        return Decimal(f"{whole.replace(chr(0), '')}.{cents}")
    return Decimal(re.sub(r"[.,]", "", written))
