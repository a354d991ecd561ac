"""Records to remember and questions about them, in Portuguese and English, made here and always the same.

A few hundred firms with names of two words, and eight things known about each, in sentences of some fifteen words. A
question names the firm and asks for one of the eight in other words than the record's, so that one record answers it
and seven about the same firm stand beside it.
"""

from __future__ import annotations

import random
from itertools import product

PORTUGUESE = (
    (
        "{e} paga as faturas {n} dias depois do aceite, com multa de {m} por cento se atrasar.",
        "prazo de pagamento de {e}",
    ),
    ("Quem cuida da conta de {e} é {p}, que prefere telefone antes das {m} horas.", "Com quem se fala em {e}?"),
    (
        "O contrato com {e} termina em {t} e se renova por {m} meses se ninguém avisar.",
        "Até quando vale o acordo com {e}?",
    ),
    ("{e} entrega no armazém de {c} às {d}, em caminhões de até {n} toneladas.", "Que dia chegam as entregas de {e}?"),
    (
        "A auditoria em {e} encontrou {n} lançamentos sem nota fiscal na filial de {c}.",
        "O que a auditoria achou em {e}?",
    ),
    (
        "{e} quer os relatórios em planilha até o dia {m} de cada mês, aos cuidados de {p}.",
        "Como {e} quer os relatórios?",
    ),
    (
        "O sistema de {e} ficou {n} horas fora do ar em {t} porque faltou energia em {c}.",
        "Por que o sistema de {e} parou?",
    ),
    ("{e} dá desconto de {m} por cento em pedidos acima de {n} mil reais.", "Que desconto {e} oferece?"),
)
ENGLISH = (
    ("{e} pays its invoices {n} days after acceptance, with a penalty of {m} per cent if late.", "payment term of {e}"),
    ("The account of {e} is in the hands of {p}, who likes calls before {m} o'clock.", "Whom do we talk to at {e}?"),
    (
        "The contract with {e} ends in {t} and renews for {m} months unless notice is given.",
        "How long does {e} bind us?",
    ),
    (
        "{e} delivers to the warehouse in {c} on {d}, in lorries of up to {n} tonnes.",
        "Which day do goods of {e} arrive?",
    ),
    ("The audit at {e} found {n} entries without an invoice in the branch of {c}.", "What did the audit at {e} find?"),
    ("{e} wants its reports as a spreadsheet by day {m} of every month, sent to {p}.", "How does {e} want reports?"),
    ("The system of {e} was down for {n} hours in {t} because the power failed in {c}.", "Why was {e} offline?"),
    ("{e} grants a discount of {m} per cent on orders above {n} thousand dollars.", "What discount does {e} give?"),
)
NAMES = [
    "Andorinha",
    "Baobá",
    "Candeia",
    "Dourado",
    "Embira",
    "Figueira",
    "Garoa",
    "Horizonte",
    "Ipê",
    "Jatobá",
    "Lume",
    "Maré",
    "Neblina",
    "Orvalho",
    "Pitanga",
    "Quilombo",
    "Rochedo",
    "Sabiá",
    "Tucano",
    "Umbu",
    "Vereda",
    "Xaxim",
    "Zelkova",
    "Alder",
    "Brook",
    "Cinder",
    "Dunlin",
    "Ember",
    "Fathom",
    "Grove",
    "Heron",
]
TRADES = (
    ["Têxtil", "Logística", "Alimentos", "Engenharia", "Papéis", "Química"],
    ["Freight", "Textiles", "Foods", "Paper", "Energy", "Optics"],
)
PEOPLE = [
    "Joana",
    "Marcos",
    "Beatriz",
    "Heitor",
    "Lívia",
    "Raul",
    "Amanda",
    "Victor",
    "Helena",
    "Owen",
    "Grace",
    "Martin",
]
CITIES = [
    "Recife",
    "Santos",
    "Belém",
    "Curitiba",
    "Manaus",
    "Vitória",
    "Leeds",
    "Bristol",
    "Austin",
    "Halifax",
    "Perth",
    "Cork",
]
DAYS = ("segundas-feiras", "terças-feiras", "quintas-feiras"), ("Mondays", "Tuesdays", "Thursdays")
MONTHS = ("março", "junho", "setembro", "dezembro"), ("March", "June", "September", "December")


def records(size: int) -> list[tuple[str, str]]:
    """Pairs of a record and a question that it alone answers, in an order without meaning, always the same."""
    chance = random.Random(7)
    made: list[tuple[str, str]] = []
    for (language, forms), name in product(enumerate((PORTUGUESE, ENGLISH)), NAMES):
        for trade, (record, question) in product(TRADES[language], forms):
            words = {
                "e": f"{name} {trade}",
                "n": chance.randint(3, 90),
                "m": chance.randint(2, 19),
                "p": chance.choice(PEOPLE),
                "c": chance.choice(CITIES),
                "d": chance.choice(DAYS[language]),
                "t": f"{chance.choice(MONTHS[language])} {chance.randint(2027, 2032)}",
            }
            made.append((record.format(**words), question.format(**words)))
    chance.shuffle(made)
    return made[:size]
