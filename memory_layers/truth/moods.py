"""Moods: whether a part of a text tells how a thing is, that it has changed, what once happened, or what may be.

Only what tells a state or a change can take the place of anything. Told by a few words of each language that mark what
is asked, doubted, denied, reported, or over, and by verbs of what happened; a verb of change is no mere event.
"""

from __future__ import annotations

import re
from typing import Literal

Mood = Literal["state", "change", "event", "past", "doubt"]


def _any(table: str) -> re.Pattern[str]:
    """Any of the alternatives of a table, as whole words."""
    return re.compile(r"\b(?:" + "".join(line.strip() for line in table.splitlines()) + r")\b")


_DOUBT = _any(
    r"""
    might|maybe|perhaps|could|would|would-be|shall we|should (?:we|i|they)|if (?:we|i|you|they|he|she|it|the)|wonder\w*|
    thinking|considering|propos\w+|suggest\w*|wish\w*|hop(?:e|es|ing)|wants? to|wanted|plan(?:s|ning)? to|aims?|imagine|
    suppose\w*|dream\w*|rumou?r\w*|asked (?:for|if|about|whether)|debat\w+|negotiat\w+|someone said|they say|heard|
    read (?:that|about|an?)|article|podcast|according to|compared?|comparing|versus|competitors?|
    talvez|quem sabe|sera que|poderia\w*|deveria\w*|devia\w*|seria\w*|pensando|pensar em|sugeri\w*|sugest\w+|
    pediu|pediram|queria\w*|gostaria\w*|planej\w+|pretend\w+|cogit\w+|imagin\w+|sonh\w+|negociando|boato\w*|
    estud(?:a|amos|ando) (?:mudar|trocar|passar)|dizem que|eu li|ouvi|segundo o|compara\w+|concorrente\w*|artigo\w*|
    palestra\w*
    """
)
_OPENS_IN_DOUBT = re.compile(r"^\s*li\b|(?:^|, )\s*se (?:a gente|eu|voce|eles?|ela|o|a|nos)\b")
_OTHER = _any(
    r"""
    (?:in|at) the other|the other (?:company|team|shop|store|office|clinic|school)|
    na outra|no outro|da outra|do outro|em outr[ao]|de outr[ao]
    """
)
_PAST = _any(
    r"""
    used to|previously|formerly|back then|in the past|at the time|once was|historically|had been|was|were|
    until (?:(?:19|20)\d\d|last|then|recently|yesterday|now)|last (?:year|month|week)|in (?:19|20)\d\d|
    ate (?:(?:19|20)\d\d|ontem|entao|pouco|o ano passado|mes passado)|em (?:19|20)\d\d|
    antigamente|anteriormente|no passado|na epoca|era|eram|costumava\w*|(?:ano|mes) passado|semana passada
    """
)
_CHANGE = _any(
    r"""
    mov(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|switch\w*|upgrad\w+|downgrad\w+|rais(?:e|es|ed|ing)|increas\w+|
    lower(?:ed|s)|cut to|reduc\w+|extend\w*|postpon\w+|resched\w+|replac\w+|migrat\w+|renam\w+|adopt\w*|shift\w*|
    went (?:up|down|from)|from now on|as of|effective|starting|going forward|henceforth|no longer|anymore|instead|
    now|set (?:the|to|at|a)|updat\w+|revis\w+|correct\w+|agreed|decided|new|took over|takes over|became|becomes|
    turn(?:s|ed) into|signed|since|back to|again|
    mud(?:ou|amos|aram|a|ar|ada|ado)|troc(?:ou|amos|aram|ar|ada|ado)|pass(?:a|am|amos|aram|ou)|subi(?:u|mos|ram)|
    aument\w+|reduzi\w+|baix(?:ou|amos|aram)|ca(?:iu|iram) para|migr\w+|prorrog\w+|antecip\w+|remarc\w+|renome\w+|
    adi(?:ou|ada|ado|amos|aram)|substitu\w+|fech(?:amos|aram|ou) (?:o|a|em|por)|defini\w+|adot\w+|virou|viraram|
    a partir|daqui pra frente|de agora em diante|desde|agora|nao (?:e|sao|fica|usamos) mais|deixou|em vez de|no lugar|
    assum(?:e|iu|iram)|nov[ao]s?|atualiz\w+|reajust\w+|corrig\w+|combin(?:amos|aram|ado)|decidi\w+|ficou|ficaram|
    abrimos|volt(?:ou|amos|aram)|saiu [oa]
    """
)
_RIGHT_NOW = _any(r"yesterday|this (?:morning|afternoon|evening)|tonight|last night|today|ontem|hoje|anteontem")
_FROM_NOW = _any(r"a partir|from|as of|starting")
_HAPPENED = _any(
    r"""
    ran|went|came|took|got|gave|saw|said|told|made|bought|sold|found|lost|broke|met|drove|flew|wrote|sent|spent|paid|
    left|felt|did|had|won|read|began|thought|kept|held|brought|caught|grew|knew|showed|arrived|asked|called|waited|
    ended|started|stopped|failed|crashed|returned|dropped|happened|complained|missed|printed|counted|ordered|booked|
    packed|picked|finished|visited|needed|worked|helped|noticed|reported|tested|checked|delivered|received|
    fiz|fez|fizeram|fomos|veio|vieram|vi|viu|viram|deu|deram|disse|disseram|teve|tive|tiveram|trouxe|pus|pos|quis|
    soube|houve|li|leu|caiu|perdi
    """
)
_WE_DID = re.compile(
    r"\b(?:i|we|he|she|they|you)(?:'ve|'d| have| had)? (?:just |already |nearly |almost |also )?\w+(?:ed|t)\b"
)
_PASSIVE = re.compile(r"\b(?:is|are|be|get|gets|being|e|sao|everything|anything|everyone|anyone|all|those) $")
_I_LEFT = re.compile(r"(?:^|[,;:.] ?|\beu )sai\b")
"""`saí`, which without its accent is also how things leave; that is said of something."""
_PRETERITE = re.compile(r"\b[a-z]{2,}(?:ei|ou|aram|eram|iram|eu|iu)\b")
_NO_PRETERITE = _any(
    r"""
    sou|estou|vou|dou|ou|ficou|passou|mudou|virou|meu|seu|teu|museu|europeu|pneu|ateu|rei|lei|sei|parou|deixou|voltou|
    trocou|baixou|adiou|assumiu|subiu|definiu|decidiu|you|eram
    """
)
_STATE = _any(
    r"""
    is|are|has|have|costs?|takes?|runs?|uses?|goes|go|lives?|opens?|closes?|starts?|begins?|ends?|meets?|pays?|gets?|
    needs?|must|may|can|will|lasts?|expires?|serves?|works?|applies|allows?|happens?|handles?|leads?|owns?|keeps?|
    e|sao|fica|ficam|esta|estao|tem|custa|custam|roda|rodam|usa|usam|usamos|vale|valem|abre|abrem|fecha|fecham|comeca|
    comecam|termina|dura|vence|vencem|atende|atendem|paga|pagam|cobra|cobram|vai|vao|pode|podem|deve|devem|sai|saem|
    funciona|precisa|precisam|ganha|ganham|cuida|faz|fazem|aceita|aceitam
    """
)


def mood_of(before: str, part: str, whole: str) -> Mood:
    """The mood of a part of a sentence, with what stands `before` it; what it leaves open the `whole` decides."""
    if whole.rstrip().endswith("?") or doubts(before + part):
        return "doubt"
    for text in (part, whole):
        changes = _CHANGE.search(text) is not None
        if _PAST.search(text):
            return "change" if changes and _BECAME.search(text) else "past"
        happened, right_now = _happened(text), _RIGHT_NOW.search(text) is not None
        if changes and not (happened and right_now):
            return "change"
        if happened or (right_now and not _FROM_NOW.search(text)):
            return "event"
        if _STATE.search(text) or ":" in text:
            return "state"
    return "state"


def doubts(text: str) -> bool:
    """Whether it says of something that it may be, was proposed, was reported, or is so elsewhere."""
    return any(sign.search(text) for sign in (_DOUBT, _OPENS_IN_DOUBT, _OTHER))


_BECAME = _any(r"was|were|foi|foram")


def _happened(text: str) -> bool:
    """Whether a verb says that something happened; `is sold` says how things are."""
    if _WE_DID.search(text) or _I_LEFT.search(text):
        return True
    if any(not _PASSIVE.search(text[: found.start()]) for found in _HAPPENED.finditer(text)):
        return True
    return any(not _NO_PRETERITE.fullmatch(found[0]) for found in _PRETERITE.finditer(text))
