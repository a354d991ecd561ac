"""What says the same meets under one key; what differs in anything that is said does not, in either language."""

from __future__ import annotations

import pytest
from lousa.memory_layers.execution.sameness import core, ending, retold

SAME = [
    ("Prefere café sem açúcar", "  prefere o CAFE sem acucar. "),
    ("O deploy de produção é às 15h", "O deploy da produção é às 15h!"),
    ("The team uses the pytest runner", "Team uses pytest runner."),
    ("Send the report to Ana, please", "Please send report to Ana"),
    ("A cliente pediu: relatórios em planilha", "a cliente pediu relatório em planilha"),
    ("“No meetings on Fridays”", "no meeting on Friday"),
    ("Nunca apague o banco de produção", "NUNCA APAGUE O BANCO DE PRODUÇÃO"),
    ("São Paulo é a sede", "Sao Paulo é sede"),
]
DIFFERENT = [
    ("the limit is 10", "the limit is 12"),
    ("o limite é 1.000", "o limite é 10.00"),
    ("the balance is -5", "the balance is 5"),
    ("desconto de 5%", "desconto de 5"),
    ("the service runs in us-east-1", "the service runs in us-east-2"),
    ("fatura NF-2024/001", "fatura NF-2024/002"),
    ("Ana approves invoices", "Ane approves invoices"),
    ("Ana pays Bia", "Bia pays Ana"),
    ("o gato persegue o cão", "o cão persegue o gato"),
    ("a entrega é em 3 de março", "a entrega é em 3 de maio"),
    ("we meet on Monday", "we meet on Tuesday"),
    ("force push is allowed", "force push is not allowed"),
    ("nunca use a opção B", "use a opção B"),
    ("com açúcar", "sem açúcar"),
    ("the server is down", "the server was down"),
    ("o pedido foi aprovado", "o pedido foi reprovado"),
    ("is the office open?", "the office is open"),
    ("is it open", "is it open?"),
    ("vai do Recife até Natal", "vai do Recife para Natal"),
    ("Vitamin A is low", "Vitamin is low"),
    ("Plano A", "Plano O"),
    ("a opção a", "a opção o"),
    ("10 de 12", "12 de 10"),
    ("🙂", "🙁"),
]
RETOLD = [
    ("The user said: production deploys stop on Fridays", "production deploys stop on Fridays"),
    ("the user said that production deploys stop on Fridays", "production deploys stop on Fridays"),
    ('User told me: "production deploys stop on Fridays".', "production deploys stop on Fridays"),
    ("According to the user, tests run with pytest", "tests run with pytest"),
    ("- I remember that tests run with pytest", "tests run with pytest"),
    ("Note: tests run with pytest", "tests run with pytest"),
    ('"tests run with pytest"', "tests run with pytest"),
    ("O usuário disse: nunca force push na main", "nunca force push na main"),
    ("A usuária informou que nunca force push na main", "nunca force push na main"),
    ("Segundo o usuário, os testes são com pytest", "os testes são com pytest"),
    ("Lembro que os testes são com pytest", "os testes são com pytest"),
    ("Lembrete: «os testes são com pytest»", "os testes são com pytest"),
    ("Nota: o usuário disse que “os testes são com pytest”", "os testes são com pytest"),
]
ITS_OWN = [
    "The user reported a bug",
    "The client said: ship it",
    "I know Ana",
    "Ana disse que não vem",
    "note the date",
    "O usuário confirmou o pedido",
    '"A" and "B"',
    "'",
    "",
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same_has_one_core(one: str, other: str) -> None:
    assert core(one) == core(other)
    assert ending(one) == ending(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_in_a_value_a_name_or_a_denial_has_another(one: str, other: str) -> None:
    assert core(one) != core(other)
    assert [ending(text) for text in (one, other)] == [core(text).rpartition(" ")[2] for text in (one, other)]


@pytest.mark.parametrize(("text", "said"), RETOLD)
def test_what_is_only_told_again_is_what_was_told(text: str, said: str) -> None:
    assert core(retold(text)) == core(said)


@pytest.mark.parametrize("text", ITS_OWN)
def test_what_says_more_than_from_whom_it_is_stays_as_it_is(text: str) -> None:
    assert retold(text) == text


@pytest.mark.parametrize("text", ["", "the", "os", "...", "“”", "a the of", "\u0301", "x" * 100_000, "note: " * 2_000])
def test_any_text_has_a_core_and_is_read_to_its_end(text: str) -> None:
    assert core(text) == core(text.upper().lower()) == core(core(text))
    assert len(retold(text)) <= len(text)
    assert ending(text) == core(text).rpartition(" ")[2]
