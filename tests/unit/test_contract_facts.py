"""The graph is told what the document leaves no doubt about, in its own words."""

from lousa.examples.contract_review.clauses import CLAUSES, find
from lousa.examples.contract_review.documents import document
from lousa.examples.contract_review.facts import facts

TEXT = (
    "CONTRATO DE LIMPEZA\n\nCONTRATANTE: Colégio Pedra Lisa Ltda., CNPJ "
    "1.\n\nCONTRATADA: Brisa Clara Serviços S.A., CNPJ 2.\n\n"
    "1. PREÇO\n\nO CONTRATANTE pagará R$ 3.100,00 por mês, até o dia 7.\n\n2. VIGÊNCIA\n\nEste contrato vigorará por 18"
    " (dezoito) meses.\n\n3. FORO\n\nEste contrato rege-se pela lei brasileira, e "
    "fica eleito o foro da Comarca de Aracati.\n"
)
SUBJECT = "CONTRATO DE LIMPEZA (Colégio Pedra Lisa Ltda. / Brisa Clara Serviços S.A.)"


def told(text: str) -> list[tuple[str, str, str]]:
    one = document("a.txt", text)
    return facts(one, [q for clause in CLAUSES for q in find(clause, one)])


def test_facts_are_what_the_clauses_fix() -> None:
    assert told(TEXT) == [
        (SUBJECT, "party", "Colégio Pedra Lisa Ltda."),
        (SUBJECT, "party", "Brisa Clara Serviços S.A."),
        (SUBJECT, "monthly price", "R$ 3.100,00"),
        (SUBJECT, "day of payment", "até o dia 7"),
        (SUBJECT, "lasts", "18 (dezoito) meses"),
        (SUBJECT, "venue", "Aracati"),
        (SUBJECT, "governing law", "brasileira"),
    ]


def test_two_values_for_one_thing_tell_nothing() -> None:
    doubtful = TEXT.replace("até o dia 7.", "até o dia 7. A CONTRATANTE pagará R$ 3.900,00 por mês no verão.")
    assert "monthly price" not in [predicate for _, predicate, _ in told(doubtful)]


def test_a_text_that_says_nothing_tells_nothing() -> None:
    assert told("Bom dia a todos os que passam por aqui.") == []
