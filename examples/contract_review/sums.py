"""Which sum of a sentence is the price: not the fine, the discount, the excess hour or what one piece costs.

A price sentence often goes on about delay: "R$ 4.500,00, until the 5th, with a fine of 10%". `without_late` blanks such
a tail, character for character, so that the price and its day are read and the fine is not. It blanks nothing where
the sentence is about the fine in the first place.
"""

import re

from .values import Value, days_of_month, durations, folded, money, percents

_COST = (
    r"(?:multas?|juros|mora|moratori\w+|atras\w*|encargos|desconto|abatimento|bonificac\w+|pontualidade|late|interest|"
    r"discount|overdue|penalt\w+|fines?|surcharge|correcao monetaria)"
)
_GOES_ON = r"(?:[^;,]|(?<=\d),(?=\d))"
_TAIL = re.compile(
    rf"(?:[,;:(] ?|\b)(?:e |and |mas |but )?(?P<opens>,? ?(?:com|sob pena de|acrescid\w+ d[aeo]|mais|incid\w+|"
    rf"sujeit\w+ a|"
    rf"cabendo|with|plus|subject to|on pain of|bearing|em caso de|no caso de|havendo|se houver|se pag\w+|in case of|"
    rf"in the event of|if paid|if it is)\b)[^.;,]{{0,60}}?\b{_COST}\b{_GOES_ON}*"
    rf"(?:,{_GOES_ON}*?\b{_COST}\b{_GOES_ON}*)*"
)
_ONLY_IF = re.compile(r"\b(?:caso|havendo|houver|case|event|if|se pag\w+)\b")
_OTHER = re.compile(
    r"\b(?:condominio|iptu|estacionamento|vagas?|caucao|fianca|garantia|seguro|franquia|exced\w+|ultrapass\w+|extras?|"
    r"adiciona\w+|suplement\w+|avuls\w+|multa|desconto|deposit|parking|service charge|overage|excess|exceed\w*|"
    r"additional|insurance|overtime|ainda|tambem|igualmente|also|further|in addition)\b[^;.$€£]{0,60}$|"
    r"\b(?:inclu\w+|acresc\w+|add(?:ed|ing))\b.{0,80}\b(?:pel[oa]s? qua(?:l|is)|for which)\b[^;.$€£]{0,60}$"
)
_BESIDE = re.compile(
    r"[^;.$€£]{0,40}\b(?:pel[oa]s?|for|a titulo de|referentes? [ao]s?|de) (?:\w+ ){0,2}(?:condominio|iptu|"
    r"estacionamento|vagas?|caucao|fianca|garantia|seguro|multa|parking|deposit|insurance|second|another|additional|"
    r"extra)\b"
)
_EACH = re.compile(
    r"[^.;,]{0,50}?\b(?:por|per|pel[oa]s?|for (?:the|each|every)) (?!mes\b|ano\b|hora\b|month|year|annum|hour|"
    r"titulo)\w+|"
    r"[^.;,]{0,30}\b(?:cada|each)\b(?! (?:mes|month|ano|year))"
)


def without_late(sentence: str) -> str:
    """The sentence with spaces in place of what it says of delays and discounts after it fixed something."""
    plain = folded(sentence)
    fixed = [v.end for read in (money, days_of_month, percents, durations) for v in read(sentence)]
    first = min(fixed, default=len(plain))
    tail = _TAIL.search(plain, first)
    while tail:
        stop = tail.end()
        if _ONLY_IF.search(tail["opens"]) and not re.search(r"\d", tail[0]) and plain[stop : stop + 1] == ",":
            following = re.compile(rf",{_GOES_ON}*").match(plain, stop)
            stop = following.end() if following else stop
        sentence = sentence[: tail.start()] + " " * (stop - tail.start()) + sentence[stop:]
        tail = _TAIL.search(plain, stop)
    return sentence


def whole_prices(text: str) -> list[Value]:
    """Sums, but not what something beside the main thing costs, nor, of several, what one post, user or unit does."""
    plain = folded(text)
    last, every = 0, list[Value]()
    for value in money(text):
        if not _OTHER.search(plain[last : value.start]) and not _BESIDE.match(plain, value.end):
            every.append(value)
        last = value.end
    bare = re.sub(r"\([^)]*\)", lambda m: " " * len(m[0]), plain)
    whole = [v for v in every if not _EACH.match(bare[v.end :])]
    return whole if len(money(text)) > 1 else every
