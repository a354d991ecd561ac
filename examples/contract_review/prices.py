"""Prices that go by a name of their own: "the handling charge", "a parte fixa da fatura", "R$ 32,50 o quilo".

An agreement may fix many, so each is called after what the sentence calls it: `price of handling charge`, `price per
quilo`. A name for which a sentence gives two sums names neither.
"""

import re
from collections.abc import Iterator

from .values import Value, folded, money

NAMED = ("price of ", "price per ")
"""How the names of such attributes begin."""

_UNIT = (
    r"(?:quilos?|quilometros?|kg|sacas?|arrobas?|toneladas?|litros?|metros?|m2|m3|caixas?|unidades?|pecas?|aulas?|"
    r"sess(?:ao|oes)|"
    r"diarias?|pacotes?|milheiros?|duzias?|cabecas?|refeic(?:ao|oes)|visitas?|km|paletes?|hectares?|plant(?:ao|oes)|"
    r"garrafas?|exemplar(?:es)?|crates?|pallets?|units?|heads?|tons?|tonnes?|kilos?|lbs?|pounds?|box(?:es)?|cases?|"
    r"bottles?|pieces?|days?|visits?|sessions?|lessons?|meals?|lunch(?:es)?|miles?|acres?|seats?|users?|tickets?|"
    r"items?|orders?|copies|copy|pages?|words?|cubic met\w+|square (?:met\w+|f\w+t))"
)
_PERIOD = r"(?:mes(?:es)?|anos?|semanas?|months?|years?|annum|quarters?|horas?|hours?|cento|cent|conta|via|meio|the)"
_AFTER = re.compile(
    rf"(?: ?\([^)]{{3,120}}\))?,? ?(?:(?:mensa(?:l|is)|ao mes|por mes|monthly|a month|per month),? )?(?:(?:/ ?|(?:per|"
    rf"por|a cada|cada|for each|for every|each|every|por cada) )"
    rf"(?P<any>(?!{_PERIOD}\b)[a-z]\w+)|(?:o|a|os|as|an) (?P<known>{_UNIT})\b)"
)
_BEFORE = re.compile(
    rf"(?:\b(?:cada|each|every) (?P<any>(?!{_PERIOD}\b)[a-z]\w+)|\b(?:o|a|por|per|the) (?:preco d[aeo] )?"
    rf"(?P<known>{_UNIT})|(?:aluguel|preco|valor|tarifa|custo|rent|price|fee|rate)(?: mensal)? (?:por|per) "
    rf"(?P<each>(?!{_PERIOD}\b)[a-z]\w+))\b[^.;$€£]{{0,60}}$"
)
_ENGLISH = re.compile(
    r"\b(?!(?:the|an?|this|that|such|said|its|our|your|new|same|any|all|each|late|monthly|annual|yearly|hourly|total|"
    r"additional|applicable|current|revised|and|of|in|to|as)\b)(?P<what>[a-z]\w{2,}) "
    r"(?P<noun>fee|charge|rate|rent|retainer|premium|tariff|deposit|allowance|price|levy|portion|component)s?\b"
)
_PORTUGUESE = re.compile(
    r"\b(?P<noun>taxa|tarifa|custo|parte|parcela|componente|adicional|contribuicao|cota|diaria|anuidade|remuneracao|"
    r"assinatura|verba|aporte|preco|valor|ajuda|bolsa|gratificacao|frete) (?:(?:de|da|do|das|dos|por|pel[ao]|a) )?"
    r"(?P<what>(?!(?:mensal|anual|total|global|sera|fica|passa|devid|que|previst|tratad|referid|acima|atual|nov|ora|"
    r"fixad|pag|contratad|ser\b|r\b)\w*)[a-z]\w{3,})\b"
)
_NOT_A_PRICE = re.compile(
    r"\b(?:multa|juros|seguro|apolice|insurance|late|interest|responsab\w+|liab\w+|indeniza\w+|caucao|capital social)\b"
)
_EXCESS = re.compile(
    r"\b(?:exced\w+|ultrapass\w+|alem d[aeo]|acima d[aeo]|extras?|adiciona\w+|suplement\w+|avuls\w+|excess|exceed\w*|"
    r"overage|beyond|over and above|additional|overtime|transporte|montagem|desmontagem|mobilizac\w+|instalac\w+|"
    r"limpeza|vistoria|taxa|set-?up|installation|cleaning|inspection|perdid[oa]s?|danificad[oa]s?|lost|damaged)\b"
)
_WORD = re.compile(r"^(?: \w+)?")
_BY_MONTH = re.compile(r" (?:mensa(?:l|is)|(?:por|ao) mes|monthly|(?:per|a|each) month)\b")
_HOURLY = re.compile(r"\b(?:por|a|cada|per|an|each) (?:hora|hour)\b|\bhourly\b|/ ?h\b")
_MONTHLY = re.compile(
    r"\bmensa(?:l|is|lidade|lidades|lmente)\b|\b(?:por|ao|cada) mes\b|\balugue(?:l|is)\b|\bmonthly\b|"
    r"\b(?:per|a|each) month\b|\brent\b"
)


def named_prices(sentence: str) -> dict[str, Value]:
    """The sums that a sentence gives under a name or for a unit."""
    plain = folded(sentence)
    if _NOT_A_PRICE.search(plain):
        return {}
    sums = [v for v in money(sentence) if not _replaced(plain, v)]
    found: dict[str, set[str]] = {}
    values: dict[str, Value] = {}
    for name, value in (*_by_unit(plain, sums), *_by_label(plain, sums)):
        found.setdefault(name, set()).add(value.canonical)
        values[name] = value
    return {name: value for name, value in values.items() if len(found[name]) == 1}


def _replaced(plain: str, value: Value) -> bool:
    """Whether a sum is the old one: "from $14.20 to $17.90"."""
    tail = plain[value.end : value.end + 120]
    return bool(
        re.search(r"\b(?:de|from|of)\s*$", plain[max(0, value.start - 6) : value.start])
        and re.match(r"[^.;$€£]{0,60}\b(?:para|to)\s+(?:r\$|us\$|\$|€|£)", tail)
    ) or bool(
        re.match(
            r"[\"”']? (?:e|is|are) (?:substituid|replaced)|[\"”']? (?:with|por) [\"“']?(?:r\$|\$|€|"
            r"£)",
            tail,
        )
    )


def _by_unit(plain: str, sums: list[Value]) -> Iterator[tuple[str, Value]]:
    last = 0
    for value in sums:
        after = _AFTER.match(plain, value.end)
        match = after or _BEFORE.search(plain[last : value.start])
        opened, last = last, _past_month(plain, after.end()) if after else value.end
        if match:
            unit = _singular(next(filter(None, match.groups())))
            said = plain[opened:last] + _WORD.findall(plain[last:])[0]
            yield ", ".join((f"{NAMED[1]}{unit}", *_sort(said))), value


def _past_month(plain: str, position: int) -> int:
    match = _BY_MONTH.match(plain, position)
    return match.end() if match else position


def _sort(said: str) -> Iterator[str]:
    """What else tells one price of a unit from another: the extra hour of a crane is not its rent."""
    if _EXCESS.search(said):
        yield "extra"
    if _HOURLY.search(said):
        yield "by the hour"
    elif _MONTHLY.search(said):
        yield "monthly"


def _by_label(plain: str, sums: list[Value]) -> Iterator[tuple[str, Value]]:
    labels = sorted((*_ENGLISH.finditer(plain), *_PORTUGUESE.finditer(plain)), key=lambda m: m.start())
    for number, label in enumerate(labels):
        stop = labels[number + 1].start() if number + 1 < len(labels) else len(plain)
        stop = min(stop, label.end() + 110)
        under = [v for v in sums if label.end() <= v.start < stop and ";" not in plain[label.end() : v.start]]
        if under and not (label["noun"] in {"preco", "price", "valor"} and re.fullmatch(_UNIT, label["what"])):
            words = (label["noun"], label["what"])
            first, second = map(_singular, words if label.re is _PORTUGUESE else words[::-1])
            yield f"{NAMED[0]}{first} {second}", under[0]


def _singular(word: str) -> str:
    return f"{word[:-3]}ao" if word.endswith("oes") else re.sub(r"(?<=\w{2})s$", "", word)
