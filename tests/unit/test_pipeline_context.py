"""A packed context: what always holds comes first, every line can be cited, the budget is never passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from lousa.infra.errors import BadInput
from lousa.infra.ids import new_id
from lousa.memory_layers.context_pack import Language, count_tokens, pack
from lousa.memory_layers.conversation.window import Turn
from lousa.memory_layers.records import Hit, MemoryKind


def hit(kind: MemoryKind, text: str, identifier: UUID | None = None) -> Hit:
    return Hit(
        id=identifier or new_id(),
        text=text,
        kind=kind,
        score=1.0,
        owner="a",
        session="s",
        execution=None,
        source="agent",
        trust=0.5,
        status="live",
        occurred_at=datetime(2026, 11, 30, tzinfo=UTC),
    )


HITS = [
    hit(MemoryKind.EPISODIC, "we met on Monday"),
    hit(MemoryKind.FACT, "Ana · role · lawyer"),
    hit(MemoryKind.PROCEDURAL, "never promise a date"),
]
TURNS = [Turn(role="user", body="olá"), Turn(role="assistant", body={"text": "bom dia"})]


def test_rules_first_then_facts_then_what_was_found_and_the_window_last():
    context = pack(HITS, TURNS, budget=1_000, language="pt")
    assert context.text.splitlines() == [
        "## Regras",
        f"- never promise a date [{HITS[2].id}]",
        "## Fatos",
        f"- Ana · role · lawyer [{HITS[1].id}]",
        "## O que se sabe",
        f"- we met on Monday [{HITS[0].id}]",
        "## Dito por último",
        "user: olá",
        'assistant: {"text": "bom dia"}',
    ]
    assert context.cited == (HITS[2].id, HITS[1].id, HITS[0].id)
    assert context.left_out == 0 and str(context) == context.text


@pytest.mark.parametrize(
    ("language", "headings"),
    [("en", ["## Facts", "## Possibly outdated, verify"]), ("pt", ["## Fatos", "## Talvez desatualizado, verifique"])],
)
def test_facts_that_are_to_be_confirmed_stand_apart(language: Language, headings: list[str]):
    old = replace(hit(MemoryKind.FACT, "Ana · city · Natal"), to_confirm=True)
    lines = pack([old, HITS[1]], budget=1_000, language=language).text.splitlines()
    assert lines == [
        headings[0],
        f"- Ana · role · lawyer [{HITS[1].id}]",
        headings[1],
        f"- Ana · city · Natal [{old.id}]",
    ]


@pytest.mark.parametrize("budget", [1, 5, 20, 25, 40, 60, 90, 200])
def test_the_budget_is_never_passed_and_what_did_not_fit_is_counted(budget: int):
    many = [hit(MemoryKind.SEMANTIC, f"memory number {number}") for number in range(20)]
    turns = [Turn(role="user", body=f"turn {number}") for number in range(20)]
    context = pack([*HITS, *many], turns, budget=budget)
    lines = context.text.splitlines()
    assert sum(count_tokens(line + "\n") for line in lines) == context.tokens <= budget
    assert context.left_out == 43 - sum(not line.startswith("#") for line in lines)
    said = [line for line in lines if line.startswith("user:")]
    assert said == [f"user: turn {number}" for number in range(20 - len(said), 20)]


def test_rules_may_take_the_whole_budget_and_those_that_do_not_fit_are_named():
    rules = [hit(MemoryKind.PROCEDURAL, f"rule number {number} is long enough to count") for number in range(4)]
    one = count_tokens(f"- {rules[0].text} [{rules[0].id}]\n")
    all_of_them = 4 * one + count_tokens("## Regras\n")
    context = pack([HITS[0], *rules], TURNS, budget=all_of_them, language="pt")
    assert context.cited == tuple(rule.id for rule in rules) and context.rules_left_out == ()
    assert context.text.startswith("## Regras\n") and context.left_out == 3
    less = pack([HITS[0], *rules], TURNS, budget=3 * one, language="pt")
    assert less.text.startswith("## Regras (nem todas couberam)\n")
    assert less.rules_left_out == tuple(rule.id for rule in rules[2:])
    none = pack(rules, budget=one // 2)
    assert none.text == "" and len(none.rules_left_out) == 4


def test_a_memory_found_twice_is_shown_once():
    one = HITS[2]
    assert pack([one, one], budget=100).cited == (one.id,)


def test_nothing_known_is_an_empty_context():
    assert pack([], budget=10).text == ""


def test_no_budget_and_an_unknown_language_are_refused():
    with pytest.raises(BadInput, match="budget"):
        pack([], budget=0)
    with pytest.raises(BadInput, match="headings in 'fr'"):
        pack([], budget=1, language="fr")  # pyright: ignore[reportArgumentType]  # what an untyped user gives
