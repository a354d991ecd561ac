"""What a memory is found by: names in both languages, turns with speaker and day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from lousa.memory_layers.context.spoken import Before, asks, embedded, ends, indexed, names, telling
from lousa.memory_layers.records import TENANT, Fact, Memory, MemoryKind

WHEN = datetime(2024, 5, 8, 22, tzinfo=UTC)


def memory(text: str, **parts: Any) -> Memory:
    return Memory(
        id=uuid4(),
        tenant="t",
        owner="a",
        session="s",
        execution=None,
        scope=TENANT,
        kind=parts.pop("kind", MemoryKind.EPISODIC),
        text=text,
        occurred_at=WHEN,
        recorded_at=WHEN,
        **parts,
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The opera was written by Joaquim Tavares Meireles.", ["joaquim tavares meireles"]),
        ("Ontem fui ao Banco do Brasil em São Paulo.", ["banco do brasil", "sao paulo"]),
        ("Hey João, thanks for the call!", ["joao"]),
        ("She studied at the University of Coimbra in January 1960.", ["university of coimbra", "january 1960"]),
        ("The contract is with ÁGUAS & CIA and with Órgão Central.", ["aguas", "cia", "orgao central"]),
    ],
)
def test_names_are_found_in_both_languages(text: str, found: list[str]) -> None:
    assert [name for name in names(text) if name in found] == found


@pytest.mark.parametrize(
    "text", ["", "nothing here", "The mill is open. It closes late.", "é isso aí", "I'm OK, I'll go"]
)
def test_the_beginning_of_a_sentence_is_no_name(text: str) -> None:
    assert set(names(text)) <= {"ok"}


def test_a_name_of_one_word_at_the_beginning_counts_where_it_comes_again() -> None:
    assert names("Maria disse que a Maria não vem.") == ["maria"]
    assert names("Pedras caíram.") == []


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("a bridge in St. Louis", "a bridge in St Louis", "st louis"),
        ("novels by J. A. Melo", "novels by J A Melo", "j a melo"),
        ("the Nile's mouth", "the Nile", "nile"),
        ("near O'Hara's mill", "near O’Hara", "ohara"),
        ("a sede da Água-Viva", "a sede da Agua Viva", "agua viva"),
    ],
)
def test_a_name_is_the_same_however_it_is_punctuated(one: str, other: str, name: str) -> None:
    assert name in names(one)
    assert name in names(other)


def test_a_letter_at_the_end_of_a_sentence_is_no_initial_of_what_follows() -> None:
    assert names("We took Plan B. Then we left.") == ["plan b"]


def test_parts_that_small_words_hold_together_are_names_as_well() -> None:
    assert names("estudou na Universidade de Évora") == ["universidade de evora", "universidade", "evora"]
    assert names("the Duke of Wellington and Arthur Wellesley") == [
        "duke of wellington",
        "arthur wellesley",
        "duke",
        "wellington",
    ]
    assert "1960" not in names("the Charter of 1960 and the Charter of Lagos 1960")


def test_a_text_of_any_length_has_few_names() -> None:
    assert len(names(" ".join(f"Ana{number} and" for number in range(1_000)))) <= 40
    assert len(names(" ".join(f"Duke of Ana{number} and" for number in range(1_000)))) <= 60


def test_a_turn_is_indexed_with_who_said_it_and_on_which_day() -> None:
    assert indexed(memory("we rowed")) == "we rowed"
    assert indexed(memory("we rowed", speaker="Ana")) == "Ana: we rowed\n8 May maio 2024"


def test_a_turn_is_embedded_behind_the_one_before_it() -> None:
    turn = memory("Turquoise!", speaker="Bruno")
    assert embedded(turn, Before("Ana", "Which colour?")) == "Ana: Which colour?\nBruno: Turquoise!"
    assert embedded(turn) == "Bruno: Turquoise!"
    assert embedded(memory("alone"), Before("Ana", "Which colour?")) == "alone"


@pytest.mark.parametrize(
    ("text", "does"),
    [("Which one?", True), ("Qual? [image: a door]", True), ("No. [image: why?]", False), ("Sim!", False), ("", False)],
)
def test_a_question_is_told_by_its_end(text: str, does: bool) -> None:
    assert asks(text) is does


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("Wow, thanks Ana!", -1),
        ("Que legal, Ana!", -1),
        ("Fico feliz por você, Ana. Depois me conta.", -1),
        ("We walked along the old harbour wall until the rain began", 0),
        ("Caminhamos pela muralha velha do porto até a chuva começar a cair", 0),
        ("We walked to Fort Amaral along the old harbour wall until dusk", 1),
        ("Bruno walked along the old harbour wall until the rain began", 0),
        ("The next boat leaves the harbour at 15:30 from the eastern wall", 1),
        ("Thanks! [image: a photo of Fort Amaral and of the old harbour wall]", -1),
        ("Oi, Ana! Comprei uma canoa e já desci o rio duas vezes", 0.5),
        ("Hey Ana, we bought a canoe and went down the river twice already", 0.5),
        ("Hey Ana, how are you?", -1),
        ("", -1),
    ],
)
def test_a_turn_tells_more_with_a_name_a_number_or_news_and_less_with_few_words(text: str, tells: float) -> None:
    assert telling(text, "Bruno Reis") == tells


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("We walked along the old harbour wall until the rain began.", "Have you seen Fort Amaral?"),
        ("Caminhamos pela muralha velha do porto até a chuva começar a cair!", "O barco sai às 15:30?"),
        ("Lovely.", "Did your sister walk along the old harbour wall until the rain began?!"),
        ("We walked to Fort Amaral along the old harbour wall until dusk…", "And you？"),
    ],
)
def test_what_a_turn_asks_it_does_not_tell(told: str, asked: str) -> None:
    assert telling(f"{told} {asked}", "Bruno Reis") == telling(told, "Bruno Reis")
    assert telling(asked, "Bruno Reis") == -1


def test_a_short_turn_that_is_exact_stands_between() -> None:
    assert telling("At 15:30.", "Ana") == 0


def test_the_ends_of_a_fact_are_names_of_what_it_was_drawn_from() -> None:
    fact = Fact(subject="Ana Souza", predicate="works at", object="ÁGUAS Ltda.")
    assert ends(memory(fact.sentence(), fact=fact, kind=MemoryKind.FACT)) == ["ana souza", "aguas ltda"]
    assert ends(memory("no fact")) == []


def test_the_ends_of_a_fact_are_compared_as_names_in_texts_are() -> None:
    fact = Fact(subject="A Voz da Serra", predicate="founded in", object="St. Louis")
    (subject, place) = ends(memory(fact.sentence(), fact=fact, kind=MemoryKind.FACT))
    assert subject in names("Ontem li A Voz da Serra inteira")
    assert place in names("They moved to St Louis")


@pytest.mark.parametrize("piece", [", ", "A", " ,A", "d'", "Duke of ", "A. ", "[", " ", "\n", "a", "? "])
def test_a_long_text_of_one_kind_has_few_names_and_is_read_in_one_go(piece: str) -> None:
    text = piece * (300_000 // len(piece))  # with a square of it this would last for minutes
    assert len(names(text)) <= 60
    assert -1 <= telling(text, "Ana") <= 1
    assert not asks(text + "x")
