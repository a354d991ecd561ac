"""Facts of one key: the same outcome in whatever order they arrive, and never a key without a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from uuid import UUID

import pytest
from lousa.infra.errors import BadInput
from lousa.memory_layers.knowledge.facts import Assertion, Resolved, name_key, resolve
from lousa.memory_layers.records import Fact

TODAY = datetime(2026, 11, 30, tzinfo=UTC)


def said(number: int, value: str, day: int, *, trust: float = 0.5, standing: str = "good") -> Assertion:
    moment = TODAY + timedelta(days=day)
    return Assertion(id=UUID(int=number), value=value, since=moment, stated_at=moment, trust=trust, standing=standing)  # pyright: ignore[reportArgumentType]


def in_any_order(assertions: Sequence[Assertion], *, many: bool = False) -> dict[int, Resolved]:
    outcomes = [resolve(order, now=TODAY, many=many) for order in permutations(assertions)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return {identifier.int: one for identifier, one in outcomes[0].items()}


def standings(resolved: dict[int, Resolved]) -> list[str]:
    return [resolved[number].standing for number in sorted(resolved)]


def day(number: int) -> datetime:
    return TODAY + timedelta(days=number)


def test_five_timed_facts_resolve_alike_in_all_120_orders():
    resolved = in_any_order(
        [said(1, "a", -50), said(2, "b", -40), said(3, "b", -30), said(4, "a", -20), said(5, "c", -10, trust=1.0)]
    )
    assert standings(resolved) == ["superseded", "superseded", "superseded", "superseded", "current"]
    intervals = {number: (one.valid_from, one.valid_to) for number, one in resolved.items()}
    assert intervals == {
        1: (day(-50), day(-40)),
        2: (day(-40), day(-20)),
        3: (day(-30), day(-30)),
        4: (day(-20), day(-10)),
        5: (day(-10), None),
    }
    assert resolved[3].confirms and resolved[3].by == UUID(int=2)
    assert resolved[2].confirmations == 2 and resolved[2].confirmed_at == day(-30)
    assert resolved[1].by == UUID(int=2) and resolved[4].by == UUID(int=5)


def test_five_facts_with_ties_quarantine_and_withdrawal_resolve_alike_in_all_orders():
    resolved = in_any_order(
        [
            said(1, "a", -5, trust=0.7),
            said(2, "b", -5, trust=0.7),
            said(3, "c", -5, trust=0.5),
            said(4, "d", -1, trust=0.3, standing="quarantined"),
            said(5, "e", -1, trust=1.0, standing="withdrawn"),
        ]
    )
    assert standings(resolved) == ["contested", "contested", "superseded", "quarantined", "withdrawn"]


def test_a_late_fact_takes_its_place_in_the_past_and_not_the_present():
    resolved = in_any_order([said(1, "new", -1), said(2, "old", -9)])
    assert resolved[1].standing == "current" and resolved[1].valid_to is None
    assert (resolved[2].standing, resolved[2].valid_to, resolved[2].by) == ("superseded", day(-1), UUID(int=1))


def test_the_same_value_again_confirms_and_is_no_second_value():
    resolved = in_any_order([said(1, "a", -9), said(2, "a", -5), said(3, "a", -1)])
    assert standings(resolved) == ["current", "superseded", "superseded"]
    assert resolved[1].confirmations == 3 and resolved[1].confirmed_at == day(-1)


def test_at_the_same_moment_the_higher_trust_holds():
    resolved = in_any_order([said(1, "a", -1, trust=0.5), said(2, "b", -1, trust=1.0)])
    assert standings(resolved) == ["superseded", "current"]


def test_a_contest_ends_when_something_later_decides():
    contested = [said(1, "a", -5), said(2, "b", -5)]
    assert standings(in_any_order(contested)) == ["contested", "contested"]
    assert standings(in_any_order([*contested, said(3, "a", -1)])) == ["current", "superseded", "superseded"]
    assert standings(in_any_order([*contested, said(3, "c", -1)])) == ["superseded", "superseded", "current"]


def test_a_confirmation_against_another_value_of_its_moment_makes_a_contest_of_it():
    resolved = in_any_order([said(1, "a", -9), said(2, "a", -1), said(3, "b", -1)])
    assert standings(resolved) == ["contested", "superseded", "contested"]


def test_what_begins_in_the_future_leaves_the_present_value_standing():
    resolved = in_any_order([said(1, "old", -9), said(2, "new", 9)])
    assert standings(resolved) == ["current", "current"]
    assert resolved[1].valid_to == day(9) == resolved[2].valid_from


def test_a_predicate_of_many_values_retires_none_of_them():
    resolved = in_any_order([said(1, "a", -9), said(2, "b", -5), said(3, "a", -1)], many=True)
    assert standings(resolved) == ["current", "current", "superseded"]
    assert resolved[1].confirmations == 2 and resolved[3].confirms


@pytest.mark.parametrize("many", [False, True])
def test_a_key_with_an_assertion_in_good_standing_never_ends_without_a_value(many: bool):
    values = [(value, since, trust) for value in "ab" for since in (-2, -1) for trust in (0.5, 1.0)]
    for first in values:
        for second in values:
            for third in values:
                three = [said(number, *one[:2], trust=one[2]) for number, one in enumerate((first, second, third))]
                standing = [one.standing for one in resolve(three, now=TODAY, many=many).values()]
                assert standing.count("current") == 1 or standing.count("contested") > 1 or many
                assert "current" in standing or "contested" in standing


def test_names_are_compared_without_case_accents_and_spacing_and_stay_indexable():
    assert name_key("  AÇÃO  Ltda. ") == name_key("acao ltda.") != name_key("acao ltd")
    assert name_key("C++") != name_key("C") != name_key("C#")
    long, other = name_key("ß東" * 1_000), name_key("ß東" * 999 + "京")
    assert long != other and max(len(long.encode()), len(other.encode())) < 1_000


def test_a_fact_since_nobodys_midnight_is_refused():
    with pytest.raises(BadInput, match="time zone"):
        Fact(subject="Ana", predicate="role", object="CTO", since=datetime(2026, 1, 1))
