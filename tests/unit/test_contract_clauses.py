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

PLAIN_PORTUGUESE = [
    ("term", "Duração", "Se ninguém reclamar, a locação ter-se-á por prorrogada mês a mês, pelo mesmo valor."),
    ("term", "Vigência", "Os períodos de assistência sucedem-se sozinhos, salvo se alguém se opuser."),
    ("payment", "Aluguel", "O vencimento dá-se no dia 18."),
    ("termination", "Quebra", "São causas de resolução a falta de duas remessas e a perda do alvará."),
    ("liability_cap", "Danos", "A Locadora não responderá por quantia superior a quatro aluguéis."),
    ("confidentiality", "Alterações", "O prazo de sigilo do item 4.2 passa a ser de seis anos."),
    ("termination", "Alterações", "O aviso do item 6.3 passa de 20 para 50 dias."),
    ("governing_law", "Lei", "Este ajuste interpreta-se segundo o direito brasileiro."),
    ("term", "Por quanto tempo", "A assessoria dura dezoito meses a contar da primeira reunião."),
    ("term", "Início e fim", "Início: 2 de janeiro de 2026."),
    ("term", "Tempo", "O plano é mensal e vai se repetindo até alguém pedir para parar."),
    ("payment", "Partilha", "Da receita líquida, setenta por cento cabem à Banda e o restante à Casa."),
    ("payment", "Quanto custa", "Cada aula sai por R$ 90,00, e acertamos tudo no último dia útil do mês."),
    ("payment", "Contrapartida", "Em troca, a Marca transferirá à Criadora doze mil reais por campanha."),
    ("termination", "Como terminar antes?", "Vocês podem encerrar o projeto no fim de qualquer etapa."),
    ("termination", "Saída", "Trinta dias de aviso bastam para qualquer lado."),
    ("liability_cap", "Se algo der errado", "Nenhuma de nós vai pagar à outra mais do que o total já recebido."),
    ("liability_cap", "Danos", "O dever de reparar se esgota na soma das mensalidades do ano."),
    ("liability_cap", "Prejuízos", "Ninguém paga, nunca, além de R$ 80.000,00 por ocorrência."),
    ("confidentiality", "O que fica entre nós?", "A babá não comenta com vizinhos nem fotografa a rotina da casa."),
    ("confidentiality", "Silêncio", "Sobre os valores desta venda, comprador e vendedor ficam calados."),
    ("confidentiality", "Informações reservadas", "Os custos não serão comunicados a quem quer que seja."),
    ("data_protection", "Dados dos tutores", "O Canil guarda o telefone dos tutores e o usa para marcar visitas."),
    ("governing_law", "Onde se resolve uma briga?", "Sem conversa que baste, o caso vai para a Justiça de Lages."),
    ("governing_law", "Juízo", "Persistindo a divergência, caberá ao juiz de direito de Jaú decidir."),
    ("governing_law", "Lei", "Direito brasileiro."),
    ("service_levels", "Metas", "Noventa e oito por cento das entregas chegarão no mesmo dia."),
    ("service_levels", "Espera", "O tempo médio de espera não ultrapassará quinze minutos."),
    ("assignment", "Passar adiante", "A Oficina não passa o serviço adiante sem falar com a Frota."),
    ("assignment", "Crédito", "O Credor poderá endossar, empenhar ou vender o crédito."),
]

PLAIN_ENGLISH = [
    ("term", "How long", "The contract lasts eighteen months from the day we sign."),
    ("term", "Dates", "We start on 3 March 2025 and carry on until 28 February 2027."),
    ("term", "Period", "This Deed applies to disclosures made between 1 May 2025 and 30 April 2027."),
    ("payment", "Price", "The Buyer pays £14 a crate within 14 days of delivery."),
    ("payment", "Share", "The Gallery keeps forty per cent of each sale and remits the rest to the Artist."),
    ("termination", "Ending early", "Either of us can walk away at the end of any month."),
    ("liability_cap", "If things go wrong", "The most we can be asked to pay is what you paid us last year."),
    ("confidentiality", "Secrecy", "Each side keeps what it learns about the other to itself."),
    ("confidentiality", "Private matters", "The files must stay inside the Clinic and be shown to nobody."),
    ("governing_law", "Arbitration", "Any dispute shall be settled by arbitration, the seat being Dublin."),
    ("service_levels", "Speed", "Ninety-five per cent of orders leave within twenty minutes."),
    ("service_levels", "Uptime", "The portal is reachable not less than 99.7 percent of the time."),
    (
        "assignment",
        "Transfer",
        "The benefits are personal and shall not be assigned, novated or charged by either party.",
    ),
    ("assignment", "Transfer", "You may not hand this contract to another company."),
]

ELSEWHERE = [
    ("assignment", "Se uma das partes deixar passar um descumprimento, não abre mão de cobrá-lo depois."),
    ("assignment", "A Inquilina entregará, em dez dias, endosso da apólice com a nova vigência."),
    ("assignment", "Novo empréstimo acima de R$ 90.000,00 e venda de imóvel só com aviso à Consultora."),
    ("payment", "A Compradora entregará carta de fiança bancária no valor de R$ 800.000,00."),
    ("termination", "A Vendedora poderá interromper o fornecimento com aviso de cinco dias."),
    ("liability_cap", "O disposto nesta cláusula não alcança os danos ao meio ambiente."),
    ("service_levels", "Erro superior a 2% leva ao recálculo dos três meses anteriores."),
    ("payment", "Um servidor a mais, a título de referência, custa hoje R$ 900,00 por mês."),
    ("payment", "For example, a trip of ten miles would cost $30."),
    ("liability_cap", "O comodatário responde integralmente e sem limite pelos estragos que causar."),
    ("liability_cap", "Tudo o mais fica como está, inclusive o teto de indenização."),
    ("liability_cap", "Everything else, including the cap on liability, stays as it is."),
    ("governing_law", "O imóvel está registrado no cartório da Comarca de Itu, sob o nº 4.511."),
    ("data_protection", "O titular da marca pode fiscalizar o uso dela nas embalagens."),
    ("data_protection", "Todos os pedidos serão tratados com seriedade."),
    ("term", "O fechamento depende da renovação do alvará sanitário da loja."),
    ("term", "O alvará sanitário será renovado a cada doze meses pela Locatária."),
    ("service_levels", "A garantia real corresponderá a, no mínimo, 130% do saldo devedor."),
    ("confidentiality", "O silêncio da Contratante vale como aceite da entrega."),
    ("termination", "As inscrições se encerram em 10 de maio."),
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


@pytest.mark.parametrize(("clause", "heading", "sentence"), PLAIN_PORTUGUESE)
def test_plain_portuguese_is_quoted_under_a_heading_of_its_own(clause: str, heading: str, sentence: str) -> None:
    text = f"Os anexos fazem parte do que se combinou.\n\n1. {heading}\n\n{sentence}\n"
    assert [q.text for q in find(clause, document("a.txt", text))] == [sentence]


@pytest.mark.parametrize(("clause", "heading", "sentence"), PLAIN_ENGLISH)
def test_plain_english_is_quoted_under_a_heading_of_its_own(clause: str, heading: str, sentence: str) -> None:
    text = f"The schedules are part of it.\n\n1. {heading}\n\n{sentence}\n"
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


def test_a_second_look_leaves_alone_what_plainly_says_another_clause() -> None:
    text = "As partes não podem transmitir a terceiros, sem anuência, a posição que ocupam neste contrato.\n"
    assert find("assignment", document("a.txt", text)) != []
    assert second_look("confidentiality", document("a.txt", text)) == []


def test_what_is_confirmed_unchanged_is_not_quoted_again() -> None:
    text = "Ficam ratificadas as demais cláusulas, em especial a do foro da Comarca de Bagé e o dever de sigilo."
    assert find("governing_law", document("a.txt", text)) == []


def test_a_long_sentence_is_quoted_in_part() -> None:
    text = "Neither party may assign this Agreement without consent" + ", nor any right under it" * 100 + "."
    quotation = find("assignment", document("a.txt", text))[0]
    assert len(quotation.text) <= 1500
    assert isinstance(quotation, Quotation)
