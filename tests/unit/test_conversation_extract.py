"""Summaries and topics without a model: the turns' own words, the same every time, in Portuguese and in English."""

from __future__ import annotations

import pytest
from lousa.memory_layers.conversation.extract import Said, condense, sentences, shortened, summarise, topics
from lousa.memory_layers.conversation.language import language_of

PT = [
    Said("user", "Oi, tudo bem? Preciso rever o aluguel da loja de Recife.", 0),
    Said("assistant", "Claro! O aluguel vence em 30/11. Quer renovar?", 1),
    Said("user", "Não sei. A multa é de R$ 1.200,00 se eu atrasar o aluguel.", 2),
    Said("assistant", "Certo. Vou pedir ao corretor uma proposta.", 3),
    Said("user", "Obrigado!", 4),
    Said("user", "A partir de agora fale só comigo sobre a multa.", 5),
]
EN = [
    Said("user", "Hi there", 0),
    Said("assistant", "Hello! How can I help?", 1),
    Said("user", "We decided to move the greenhouse sensors to channel B-17. Dr. Okafor approved it.", 2),
    Said("assistant", "The sensors will be moved to channel B-17 on Friday.", 3),
    Said("user", "Thanks!", 4),
    Said("user", "Never water the orchids before noon.", 5),
    Said("assistant", "Noted: the orchids are watered after noon.", 6),
]


@pytest.mark.parametrize("said", [PT, EN])
def test_every_line_of_a_summary_was_said_by_whom_it_says(said: list[Said]) -> None:
    for most in (80, 200, 400, 5_000):
        text = summarise(said, most)
        assert text and len(text) <= most
        for line in text.splitlines():
            who, _, words = line.partition(": ")
            assert any(each.who == who and words.rstrip("…") in each.text for each in said)


def test_what_was_decided_and_what_must_be_comes_before_courtesies() -> None:
    assert "multa é de R$ 1.200,00" in summarise(PT, 200)
    assert "Obrigado" not in summarise(PT, 5_000)
    english = summarise(EN, 200)
    assert "We decided to move the greenhouse sensors to channel B-17." in english
    assert "Never water the orchids before noon." in english
    assert "Thanks" not in summarise(EN, 5_000) and "How can I help" not in summarise(EN, 5_000)


@pytest.mark.parametrize("said", [PT, EN])
def test_the_same_turns_always_give_the_same(said: list[Said]) -> None:
    assert len({summarise(said, 300) for _ in range(5)}) == 1
    assert topics(said) == topics(list(said))


def test_a_summary_keeps_the_order_in_which_things_were_said() -> None:
    lines = summarise(EN, 5_000).splitlines()
    places = [next(each.place for each in EN if line.partition(": ")[2] in each.text) for line in lines]
    assert places == sorted(places)


def test_what_was_said_twice_is_told_once() -> None:
    said = [Said("user", "The boiler in hall 3 must be replaced before winter.", place) for place in range(9)]
    said.append(Said("user", "The invoices of the caterer are still missing.", 9))
    text = summarise(said, 130)
    assert "boiler" in text and "invoices" in text


def test_topics_are_what_turns_have_in_common_and_name_them() -> None:
    found = {each.name: each for each in topics(PT)}
    assert found["aluguel"].places == (0, 1, 2)
    assert found["multa"].places == (2, 5)
    assert "R$ 1.200,00" in found["multa"].text and "fale só comigo" in found["multa"].text
    english = {each.name: each for each in topics(EN)}
    assert english["channel B-17"].places == (2, 3) and english["orchids"].places == (5, 6)
    assert topics([Said("user", "one single remark about kettles")]) == []


def test_the_lines_of_older_summaries_are_condensed_as_they_are() -> None:
    lines = summarise(PT, 5_000).splitlines() + summarise(EN, 5_000).splitlines()
    text = condense(lines, 250)
    assert text and len(text) <= 250 and {*text.splitlines()} <= {*lines}
    assert condense([], 250) == "" and condense(["", ""], 250) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\n\n",
        "!!!",
        "ok",
        "😀😀",
        "a" * 100_000,
        "word " * 50_000,
        "١٢٣ مرحبا بالعالم",
        "x\u0000y",
        "。" * 50,
    ],
)
def test_nothing_that_can_be_said_is_too_odd(text: str) -> None:
    said = [Said("user", text, 0), Said("assistant", text, 1)]
    assert len(summarise(said, 200)) <= 200
    assert len(topics(said)) <= 3
    assert len(condense([text[:300]], 200)) <= 200


def test_sentences_end_where_people_end_them() -> None:
    assert sentences("O Sr. Lima pagou R$ 1.200,50 em 3.5.2026. E agora? Nada.") == [
        "O Sr. Lima pagou R$ 1.200,50 em 3.5.2026.",
        "E agora?",
        "Nada.",
    ]
    assert sentences("first line\nsecond line") == ["first line", "second line"]
    assert shortened("a long sentence of words", 12) == "a long…"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("O prazo é de 30 dias", "pt"),
        ("voce vai pagar quando?", "pt"),
        ("não sei se isso vai dar certo", "pt"),
        ("What is the deadline of the offer?", "en"),
        ("I don't know when they will pay", "en"),
        ("¿Cuál es el plazo de la entrega? No lo sé, pero es muy largo.", "other"),
        ("Wie ist das und was ist nicht gut", "other"),
        ("我们明天见,好吗", "other"),
        ("Увидимся завтра, хорошо?", "other"),
        ("ok", None),
        ("CX-10 / 2026", None),
        ("", None),
    ],
)
def test_a_language_is_told_by_its_small_words_or_not_at_all(text: str, language: str | None) -> None:
    assert language_of(text) == language
