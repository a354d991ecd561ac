"""The dates that a text names, in Portuguese and English, so that a date which somebody says it names can be checked.

A date is told by itself (``2026-03-14``, ``14/03/2026``, ``14 de março``, ``March 14th, 2026``, ``em maio de 2025``,
``2024``) or from the day on which the text was said (``ontem``, ``two weeks ago``, ``daqui a 3 dias``, ``last month``,
``na sexta``). Each is a span of days. What may be read in two ways gives both: this is for checking a claim, and never
for making one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from ..memory_layers.calendar_words import DAYS, MONTHS, NUMBERS, UNITS, either
from ..memory_layers.execution.memories import folded

Span = tuple[date, date]
"""The first and the last day."""

_MONTH, _DAY, _UNIT = either(MONTHS), either(DAYS), either(UNITS)
_COUNT = rf"\d{{1,3}}|{either(NUMBERS)}"
_NEAR = {
    "anteontem": -2,
    "day before yesterday": -2,
    "ontem": -1,
    "yesterday": -1,
    "hoje": 0,
    "today": 0,
    "tonight": 0,
    "agora": 0,
    "now": 0,
    "amanha": 1,
    "tomorrow": 1,
    "depois de amanha": 2,
    "day after tomorrow": 2,
}
_NEXT = (
    (-1, r"(?:last|past) (?P<unit>{unit})|(?P<unidade>{unit}) passad[oa]|ultim[oa] (?P<outra>{unit})"),
    (0, r"this (?P<unit>{unit})|(?:est|dest|nest)[ea] (?P<unidade>{unit})"),
    (1, r"next (?P<unit>{unit})|proxim[oa] (?P<unidade>{unit})|(?P<outra>{unit}) que vem"),
)
_AGO = re.compile(
    rf"\bha (?P<ha>{_COUNT}) (?P<unidade>{_UNIT})\b|\b(?P<n>{_COUNT}) (?P<unit>{_UNIT}) (?:ago|atras|earlier|antes)\b"
)
_AHEAD = re.compile(
    rf"\b(?:daqui a|em|in) (?P<n>{_COUNT}) (?P<unit>{_UNIT})\b|\b(?P<ha>{_COUNT}) (?P<unidade>{_UNIT}) from now\b"
)

_PATTERNS = (
    r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?(?!\d)",
    r"(?<![\d/.-])(?P<either>(?P<day>\d{1,2})[/.-](?P<month>\d{1,2}))[/.-](?P<year>\d{4}|\d{2})(?![\d/-])",
    r"(?<![\d/.-])(?P<either>(?P<day>\d{1,2})/(?P<month>\d{1,2}))(?![\d/.-]\d)",
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|o)? (?:de |of )?(?P<month>{_MONTH})\b(?:,? (?:de )?(?P<year>\d{{4}})\b)?",
    rf"\b(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}})\b)?",
    rf"\b(?P<month>{_MONTH})\b,? (?:de |of )?(?P<year>\d{{4}})\b",
    # Alone, some are other words as well: may, out, set, Marco.
    rf"\b(?:em|in|de|desde|since|until|ate|by|during|durante|from|of|this|last|next) (?P<month>{_MONTH})\b",
    r"(?<![\d/.,-])(?P<year>(?:19|20)\d{2})(?![\d/-])",
)
"""From what says most to what says least; what one has read, the next does not see."""


def names(text: str, claimed: Span, said_on: date, *, day_first: bool) -> bool:
    """Whether a text that was said on a day names these days, or a span that begins with this one day."""
    first, last = claimed
    return any(
        claimed == span or (first == last and first == span[0]) for span in spans(text, said_on, day_first=day_first)
    )


def span_of(written: str) -> Span | None:
    """The days that ``2026``, ``2026-03`` or ``2026-03-14`` stands for; None for anything else."""
    if not (found := re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", written)):
        return None
    year, month, day = (None if part is None else int(part) for part in found.groups())
    assert year is not None, "the pattern begins with a year"
    return _span(year, month, day)


def spans(text: str, said_on: date, *, day_first: bool) -> Iterator[Span]:
    """Every span of days that a text names. `day_first`: in ``3/5/2026`` the day comes first, and never the month."""
    plain = folded(text)
    yield from _written(plain, said_on, day_first=day_first)
    yield from _near(plain, said_on)


def _written(plain: str, said_on: date, *, day_first: bool) -> Iterator[Span]:
    for pattern in _PATTERNS:
        for found in re.finditer(pattern, plain):
            told = found.groupdict()
            month, day = told.get("month"), told.get("day")
            if month is None:
                yield from _given(_span(int(found["year"]), None, None))
                continue
            ways = [(MONTHS[month] if month in MONTHS else int(month), int(day) if day else None)]
            if "either" in told and not day_first:
                ways.append((int(found["day"]), int(month)))
            for full in _years(told.get("year") or "", said_on):
                for way in ways:
                    yield from _given(_span(full, *way))
        plain = re.sub(pattern, lambda found: " " * len(found[0]), plain)  # a day of March does not name March


def _near(plain: str, said_on: date) -> Iterator[Span]:
    for words, days in _NEAR.items():
        if re.search(rf"\b{words}\b", plain):
            yield from _given(_moved(said_on, "day", days))
    for pattern, sign in ((_AGO, -1), (_AHEAD, 1)):
        for found in pattern.finditer(plain):
            told = found["n"] or found["ha"]
            unit = UNITS[found["unit"] or found["unidade"]]
            yield from _given(_moved(said_on, unit, sign * (int(told) if told.isdigit() else NUMBERS[told])))
            if unit == "week":
                days = sign * 7 * (int(told) if told.isdigit() else NUMBERS[told])
                yield from _given(_moved(said_on, "day", days))
    for step, pattern in _NEXT:
        for found in re.finditer(rf"\b(?:{pattern.format(unit=_UNIT)})\b", plain):
            unit = next(named for named in found.groups() if named)
            yield from _given(_moved(said_on, UNITS[unit], step))
    for name in re.findall(rf"\b({_DAY})\b", plain):
        ahead = (DAYS[name] - said_on.weekday()) % 7
        for days in {ahead, ahead - 7, 7 if ahead == 0 else ahead + 7}:
            yield from _given(_moved(said_on, "day", days))


def _years(told: str, said_on: date) -> tuple[int, ...]:
    """The year that is told; without one, that of the day or the one before or after it."""
    if told:
        return (int(told) if len(told) == 4 else 2000 + int(told),)
    return (said_on.year - 1, said_on.year, said_on.year + 1)


def _moved(said_on: date, unit: str, steps: int) -> Span | None:
    """The day, week, month or year that lies so many before or after that of a day."""
    try:
        if unit == "day":
            day = said_on + timedelta(days=steps)
            return day, day
        if unit == "week":
            monday = said_on + timedelta(days=7 * steps - said_on.weekday())
            return monday, monday + timedelta(days=6)
        if unit == "month":
            months = said_on.year * 12 + said_on.month - 1 + steps
            return _span(months // 12, months % 12 + 1, None)
        return _span(said_on.year + steps, None, None)
    except OverflowError:
        return None


def _span(year: int, month: int | None, day: int | None) -> Span | None:
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            first = date(year, month, 1)
            return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        return date(year, month, day), date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _given(span: Span | None) -> Iterator[Span]:
    if span is not None:
        yield span
