"""What reads as a rule, in both languages, and what only has its words."""

from __future__ import annotations

import pytest
from lousa.memory_layers.truth.rules import forbids, is_general, is_rule


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
        "We don't give out patients' details over the phone.",
        "We do not take cheques from new clients, we lost too much that way.",
        "Visitors don't go past the yellow line.",
        "Before you unlock the shed, ring the gatehouse.",
        "Before cutting any tree ask the council for a permit, even on our own ground.",
        "Any invoice over 5,000 euros has to be signed by two directors.",
        "Every sample needs a label before it leaves the room.",
        "Keys are handed out only against a signature.",
        "If the alarm rings, leave the building first and ask later.",
        "Whenever a parent calls, write it in the book.",
        "Make sure the oven is off before you lock up.",
        "Two people on the ladder, always.",
        "No dogs in the greenhouse.",
        "Don't ever lend the master key, whoever asks.",
        "Never ship without the customs form.",
        "The cold store stays locked at night, no exceptions.",
        "Check the ID of whoever picks up a parcel, even if you know them.",
        "Refunds above 200 need a second signature.",
        "Donors are never told who received their blood.",
        "No deliveries to the side gate after dark.",
        "Cover the lenses prior to moving the telescope.",
        "On site nobody lifts a pane alone, we had a broken wrist.",
        "Peça de museu a gente só toca usando luva.",
        "Prova oral se aplica sempre em dupla.",
        "Cheiro de gás? Fecha o registro primeiro, procura a causa depois.",
        "You have to wear goggles in the lab.",
        "A gente não entrega chave pra ninguém sem documento.",
        "Não aceitamos cheque de cliente novo, já tomamos prejuízo.",
        "Aqui não se fuma perto do tanque.",
        "Antes de ligar a serra tem que conferir a trava.",
        "Antes de podar qualquer árvore pede autorização na prefeitura.",
        "Nota acima de 5 mil precisa de duas assinaturas.",
        "Toda amostra tem que sair com etiqueta.",
        "Sem crachá não entra, nem diretor.",
        "Sempre que um pai ligar, anota no caderno.",
        "Chave só se entrega mediante assinatura.",
        "Remédio controlado é só com receita retida.",
        "Ninguém sobe no telhado sozinho.",
        "De jeito nenhum deixa o portão aberto à noite.",
        "Cachorro na estufa não pode.",
        "Não é pra dar desconto sem falar comigo.",
        "Confere o RG de quem retira, mesmo conhecendo.",
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
        "We don't have a dog.",
        "They don't like the new coffee.",
        "Before lunch we played cards.",
        "I always take the bus.",
        "Antes do almoço a gente jogou truco.",
        "A gente não tem cachorro.",
        "Não gostei do café novo.",
        "The shop opens at nine.",
        "She doesn't live here anymore.",
        "He has to leave early today.",
        "Every summer we go to the lake.",
        "If it rains tomorrow I stay in.",
        "Não choveu ontem.",
        "Não sei onde ele mora.",
        "A impressora não imprime direito.",
        "The printer doesn't work.",
        "We don't know who took it.",
        "Tem que ver esse filme.",
        "Only three people came.",
        "Só vieram três pessoas.",
        "We do not sell that colour yet.",
        "My aunt makes sure we eat well.",
        "Whenever I see her she laughs.",
        "The new van needs a wash.",
        "A van nova precisa de uma lavada.",
        "Payroll is on the 5th of each month.",
        "Deliveries arrive on Tuesdays before noon.",
        "The lift does not stop on floor 3.",
    ],
)
def test_what_happened_is_asked_or_is_about_oneself_is_none(text: str) -> None:
    assert not is_rule(text)


def test_what_is_only_the_custom_forbids_nothing() -> None:
    assert forbids("Guests may not enter the kitchen.")
    assert not forbids("Every sample needs a label before it leaves the room.")


@pytest.mark.parametrize("text", ["The rule of the house:", "Uma regra da casa:", "Never,", "Nunca:"])
def test_a_rule_that_breaks_off_is_read_all_the_same(text: str) -> None:
    assert is_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "Whoever came late yesterday knows it: whoever comes late waits for the next tour.",
        "Quem perdeu o crachá fica sem entrar, nem adianta chorar.",
        "Nobody hands the tray to a guest who hasn't paid. Not even to my brother.",
        "Ninguém me liga depois das dez, nem o diretor.",
        "The night staff are free to send a taxi, no need to ask me.",
        "Abaixo de vinte reais vocês não precisam me pedir nada.",
        "Smoke in the hall: everyone out, whatever the panel says.",
        "Antes de qualquer visita a gente passa no livro, seja quem for.",
    ],
)
def test_what_holds_of_whoever_it_may_be_is_a_rule_though_something_happened_once(text: str) -> None:
    assert is_rule(text)


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("Day guests come in through the garden and leave their shoes outside.", True),
        ("Quem mora longe tem prioridade na balsa.", True),
        ("I left my shoes outside the garden gate.", False),
        ("The ferry leaves at 7:30.", False),
        ("Does anyone come in through the garden?", False),
        ("Perdemos a balsa ontem por causa da chuva.", False),
    ],
)
def test_a_statement_in_general_may_be_a_rule_in_other_words(text: str, *, general: bool) -> None:
    assert is_general(text) == general
