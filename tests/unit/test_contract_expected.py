"""An agreement is blamed only for what its kind is expected to say."""

import pytest
from lousa.examples.contract_review.expected import expected_of
from lousa.examples.contract_review.segments import flat


@pytest.mark.parametrize(
    ("title", "text", "never"),
    [
        ("CONTRATO DE LOCAÇÃO RESIDENCIAL", "", {"confidentiality", "liability_cap"}),
        ("Contrato de locação", "O locador cede a loja térrea da Rua do Sol.", {"confidentiality", "liability_cap"}),
        ("COMMERCIAL LEASE", "The Landlord lets the premises.", {"confidentiality", "liability_cap"}),
        ("LOCAÇÃO DE EQUIPAMENTOS", "", {"confidentiality"}),
        ("ACORDO DE CONFIDENCIALIDADE", "", {"payment", "liability_cap", "termination"}),
        ("COMPRA E VENDA DE VEÍCULO USADO", "", {"term", "confidentiality", "assignment", "liability_cap"}),
        ("CONTRATO DE MÚTUO", "", {"confidentiality", "liability_cap", "termination"}),
        ("CONTRATO DE COMODATO", "", {"payment", "confidentiality"}),
        ("CONTRATO DE TRABALHO", "", {"governing_law", "assignment", "liability_cap"}),
        ("TERMO DE DOAÇÃO", "", {"payment", "term"}),
        ("DISTRATO", "", {"term", "confidentiality"}),
        ("CONTRATO DE PARCERIA AGRÍCOLA", "", {"confidentiality", "liability_cap"}),
        ("CONTRATO DE REPRESENTAÇÃO COMERCIAL", "", {"liability_cap"}),
    ],
)
def test_no_agreement_is_blamed_for_what_its_kind_does_not_have(title: str, text: str, never: set[str]) -> None:
    expected = expected_of(flat(title), flat(text))
    assert "parties" in expected
    assert not never & set(expected)


@pytest.mark.parametrize(
    "title",
    ["PRESTAÇÃO DE SERVIÇOS DE PORTARIA", "LOCAÇÃO DE MÃO DE OBRA", "COMPRA E VENDA DE ENERGIA", "SERVICES AGREEMENT"],
)
def test_services_and_lasting_supply_are_expected_to_say_everything(title: str) -> None:
    assert {"term", "payment", "confidentiality", "liability_cap", "assignment"} <= {*expected_of(flat(title), "")}


def test_data_and_service_levels_are_expected_where_an_agreement_speaks_of_them() -> None:
    expected = expected_of("locacao de equipamentos", "impressoras com suporte tecnico e dados pessoais dos usuarios")
    assert {"data_protection", "service_levels"} <= {*expected}
