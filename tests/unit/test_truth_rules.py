"""What reads as a rule, in both languages, and what only has its words."""

from __future__ import annotations

import pytest
from lousa.memory_layers.truth.rules import is_rule


@pytest.mark.parametrize(
    "text",
    [
        "Lithium batteries must never be booked on passenger flights.",
        "Only the consignee signs a delivery note.",
        "Nobody talks about a client's case to the press.",
        "Guests may not enter the kitchen.",
        "Helmets are required on the ramp, without exception.",
        "Regra do time, importante: nunca faça force push na main.",
        "Criança só sai da escola com quem está na lista.",
        "Resultado de exame nunca vai por WhatsApp.",
        "É proibido fumar no depósito.",
        "Nota fiscal é obrigatória em toda entrega.",
        "Ninguém abre o cofre sozinho.",
    ],
)
def test_what_must_or_may_not_happen_is_a_rule(text: str) -> None:
    assert is_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The gym opens at 6 am.",
        "I never liked that song.",
        "Eu sempre chego cedo.",
        "Should we never do that?",
        "Talvez seja proibido.",
        "It rained all day.",
        "Choveu o dia todo.",
        "Nobody came to the party yesterday.",
        "Ninguém veio ontem.",
    ],
)
def test_what_happened_is_asked_or_is_about_oneself_is_none(text: str) -> None:
    assert not is_rule(text)
