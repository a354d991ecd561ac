"""When a question is about: the stretches of time that it names, in Portuguese and in English.

Read are days (8 May 2023, May 8th, 8 de maio, 2023-05-08, 08/05/2023), months and years (in May, em maio de 2023, in
2023), and what counts from today (ontem, last week, semana passada, three days ago, há dois meses, na última
sexta-feira). A day or a month without a year is the one of any of the last years. A slashed date is read day first, as
in Brazil, unless it can only be month first. What is not understood is not about a time: a span lifts what falls into
it and excludes nothing.

A library that reads dates gives moments, and a question means a stretch; so this is a short table of our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..calendar_words import DAYS, MONTHS, NUMBERS, UNITS
from ..execution.memories import folded

_YEARS_BACK = 6
_DAY = timedelta(days=1)

_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
# What is also another word (may, march, mar, set, out, dez, mai, ago) is a month only beside a day, a year or an `in`.
_PLAIN = (
    "(?P<month>" + "|".join(n for n in sorted(MONTHS, key=len, reverse=True) if len(n) > 5 or n == "abril") + r")\b"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(NUMBERS) + ")"
_UNIT = "(?P<unit>" + "|".join(sorted(UNITS, key=len, reverse=True)) + r")\b"
_WEEKDAY = "(?P<weekday>" + "|".join(DAYS) + r")(?:-feira)?\b"
_HINTS = frozenset((*MONTHS, *UNITS, *DAYS, "yesterday", "anteontem", "ontem", "today", "hoje"))
"""One of these words, or a year, is in everything that is read."""
_WORD, _A_YEAR = re.compile(r"\w+"), re.compile(r"\b" + _YEAR)
_LAST_PT, _THIS_PT = r"(?:passad[oa]|anterior)", r"(?:n?est[ea]|dest[ea])"


@dataclass(frozen=True, slots=True)
class Span:
    """From `begin` up to and without `end`, in UTC."""

    begin: datetime
    end: datetime


def spans(question: str, now: datetime) -> tuple[Span, ...]:
    """The stretches of time that a question names; what was read once is not read again as a part of something else."""
    text = folded(question)
    if _HINTS.isdisjoint(_WORD.findall(text)) and not _A_YEAR.search(text):
        return ()  # which most questions are, and every form is tried for long
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found: dict[Span, None] = {}
    for form, meant in _FORMS:
        for match in form.finditer(text):
            try:
                found |= dict.fromkeys(meant(match, today))
            except (ValueError, OverflowError):  # the 31st of June, or before all calendars
                continue
        text = form.sub(lambda match: " " * len(match.group()), text)
    return tuple(found)


def _years(match: re.Match[str], today: datetime) -> Iterator[int]:
    if year := match.groupdict().get("year"):
        yield int(year)
    else:
        yield from range(today.year - _YEARS_BACK, today.year + 2)


def _day(match: re.Match[str], today: datetime) -> Iterator[Span]:
    for year in _years(match, today):
        day, month = int(match["day"]), match["month"]
        number = int(month) if month.isdigit() else MONTHS[month]
        if number > 12:
            day, number = number, day
        begin = datetime(year, number, day, tzinfo=UTC)
        yield Span(begin, begin + _DAY)


def _month(match: re.Match[str], today: datetime) -> Iterator[Span]:
    for year in _years(match, today):
        yield _month_of(year, MONTHS[match["month"]])


def _month_of(year: int, month: int) -> Span:
    return Span(datetime(year, month, 1, tzinfo=UTC), datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC))


def _year(match: re.Match[str], _today: datetime) -> Iterator[Span]:
    year = int(match["year"])
    yield Span(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _ago(match: re.Match[str], today: datetime) -> Iterator[Span]:
    """So long ago, give or take what one says roundly."""
    count, unit = match["count"], UNITS[match["unit"]]
    yield _back(today, int(count) if count.isdigit() else NUMBERS[count], unit)


def _back(today: datetime, count: int, unit: str) -> Span:
    if unit == "day":
        return Span(today - count * _DAY, today - (count - 1) * _DAY)
    if unit == "week":
        monday = today - today.weekday() * _DAY - 7 * count * _DAY
        return Span(monday, monday + 7 * _DAY)
    if unit == "month":
        months = today.year * 12 + today.month - 1 - count
        return _month_of(months // 12, months % 12 + 1)
    return Span(datetime(today.year - count, 1, 1, tzinfo=UTC), datetime(today.year - count + 1, 1, 1, tzinfo=UTC))


def _weekday(match: re.Match[str], today: datetime) -> Iterator[Span]:
    """The last one before today."""
    day = today - ((today.weekday() - DAYS[match["weekday"]] - 1) % 7 + 1) * _DAY
    yield Span(day, day + _DAY)


def _counted(count: int) -> Callable[[re.Match[str], datetime], Iterator[Span]]:
    def meant(match: re.Match[str], today: datetime) -> Iterator[Span]:
        yield _back(today, count, UNITS[match.groupdict().get("unit") or "day"])

    return meant


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Iterator[Span]]], ...] = (
    (re.compile(rf"\b{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b"), _day),
    (re.compile(rf"\b(?P<day>\d{{1,2}})/(?P<month>\d{{1,2}})/{_YEAR}"), _day),
    (re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|o)? (?:of |de )?{_MONTH},?(?: (?:de |of )?{_YEAR})?"), _day),
    (re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? {_YEAR})?"), _day),
    (re.compile(rf"\b{_MONTH},? (?:(?:of|de) )?{_YEAR}"), _month),
    (
        re.compile(rf"\b(?:in|during|since|until|by|of|em|durante|desde|ate|mes de) (?:early |late |mid-)?{_MONTH}"),
        _month,
    ),
    (re.compile(rf"\b{_PLAIN}"), _month),
    (re.compile(rf"\b(?:in|during|since|em|durante|desde|de|ano de|of) {_YEAR}"), _year),
    (re.compile(rf"\b{_COUNT} {_UNIT} (?:ago|atras)\b"), _ago),
    (re.compile(rf"\b(?:ha|faz) {_COUNT} {_UNIT}"), _ago),
    (re.compile(r"\b(?:day before yesterday|anteontem)\b"), _counted(2)),
    (re.compile(r"\b(?:yesterday|ontem)\b"), _counted(1)),
    (re.compile(r"\b(?:today|hoje)\b"), _counted(0)),
    (re.compile(rf"\b(?:last|past|previous|ultim[oa]) {_UNIT}"), _counted(1)),
    (re.compile(rf"\b{_UNIT} {_LAST_PT}\b"), _counted(1)),
    (re.compile(rf"\b(?:this|current|{_THIS_PT}) {_UNIT}"), _counted(0)),
    (re.compile(rf"\b(?:last|on|ultim[oa]|na|no) {_WEEKDAY}"), _weekday),
    (re.compile(rf"\b{_WEEKDAY} {_LAST_PT}\b"), _weekday),
)
