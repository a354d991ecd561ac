"""The words of dates in Portuguese and English, folded: months, days of the week, small numbers, units of time."""

from __future__ import annotations

from collections.abc import Mapping


def _numbered(first: int, *names: str) -> dict[str, int]:
    return {name: number for number, words in enumerate(names, first) for name in words.split()}


MONTHS: Mapping[str, int] = _numbered(
    1,
    "january jan janeiro",
    "february feb fevereiro fev",
    "march mar marco",
    "april apr abril abr",
    "may maio mai",
    "june jun junho",
    "july jul julho",
    "august aug agosto ago",
    "september sept sep setembro set",
    "october oct outubro out",
    "november nov novembro",
    "december dec dezembro dez",
)
"""From 1. Some are other words as well: may, march, mar, set, out, dez, ago."""
DAYS: Mapping[str, int] = _numbered(
    0,
    "monday segunda",
    "tuesday terca",
    "wednesday quarta",
    "thursday quinta",
    "friday sexta",
    "saturday sabado",
    "sunday domingo",
)
"""From Monday, which is 0."""
NUMBERS: Mapping[str, int] = _numbered(
    1,
    "a an one um uma",
    "two dois duas",
    "three tres",
    "four quatro",
    "five cinco",
    "six seis",
    "seven sete",
    "eight oito",
    "nine nove",
    "ten dez",
)
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("day", "days", "dia", "dias"), "day"),
    **dict.fromkeys(("week", "weeks", "semana", "semanas"), "week"),
    **dict.fromkeys(("month", "months", "mes", "meses"), "month"),
    **dict.fromkeys(("year", "years", "ano", "anos"), "year"),
}


def either(words: Mapping[str, object]) -> str:
    """A pattern for any of these words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))
