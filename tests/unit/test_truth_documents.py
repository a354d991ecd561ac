"""A page is no message, and two cases with numbers of their own are two: neither takes another's place."""

from __future__ import annotations

import pytest
from lousa.memory_layers.truth.judge import restates
from lousa.memory_layers.truth.told import is_document, tells

LARCH = (
    "Larch Hill Wind Farm\nLarch Hill Wind Farm is a wind farm near Dunmore with 24 turbines and a capacity of"
    " 62 megawatts. It was opened in 2011 and is owned by the county, which sells what it makes to two towns in the"
    " valley; a second row of turbines was refused in 2015."
)
MOSS = LARCH.replace("Larch Hill", "Moss Point").replace("24", "31").replace("2011", "2014").replace("62", "90")
PARQUE = (
    "Parque Eólico do Cerro\nO Parque Eólico do Cerro fica perto de Dourados, tem 24 turbinas e produz 62 megawatts."
    " Foi inaugurado em 2011 e pertence ao município, que vende a energia a duas cidades do vale; a ampliação foi"
    " recusada em 2015, depois de uma consulta aos moradores."
)


@pytest.mark.parametrize(
    "text", [LARCH, MOSS, PARQUE, "The town has a mill. " * 50, "Wenn (river)\nThe Wenn is 12 km long."]
)
def test_a_page_tells_nothing_anew(text: str) -> None:
    assert is_document(text)
    assert not tells(text)


def test_a_page_does_not_take_the_place_of_another() -> None:
    assert restates(LARCH, MOSS, lambda _words: 1.0) is None


@pytest.mark.parametrize(
    "text",
    [
        "The backups run at 3 am.",
        "Oi\nO relatório agora sai na terça-feira, combinado com o time na reunião de ontem.",
        "Status:\nThe deploy region is eu-west-1 now.",
        "The wind farm has 24 turbines.\nIt was opened in 2011.",
    ],
)
def test_a_message_is_no_page_though_it_has_several_lines(text: str) -> None:
    assert not is_document(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PR #3117 changed the retries to five.", "PR #3171 changed the retries to two."),
        ("Chamado 40118: a impressora do caixa 7 parou.", "Chamado 40181: a impressora do caixa 9 parou."),
        ("Order 88132: the parcel is held in Recife.", "Order 88214: the parcel is held in Manaus."),
        ("Ticket OPS-512: owner is Clara.", "Ticket OPS-521: owner is Bruno."),
        ("PR #2219 changed the timeout to 30 seconds.", "PR #2291 changed the timeout to 45 seconds."),
        ("Chamado 40118: o técnico é o Nivaldo.", "Chamado 40181: o técnico é o Osmar."),
    ],
)
def test_a_case_takes_no_other_cases_place(one: str, other: str) -> None:
    assert restates(one, other, lambda _word: 1.0) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Order 88132: the parcel is held in Recife.", "Order 88132: the parcel is held in Manaus."),
        ("Version 1204 runs in production.", "Version 1207 runs in production."),
        ("The limit is 4500 requests.", "The limit is 6500 requests."),
    ],
)
def test_a_case_takes_its_own_place_and_a_value_is_no_case(one: str, other: str) -> None:
    assert restates(one, other, lambda _word: 1.0) is not None
