"""Words as they are compared here: folded, stemmed roughly in Portuguese and in English, each with a part to play.

Tables of ordinary words of both languages, and of nothing else: what a word does in a sentence, never what a sentence
is about. `LIGHT` words tell nothing of a thing; `SCOPES` are words of which two of one row keep two things apart.
"""

from __future__ import annotations

import re

from ..context.terms import STOP_WORDS

WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90,
    "um": 1, "uma": 1, "dois": 2, "duas": 2, "tres": 3, "quatro": 4, "cinco": 5, "seis": 6, "sete": 7, "oito": 8,
    "nove": 9, "dez": 10, "doze": 12, "quinze": 15, "vinte": 20, "trinta": 30, "quarenta": 40, "cinquenta": 50,
    "sessenta": 60, "noventa": 90,
}  # fmt: skip
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
SPANS = {
    "second": 1, "segundo": 1, "sec": 1, "ms": 1e-3, "s": 1, "minute": _MINUTE, "minuto": _MINUTE, "min": _MINUTE,
    "hour": _HOUR, "hora": _HOUR, "hr": _HOUR, "day": _DAY, "dia": _DAY, "d": _DAY, "week": 7 * _DAY,
    "semana": 7 * _DAY, "month": 30 * _DAY, "mes": 30 * _DAY, "meses": 30 * _DAY, "quarter": 90 * _DAY,
    "trimestre": 90 * _DAY, "semestre": 180 * _DAY, "year": 365 * _DAY, "ano": 365 * _DAY,
}  # fmt: skip
WEEKDAYS = {
    "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 7, "segunda": 1,
    "terca": 2, "quarta": 3, "quinta": 4, "sexta": 5, "sabado": 6, "domingo": 7,
}  # fmt: skip
MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "janeiro": 1, "fevereiro": 2, "marco": 3, "abril": 4, "maio": 5,
    "junho": 6, "julho": 7, "agosto": 8, "setembro": 9, "outubro": 10, "novembro": 11, "dezembro": 12,
}  # fmt: skip


_ENDINGS_OF_WORDS = (
    "amento imento mente ation acao icao cao ing ment aram eram iram amos emos imos ando endo indo ado ada ido ida ied"
    " ed am em ar er ir ou eu iu ei al ly a o e y"
)
_ENDINGS = _ENDINGS_OF_WORDS.split()
_PLURALS = (("oes", "ao"), ("ies", "y"), ("ais", "al"), ("es", "e"), ("s", ""))


def stem(word: str) -> str:
    """The beginning of a folded word that its forms share, roughly, in either language."""
    if len(word) <= 3 or not word.isalpha():
        return word
    for plural, singular in _PLURALS:
        if word.endswith(plural) and not word.endswith("ss"):
            word = word[: -len(plural)] + singular
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word


_LIGHT = """
be been being get gets got go goes going gone went come comes came take takes took taken make makes made give gives
keep keeps kept put puts use uses used using run runs running live lives stay stays sit sits work works want need
needs must may can could will would shall should might let lets have says said say tell told know
now today tomorrow yesterday currently nowadays already still again back yet anymore longer henceforth onwards
instead new newly old former current actually please thanks hi hello ok okay yes also always never ever usually
place happen happens happened occur occurs acontece acontecem ocorre ocorrem
only least most up down down per each every about around least first thing things way lot bit really
since next last this that these those week
ficar fica ficam ficou vai vao vou ir indo veio vem vir dar da deu dao faz fazem fazer feito fez ter tem usar usa usam
usamos rodar roda rodam estar esta ser passar passa passam passou poder pode podem dever deve devem precisar precisa
querer quer agora hoje ontem amanha atualmente ja ainda novamente mais nova novo novas novos antigo antiga atual
sempre nunca so apenas gente pessoal todo toda todos todas cada ate pro pra pros pras ai la aqui ali entao tudo certo
proximo proxima ultimo ultima partir desde oi ola obrigado favor sim coisa jeito ok bem muito pouco nosso nossa
"""
LIGHT = STOP_WORDS | frozenset(_LIGHT.split())
"""Words, folded, that say nothing of which thing a sentence is about."""

_SCOPES = """
backend frontend mobile
production prod producao staging homologacao development desenvolvimento sandbox
opens open opening abre abrir abertura | closes close closing fecha fechar fechamento
starts start begins begin beginning comeca comecar inicio | ends end finishes finish termina terminar fim acaba
minimum min minimo minima lowest | maximum max maximo maxima highest
entry entrada checkin | exit saida checkout
arrival chegada arrive | departure partida depart
buy purchase compra comprar | sell sale sales venda vender vendas
import importacao | export exportacao
internal interno interna | external externo externa
morning manha | afternoon tarde | evening night noite
weekday weekdays util uteis | weekend weekends | holiday holidays feriado feriados
north norte | south sul | east leste | west oeste
adult adults adulto adultos | child children kids crianca criancas infantil | senior seniors idoso idosos
domestic national nacional domestico | international internacional
monthly mensal mes | yearly annual anual | weekly semanal | daily diario diaria
full integral | partial parcial
first primeiro primeira | second segundo segunda | third terceiro terceira
primary principal primario | secondary secundario | backup reserva
public publico publica | private privado privada particular
standard padrao normal | express expresso urgent urgente | premium
cheap basic basico | gold ouro | silver prata | bronze
esquerda esquerdo | direita direito
upper top superior | lower bottom inferior
english ingles | portuguese portugues | spanish espanhol | german alemao | french frances
net liquido | gross bruto
incoming inbound | outgoing outbound
"""


def _scopes() -> dict[str, tuple[int, int]]:
    """Word → its row, and its place there; a row of single words has one place each."""
    found: dict[str, tuple[int, int]] = {}
    for row, line in enumerate(line for line in _SCOPES.splitlines() if line.strip()):
        groups = line.split("|") if "|" in line else line.split()
        for place, group in enumerate(groups):
            for word in group.split():
                found[word] = (row, place)
    found |= {"producao": found["production"], "prod": found["production"]}
    found |= {"homologacao": found["staging"], "desenvolvimento": found["development"]}
    return found


SCOPES = _scopes()
BEGINNINGS = frozenset(SCOPES[word][0] for word in ("opens", "starts"))
"""Rows whose first place goes without saying: a meeting at nine begins at nine."""

_CHANGES = """
    moved changed switched upgraded raised increased lowered reduced extended expanded widened shortened postponed
    rescheduled replaced migrated renamed adopted shifted updated revised corrected agreed decided set fixed signed
    mudou mudamos trocou trocamos ampliado ampliamos aumentado aumentou reduzido reduziu baixou subiu migrado migrou
    prorrogado adiado antecipado remarcado renomeado substituido fechamos definido definimos adotado virou atualizado
    corrigido combinado combinamos decidido estendido alterado alteramos passou reajustado reajustada reajustamos
"""
CHANGES = frozenset(stem(word) for word in _CHANGES.split())
"""Stems of verbs that say that something changed, and not what."""

OWN = frozenset({"my", "mine", "his", "her", "hers", "meu", "meus", "minha", "minhas", "dele", "dela"})
"""Words that make a thing somebody's own."""

_SENSES = """
price prices preco precos cost costs costing fee fees charge charges charged tariff tarifa taxa custo custos custa
custam valor cobra cobrado cobram;
due deadline deadlines term terms prazo prazos vencimento vence vencem cutoff;
begin begins beginning start starts starting comeca comecam comecar inicio inicia opens open opening abre abrem abrimos
abrir abertura;
end ends ending finish finishes termina terminam terminar closes close closing fecha fecham fechar fechamento;
manager managers manage manages managed managing management head heads lead leads leader boss responsible gerente
gerentes gerencia chefe chefia lider lidera coordenador coordenadora coordenacao coordena coordenado responsavel dirige
diretor diretora;
host hosted hosting hospeda hospedado; call calls called name named chama chamado chamada nome;
meeting meetings meet meets reuniao reunioes encontro reune; discount discounts desconto descontos;
limit limits limited limite limites limitado limitada maximum max maximo maxima cap teto;
store stores stored storing storage armazena armazenado guarda guardado guardamos; salary wage wages salario;
ship ships shipped shipping shipment shipments;
deliver delivers delivered delivery deliveries entrega entregas entregue; write writes writing written;
keep keeps kept keeping; pay pays paid paying paga pagam pago paguei; hour hours hourly hora horas
"""


def _senses() -> dict[str, str]:
    rows = [row.split() for row in _SENSES.split(";")]
    return {word: row[0] for row in rows for word in row}


_ONE_SENSE = _senses()


def sense(word: str) -> str:
    """What a folded word is compared as: a stem, or one word for those that say the same of a value."""
    return _ONE_SENSE.get(word) or stem(word)


_IMPLIED = {
    "span": "due period durat duraca window long",
    "money": "price amount montant",
    "time": "time horari hour begin due",
    "weekday": "day dia weekday",
    "date": "day dia dat due",
    "month": "month mes",
    "mail": "mail email addres enderec",
    "host": "addres enderec host",
    "percent": "rat percentu percentag",
    "name": "call nam",
    "": "limit number numer quantidad total count",
}


def implied(sort: str) -> frozenset[str]:
    """What a value of that sort says of itself: whether the word stands beside it tells nothing more."""
    return frozenset(_IMPLIED.get(sort, "").split()) | _EVERYWHERE


IMPLIED = frozenset(word for words in _IMPLIED.values() for word in words.split())
"""What a value of any sort says of itself."""
_EVERYWHERE = frozenset(_IMPLIED[""].split())
