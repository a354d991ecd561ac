"""What a clause fixes: the monthly price, the length of the term, the cap, the venue.

An attribute is read only from a sentence that says, in so many words, that it fixes it (`anchor`) and nothing that
makes it doubtful (`avoid`). It is the first value of its kind after the anchor, or after the words that change it: of
"raised from 60 to 90 days" the 90 counts. A sentence that gives several and does not say which one is it gives none:
a review that guesses is worth less than one that keeps silent.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .prices import NAMED, named_prices
from .sums import whole_prices, without_late
from .values import Value, dates, days_of_month, durations, folded, laws, money, percents, seats, venues

_CHANGE = re.compile(
    r"\b(?:passa(?:m|ra|rao)? (?:de .{1,40} )?(?:a|para)|sob\w+ (?:de .{1,40} )?para|"
    r"reduz\w* (?:de .{1,40} )?para|(?:alterad|adiad|prorrogad|aumentad|elevad|estendid|"
    r"fixad)[oa]s? (?:de .{1,40} )?para|"
    r"(?:transferid|mudad|deslocad|antecipad|postergad|transpost)[oa]s? (?:de .{1,40} )?para|"
    r"em substituicao|(?:is|are|shall be) (?:hereby )?(?:amended|changed|increased|reduced|"
    r"extended|raised|replaced)\b.{0,80}?\b(?:to|until|with))\b"
)
_AS_IF_READ = re.compile(r"\b(?:seguinte redacao|a viger com|read as follows|following)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """`anchor` and `avoid` are searched in the folded sentence; `read` finds the values; `within` is how far after
    the anchor. What follows `until` is not read: "for two years and is then renewed for one" lasts two. What
    `tags` finds becomes part of the name: how fast urgent calls are answered says nothing of the others."""

    name: str
    anchor: str
    read: Callable[[str], list[Value]]
    avoid: str = r"(?!)"
    until: str = r"(?!)"
    within: int = 160
    both_sides: bool = False
    tags: str = r"(?!)"


def _cap(text: str) -> list[Value]:
    """A sum of money, or the fees of so many months."""
    found = money(text)
    if found:
        return found
    if re.search(
        r"mensalidade|fatura|honorario|pag[oa]s?\b|receb|valor|\bfees?\b|\bpaid\b|payable|amounts", folded(text)
    ):
        return [
            Value(kind="months of fees", canonical=f"fees of {d.canonical}", shown=d.shown, start=d.start, end=d.end)
            for d in durations(text)
            if "months" in d.canonical
        ]
    return []


def _long(text: str) -> list[Value]:
    endless = re.search(r"\b(?:prazo|tempo) indeterminado\b|\bindefinite(?:ly)?\b", folded(text))
    if endless:
        return [
            Value(
                kind="duration",
                canonical="no end",
                shown=text[endless.start() : endless.end()],
                start=endless.start(),
                end=endless.end(),
            )
        ]
    return [
        d
        for d in durations(text)
        if d.canonical.endswith("months") or (d.canonical.endswith("days") and int(d.canonical.split()[0]) >= 28)
    ]


_RENEWAL = r"renov|prorrog|sucessiv|reconduz|renew|successive|additional (?:term|period)|extended? for"

ATTRIBUTES: dict[str, Sequence[Attribute]] = {
    "payment": (
        Attribute(
            name="monthly price",
            anchor=r"\bmensa(?:l|is|lmente|lidade)\b|\bpor mes\b|\bao mes\b|\baluguel\b|\bmonthly (?:fee|"
            r"price|payment|rent|amount|charge)|\bper month\b|\beach month\b",
            avoid=r"\bmulta\b|\bjuros\b|\batras|\blate\b|\binterest\b|\bimplanta|\bsetup\b|\bexced|"
            r"\badiciona|\bper (?:user|seat)\b|\bpor (?:usuario|cabeca|aluno)|\bresponsab|\bliab|"
            r"\bnao excedera|\bhora\b|\bparcela|\bper hour|\bhourly",
            read=whole_prices,
            both_sides=True,
        ),
        Attribute(
            name="hourly rate",
            anchor=r"\bpor hora\b|\bhora\b|\bhourly\b|\bper hour\b",
            avoid=r"\bmulta\b|\bmensa",
            read=money,
            both_sides=True,
            within=80,
            tags=r"\b(?:(?P<extra>exced\w+|extras?|ultrapass\w+|alem d[aeo]|adiciona\w+|excess|overtime|additional|"
            r"beyond)|"
            r"(?P<night>noturn\w+|night)|(?P<travel>deslocamento|viagem|travel)|(?P<stopped>parada|espera|standby|"
            r"idle))\b",
        ),
        Attribute(
            name="yearly price",
            anchor=r"\banual(?:mente|idade)?\b|\bpor ano\b|\banuidade\b|\bannual (?:fee|price|payment|amount|"
            r"subscription)|\bper (?:year|annum)\b",
            avoid=r"\bmulta\b|\bjuros\b|\breajust|\binterest\b|\bmensa|\bmonth",
            read=money,
            both_sides=True,
        ),
        Attribute(
            name="total price",
            anchor=r"\b(?:preco|valor) (?:total|global|certo|fixo)\b|\b(?:total|purchase|fixed) price\b",
            avoid=r"\bmulta\b|\bresponsab",
            read=money,
        ),
        Attribute(
            name="price",
            anchor=r"\b(?:preco|valor|remuneracao|honorarios|contraprestacao|price|fee|fees|quilo|milheiro|"
            r"diaria|plantao|tonelada|custa|custam|paga|pagara)\b",
            avoid=r"\bmulta\b|\bjuros\b|\bresponsab|\bseguro\b|\binsurance\b|\bliab|\blate\b|\binterest\b|"
            r"\bmensa|\bmonth|\bhora\b|\bhour|\banua|\bpor mes\b|\baluguel\b|\bimplanta|\binstala|"
            r"\bsetup\b|\bexced|\badiciona|\bone-(?:time|off)\b|\bunica vez\b|\bextra\b|\breserva\b|\binclu[ei]",
            read=whole_prices,
            both_sides=True,
        ),
        Attribute(
            name="share",
            anchor=r"\b(?:royalt\w+|comiss\w+|commission|repasse|cabem)\b",
            avoid=r"\bmulta\b|\bjuros\b",
            read=percents,
            both_sides=True,
        ),
        Attribute(
            name="day of payment",
            anchor=r"\b(?:pag\w+|venc\w+|payable|due|mensal\w*)\b",
            avoid=r"\bmulta\b|\bjuros\b",
            read=days_of_month,
            both_sides=True,
        ),
        Attribute(
            name="days to pay",
            anchor=r"\b(?:notas?(?: fisca(?:l|is))?|faturas?|boletos?|invoices?)\b",
            avoid=r"\bmulta\b|\bjuros\b|\blate\b|\boverdue\b|\bdispute|\batras",
            read=lambda t: [d for d in durations(t) if d.canonical.endswith("days")],
            within=120,
            both_sides=True,
        ),
        Attribute(
            name="late fee",
            anchor=r"\bmulta (?:moratoria )?de\b|\blate (?:payment )?(?:fee|charge)",
            read=percents,
            within=60,
        ),
        Attribute(
            name="late interest",
            anchor=r"\bjuros (?:de mora |moratorios )?(?:de|a)\b|\binterest (?:at|of)\b",
            read=percents,
            within=60,
        ),
    ),
    "term": (
        Attribute(
            name="length",
            anchor=r"\bvig(?:ora\w*|encia|era|e|or)\b|\bprazo\b|\bdura\w*|\bterm\b|\bcontinue\w*|\bperiod\b|"
            r"\bperiodo\b|\bvale\b|\beffect\b|\bpermanec\w+|\bcontrato e de\b|\bruns?\b|\blasts?\b|\bcarr(?:y|"
            r"ies) on\b|"
            r"\bgoes on\b|\bvai\b|\bcorre\b|\bsegue\b|\bvalera\b|\bestend\w+|\bextend\w+",
            avoid=r"\bsurviv|\bsigilo\b|\bconfiden|\bpagamento\b|\bprazo (?:de|da|para) (?:a )?"
            r"entrega|(?<!da )(?<!de )\bentrega\b(?! das chaves)",
            until=rf"{_RENEWAL}|\bnotice\b|\baviso\b|\bantecedencia\b",
            read=_long,
        ),
        Attribute(
            name="length",
            anchor=r"\b(?:totaliza\w+|perfazendo|somando|total de|passando (?:a|para)|for a total (?:\w+ )?of|"
            r"in total)\b",
            avoid=r"\b(?:sigilo|confiden\w+|pagamento|aviso|notice|multa)\b|r\$",
            read=_long,
            within=60,
        ),
        Attribute(
            name="extension",
            anchor=r"\b(?:fica\w*|e|esta|sao|is|are|hereby|shall be|sera|partes|parties) (?:(?:ora|neste ato|assim|"
            r"hereby|"
            r"agree to|resolvem|acordam em) )*(?:prorrog\w+|estend\w+|prolonga\w*|amplia\w*|extend\w*|prolonged)\b",
            avoid=r"\b(?:podera\w*|pode|caso|se|salvo|automatic\w+|sucessiv\w+|igua(?:l|is)|periodos|may|if|unless|"
            r"automatically|successive|pagamento|entrega|conclusao|obras?|garantia|carencia|cronograma|completion|"
            r"warranty|sigilo|confiden\w+)\b",
            read=_long,
        ),
        Attribute(
            name="end",
            anchor=r"\b(?:ate|termin\w+|encerr\w+|fim|find\w+|expir\w+|until|through|ends?|ending|termino)\b",
            until=r"\bnotice\b|\baviso\b|\bantecedencia\b",
            read=dates,
            within=60,
        ),
        Attribute(
            name="start",
            anchor=r"\b(?:contad[oa]s? (?:de|a partir de)|a (?:partir|contar) de|desde|inici\w+|comec\w+|a viger em|"
            r"commenc\w+|beginning|begins?|starts?|starting|from|effective)\b",
            avoid=r"\bpassa a ser\b|\bmensal|\bpreco\b",
            read=dates,
            within=40,
        ),
        Attribute(
            name="renewal",
            anchor=r"\b(?:periodos? (?:\w+ ){0,3}de|prazos? (?:\w+ ){0,3}de|por mais|(?:terms?|periods?) of|"
            r"additional|successive|for an? (?:\w+ )?)\b",
            read=_long,
            within=50,
        ),
    ),
    "termination": (
        Attribute(
            name="notice",
            anchor=r"\b(?:imotivad|sem (?:necessidade de )?(?:justa|justif|motivo|causa|dar|explic|onus)|"
            r"independentemente de (?:causa|motivo)|without cause|for convenience|for any reason|"
            r"no reason|a qualquer (?:tempo|momento)|at any time|denuncia|resili|either party may|"
            r"qualquer (?:das partes|parte|delas))",
            avoid=r"\b(?:descumpr|inadimpl|breach|default|cure|sanar|falencia|bankrupt|nao renov|renew)\w*",
            read=durations,
            within=300,
            both_sides=True,
        ),
    ),
    "liability_cap": (
        Attribute(
            name="cap",
            anchor=r"\b(?:responsabilidade|indeniza\w+|liabilit\w+|teto|limite|ressarc\w+|responde\w*|danos|"
            r"damages)\b",
            avoid=r"\bseguro\b|\binsurance\b",
            read=_cap,
            within=420,
        ),
    ),
    "confidentiality": (
        Attribute(
            name="how long",
            anchor=r"\b(?:subsist\w+|perdur\w+|permanec\w+|continua\w*|sobreviv\w+|sigilo|confidencia\w+|"
            r"segredo|surviv\w+|confiden\w+|period of|for)\b",
            avoid=r"\bmulta\b|\bdevolv|\breturn\b|\bdias\b|\bdays\b",
            read=lambda t: [d for d in durations(t) if d.canonical.endswith("months")],
            within=200,
        ),
    ),
    "data_protection": (
        Attribute(
            name="notice of an incident",
            anchor=r"\b(?:incidentes?|vazamentos?|violacao|acesso nao autorizado|breach|incident)\b",
            avoid=r"\bmaterial breach\b",
            read=durations,
            within=200,
        ),
    ),
    "service_levels": (
        Attribute(
            name="availability",
            anchor=r"\b(?:disponi\w+|no ar|uptime|availab\w+|funcion\w+|acessive(?:l|is)|operante|em operacao|online|"
            r"reachable|operational|accessible)\b",
            avoid=r"\b(?:abatimento|desconto|credito|credit|refund)\b",
            read=percents,
            within=160,
            both_sides=True,
        ),
        Attribute(
            name="target",
            anchor=r"\b(?:pontual\w*|acerto\w*|entregas?|pedidos?|partidas|viagens|ocupacao|chamad\w+|on[- ]time|"
            r"accura\w+|orders?|deliver\w+|shipments?|shipped|dispatch\w+|picked|calls?|fill rate|tickets?)\b",
            avoid=r"\b(?:abatimento|desconto|credito|credit|refund|deduct\w*|disponi\w+|availab\w+)\b",
            read=percents,
            within=160,
            both_sides=True,
            tags=r"\b(?:(?P<punctual>pontua\w*|on[- ]time|no prazo|atras\w*|same (?:business )?day|mesmo dia)|"
            r"(?P<accurate>acerto\w*|accura\w+|err\w+|corret\w+|correct\w*)|(?P<filled>ocupac\w+|fill rate)|"
            r"(?P<answered>chamad\w+|calls?|tickets?|atend\w+))\b",
        ),
        Attribute(
            name="time to respond",
            anchor=r"\b(?:chamad\w+|atend\w+|respost\w+|respond\w*|response|substitui\w*|troca\w*|consert\w*|"
            r"repair\w*|reparo|reparad\w+|solu\w+|resol\w+)\b",
            avoid=r"\b(?:abatimento|desconto|credito|credit|refund|incidente|vazamento)\b",
            read=durations,
            both_sides=True,
            tags=r"\b(?:(?P<urgent>critic\w+|urgen\w+|emergenc\w+|emergency|(?:severidade|severity|prioridade|priority|"
            r"gravidade) ?(?:1|alta|high)|graves?|critical|alta (?:prioridade|gravidade))|"
            r"(?P<ordinary>normais|normal|comuns|comum|medi[oa]s?|baix[ao]s?|demais|rotina|leves?|low|medium|routine|"
            r"(?:severidade|severity|prioridade|priority) ?[234])|"
            r"(?P<replacement>substitui\w*|troca\w*|replac\w+|cobertura|reposic\w+)|"
            r"(?P<alarm>alarmes?|dispar\w+|panico)|(?P<arrival>chegad\w+|chega\w*|comparec\w+|local|on[- ]site|"
            r"arriv\w+)|"
            r"(?P<repair>consert\w*|repair\w*|repar[oa]\w*|solu[cv]\w+|solucao|resolv\w+|resoluc\w+|resolution|"
            r"restabele\w+|restor\w+|recolocad\w+))\b",
        ),
    ),
    "governing_law": (
        Attribute(
            name="venue",
            anchor=r"\b(?:foro|forum|comarca|juizo|juiz|juizes|justica|tribuna(?:l|is)|varas?|cidade|courts?|sede|"
            r"venue|"
            r"jurisdiction|propost[oa]s|ajuizad[oa]s|tramita\w*)\b",
            avoid=r"\b(?:arbitra\w+)\b",
            read=venues,
            both_sides=True,
        ),
        Attribute(
            name="seat of arbitration",
            anchor=r"\barbitra\w+\b",
            read=seats,
            within=400,
            both_sides=True,
        ),
        Attribute(
            name="law",
            anchor=r"\b(?:lei|leis|direito|legislacao|laws?)\b",
            avoid=r"\blei n",
            read=laws,
            both_sides=True,
        ),
    ),
}


PRICES = frozenset({"price", "monthly price", "hourly rate", "yearly price", "total price"})


def read(clause: str, sentence: str) -> dict[str, Value]:
    """The attributes that a sentence of a clause fixes, by name."""
    whole, short = sentence, without_late(sentence) if clause == "payment" else sentence
    found: dict[str, Value] = {}
    for attribute in ATTRIBUTES.get(clause, ()):
        sentence = whole if attribute.name.startswith("late ") else short
        plain = folded(sentence)
        if attribute.name == "renewal" and not re.search(_RENEWAL, plain):
            continue
        if not re.search(attribute.avoid, plain):
            value = _only(attribute, sentence, plain)
            if value:
                found[_tagged(attribute, plain)] = value
    if clause != "payment":
        return found
    named = named_prices(short)
    each = [value for name, value in named.items() if name.startswith(NAMED[1])]
    return {name: value for name, value in found.items() if name not in PRICES or value not in each} | named


def _tagged(attribute: Attribute, plain: str) -> str:
    """The name of an attribute, and of what kind it is."""
    tags = sorted({m.lastgroup or "" for m in re.finditer(attribute.tags, plain)})
    return ", ".join((attribute.name, *tags))


def _beside(plain: str, anchor: re.Match[str], values: Sequence[Value]) -> list[Value]:
    """Of several sums the one that touches the anchor: "R$ 5.000 por mês", "o valor mensal é de R$ 5.000"."""
    for value in values:
        between = plain[value.end : anchor.start()] if value.end <= anchor.start() else ""
        if value.kind == "money" and between and re.fullmatch(r" ?(?:\([^)]{3,120}\))?,? ?", between):
            return [value]
    for value in values:
        between = plain[anchor.end() : value.start] if value.start >= anchor.end() else "."
        if value.kind == "money" and re.fullmatch(r"[a-z :]{0,25}", between):
            return [value]
    return []


def _only(attribute: Attribute, sentence: str, plain: str) -> Value | None:
    stop = re.search(attribute.until, plain)
    if stop and not _AS_IF_READ.search(plain):
        sentence, plain = sentence[: stop.start()], plain[: stop.start()]
    anchor = re.search(attribute.anchor, plain)
    if not anchor:
        return None
    values = attribute.read(sentence)
    changes = [m for m in _CHANGE.finditer(plain) if not _AS_IF_READ.search(plain[m.end() : m.end() + 50])]
    if changes:
        after = [v for v in values if v.start >= changes[-1].end()]
        values = after[:1] or values
    elif attribute.both_sides:
        values = [v for v in values if -attribute.within <= v.start - anchor.end() <= attribute.within]
        values = _beside(plain, anchor, values) or values
    else:
        values = [v for v in values if 0 <= v.start - anchor.start() <= attribute.within][:1]
    return values[0] if len({v.canonical for v in values}) == 1 else None
