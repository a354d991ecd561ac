"""A soak finds what grows, and is not misled by what only fluctuates."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from soak.measures import kind_of
from soak.verdict import LIMITS, course, judge


def samples(value: Callable[[float], float], minutes: int = 20) -> list[tuple[float, float]]:
    """One sample each six seconds."""
    return [(tick / 10, value(tick / 10)) for tick in range(minutes * 10)]


def test_a_leak_of_two_megabytes_a_minute_is_found() -> None:
    found = course(samples(lambda minute: 100 + 2 * minute), LIMITS["memory"])
    assert found.grew
    assert found.slope == pytest.approx(2)
    assert found.last - found.first == pytest.approx(24, abs=0.5)


def test_growth_while_it_warms_up_is_none() -> None:
    found = course(samples(lambda minute: 100 * min(1.0, minute / 4)), LIMITS["memory"])
    assert (found.grew, found.slope) == (False, 0)


def test_one_odd_sample_decides_nothing() -> None:
    series = samples(lambda minute: 1000 if minute == 19 else 100)
    assert not course(series, LIMITS["memory"]).grew


def test_a_task_that_is_left_behind_each_minute_is_found_under_those_that_come_and_go() -> None:
    def steady(minute: float) -> float:
        return 40 + 10 * abs(math.sin(minute * 7))

    assert not course(samples(steady), LIMITS["tasks"]).grew
    assert course(samples(lambda minute: steady(minute) + minute // 1), LIMITS["tasks"]).grew


def test_each_series_is_judged_by_the_limit_of_its_kind() -> None:
    growing = samples(lambda minute: 20 + minute)
    found = judge({"memory/process-1": growing, "handles/process-1": growing, "keys/board:fields": growing})
    assert {name: each.grew for name, each in found.items()} == {
        "memory/process-1": True,
        "handles/process-1": True,
        "keys/board:fields": False,
    }


def test_too_few_samples_say_nothing() -> None:
    with pytest.raises(ValueError, match="9 samples say nothing"):
        course([(minute, 1.0) for minute in range(9)], LIMITS["memory"])


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("lousa:board:{a%2Fb/0198}:fields", "board:fields"),
        ("lousa:journal:{a}", "journal"),
        ("lousa:journal:{a}:dead", "journal:dead"),
        ("lousa:journal:tenants", "journal:tenants"),
        ("lousa:relay:0198abc", "relay"),
    ],
)
def test_keys_are_counted_by_what_they_are_for(key: str, kind: str) -> None:
    assert kind_of(key) == kind
