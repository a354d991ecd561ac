"""What a text is found by, word by word."""

from __future__ import annotations

import pytest
from lousa.memory_layers.context.terms import identifiers, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the printer is a CX-10.", ["=cx10"]),
        ("CX10 e cx-10", ["=cx10", "=cx10"]),
        ("NF-2024/001", ["=nf2024/001"]),
        ("us-east-1 and eu-west-1", ["=us-east1", "=eu-west1"]),
        ("CNPJ 12.345.678/0001-90", ["=12345678000190"]),
        ("CNPJ 12345678000190", ["=12345678000190"]),
        ("erro E1001 em main.py", ["=e1001", "=main.py"]),
        ("escreva a ana@exemplo.com.br", ["=ana@exemplo.com.br"]),
        ("ERR_CONN_RESET", ["=err_conn_reset"]),
        ("A1-23 is not A12-3", ["=a1-23", "=a12-3"]),
        ("10 chairs in 2024, well-known", []),
    ],
)
def test_identifiers_are_kept_whole(text: str, expected: list[str]):
    assert identifiers(text) == expected


def test_terms_are_folded_and_without_function_words_of_both_languages():
    found = terms("Qual é o preço da Licença? What is the price of THE licence?")
    assert found.words == ("preco", "licenca", "price", "licence")
    assert found.identifiers == ()


def test_a_question_has_a_bounded_number_of_terms():
    found = terms(" ".join(f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} id-{n}" for n in range(5_000)))
    assert len(found.words) == len(found.identifiers) == 48
    assert terms("x" * 5_000) == terms("")
