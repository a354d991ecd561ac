"""What people say in both languages, as a model that reads well puts it, stands; what it gets wrong does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from lousa.agents.extraction import Line, Text, read
from lousa.infra.ids import new_id
from lousa.memory_layers.records import SHARED

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CARLA = "Oi! Sou a Carla, trabalho na Acme há dois anos e cuido do time de dados."
BANK = "Mudamos o banco de produção para Postgres 16 na semana passada, antes era MySQL."
OUTAGE = "We had an outage yesterday: the cache ran out of memory for 40 minutes."
BAKERY = "O CNPJ da Padaria Sol é 12.345.678/0001-90 e o contato é o Sr. João (joao@padariasol.com.br)."
FLAG = "In staging the flag is on, in production it is off."
MOVED = "Eu não trabalho mais na Acme; desde segunda estou na Globex."
DEADLINE = "Não, o prazo mudou: agora é 15/12, não mais 10/12."


def stands(said: str, kind: str, item: dict[str, Any]) -> bool:
    line = Line(id=new_id(), speaker="Carla", named=True, text=said, source="user", trust=1.0)
    text = Text(
        line=line,
        tenant="t",
        owner="a",
        session="s",
        execution=None,
        scope=SHARED,
        subject=None,
        occurred_at=NOW,
    )
    return bool(read({"facts": [], "episodes": [], "rules": [], kind: [item]}, text, NOW).memories)


def fact(subject: str, predicate: str, thing: str, quotation: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": thing, "quotation": quotation, **more}


@pytest.mark.parametrize(
    ("said", "item"),
    [
        (CARLA, fact("Carla", "trabalha em", "Acme", "trabalho na Acme há dois anos", since="2024")),
        (CARLA, fact("Carla", "cuida de", "time de dados", "cuido do time de dados")),
        (BANK, fact("banco de produção", "é", "Postgres 16", "banco de produção para Postgres 16", since="2026-11-23")),
        (BAKERY, fact("Padaria Sol", "CNPJ", "12.345.678/0001-90", "CNPJ da Padaria Sol é 12.345.678/0001-90")),
        (BAKERY, fact("João", "e-mail", "joao@padariasol.com.br", "João (joao@padariasol.com.br)")),
        (FLAG, fact("the flag", "is", "on", "In staging the flag is on", qualifier="staging")),
        (FLAG, fact("the flag", "is", "off", "in production it is off", qualifier="production")),
        (MOVED, fact("Carla", "trabalha em", "Globex", "desde segunda estou na Globex", since="2026-11-30")),
        (MOVED, fact("Carla", "não trabalha mais em", "Acme", "não trabalho mais na Acme")),
        (DEADLINE, fact("prazo", "é", "15/12", "o prazo mudou: agora é 15/12")),
        ("I'm vegetarian, so no satay for me.", fact("Carla", "is", "vegetarian", "I'm vegetarian")),
        ("My daughter Sofia starts school soon.", fact("Carla", "has a daughter", "Sofia", "My daughter Sofia")),
    ],
)
def test_a_fact_that_was_said_stands(said: str, item: dict[str, Any]) -> None:
    assert stands(said, "facts", item)


@pytest.mark.parametrize(
    ("said", "kind", "sentence", "quotation"),
    [
        (BANK, "episodes", "O banco de produção foi mudado para Postgres 16", "Mudamos o banco de produção"),
        (OUTAGE, "episodes", "There was an outage: the cache ran out of memory for 40 minutes", "We had an outage"),
        ("From now on please answer in Portuguese.", "rules", "Answer in Portuguese", "please answer in Portuguese"),
        (
            "Por favor, não mande e-mails para clientes depois das 18h.",
            "rules",
            "Não mandar e-mails para clientes depois das 18h",
            "não mande e-mails para clientes depois das 18h",
        ),
        ("I'm vegetarian, so no satay for me.", "rules", "No satay for the user", "no satay for me"),
    ],
)
def test_a_sentence_in_a_models_own_words_stands(said: str, kind: str, sentence: str, quotation: str) -> None:
    assert stands(said, kind, {"text": sentence, "quotation": quotation})


@pytest.mark.parametrize(
    ("said", "item"),
    [
        (MOVED, fact("Carla", "trabalha em", "Acme", "não trabalho mais na Acme")),
        (DEADLINE, fact("prazo", "é", "10/12", "não mais 10/12")),
        (BANK, fact("banco de produção", "é", "MySQL", "banco de produção para Postgres 16")),
        (OUTAGE, fact("cache", "memory", "4 minutes", "the cache ran out of memory for 40 minutes")),
        (FLAG, fact("the flag", "is", "it", "in production it is off")),
        (CARLA, fact("Carla", "trabalha em", "Acme", "trabalho na Acme há dois anos", since="2023")),
        ("I used to live in Natal.", fact("Carla", "lives in", "Natal", "I used to live in Natal")),
        ("Will you move to Natal?", fact("Carla", "moves to", "Natal", "move to Natal")),
    ],
)
def test_a_fact_that_was_not_said_does_not(said: str, item: dict[str, Any]) -> None:
    assert not stands(said, "facts", item)
