"""An amendment is held against its agreement, a draft against its draft, and nothing against a stranger."""

from pathlib import Path

import lousa.examples.contract_review as example
import pytest
from lousa.examples.contract_review.clauses import CLAUSES, find
from lousa.examples.contract_review.contradictions import Contradiction, contradictions, missing
from lousa.examples.contract_review.documents import Document, document, read_document

PARTIES = "CONTRATANTE: Tear de Minas Confecções Ltda., CNPJ 1.\n\nCONTRATADA: Nuvem Alta Sistemas S.A., CNPJ 2.\n\n"
MAIN = (
    f"CONTRATO DE HOSPEDAGEM DE SISTEMAS Nº 31/2024\n\n{PARTIES}1. PREÇO\n\nA "
    "CONTRATANTE pagará R$ 5.000,00 por mês.\n\n"
    "2. VIGÊNCIA\n\nEste contrato vigorará por 12 (doze) meses, e será renovado por períodos de 6 (seis) meses.\n\n"
    "3. RESCISÃO\n\nQualquer das partes poderá denunciar o contrato, sem motivo, com aviso de 30 dias.\n\n"
    "4. FORO\n\nFica eleito o foro da Comarca de Ubá.\n\nUbá, 2 de maio de 2024.\n"
)
AMENDMENT = (
    f"TERMO ADITIVO AO CONTRATO DE HOSPEDAGEM DE SISTEMAS Nº 31/2024\n\n{PARTIES}"
    "1. A mensalidade passa de R$ 5.000,00 para R$ 6.250,00.\n\n2. O contrato passa a vigorar por 2 (dois) anos.\n\n"
    "3. As demais cláusulas ficam ratificadas.\n\nUbá, 9 de abril de 2025.\n"
)
ENGLISH_PARTIES = (
    "between Copper Finch Roasters, Inc., an Ohio corporation, and Dunmore Cold "
    "Chain LLC, an Ohio limited liability company.\n\n"
)
ENGLISH = (
    "STORAGE AGREEMENT\n\nThis Storage Agreement is dated as of March 3, 2024, and "
    f"is {ENGLISH_PARTIES}1. Fees. Roasters shall"
    " pay a monthly fee of $4,000.\n\n2. Term. This Agreement shall commence on "
    "April 1, 2024 and continue for two (2) years.\n\n"
    "3. Liability. In no event shall Dunmore's total liability exceed $50,000.\n\n4. "
    "Governing Law. This Agreement is governed"
    " by the laws of the State of Ohio.\n"
)
ENGLISH_AMENDMENT = (
    f"FIRST AMENDMENT TO STORAGE AGREEMENT\n\nThis amendment to the Storage Agreement dated as of March 3, 2024 is made"
    f" {ENGLISH_PARTIES}1. Fees. The monthly fee is increased to $4,700.\n\n2. "
    "Governing Law. This Agreement shall be governed by"
    " the laws of the State of Indiana.\n\n3. Everything else stays as it is.\n"
)


def compare(**texts: str) -> list[Contradiction]:
    return among([document(name, text) for name, text in texts.items()])


def among(documents: list[Document]) -> list[Contradiction]:
    return contradictions(
        documents, {one.name: [q for clause in CLAUSES for q in find(clause, one)] for one in documents}
    )


def test_an_amendment_contradicts_its_agreement_where_it_changes_it() -> None:
    found = compare(amendment=AMENDMENT, main=MAIN)
    assert [(c.documents, c.clause, c.reason) for c in found] == [
        (("main", "amendment"), "payment", "monthly price: R$ 5.000,00 / R$ 6.250,00"),
        (("main", "amendment"), "term", "length: 12 (doze) meses / 2 (dois) anos"),
    ]
    assert all(c.a in MAIN and c.b in AMENDMENT for c in found)


def test_an_english_amendment_contradicts_its_agreement_where_it_changes_it() -> None:
    found = compare(main=ENGLISH, amendment=ENGLISH_AMENDMENT)
    assert [(c.clause, c.reason) for c in found] == [
        ("payment", "monthly price: $4,000 / $4,700"),
        ("governing_law", "law: Ohio / Indiana"),
    ]


@pytest.mark.parametrize(
    "amendment",
    [
        AMENDMENT.replace("31/2024", "77/2023"),
        AMENDMENT.replace("Tear de Minas Confecções", "Moinho Velho Alimentos").replace("Nuvem Alta", "Serra Fria"),
        AMENDMENT.replace(" Nº 31/2024", " de 8 de junho de 2019").replace(
            "TERMO ADITIVO AO CONTRATO DE HOSPEDAGEM DE SISTEMAS", "TERMO ADITIVO AO CONTRATO DE LIMPEZA, firmado em"
        ),
    ],
    ids=["another number", "other parties", "another subject and date"],
)
def test_an_amendment_of_something_else_contradicts_nothing(amendment: str) -> None:
    assert compare(main=MAIN, amendment=amendment) == []


def test_two_drafts_of_one_agreement_contradict_each_other() -> None:
    found = compare(draft=ENGLISH, other=ENGLISH.replace("$50,000", "$90,000").replace("two (2) years", "24 months"))
    assert [(c.clause, c.reason) for c in found] == [("liability_cap", "cap: $50,000 / $90,000")]


def test_the_same_value_in_other_words_is_no_contradiction() -> None:
    other = MAIN.replace("12 (doze) meses", "um ano").replace("R$ 5.000,00 por mês", "R$ 5.000 mensais")
    other = other.replace("aviso de 30 dias", "aviso de um mês")
    assert compare(main=MAIN, other=other) == []


def test_a_new_last_day_contradicts_the_length_it_replaces() -> None:
    dated = MAIN.replace("12 (doze) meses,", "12 (doze) meses, contados de 1º de junho de 2024,")
    amendment = AMENDMENT.replace("O contrato passa a vigorar por 2 (dois) anos.", "{}")
    kept, changed = (
        amendment.format(f"A vigência do contrato termina em 31 de {day}.") for day in ("maio de 2025", "maio de 2026")
    )
    assert [c.reason for c in compare(main=dated, amendment=kept) if c.clause == "term"] == []
    assert [c.reason for c in compare(main=dated, amendment=changed) if c.clause == "term"] == [
        "end: 12 (doze) meses / 31 de maio de 2026"
    ]


def test_another_agreement_of_the_same_parties_contradicts_nothing() -> None:
    other = MAIN.replace("HOSPEDAGEM DE SISTEMAS Nº 31/2024", "LOCAÇÃO DE VEÍCULOS").replace("5.000", "900")
    assert compare(main=MAIN, other=other) == []
    assert compare(main=MAIN, later=MAIN.replace("31/2024", "90/2026").replace("5.000", "5.900")) == []


def test_one_party_with_many_counterparts_contradicts_nothing() -> None:
    firms = ["Alfa Verde", "Beta Azul", "Gama Rubra", "Delta Clara"]
    documents = [
        document(firm, MAIN.replace("Tear de Minas", firm).replace(" Nº 31/2024", "").replace("5.000", f"{5 + n}.000"))
        for n, firm in enumerate(firms)
    ]
    assert among(documents) == []


def test_a_document_does_not_contradict_its_copy() -> None:
    assert compare(one=MAIN, copy=MAIN) == []


def test_the_shipped_amendment_contradicts_its_agreement_and_nothing_else_does() -> None:
    folder = Path(example.__path__[0]) / "agreements"
    found = among([read_document(path) for path in sorted(folder.iterdir())])
    assert {c.documents for c in found} == {("monitoramento-pomares.md", "monitoramento-pomares-aditivo.md")}
    assert [c.clause for c in found] == ["payment", "term", "service_levels", "governing_law"]


def test_what_one_would_expect_and_nobody_quoted_is_missing() -> None:
    one = document("main", MAIN)
    quoted = [q for clause in CLAUSES for q in find(clause, one)]
    assert missing(one, quoted) == ["liability_cap", "confidentiality", "service_levels", "assignment"]
    assert missing(document("amendment", AMENDMENT), []) == []
