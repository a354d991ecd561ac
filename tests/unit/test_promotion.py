"""Which episodes become knowledge: one mark selects and promotes, and no verdict reaches beyond what was shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lousa.agents.llm import Model
from lousa.agents.promoting import Promoter, decided
from lousa.infra.errors import ModelFailed
from lousa.infra.ids import new_id
from lousa.memory_layers.promotion import (
    MARK,
    SHOWN_AT_ONCE,
    SPAN,
    Candidate,
    Judged,
    Verdict,
    as_they_are,
    circles,
    proven,
    settled,
    to_show,
)
from lousa.memory_layers.records import PRIVATE, SHARED, TENANT, Fact, Memory, MemoryKind, Scope
from scripted import Scripted

BEGUN = datetime(2026, 9, 1, tzinfo=UTC)


def memory(text: str = "The nightly build failed again", **parts: Any) -> Memory:
    values: dict[str, Any] = {"owner": "a", "session": "s", "scope": SHARED, "source": "user", "trust": 1.0, **parts}
    return Memory(
        id=new_id(),
        tenant="t",
        execution=None,
        kind=MemoryKind.EPISODIC,
        text=text,
        occurred_at=BEGUN,
        recorded_at=BEGUN,
        **values,
    )


def episode(
    text: str = "The nightly build failed again", *, told: int = 1, used: int = 0, days: int = 8, **parts: Any
) -> Candidate:
    return Candidate(memory=memory(text, **parts), told=told, used=used, last=BEGUN + timedelta(days=days))


@pytest.mark.parametrize(
    ("one", "enough"),
    [
        (episode(told=3), True),
        (episode(used=2), True),
        (episode(told=2, used=1), True),
        (episode(told=2), False),
        (episode(told=1000, days=6), False),
        (episode(used=4, trust=0.5), True),
        (episode(used=3, trust=0.5), False),
        (episode(), False),
    ],
)
def test_an_episode_is_worth_what_it_was_of_use_and_told_again_by_its_trust(one: Candidate, enough: bool) -> None:
    assert proven(one) is enough
    assert bool(as_they_are([one])) is bool(to_show([one])) is enough


@given(st.integers(1, 50), st.integers(0, 50), st.sampled_from([0.5, 0.7, 1.0]), st.integers(0, 30))
def test_what_is_selected_is_what_is_promoted(told: int, used: int, trust: float, days: int) -> None:
    one = episode(told=told, used=used, trust=trust, days=days)
    selected = one.worth >= MARK and timedelta(days=days) >= SPAN
    assert bool(as_they_are([one])) is selected and bool(to_show([one])) is selected


def test_what_tells_much_the_same_counts_together_for_a_judge_and_not_without_one() -> None:
    told = [
        episode("The nightly build failed again on the linker"),
        episode("Again the nightly build failed, linker again", days=20),
        episode("nightly build failed on the linker once more", days=9),
        episode("The cafeteria serves soup today"),
    ]
    assert [[told.index(one) for one in part] for part in to_show(told)] == [[0, 1, 2]]
    assert as_they_are(told) == []


def test_a_judge_is_shown_one_circle_and_one_person_at_a_time() -> None:
    told = [
        episode(told=3),
        episode(told=3, session="other"),
        episode(told=3, scope=TENANT),
        episode(told=3, scope=PRIVATE),
        episode(told=3, scope=PRIVATE, owner="b"),
        episode(told=3, scope=Scope.parse(replace(TENANT, kind="hierarchical", readers=frozenset({"c"})))),  # type: ignore[arg-type]
        episode(told=3, subject="ana"),
        episode(told=3, owner="b"),
    ]
    groups = circles(told)
    assert [len(group) for group in groups] == [2, 1, 1, 1, 1, 1, 1]
    assert {one.memory.id for one in groups[0]} == {told[0].memory.id, told[7].memory.id}


def test_a_judge_is_shown_no_more_than_it_can_hold_and_all_of_it() -> None:
    told = [
        *(episode(f"{letter * 6} {letter * 7}", told=3) for letter in "abcdefghijklmnopqrstuvwxyz"),
        *(episode(f"{BUILD.text} on a day", told=3) for _ in range(3 * SHOWN_AT_ONCE + 1)),
    ]
    parts = to_show(told)
    assert all(0 < len(part) <= SHOWN_AT_ONCE for part in parts)
    assert sorted(one.memory.id for part in parts for one in part) == sorted(one.memory.id for one in told)


ONE, TWO, TOOL = memory(), memory(), memory(source="tool", trust=0.7)
SHOWN = [Candidate(memory=each, told=3, used=0, last=BEGUN) for each in (ONE, TWO, TOOL)]
STRANGER = new_id()


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (Verdict(verdict="KEEP", ids=(STRANGER,)), "unknown"),
        (Verdict(verdict="MERGE", ids=(ONE.id, STRANGER), text="both"), "unknown"),
        (Verdict(verdict="DISCARD", ids=(STRANGER,)), "unknown"),
        (Verdict(verdict="KEEP", ids=()), "shape"),
        (Verdict(verdict="KEEP", ids=(ONE.id, TWO.id)), "shape"),
        (Verdict(verdict="MERGE", ids=(ONE.id,), text="one"), "shape"),
        (Verdict(verdict="MERGE", ids=(ONE.id, TWO.id)), "shape"),
        (Verdict(verdict="MERGE", ids=(ONE.id, ONE.id), text="one"), "twice"),
        (Verdict(verdict="KEEP", ids=(ONE.id,), kind=MemoryKind.DECISION), "shape"),
        (Verdict(verdict="KEEP", ids=(ONE.id,), kind=MemoryKind.FACT), "shape"),
        (Verdict(verdict="KEEP", ids=(TOOL.id,), kind=MemoryKind.PROCEDURAL), "not the user's"),
    ],
)
def test_a_verdict_about_anything_else_is_refused(verdict: Verdict, why: str) -> None:
    assert settled(Judged(verdicts=(verdict,)), SHOWN) == Judged(refused=Counter({why: 1}))


def test_the_first_verdict_about_an_episode_is_the_one_that_counts() -> None:
    first, second = Verdict(verdict="DISCARD", ids=(ONE.id,)), Verdict(verdict="KEEP", ids=(ONE.id,))
    other = Verdict(verdict="KEEP", ids=(TWO.id,), kind=MemoryKind.PROCEDURAL)
    assert settled(Judged(verdicts=(first, second, other)), SHOWN) == Judged(
        verdicts=(first, other), refused=Counter({"twice": 1})
    )


BUILD, AGAIN = (
    memory("The nightly build of 31 projects failed"),
    memory("Nightly build failed, 31 projects, on the linker"),
)
FEWER, QUIET = memory("The nightly build of 12 projects failed"), memory("The nightly build has not failed")
BY_NAME = {"e1": BUILD, "e2": AGAIN, "e3": FEWER, "e4": QUIET}
WHOLE = "The nightly build of 31 projects failed on the linker"


def said(verdict: str, *ids: Any, **more: Any) -> dict[str, Any]:
    return {"verdict": verdict, "ids": [*ids], **more}


@pytest.mark.parametrize(
    ("decision", "verdict"),
    [
        (said("KEEP", "e1"), Verdict(verdict="KEEP", ids=(BUILD.id,))),
        (
            said("KEEP", "e1", **{"as": "procedural"}),
            Verdict(verdict="KEEP", ids=(BUILD.id,), kind=MemoryKind.PROCEDURAL),
        ),
        (
            said("KEEP", "e1", subject="nightly build", predicate="covers", object="31 projects", **{"as": "fact"}),
            Verdict(
                verdict="KEEP",
                ids=(BUILD.id,),
                kind=MemoryKind.FACT,
                fact=Fact(subject="nightly build", predicate="covers", object="31 projects"),
            ),
        ),
        (said("DISCARD", "e2", text=""), Verdict(verdict="DISCARD", ids=(AGAIN.id,))),
        (said("MERGE", "e1", "e2", text=WHOLE), Verdict(verdict="MERGE", ids=(BUILD.id, AGAIN.id), text=WHOLE)),
    ],
)
def test_a_decision_that_its_episodes_bear_out_is_a_verdict(decision: Any, verdict: Verdict) -> None:
    assert decided({"decisions": [decision]}, BY_NAME) == Judged(verdicts=(verdict,))


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (said("KEEP", str(BUILD.id)), "unknown"),
        (said("KEEP", str(STRANGER)), "unknown"),
        (said("KEEP", "e9"), "unknown"),
        (said("KEEP", 1), "unknown"),
        (said("KEEP"), "shape"),
        (said("PROMOTE", "e1"), "shape"),
        (said("KEEP", "e1", trust=1.0), "shape"),
        (said("KEEP", "e1", **{"as": "decision"}), "shape"),
        (said("KEEP", "e1", **{"as": "fact"}), "shape"),
        (said("KEEP", "e1", subject="nightly build", predicate="covers", object="99", **{"as": "fact"}), "words"),
        (said("MERGE", "e1", "e2"), "shape"),
        (said("MERGE", "e1", text=WHOLE), "shape"),
        (said("MERGE", "e1", "e2", text="The nightly build failed on the linker"), "words"),
        (said("MERGE", "e1", "e2", text="The nightly build of 31 projects failed because of Bob"), "words"),
        (said("MERGE", "e1", "e3", text="The nightly build of 31 and 12 projects failed"), "contradiction"),
        (said("MERGE", "e1", "e4", text="The nightly build of 31 projects failed"), "negation"),
        (said("MERGE", "e1", "e2", text="O nightly build de 31 projects que failed em um linker"), "language"),
        ({"verdict": "KEEP"}, "shape"),
        ({}, "shape"),
        ([], "shape"),
        (None, "shape"),
        ({"verdict": "KEEP", "ids": "e1"}, "shape"),
    ],
)
def test_a_decision_that_they_do_not_is_refused_by_why(decision: Any, why: str) -> None:
    assert decided({"decisions": [decision]}, BY_NAME) == Judged(refused=Counter({why: 1}))


@pytest.mark.parametrize("answer", [None, {}, [], {"decisions": {}}, {"decisions": [], "more": 1}, "KEEP all"])
def test_an_answer_of_another_form_decides_nothing(answer: Any) -> None:
    with pytest.raises(ModelFailed) as failed:
        decided(answer, BY_NAME)
    assert failed.value.kind == "shape"


async def test_a_model_sees_short_names_and_no_ids_and_is_asked_in_the_language_of_the_texts() -> None:
    model = Scripted({}, {"decisions": [said("KEEP", "e2")]})
    shown = [
        episode("O build da noite falhou de novo com o linker"),
        episode("A reunião foi para as nove horas", told=4),
    ]
    judged = await Promoter(Model("m", model)).judge(shown)
    assert judged.verdicts == (Verdict(verdict="KEEP", ids=(shown[1].memory.id,)),)
    [(system, told)] = model.asked
    assert system.startswith("Você decide") and '"told": 4' in told
    assert not any(str(one.memory.id) in told for one in shown)
