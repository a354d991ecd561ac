"""What an amendment changes is found however it says so, and nothing is made up."""

import pytest
from lousa.examples.contract_review.clauses import CLAUSES, find
from lousa.examples.contract_review.contradictions import contradictions
from lousa.examples.contract_review.documents import document

OPENING = (
    "CONTRATO DE TRANSPORTE ESCOLAR Nº 18/2024\n"
    "\n"
    "CONTRATANTE: Colégio Ipê Amarelo Ltda., CNPJ 1.\n"
    "\n"
    "CONTRATADA: Rota Segura Transportes S.A., CNPJ 2.\n"
    "\n"
)
AMENDED = (
    "PRIMEIRO TERMO ADITIVO AO CONTRATO DE TRANSPORTE ESCOLAR Nº 18/2024\n"
    "\n"
    "CONTRATANTE: Colégio Ipê Amarelo Ltda.\n"
    "\n"
    "CONTRATADA: Rota Segura Transportes S.A.\n"
    "\n"
)
BODY = (
    "1. Objeto\n"
    "\n"
    "1.1 A CONTRATADA transporta 140 alunos em doze vans.\n"
    "\n"
    "2. Preço\n"
    "\n"
    "2.1 O quilômetro rodado custa R$ 6,40, e a taxa de monitoria é de R$ 2.100,00 por van.\n"
    "\n"
    "2.2 As faturas vencem em 20 dias da emissão.\n"
    "\n"
    "3. Vigência\n"
    "\n"
    "3.1 O contrato vigora por 24 meses a partir de 1º de fevereiro de 2024.\n"
    "\n"
    "4. Níveis de serviço\n"
    "\n"
    "4.1 A pontualidade mínima é de 97% das viagens de cada mês.\n"
    "\n"
    "4.2 Van quebrada é substituída em até 40 minutos.\n"
    "\n"
    "5. Rescisão\n"
    "\n"
    "5.1 Qualquer parte pode rescindir sem motivo, com aviso de 60 dias.\n"
    "\n"
    "6. Responsabilidade\n"
    "\n"
    "6.1 A indenização devida pela CONTRATADA não passará de R$ 300.000,00 por evento.\n"
    "\n"
    "7. Sigilo\n"
    "\n"
    "7.1 O dever de sigilo permanece por três anos depois do fim do contrato.\n"
    "\n"
    "8. Foro\n"
    "\n"
    "8.1 As ações serão propostas perante a Justiça de Campinas.\n"
    "\n"
    "Campinas, 20 de janeiro de 2024.\n"
)
ENGLISH_OPENING = (
    "FLEET SERVICES AGREEMENT\n"
    "\n"
    "This Fleet Services Agreement is dated as of May 6, 2024, and is between Amber Ridge Foods, "
    "Inc., an Ohio corporation, and Kestrel Haulage LLC, an Ohio limited liability company.\n"
    "\n"
)
ENGLISH_AMENDED = (
    "AMENDMENT NO. 1 TO FLEET SERVICES AGREEMENT\n"
    "\n"
    "This amendment to the Fleet Services Agreement dated as of May 6, 2024 is between Amber Ridge "
    "Foods, Inc., an Ohio corporation, and Kestrel Haulage LLC, an Ohio limited liability company.\n"
    "\n"
)
ENGLISH_BODY = (
    "1. Services\n"
    "\n"
    "1.1 Kestrel shall keep 40 trucks on the road.\n"
    "\n"
    "2. Service levels\n"
    "\n"
    "2.1 At least 96% of deliveries shall arrive on time each month.\n"
    "\n"
    "3. Fees\n"
    "\n"
    "3.1 Amber shall pay $3.10 per mile and a dispatch fee of $1,200 per month, within thirty (30) "
    "days of each invoice.\n"
    "\n"
    "4. Term\n"
    "\n"
    "4.1 This Agreement begins on June 1, 2024 and ends on May 31, 2026.\n"
    "\n"
    "5. Termination\n"
    "\n"
    "5.1 Either party may terminate this Agreement without cause on sixty (60) days' notice.\n"
    "\n"
    "6. Liability\n"
    "\n"
    "6.1 Kestrel's total liability under this Agreement shall not exceed $750,000.\n"
    "\n"
    "7. Disputes\n"
    "\n"
    "7.1 This Agreement is governed by the laws of the State of Ohio. Any dispute shall be brought "
    "in the courts of Columbus, Ohio.\n"
)

PORTUGUESE: list[tuple[str, list[str]]] = [
    ("1. A partir de março, paga-se R$ 7,15 por quilômetro rodado.", ["payment"]),
    ("1. A taxa de monitoria passa a R$ 2.450,00 por van.", ["payment"]),
    ("1. A taxa de monitoria, hoje de R$ 2.100,00, muda para R$ 2.300,00.", ["payment"]),
    ("1. O percentual do item 4.1 passa a ser de 95%.", ["service_levels"]),
    ("1. O prazo do item 4.2 fica reduzido para 30 minutos.", ["service_levels"]),
    ("1. O aviso previsto no item 5.1 passa de 60 para 90 dias.", ["termination"]),
    ("1. O valor do item 6.1 é elevado para R$ 500.000,00.", ["liability_cap"]),
    ("1. O prazo da cláusula 7.1 passa a ser de cinco anos.", ["confidentiality"]),
    ("1. As ações passam a ser propostas perante os juízes de Sorocaba.", ["governing_law"]),
    ("1. Toda controvérsia será decidida por arbitragem, com sede em São Paulo.", ["governing_law"]),
    ('1. No item 3.1, onde se lê "24 meses", leia-se "36 meses".', ["term"]),
    ('1. Substitui-se "97%" por "98%" no item 4.1.', ["service_levels"]),
    ("1. O prazo de vencimento das faturas, do item 2.2, passa para 35 dias.", ["payment"]),
    ("1. O número de alunos do item 1.1 passa de 140 para 180.", []),
    ("1. O item 4.1 continua com 97% das viagens.", []),
    ("1. Por exemplo, mil quilômetros custariam R$ 6.900,00.", []),
    ("1. Ficam ratificadas as demais cláusulas, entre elas a do item 6.1.", []),
    ("1. Para o serviço do item 1.1, a CONTRATADA usará pneus novos a cada 12 meses.", []),
    ("1. A frota do item 1.1 sobe para quinze vans, ao custo de aquisição de R$ 210.000,00 cada.", []),
    (
        "Considerando que o quilômetro custa hoje R$ 6,40 e que o combustível subiu 9% no ano;\n\n1. "
        "O quilômetro passa a R$ 6,90.",
        ["payment"],
    ),
    (
        "Considerando que as partes estudaram um preço de R$ 7,00 por quilômetro e desistiram "
        "dele;\n\n1. Inclui-se a parada da Rua das Flores no trajeto da tarde.",
        [],
    ),
    ("1. Inclui-se uma van reserva, ao preço de R$ 900,00 por diária.", []),
    ("1. A multa por van suja é de R$ 200,00 por ocorrência.", []),
    ("1. A CONTRATADA contratará seguro de R$ 1.000.000,00 por passageiro.", []),
    ("1. Os motoristas farão curso de 40 horas, renovado a cada 24 meses.", []),
    ("1. 95% dos monitores terão curso de primeiros socorros.", []),
    ("1. A garagem muda para a cidade de Sumaré, e as notificações passam a ser feitas lá.", []),
    ("1. O trajeto começa na portaria 2.\n\nFeito em Sorocaba, em 3 de março de 2025, diante de testemunhas.", []),
    ("1. As câmeras serão instaladas em 60 dias e as imagens guardadas por 30 dias.", []),
    ("1. Aplica-se desde já o reajuste de 4,5% previsto na lei.", []),
    ("1. Fica o contrato prorrogado por 12 meses, até 31 de janeiro de 2027.", ["term"]),
    ("1. O contrato terminará em 31 de julho de 2026.", ["term"]),
    ("1. O teto da indenização sobe para quinhentos mil reais (R$ 500.000,00) por evento.", ["liability_cap"]),
    ("1. Para rescindir sem motivo, bastará aviso de 30 dias.", ["termination"]),
    ("1. O sigilo agora permanece por dez anos depois do fim do contrato.", ["confidentiality"]),
    ("1. A pontualidade mínima sobe para 98,5% das viagens.", ["service_levels"]),
    ("1. As faturas passam a vencer em 30 dias da emissão.", ["payment"]),
    ("1. Van quebrada passa a ser substituída em até 25 minutos.", ["service_levels"]),
    ("1. Elege-se o foro de Valinhos.", ["governing_law"]),
    ("1. Competente passa a ser a Vara Cível de Itatiba.", ["governing_law"]),
    (
        '1. A Cláusula 3.1 fica assim redigida: "O contrato vigora por 36 meses a partir de 1º de fevereiro de 2024".',
        ["term"],
    ),
    (
        "1. O valor do item 2.1, por quilômetro, passa a R$ 6,75, e o percentual do item 4.1, a 96%.",
        ["payment", "service_levels"],
    ),
]

ENGLISH: list[tuple[str, list[str]]] = [
    ("1. Effective now, the rate is $3.45 per mile.", ["payment"]),
    ("1. The dispatch fee is increased to $1,500.", ["payment"]),
    ("1. The percentage in Section 2.1 is changed to 94%.", ["service_levels"]),
    ('1. Section 3.1 is amended by replacing "$3.10" with "$3.30".', ["payment"]),
    ('1. In Section 3.1, "thirty (30) days" is replaced with "forty-five (45) days".', ["payment"]),
    ("1. The end date in Section 4.1 is extended to May 31, 2028.", ["term"]),
    ('1. Section 4.1 now reads: "This Agreement begins on June 1, 2024 and runs for five (5) years."', ["term"]),
    ("1. The notice in Section 5.1 becomes ninety (90) days.", ["termination"]),
    ("1. The amount in Section 6.1 is raised to $1,000,000.", ["liability_cap"]),
    ("1. Disputes shall be brought in the courts of Cleveland, Ohio.", ["governing_law"]),
    ("1. All disputes shall be settled by arbitration seated in Chicago.", ["governing_law"]),
    ("1. The fleet in Section 1.1 is increased to 55 trucks.", []),
    ("1. The cap in Section 6.1 remains $750,000.", []),
    ("1. Everything else, including the cap in Section 6.1, stays as it is.", []),
    ("1. For example, 100 miles would cost $345.", []),
    ("1. Kestrel shall carry cargo insurance of $2,000,000.", []),
    ("Whereas the rate per mile is $3.10 and fuel went up 8%;\n\n1. The rate per mile shall be $3.30.", ["payment"]),
    ("1. Kestrel shall be paid a one-time fee of $5,000 for new signage.", []),
    ("1. 90% of drivers shall hold a hazmat licence.", []),
    ("1. Kestrel shall open a depot in Dayton, Ohio by June 30, 2025.", []),
    ("1. Kestrel shall keep route records for two (2) years.", []),
    ("1. The term of the Agreement is extended through May 31, 2029.", ["term"]),
    ("1. Kestrel's total liability shall not exceed $900,000.", ["liability_cap"]),
    ("1. Either party may terminate the Agreement without cause upon thirty (30) days' notice.", ["termination"]),
    ("1. The Agreement shall be governed by the laws of the State of Kentucky.", ["governing_law"]),
    ("1. Invoices shall be paid within sixty (60) days of receipt.", ["payment"]),
    ("1. On-time deliveries shall be no less than 97% each month.", ["service_levels"]),
    ("1. In lieu of the fee set out in Section 3.1, Amber shall pay $3.25 per mile.", ["payment"]),
    ('1. In Section 4.1, the words "May 31, 2026" are deleted and "May 31, 2027" substituted.', ["term"]),
    ("1. The warehouse at 40 Elm Street, Toledo, Ohio is added to the list of sites.", []),
]


def changed(agreement: str, amendment: str) -> list[str]:
    both = [document("agreement", agreement), document("amendment", amendment)]
    quoted = {one.name: [q for clause in CLAUSES for q in find(clause, one)] for one in both}
    found = contradictions(both, quoted)
    assert all(c.documents == ("agreement", "amendment") and c.a in agreement and c.b in amendment for c in found)
    return sorted({c.clause for c in found})


@pytest.mark.parametrize(("says", "clauses"), PORTUGUESE)
def test_a_portuguese_amendment_changes_what_it_says_and_no_more(says: str, clauses: list[str]) -> None:
    assert changed(OPENING + BODY, f"{AMENDED}{says}\n\n2. O resto fica como está.\n") == clauses


@pytest.mark.parametrize(("says", "clauses"), ENGLISH)
def test_an_english_amendment_changes_what_it_says_and_no_more(says: str, clauses: list[str]) -> None:
    assert (
        changed(ENGLISH_OPENING + ENGLISH_BODY, f"{ENGLISH_AMENDED}{says}\n\n2. Everything else stays as it is.\n")
        == clauses
    )
