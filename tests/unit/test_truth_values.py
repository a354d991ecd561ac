"""Values are read alike however they are written, in both languages, and what they compare with is said."""

from __future__ import annotations

import pytest
from lousa.memory_layers.truth.values import holds_value, plain, values


def read(text: str) -> list[tuple[str, str]]:
    return [(value.sort, value.same) for value in values(text)]


@pytest.mark.parametrize(
    "writings",
    [
        ("at 14:00", "at 2 pm", "às 14h", "at 2:00 p.m.", "às 14h00"),
        ("at noon", "ao meio-dia", "às 12h"),
        ("12 000 units", "12.000 units", "12,000 units", "12 mil units"),
        ("R$ 1.280,50", "1280,50 reais", "R$1.280,50"),
        ("US$ 3,500", "3.5 thousand dollars", "3500 USD", "$3,500.00"),
        ("95 EUR", "€95", "95 euros"),
        ("within 14 days", "em duas semanas", "within 2 weeks", "em 14 dias"),
        ("15%", "15 percent", "15 por cento", "15,0%"),
        ("on Tuesdays", "às terças", "na terça-feira"),
        ("10 de junho", "10 June", "June 10th"),
        ("the 25 days", "the 25 vacation days"),
    ],
)
def test_one_value_in_several_writings_is_the_same(writings: tuple[str, ...]) -> None:
    assert len({tuple(read(writing)) for writing in writings}) == 1, [read(writing) for writing in writings]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("it runs in us-east-1", ("code", "us-east-1")),
        ("write to help@acme.com.", ("mail", "help@acme.com")),
        ("see https://acme.com/a?b=1.", ("address", "https://acme.com/a?b=1")),
        ("the server is 10.0.4.12", ("host", "10.0.4.12")),
        ("we are on version 2.10.3", ("version", "2.10.3")),
        ("the meeting is in room 12", ("which room", "12")),
        ("a reunião é na sala 12", ("which sal", "12")),
        ("de 8 para 9 km", ("of m", "9000")),
        ("the lead is Anna Keller", ("name", "anna keller")),
        ("a gerente é a Dra. Lívia de Souza", ("name", "livia de souza")),
        ("engineers come from Hartmann & Co", ("name", "hartmann & co")),
        ("the button says 'Send'", ("quote", "send")),
    ],
)
def test_a_value_is_read_with_what_it_compares_with(text: str, value: tuple[str, str]) -> None:
    assert value in read(text)


def test_a_word_that_opens_a_sentence_is_no_name_for_its_capital() -> None:
    assert read("Orders wait. The customers wait too.") == []
    assert read("SEUR lost a parcel") == [("name", "seur")]


def test_an_article_counts_nothing() -> None:
    assert read("uma senhora chegou") == []
    assert read("tem um problema") == []


def test_folding_keeps_every_sign_in_its_place() -> None:
    for text in ("Ação às 14h ☕ é ½", "straße İ ﬁn", "a\tb\nc", "😀 R$ 5"):
        assert len(plain(text)) == len(text)
        for value in values(text):
            assert value.begin < value.end <= len(text)


@pytest.mark.parametrize("text", ["", " ", "\n", "only words here", "só palavras aqui", "🙂"])
def test_ordinary_words_hold_no_value_and_cost_no_examination(text: str) -> None:
    assert not holds_value(text)
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    ["it costs 5 euros", "na terça", "write to a@b.co", "it runs on Redis", "o banco é o Postgres", "in two weeks"],
)
def test_what_holds_a_value_is_seen_at_a_cheap_look(text: str) -> None:
    assert holds_value(text)
