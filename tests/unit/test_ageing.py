"""The ways in which what is remembered gives way to what came later, as values."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest
from lousa.infra.errors import SettingsError
from lousa.infra.settings import Settings
from lousa.memory_layers.ageing import AGEINGS, GOING, OURS, named
from lousa.memory_layers.policy import DEFAULT, table
from lousa.memory_layers.records import MemoryKind

DAY = timedelta(days=1)
NEVER_BY_AGE = (MemoryKind.FACT, MemoryKind.PROCEDURAL, MemoryKind.BLOCK, MemoryKind.DECISION)


def test_every_way_that_can_be_set_exists_and_no_other() -> None:
    assert set(get_args(Settings.model_fields["ageing"].annotation)) == set(AGEINGS)
    assert named(Settings.model_fields["ageing"].default) is OURS
    with pytest.raises(SettingsError, match="LOUSA_AGEING"):
        named("never")


def test_ours_leaves_the_table_as_it_is() -> None:
    assert OURS.over(table()) == DEFAULT
    assert OURS.retires and OURS.restates and not OURS.likeness_only
    assert [way.name for way in AGEINGS.values() if way.restates] == ["lousa"]


@pytest.mark.parametrize("name", sorted(AGEINGS))
def test_no_way_lets_go_of_rules_facts_blocks_and_decisions(name: str) -> None:
    changed = named(name).over(table())
    for kind in NEVER_BY_AGE:
        assert (changed[kind].then, changed[kind].kept) == (DEFAULT[kind].then, DEFAULT[kind].kept)


@pytest.mark.parametrize("name", ["naive", "keyed", "decay"])
def test_these_ways_keep_everything(name: str) -> None:
    changed = named(name).over(table())
    assert {(changed[kind].then, changed[kind].kept, changed[kind].told) for kind in GOING} == {("stay", None, None)}
    assert not any(changed[kind].by_category for kind in GOING)


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("lousa", [1.0, 1.0, 1.0, 1.0]),
        ("naive", [1.0, 1.0, 1.0, 1.0]),
        ("keyed", [1.0, 1.0, 1.0, 1.0]),
        ("decay", [1.0, 0.794, 0.25, 0.0]),
        ("tiers", [1.0, 1.0, 0.5, 0.0]),
    ],
)
def test_what_age_leaves_of_a_score(name: str, left: list[float]) -> None:
    ageing = named(name)
    policy = ageing.over(table())[MemoryKind.SEMANTIC]
    factors = [1 - ageing.fading * ageing.faded(policy, days * DAY) for days in (0, 10, 60, 9_000)]
    assert factors == pytest.approx(left, abs=0.001)


def test_an_episode_fades_a_little_and_of_what_is_known_age_decides_between_equals_alone() -> None:
    episode, known = (OURS.over(table())[kind] for kind in (MemoryKind.EPISODIC, MemoryKind.SEMANTIC))
    assert 1 - OURS.fading * OURS.faded(episode, 9_000 * DAY) == pytest.approx(0.85)
    assert 0 < OURS.faded(known, 10 * DAY) < OURS.faded(known, 700 * DAY) < 0.001


@pytest.mark.parametrize("name", sorted(AGEINGS))
def test_what_is_dated_ahead_counts_as_said_now_and_a_rule_never_fades(name: str) -> None:
    ageing = named(name)
    changed = ageing.over(table())
    assert ageing.faded(changed[MemoryKind.SEMANTIC], -9 * DAY) == 0.0
    assert ageing.faded(changed[MemoryKind.PROCEDURAL], 9_000 * DAY) == 0.0


def test_the_last_tier_ends_where_consolidation_takes_it() -> None:
    tiers = named("tiers")
    policy = tiers.over(table())[MemoryKind.EPISODIC]
    assert policy.then == "expire" and policy.kept is not None and policy.told is None
    assert tiers.faded(policy, policy.kept - timedelta(microseconds=1)) < 1.0 == tiers.faded(policy, policy.kept)
