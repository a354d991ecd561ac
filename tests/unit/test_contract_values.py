"""Values are the same when they mean the same, in either language and however written."""

from collections.abc import Callable

import pytest
from lousa.examples.contract_review import values
from lousa.examples.contract_review.values import Value


def test_a_month_is_thirty_days_and_a_day_is_24_hours() -> None:
    month, days, hours, two = (values.durations(t)[0] for t in ("um mês", "30 dias", "720 horas", "two months"))
    assert values.same(month, days) and values.same(days, hours)
    assert not values.same(month, two)


@pytest.mark.parametrize(
    ("read", "text", "canonical"),
    [
        (values.money, "a quantia de R$ 14.850,00 (quatorze mil reais)", ["BRL 14850.00"]),
        (values.money, "R$ 2,5 milhões e US$ 1,000.50", ["BRL 2500000.00", "USD 1000.50"]),
        (values.money, "$2,400 and € 300", ["USD 2400.00", "EUR 300.00"]),
        (values.percents, "multa de 2% (dois por cento) e 0,50 por cento", ["2%", "0.5%"]),
        (values.percents, "99.50% or ten percent", ["99.5%"]),
        (values.durations, "24 (vinte e quatro) meses; dois anos", ["24 months", "24 months"]),
        (
            values.durations,
            "two (2) years, ninety days, 48 hours, three weeks",
            ["24 months", "90 days", "48 hours", "21 days"],
        ),
        (values.durations, "vinte e um dias e cento e vinte dias úteis", ["21 days", "120 days"]),
        (values.dates, "1º de março de 2024, March 1st, 2024 e 01/03/2024", ["2024-03-01"] * 3),
        (values.dates, "45 de março de 2024", []),
        (values.days_of_month, "até o dia 10 (dez) de cada mês", ["10"]),
        (values.days_of_month, "no dia 10 de março de 2024", []),
        (values.venues, "Fica eleito o foro da Comarca de Juiz de Fora, Minas Gerais", ["juiz de fora"]),
        (values.venues, "courts located in New Castle County, Delaware", ["new castle county"]),
        (values.venues, "o foro da situação do imóvel", []),
        (values.venues, "as ações serão propostas perante os juízes do Recife, Pernambuco", ["recife"]),
        (values.venues, "caberá ao juiz de direito de Bagé; depois, à Vara Cível de Jaú", ["bage", "jau"]),
        (values.seats, "por arbitragem, com sede em Curitiba", ["curitiba"]),
        (values.seats, "the seat of the arbitration shall be Geneva", ["geneva"]),
        (values.laws, "the laws of the State of New York", ["new york"]),
        (values.laws, "regido pelas leis da República Federativa do Brasil", ["brasil"]),
        (values.laws, "regula-se pelo direito brasileiro", ["brasil"]),
    ],
)
def test_a_value_is_read_in_its_canonical_form(
    read: Callable[[str], list[Value]], text: str, canonical: list[str]
) -> None:
    found = read(text)
    assert [value.canonical for value in found] == canonical
    assert all(text[v.start : v.end].strip() == v.shown for v in found)
