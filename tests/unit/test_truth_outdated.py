"""A question joins two texts that share few words: the one told later is its answer, the other comes last."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from lousa.memory_layers.truth.outdated import Answer, asks_for_conduct, asks_for_value, outdated, telling

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


ELSE = (
    "Lena brought a cake.",
    "O vizinho pintou o muro.",
    "The printer hums again.",
    "Choveu a tarde toda.",
    "Someone left an umbrella.",
    "Faltou açúcar na copa.",
)
"""What a question finds besides."""


def answers(*told: str) -> list[Answer]:
    """Told one a day, and answering about as well."""
    return [
        Answer(
            id=UUID(int=day + 1),
            text=text,
            score=1.0,
            trust=1.0,
            told_at=BEGAN + timedelta(days=day),
            told=telling(text),
        )
        for day, text in enumerate(told)
    ]


def last(question: str, *told: str) -> list[str]:
    """The texts that come last."""
    given = answers(*told, *ELSE)
    gone = outdated(question, given)
    return [one.text for one in given if one.id in gone]


ANSWERED_ANEW = [
    (
        "What time does the choir rehearse?",
        "The choir rehearses at 18:30, the tenors are late as ever.",
        "Everybody of the choir has to be on stage by 19:45 with warm voices.",
    ),
    (
        "Que horas o caminhão do leite passa?",
        "Caminhão do leite passa às 5h, deixa o latão na porteira.",
        "O leite tem que estar na porteira às 6h30, o caminhão agora faz outra volta.",
    ),
    (
        "Who looks after the aquarium?",
        "The aquarium is looked after by Bernard, he has the key to the pump.",
        "Anything about the aquarium, talk to Ingrid.",
    ),
    (
        "Quem afina o piano da escola?",
        "O piano da escola é com o Anselmo, ele afina de ouvido.",
        "Pra mexer no piano da escola chama a Dalva.",
    ),
    (
        "Where are the spare kayaks?",
        "The spare kayaks are in shed 4.",
        "You find the spare kayaks in shed 9 at the pier.",
    ),
    (
        "Who is the vet of the south farm?",
        "The south farm goes to Dr Alder, ring her at noon.",
        "Dr Moe Hansen looks after the south farm, all of it.",
    ),
    (
        "Até que horas posso pedir lenha pro mesmo dia?",
        "Lenha pedida até as 14h chega no mesmo dia.",
        "Tudo que é lenha e for pedido até as 16h30 sai no mesmo dia.",
    ),
    (
        "Quanto pesa a carga máxima do guincho?",
        "O guincho ergue no máximo 2 toneladas.",
        "Na plaqueta nova do guincho está 1.500 kg.",
    ),
    (
        "Which plate has the courier's van?",
        "The courier's van is KLM4521.",
        "Look for the courier, his van is PRT8830 this year.",
    ),
]


@pytest.mark.parametrize(("question", "older", "newer"), ANSWERED_ANEW)
def test_of_two_answers_with_different_values_the_one_told_first_comes_last(
    question: str, older: str, newer: str
) -> None:
    assert last(question, older, newer) == [older]
    assert last(question, newer, older) == [newer]


def test_what_repeats_the_old_value_comes_last_as_well_whenever_it_was_told() -> None:
    older, newer = ANSWERED_ANEW[2][1:]
    before, after = "Bernard cleaned the aquarium on his own.", "Saw Bernard beside the aquarium."
    assert last(ANSWERED_ANEW[2][0], older, before, newer, after) == [older, before, after]


def test_of_three_values_the_last_stays() -> None:
    told = ["The ferry leaves at 8:00.", "The ferry goes at 9:15.", "Be at the ferry at 10:30, that is when it leaves."]
    assert last("When does the ferry leave?", *told) == told[:2]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        # asks for both, for a value that only one of them names, or for none
        ("How long may one borrow maps and globes?", ["Maps go out for 3 days.", "Globes go out for 2 weeks."]),
        ("How long may one borrow maps in Lisbon?", ["In Lisbon maps go out for 3 days.", "Maps go out for 2 weeks."]),
        ("May I borrow a map?", ["Maps go out for 3 days.", "Maps go out for 2 weeks."]),
        ("What do I do with a late map?", ["Maps go out for 3 days.", "Maps go out for 2 weeks."]),
        # asks for another sort of value
        ("Who lends maps?", ["Maps go out for 3 days.", "Maps go out for 2 weeks."]),
        # words that exclude each other; another thing
        ("When is the pool full?", ["The pool opens at 7 am.", "The pool closes at 9 pm."]),
        ("What does the green boat cost?", ["The green boat costs 40 euros.", "A boat on the lake costs 25 euros."]),
        # what is asked, doubted, over, or merely happened
        ("When does the pool open?", ["The pool opens at 7 am.", "Does the pool open at 8 am?"]),
        ("When does the pool open?", ["The pool opens at 7 am.", "Maybe the pool opens at 8 am."]),
        ("When does the pool open?", ["The pool opens at 7 am.", "Yesterday we left the pool at 8 am."]),
        # the same value
        ("When does the pool open?", ["The pool opens at 7 am.", "Pool: 07:00, as ever."]),
        # rules
        ("When is the pool closed?", ["The pool must never be open after 22:00.", "The pool: we open at 7 am."]),
    ],
)
def test_hands_off_where_something_speaks_against_it(question: str, told: list[str]) -> None:
    assert last(question, *told) == []


@pytest.mark.parametrize(
    "parts",
    [{"trust": 0.5}, {"subject": "another person"}, {"score": 0.3}, {"speaks": False}, {"told_at": BEGAN}],
)
def test_what_is_trusted_less_or_about_somebody_else_or_answers_worse_changes_nothing(parts: dict[str, object]) -> None:
    question, older, newer = ANSWERED_ANEW[0]
    first, second = answers(older, newer)
    assert outdated(question, [first, replace(second, **parts)]) == {}  # pyright: ignore[reportArgumentType]


def test_what_stands_never_comes_last() -> None:
    question, older, newer = ANSWERED_ANEW[0]
    first, second = answers(older, newer)
    assert outdated(question, [replace(first, stands=True), second]) == {}


def test_what_is_denied_or_over_is_not_told() -> None:
    assert telling("The fee is 20 euros, not 25 euros.") == [("money", "20 eur", True)]


def test_what_goes_on_behind_a_comma_is_told_with_what_it_goes_on_with() -> None:
    told = telling("Letters go to Unit 7, Calder Road, Leeds.")
    assert [same for _, same, states in told if states] == ["7", "calder road", "leeds"]


def test_where_a_fact_answers_what_was_found_for_its_likeness_alone_may_tell_the_old_answer() -> None:
    question = "How long may a loan last?"
    older, newer = answers("Mr Ode brought the globe back after 14 days, the very end.", "A loan is 21 days.")
    assert outdated(question, [older, newer]) == {}
    assert outdated(question, [older, replace(newer, vouched=True)]) == {older.id: newer.id}
    assert outdated(question, [replace(older, score=1.2), replace(newer, vouched=True)]) == {}


@pytest.mark.parametrize(
    ("question", "conduct", "value"),
    [
        ("May I leave the gate open?", True, False),
        ("The guest has no key. What do I tell her?", True, False),
        ("It is nine and the boat is full. Let them on?", True, False),
        ("A barca está cheia e chegou mais gente. Embarco?", True, False),
        ("Chegou um fiscal. E agora?", True, False),
        ("A man came to pick up Tim. May I hand him over?", True, False),
        ("Ms. Prado, who was here at 9.30, wants her file. Can I hand it out?", True, False),
        ("When does the boat leave?", False, True),
        ("Which pier do we use for version 3.0 of the boat?", False, True),
        ("Em que cais a barca encosta?", False, True),
        ("Parking at the east pier and at the west pier?", False, False),
        ("the pier of the boat", False, False),
        ("", False, False),
    ],
)
def test_a_question_that_asks_what_to_do_is_told_from_one_for_a_value(
    question: str, *, conduct: bool, value: bool
) -> None:
    assert (asks_for_conduct(question), asks_for_value(question)) == (conduct, value)
