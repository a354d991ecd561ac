"""A date that somebody says a text names is one that it names: whole, in both languages, from the day it was said."""

from __future__ import annotations

from datetime import date

import pytest
from lousa.agents.dates import names, span_of, spans

MONDAY = date(2026, 11, 30)


def named(text: str, claimed: str, *, day_first: bool = True) -> bool:
    span = span_of(claimed)
    assert span is not None
    return names(text, span, MONDAY, day_first=day_first)


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("o contrato começou em 14/03/2026", "2026-03-14"),
        ("valid from 2026-03-14 on", "2026-03-14"),
        ("desde março de 2024", "2024-03"),
        ("desde março de 2024", "2024-03-01"),
        ("since March 14th, 2026", "2026-03-14"),
        ("on the 3rd of May", "2026-05-03"),
        ("dia 1º de abril", "2026-04-01"),
        ("mudei em 2019", "2019"),
        ("me mudei ontem", "2026-11-29"),
        ("a week ago", "2026-11-23"),
        ("há 3 semanas", "2026-11-09"),
        ("two months ago", "2026-09"),
        ("daqui a dois dias", "2026-12-02"),
        ("a partir da semana que vem", "2026-12-07"),
        ("last month", "2026-10"),
        ("ano passado", "2025"),
        ("na sexta", "2026-11-27"),
        ("next Friday", "2026-12-04"),
        ("depois de amanhã", "2026-12-02"),
    ],
)
def test_a_date_that_is_named_is_found(text: str, claimed: str) -> None:
    assert named(text, claimed)


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("o contrato começou em 14/03/2026", "2026-03-15"),
        ("o contrato começou em 14/03/2026", "2026-03"),
        ("on March 14th", "2026-03-01"),
        ("desde março de 2024", "2024-03-17"),
        ("desde março de 2024", "2024"),
        ("I may go out and set it up", "2026-05-01"),
        ("o valor é 2.024,00 e a versão 1.2", "2024"),
        ("nothing about time", "2026-11-28"),
        ("no dia 30/02/2026", "2026-02-28"),
        ("3/5/2026", "2026-03-05"),
        ("", "2026-01-01"),
    ],
)
def test_a_date_that_is_not_named_is_not(text: str, claimed: str) -> None:
    assert not named(text, claimed)


def test_a_date_with_two_readings_has_both_only_where_the_language_leaves_it_open() -> None:
    assert named("3/5/2026", "2026-03-05", day_first=False) and named("3/5/2026", "2026-05-03", day_first=False)


@pytest.mark.parametrize(
    "written", ["", "soon", "2026-13", "2026-02-30", "0000", "20260314", "2026-3-4", "2026-03-14T10:00"]
)
def test_what_is_no_date_stands_for_no_days(written: str) -> None:
    assert span_of(written) is None


@pytest.mark.parametrize(
    "text", ["31/12/9999 next year", "há 999 anos", "December 9999", "in 999 years", "9999-12", "0001-01-01"]
)
def test_dates_beyond_all_calendars_break_nothing(text: str) -> None:
    for day in (date.min, date.max, MONDAY):
        assert all(first <= last for first, last in spans(text, day, day_first=True))
