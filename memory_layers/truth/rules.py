"""Rules: whether a text says what must, may not, or always happens.

A rule is said once and asked for in other words than its own ("may I …?"), so few of its words come again when it is
needed. What a user said and reads as a rule therefore counts for somewhat more in a ranking, among what is found
anyway. A question that asks what to do (`outdated.asks_what_to_do`) is compared with the rules by themselves as well,
and the likest of them are among what is read; so are then statements in general, which may be rules in words that
nothing here knows. A few words of each language tell, and forms of a sentence: what
people in general do not do, what is needed of any or every one, what comes before something may be done, what holds
even then. First persons, questions and what happened do not count.

Some rules `forbid` or demand in so many words. These alone never count as an outdated answer.
"""

from __future__ import annotations

import re

from ..records import Memory, MemoryKind
from .moods import doubts, mood_of
from .values import LONGEST, holds_value, plain

_SHORTEST = 4
"""Words of a statement."""
FIRST_RULES = 3
"""How many rules are among the first that are found, where a question asks what to do."""
LIKER = 0.03
"""What a cosine must be higher by, for a text that only may be a rule to go before one that is."""


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_PART = re.compile(r"[^,;:()–—]+")
_STATIVE = (
    r"(?:have|know|think|like|need|want|see|remember|mind|care|feel|seem|live|believe|understand|own|sell|really"
    r"|sei|sabe|sabemos|tem|temos|tinha|gosta|gostamos|quer|queremos|lembra|acha|achamos|viu|conhece|conhecemos|esta|e"
    r"|foi|era|vi|ha|[a-z]+(?:ei|ou|eu|iu|aram|eram|iram))\b"
)
_FORBIDS = _any(
    r"\b(?:never|must(?: not|n't)?|may not|not allowed|(?:is|are) (?:forbidden|prohibited|required|mandatory)"
    r"|nobody|no one|nothing|nada|without exception|under no circumstances|at all times"
    r"|no [a-z]+(?: [a-z]+)? (?:may|is|are|goes|leaves)"
    r"|nunca|jamais|ninguem|proibid[ao]s?|vedad[ao]s?|obrigatori\w+|sem excecao|em hipotese alguma"
    r"|nao (?:pode|podem|deve|devem)"
    r"|so (?:pode|podem|e|sao|sai|saem|entra|entram|com|se|depois|apos|quem)|somente|exige-se)\b",
    rf"^\s*(?:only(?! (?:\d|a few|one|two|three|some))|always|sempre|do not|don't|nao(?! {_STATIVE})|apenas"
    r"|regra\w*|rule\w*)\b",
    r"\b(?:rule|regra)\b[^.]{0,30}:",
)
_NEED = (
    r"(?:(?:has|have|needs?) (?:to|an?|two|three)|needs? |must|should|gets? |tem que|tem de|precisa\w*|exige\w*|deve\w*"
    r"|leva\w*|so)\b"
)
_NOT_DONE = _any(
    rf"\b(?:we|you|they|people|staff|[a-z]{{3,}}s) (?:do not|don't|cannot|can't)(?: ever| just)? (?!{_STATIVE})",
    rf"\b(?:a gente|aqui|se|ele[sa]?|el[ae]s) nao (?:se )?(?!se\b)(?!{_STATIVE})[a-z]{{3,}}",
    rf"\bnao (?!{_STATIVE})(?:se [a-z]+|[a-z]+[aei]mos)\b",
    r"\bnao e (?:pra|para)\b|\bsem [^,.]{3,30} nao (?!tem|ha|da|vi)\w+",
    r"^\s*no [a-z]+(?: [a-z]+){0,4} (?:in|on|at|after|before|without|past|near|inside|allowed)\b",
    r"\b(?:is|are) (?:never|always)(?: to be)? [a-z]+",
)
"""What people in general do not do."""
_HABITUAL = _any(
    # what is needed of any, of whatever lies above, or before
    r"\b(?:any|every|each|all|anyone|everyone|everybody|whoever|above|over|more than|without"
    rf"|qualquer|tod[ao]s?|cada|quem|acima d[aeo]|mais de)\b[^.]{{0,60}}?\b{_NEED}",
    r"\b(?:you|we|people|staff) (?:have|need) to\b|\ba gente (?:tem que|tem de|precisa)\b",
    r"\b(?:before|prior to) (?:you|anyone|any|[a-z]+ing)\b|\bantes de [a-z]+[aei]r\b|\bantes que\b",
    r"\b(?:whenever|every time|any time|each time|sempre que|toda vez que|todas as vezes que)\b",
    r"(?:^|, )\s*(?:if|when|se|quando)\b[^.]{3,60}\b(?:first|at once|always|primeiro|na hora|sempre)\b",
    # only so
    r"\b(?:only|solely) (?:with|after|if|when|against|once|by|for|to|on|from|in)\b",
    r"\bmediante\b|\bapenas (?:com|se|quem)\b",
    r"\bso (?:se )?[a-z]+ (?:mediante|com|depois|apos|se|quando|na presenca|[a-z]+[aei]ndo)\b",
    # even then
    r"\b(?:no exceptions?|no matter (?:who|what|how)|even (?:if|for|when|on)|not even|whoever asks|always)\b",
    r"\b(?:nem que|nem mesmo|mesmo que|nem pr[ao]|de jeito nenhum|sem conversa|nao tem conversa|mesmo conhecendo)\b",
    # always so, or one after the other
    r"\bsempre (?:em|com|de|por|n[ao]s?)\b|\bprimeiro\b[^.]{0,30}\bdepois\b|\bfirst\b[^.]{0,30}\bthen\b",
    r"^\s*(?:make sure|be sure|certifique\w*|confir[ae]|confere|verifi\w+)\b",
)
_FOR_NOW = re.compile(r"\b(?:yet|anymore|any more|at the moment|today|right now|ainda|mais|hoje|direito)\b")
_ONLY = re.compile(r"\b(?:only|so|somente|apenas)\b")
"""Beside which `sai`, `left` and the like tell no event."""
_WHOEVER = _any(
    r"\b(?:nobody|no one|none of us) (?:ever |also )?(?!was\b|is\b|has\b|knows\b|seems\b)[a-z]+s\b",
    r"\bninguem (?:se |me |nos )?(?!foi\b|era\b|esta\b|sabe\b|parece\b)[a-z]+[ae]\b",
    r"^\s*quem (?!sabe\b)[a-z]+ [^.;]{3,70}?\b(?:fica sem|nao|so|precisa|tem que|tem de|entra|paga|leva|vai)\b",
    r"^\s*(?:anyone|whoever|those) (?:who |that )?[a-z]+ [^.;]{3,70}?"
    r"\b(?:gets?|must|needs?|has to|goes|pays?|waits?)\b",
    r"\b(?:is|are) (?:free|welcome) to\b|\bno need to (?:ask|check|call|chase|wait|run)\b",
    r"\bnao (?:precisa\w*|tem que|e preciso) (?:me )?(?:pedir|perguntar|avisar|esperar|autoriza\w+)\b",
    r"\b(?:whatever|whoever|however) (?:the|they|it|he|she|anyone|anybody)\b",
    r"\bseja (?:quem|qual|o que|onde|quando) for\b|\bnao importa (?:quem|o que|qual|se|quanto)\b|\bpode ser [oa]\b",
    r"\bantes de (?:qualquer|tod[ao])\b|\bbefore (?:any|every|each)\b",
)
"""What holds of whoever it may be, whatever else once happened: leave as well as duty."""
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|eu)\b")


def forbids(text: str) -> bool:
    """Whether some sentence of it forbids or demands in so many words."""
    flat = plain(text[:LONGEST])
    return _FORBIDS.search(flat) is not None and any(_is_one(one[0], _FORBIDS) for one in _SENTENCE.finditer(flat))


def is_rule(text: str) -> bool:
    """Whether some sentence of it reads as a rule."""
    if forbids(text):
        return True
    flat = plain(text[:LONGEST])
    if any(_holds_whoever(one[0]) for one in _SENTENCE.finditer(flat)):
        return True
    if not (_NOT_DONE.search(flat) or _HABITUAL.search(flat)):
        return False
    sentences = [one[0] for one in _SENTENCE.finditer(flat)]
    return any(_holds(one, _NOT_DONE, "event") or _holds(one, _HABITUAL) for one in sentences)


def _holds(sentence: str, signs: re.Pattern[str], *moods: str) -> bool:
    """Whether the part of a sentence that a sign stands in says how things are."""
    part = _lasting(sentence, signs)
    if part is None or doubts(part.replace("even if", "")):
        return False
    return mood_of("", part.replace("even if", ""), part) in ("state", "change", *moods)


def _holds_whoever(sentence: str) -> bool:
    part = _lasting(sentence, _WHOEVER)
    return part is not None and not doubts(part)


def _lasting(sentence: str, signs: re.Pattern[str]) -> str | None:
    """The part of a sentence that a sign stands in, unless that is asked, of who speaks, or for now."""
    sign = signs.search(sentence)
    if sign is None or sentence.rstrip().endswith("?"):
        return None
    part = _part_of(sentence, sign)
    return None if _FIRST.search(part) or _FOR_NOW.search(part) else part


def _is_one(sentence: str, signs: re.Pattern[str]) -> bool:
    sign = signs.search(sentence)
    if sign is None or _FIRST.search(_part_of(sentence, sign)):
        return False
    # What happened once may stand beside the rule as its reason.
    moods = {mood_of("", text, text) for text in (sentence, _part_of(sentence, sign))}
    return bool(moods & {"state", "change"}) or ("event" in moods and _ONLY.search(sentence) is not None)


def _part_of(sentence: str, sign: re.Match[str]) -> str:
    return next((one[0] for one in _PART.finditer(sentence) if one.end() >= sign.end()), sentence)


def is_general(text: str) -> bool:
    """Whether some sentence says how things are in general, and no value with it: it may be a rule in other words."""
    if holds_value(text):
        return False
    sentences = (one[0] for one in _SENTENCE.finditer(plain(text[:LONGEST])))
    return any(_is_statement(one) for one in sentences)


def _is_statement(sentence: str) -> bool:
    if sentence.rstrip().endswith("?") or _FIRST.search(sentence) or len(sentence.split()) < _SHORTEST:
        return False
    return not doubts(sentence) and mood_of("", sentence, sentence) in ("state", "change")


def told_as(memory: Memory) -> tuple[bool, bool]:
    """Whether it is a rule, and whether it may be one in other words.

    It is one when it is kept as a rule, or when a user said it outside of a conversation's turns and it reads as one.
    """
    if memory.kind is MemoryKind.PROCEDURAL and memory.source in ("user", "agent"):
        return True, False
    if memory.source != "user" or memory.speaker is not None or memory.fact is not None:
        return False, False
    rule = is_rule(memory.text)
    return rule, not rule and is_general(memory.text)
