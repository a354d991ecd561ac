"""A price keeps the name and the unit that the agreement gives it."""

import pytest
from lousa.examples.contract_review.prices import named_prices


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("The storage charge is $17.90 per pallet.", {"price per pallet": "17.90", "price of storage charge": "17.90"}),
        ("Buyer pays £2.86 for each lunch.", {"price per lunch": "2.86"}),
        ("A parte fixa da fatura será de R$ 44.900,00.", {"price of parte fixa": "44900.00"}),
        ("O preço do quilo passa a R$ 35,00.", {"price per quilo": "35.00"}),
        (
            "A hora que passar da cota, por excedente, sai a R$ 80,00 por grua.",
            {"price per grua, extra, by the hour": "80.00"},
        ),
        ("O aluguel mensal por grua será de R$ 7.000,00.", {"price per grua, monthly": "7000.00"}),
        ("O café será comprado a R$ 32,50 o quilo.", {"price per quilo": "32.50"}),
        ("Cada aula sai por R$ 90,00.", {"price per aula": "90.00"}),
        ("A taxa de entrada passa de R$ 5,00 para R$ 7,00.", {"price of taxa entrada": "7.00"}),
        ("R$ 4,00 por quilo até dez, R$ 3,00 por quilo depois.", {}),
        ("A multa é de R$ 10,00 por dia.", {}),
        ("O aluguel é de R$ 900,00 por mês.", {}),
    ],
)
def test_a_price_is_read_under_its_own_name(sentence: str, named: dict[str, str]) -> None:
    assert {name: value.canonical.split()[1] for name, value in named_prices(sentence).items()} == named
