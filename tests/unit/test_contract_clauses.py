"""Each clause is quoted where it is said, in formal and in plain words, and not where it is not."""

import pytest
from lousa.examples.contract_review.clauses import CLAUSES, Quotation, find, second_look
from lousa.examples.contract_review.documents import document

ENGLISH = [
    ("term", "This Agreement shall commence on the Effective Date and continue for a period of three (3) years."),
    ("term", "After that it renews automatically for additional one-year terms unless a party gives notice."),
    ("payment", "Customer shall pay a monthly fee of $900 within thirty days of receipt of each invoice."),
    ("termination", "Either party may terminate this Agreement without cause upon sixty days' written notice."),
    ("liability_cap", "In no event shall either party's total liability exceed the fees paid in the prior year."),
    ("liability_cap", "Neither party will be liable for any indirect, incidental or consequential damages."),
    ("governing_law", "This Agreement is governed by the laws of the State of Vermont."),
    ("assignment", "Neither party may assign this Agreement without the prior written consent of the other."),
]

PORTUGUESE = [
    ("term", "O presente contrato vigorará por 36 (trinta e seis) meses, contados da assinatura."),
    ("term", "A parceria começa em 4 de maio de 2025 e termina em 3 de maio de 2027."),
    ("term", "O plano vale por seis meses e se renova sozinho por mais seis."),
    ("payment", "A CONTRATANTE pagará à CONTRATADA R$ 7.400,00 por mês, até o dia 8, contra nota fiscal."),
    ("payment", "Sobre as faturas em atraso incidirão multa de 2% e juros de 1% ao mês."),
    ("payment", "O valor será reajustado anualmente pela variação do IPCA."),
    ("termination", "Qualquer das partes poderá rescindir o contrato, sem motivo, com aviso de trinta dias."),
    ("termination", "Você pode cancelar a assinatura quando quiser, sem multa."),
    ("termination", "O contrato será resolvido de pleno direito em caso de falência ou inadimplemento."),
    ("liability_cap", "A responsabilidade total do fornecedor fica limitada ao valor pago nos últimos doze meses."),
    ("liability_cap", "Em nenhuma hipótese a indenização excederá R$ 80.000,00, nem abrangerá lucros cessantes."),
    ("confidentiality", "O dever de segredo perdura por cinco anos depois do fim do contrato."),
    ("data_protection", "Os dados pessoais dos clientes serão tratados conforme a LGPD, na qualidade de operadora."),
    ("data_protection", "Havendo vazamento de dados pessoais, o encarregado será avisado em 24 horas."),
    ("governing_law", "Fica eleito o foro da Comarca de Bagé para dirimir as questões deste contrato."),
    ("governing_law", "As controvérsias serão resolvidas por arbitragem, na Câmara de Recife."),
    ("governing_law", "Este contrato rege-se pela lei brasileira."),
    ("service_levels", "O sistema ficará disponível, no mínimo, 99,5% das horas de cada mês."),
    ("service_levels", "Os chamados críticos serão atendidos em até 2 (duas) horas."),
    ("assignment", "É vedado ceder ou transferir este contrato a terceiros sem anuência da outra parte."),
    ("assignment", "Você não pode passar sua assinatura para outra pessoa sem falar com a gente."),
]

ELSEWHERE = [
    ("term", "A garantia dos equipamentos é de doze meses contados da entrega."),
    ("term", "The warranty period for the pump is two years from delivery."),
    ("payment", "A CONTRATADA manterá seguro com apólice de R$ 500.000,00."),
    ("liability_cap", "The insurance policy shall cover third party liability up to $1,000,000."),
    ("liability_cap", "Cada parte responde pelos seus empregados e pelos seus tributos."),
    ("confidentiality", "O imóvel será devolvido pintado e limpo."),
    ("data_protection", "Os dados bancários para depósito constam do anexo."),
    ("governing_law", "The Contractor shall comply with all applicable safety rules on the site."),
    ("governing_law", "A CONTRATADA cumprirá as normas de segurança do trabalho."),
    ("service_levels", "As obras terminam em noventa dias."),
    ("service_levels", "Late payments bear interest at 2% per month."),
    ("assignment", "A autora cede à editora os direitos autorais sobre o livro."),
    ("assignment", "The engineers assigned to the project shall carry badges."),
]


@pytest.mark.parametrize(("clause", "sentence"), ENGLISH)
def test_an_english_clause_is_quoted_where_it_is_said(clause: str, sentence: str) -> None:
    text = f"The schedules are part of it.\n\n{sentence}\n\nThe headings are for reading only.\n"
    assert [q.text for q in find(clause, document("a.txt", text))] == [sentence]


@pytest.mark.parametrize(("clause", "sentence"), PORTUGUESE)
def test_a_portuguese_clause_is_quoted_where_it_is_said(clause: str, sentence: str) -> None:
    text = f"Os anexos fazem parte do que se combinou.\n\n{sentence}\n\nOs títulos só ajudam a leitura.\n"
    assert [q.text for q in find(clause, document("a.txt", text))] == [sentence]


@pytest.mark.parametrize(("clause", "sentence"), ELSEWHERE)
def test_a_clause_is_not_quoted_where_something_else_is_said(clause: str, sentence: str) -> None:
    assert find(clause, document("a.txt", sentence)) == []


@pytest.mark.parametrize(
    ("clause", "text", "quoted"),
    [
        ("governing_law", "X. FORO\n\nComarca de Bagé.\n", "Comarca de Bagé."),
        (
            "assignment",
            "8. Cessão do contrato\n\nVedada, salvo licença por escrito.\n",
            "Vedada, salvo licença por escrito.",
        ),
    ],
)
def test_a_plain_heading_is_enough_when_nothing_else_speaks(clause: str, text: str, quoted: str) -> None:
    text = f"As partes combinam o que segue, de boa vontade.\n\n{text}"
    assert [q.text for q in find(clause, document("a.txt", text))] == [quoted]


AGREEMENT = "\n\n".join(sentence for _, sentence in PORTUGUESE)


@pytest.mark.parametrize("clause", CLAUSES)
def test_quotations_are_few_and_are_the_document_s_own_characters(clause: str) -> None:
    one = document("a.txt", "\ufeff" + AGREEMENT + "\n" + AGREEMENT.replace(" ", "  ", 40))
    found = find(clause, one)
    assert len(found) <= (10 if clause == "parties" else 3)
    assert all(q.text == one.text[q.start : q.end] and q.clause == clause for q in found)
    assert found == find(clause, one)


def test_a_second_look_is_content_with_less() -> None:
    one = document(
        "a.txt", "O contrato pode ser desfeito por qualquer uma, querendo.\n\nAs chaves ficam na portaria do prédio.\n"
    )
    assert len(second_look("termination", one)) == 1


def test_what_is_confirmed_unchanged_is_not_quoted_again() -> None:
    text = "Ficam ratificadas as demais cláusulas, em especial a do foro da Comarca de Bagé e o dever de sigilo."
    assert find("governing_law", document("a.txt", text)) == []


def test_a_long_sentence_is_quoted_in_part() -> None:
    text = "Neither party may assign this Agreement without consent" + ", nor any right under it" * 100 + "."
    quotation = find("assignment", document("a.txt", text))[0]
    assert len(quotation.text) <= 1500
    assert isinstance(quotation, Quotation)
