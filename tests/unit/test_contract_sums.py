"""A price is compared with the same price only, a service with the same service, and a term with what it became."""

import pytest
from lousa.examples.contract_review.attributes import PRICES, read
from lousa.examples.contract_review.clauses import CLAUSES, find
from lousa.examples.contract_review.contradictions import Contradiction, contradictions
from lousa.examples.contract_review.documents import document
from lousa.examples.contract_review.sums import without_late

PARTIES = "LOCADORA: Barro Vermelho Imóveis Ltda., CNPJ 1.\n\nLOCATÁRIA: Gráfica Maré Alta S.A., CNPJ 2.\n\n"
RENT = "O aluguel mensal é de R$ 3.300,00"
RAISED = "O aluguel mensal passa a ser de R$ 3.900,00, com vencimento no dia 12."


def changed(heading: str, agreement: str, amendment: str) -> list[Contradiction]:
    one, other = (
        document(name, f"{title} Nº 8/2023\n\n{PARTIES}1. {heading}\n\n{body}\n\nIlhéus, 3 de março de {year}.\n")
        for name, title, body, year in (
            ("main", "CONTRATO DE LOCAÇÃO", agreement, 2023),
            ("amendment", "TERMO ADITIVO AO CONTRATO DE LOCAÇÃO", amendment, 2024),
        )
    )
    quotations = {d.name: [q for clause in CLAUSES for q in find(clause, d)] for d in (one, other)}
    found = contradictions([one, other], quotations)
    for c in found:
        assert c.a in {q.text for q in quotations["main"] if q.clause == c.clause}
        assert c.b in {q.text for q in quotations["amendment"] if q.clause == c.clause}
    return found


@pytest.mark.parametrize(
    "tail",
    [
        " (três mil e trezentos reais), a ser pago até o dia 7 de cada mês, com multa de 10% em caso de atraso.",
        ", até o dia 7 de cada mês, sob pena de multa de 2%, juros de 1% ao mês e correção monetária.",
        ", com desconto de R$ 150,00 se pago até o dia 2, e vence no dia 7 de cada mês.",
        " e vence no dia 7; em caso de atraso, a locatária pagará R$ 40,00 por dia.",
    ],
)
def test_what_a_delay_costs_does_not_hide_the_price_and_its_day(tail: str) -> None:
    assert [c.reason for c in changed("ALUGUEL", RENT + tail, RAISED)] in (
        ["monthly price: R$ 3.300,00 / R$ 3.900,00; day of payment: até o dia 7 / no dia 12"],
        ["monthly price: R$ 3.300,00 / R$ 3.900,00; day of payment: no dia 7 / no dia 12"],
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "A multa é de R$ 90,00 por mês, mais juros de 1%.",
        "O locatário pagará R$ 90,00 de multa por mês de atraso.",
        "Em caso de atraso, pagará R$ 90,00 por dia.",
    ],
)
def test_a_sentence_about_delay_fixes_no_price(sentence: str) -> None:
    assert not {*read("payment", sentence)} & PRICES


def test_what_is_left_out_keeps_the_offsets() -> None:
    sentence = "R$ 90,00 por mês, com multa de 2%, até o dia 4."
    assert without_late(sentence) == f"R$ 90,00 por mês{' ' * 17}, até o dia 4."


@pytest.mark.parametrize(
    ("agreement", "amendment"),
    [
        ("", "O condomínio mensal passa a ser de R$ 700,00."),
        ("", "A locatária pagará ainda R$ 280,00 mensais pela segunda vaga."),
        ("", "A locatária pagará R$ 280,00 por uso do salão de festas."),
        ("", "A multa por atraso passa a ser de R$ 250,00 por mês."),
        ("", "A caução passa a ser de R$ 9.900,00."),
        ("", "Fica incluída a limpeza da calçada, pela qual a LOCATÁRIA pagará R$ 480,00 por mês."),
        (
            "A hora de empilhadeira além da franquia custa R$ 75,00 por máquina.",
            "O aluguel de cada máquina é de R$ 900,00.",
        ),
        ("Cada visita técnica custa R$ 130,00.", "A LOCATÁRIA pagará R$ 210,00 por visita extra."),
    ],
)
def test_the_price_of_one_thing_does_not_contradict_that_of_another(agreement: str, amendment: str) -> None:
    assert changed("ALUGUEL", f"{RENT}.\n\n{agreement}".rstrip(), amendment) == []


def test_of_two_things_let_in_one_sentence_each_keeps_its_own_price() -> None:
    both = "O aluguel é de R$ 6.100,00 mensais por empilhadeira e de R$ 840,00 mensais pelo carregador."
    found = changed("ALUGUEL", both, "O aluguel mensal de cada empilhadeira é reduzido para R$ 5.700,00.")
    assert [c.reason for c in found] == ["price per empilhadeira, monthly: R$ 6.100,00 / R$ 5.700,00"]
    assert changed("ALUGUEL", both, "O aluguel mensal do carregador passa a ser de R$ 900,00.") == []


@pytest.mark.parametrize(
    ("amendment", "reasons"),
    [
        (
            "O prazo do item 1.1 fica prorrogado por mais 10 (dez) meses, totalizando 30 (trinta) meses.",
            ["length: 20 (vinte) meses / 30 (trinta) meses"],
        ),
        ("Fica prorrogada a vigência por mais 10 meses.", ["length: 20 (vinte) meses / 20 (vinte) meses + 10 meses"]),
        ("O prazo de conclusão da obra fica prorrogado por 3 meses.", []),
        ("O contrato poderá ser prorrogado por mais 10 meses.", []),
    ],
)
def test_a_prolonged_term_is_held_against_the_old_length(amendment: str, reasons: list[str]) -> None:
    agreement = "1.1. A locação tem duração de 20 (vinte) meses, contados da data do termo de entrega."
    assert [c.reason for c in changed("PRAZO", agreement, amendment) if c.clause == "term"] == reasons


@pytest.mark.parametrize(
    "amendment",
    ["O vencimento, antes fixado no dia 8, é transferido para o dia 21.", "O vencimento passa para o dia 21."],
)
def test_a_due_day_of_its_own_sentence_is_compared(amendment: str) -> None:
    found = changed("ALUGUEL", f"{RENT}.\n\nO vencimento dá-se no dia 8 do mês seguinte.", amendment)
    assert [c.reason for c in found] == ["day of payment: no dia 8 / dia 21"]


def test_a_longer_notice_is_among_the_findings_of_the_amendment() -> None:
    agreement = "1.1. Qualquer das partes poderá denunciar o contrato, sem motivo, com aviso de 40 dias."
    found = changed("DENÚNCIA", agreement, "O aviso previsto no item 1.1 passa a ser de 75 dias.")
    assert [(c.clause, c.reason) for c in found] == [("termination", "notice: 40 dias / 75 dias")]


@pytest.mark.parametrize(
    ("amendment", "reasons"),
    [
        ("Os chamados urgentes passam a ser atendidos em até 5 horas.", ["time to respond, urgent: 3 horas / 5 horas"]),
        ("Os chamados serão atendidos em até 9 horas.", []),
    ],
)
def test_how_fast_urgent_calls_are_answered_says_nothing_of_the_others(amendment: str, reasons: list[str]) -> None:
    agreement = (
        "Os chamados urgentes serão atendidos em até 3 horas.\n\nOs demais chamados serão atendidos em até 30 horas."
    )
    assert [c.reason for c in changed("SUPORTE", agreement, amendment)] == reasons


def test_one_new_level_of_service_takes_the_place_of_one_old_one() -> None:
    agreement = (
        "A central de portaria atenderá cada chamada de morador em até 40 segundos.\n\n"
        "Pelo menos 93% das ligações dos moradores serão respondidas pela central."
    )
    amendment = "Pelo menos 97% das ligações dos moradores serão respondidas pela central em até 30 segundos."
    assert len(changed("NÍVEIS DE SERVIÇO", agreement, amendment)) <= 1
