"""Moods: whether a part of a text tells how a thing is, that it has changed, what once happened, or what may be.

Only what tells a state or a change can take the place of anything. Told by a few words of each language that mark what
is asked, doubted, denied, reported, or over, and by verbs of what happened; a verb of change is no mere event.
"""

from __future__ import annotations

import re
from typing import Literal

Mood = Literal["state", "change", "event", "past", "doubt"]

_DOUBT = re.compile(
    r"\b(?:might|maybe|perhaps|could|would|shall we|should (?:we|i|they)|wonder\w*|thinking|considering|propos\w+"
    r"|suggest\w*|wish\w*|hop(?:e|es|ing)|wants? to|wanted|plan(?:s|ning)? to|aims?|would-be|if (?:we|i|you|they|he|she|it|the)"
    r"|rumou?r\w*|asked (?:for|if|about|whether)|debat\w+|read (?:that|about|an?)|article|podcast|heard|according to"
    r"|compared?|comparing|versus|competitors?|negotiat\w+|imagine|suppose\w*|dream\w*|someone said|they say"
    r"|talvez|quem sabe|sera que|poderia\w*|deveria\w*|devia\w*|seria\w*|pensando|pensar em|propos\w*|sugeri\w*|sugest\w+"
    r"|pediu|pediram|queria\w*|gostaria\w*|planej\w+|pretend\w+|cogit\w+|(?:^|, )se (?:a gente|eu|voce|eles?|ela|o|a|nos)"
    r"|boato\w*|dizem que|eu li|^li |artigo\w*|palestra\w*|ouvi\b|ouvi dizer|segundo o|compara\w+|concorrente\w*"
    r"|negociando|imagin\w+|sonh\w+|estud(?:a|amos|ando) (?:mudar|trocar|passar))\b|\?"
)
_OTHER = re.compile(r"\b(?:in the other|at the other|the other (?:company|team|shop|store|office|clinic|school)|na outra|no outro|da outra|do outro|em outr[ao]|de outr[ao])\b")
_PAST = re.compile(
    r"\b(?:used to|previously|formerly|back then|in the past|at the time|once was|historically"
    r"|until (?:(?:19|20)\d\d|last|then|recently|yesterday|now)|ate (?:(?:19|20)\d\d|ontem|entao|pouco|o ano passado|mes passado)"
    r"|antigamente|anteriormente|no passado|na epoca|era|eram|costumava\w*|had been|was|were|last (?:year|month|week)"
    r"|(?:ano|mes) passado|semana passada|in (?:19|20)\d\d\b(?! on)|em (?:19|20)\d\d\b)\b"
)
_CHANGE = re.compile(
    r"\b(?:mov(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|switch\w*|upgrad\w+|downgrad\w+|rais(?:e|es|ed|ing)|increas\w+|lower(?:ed|s)|cut to"
    r"|reduc\w+|extend\w*|postpon\w+|resched\w+|replac\w+|migrat\w+|renam\w+|adopt\w*|shift\w*|went (?:up|down|from)|from now on"
    r"|as of|effective|starting|going forward|henceforth|no longer|anymore|instead|is now|are now|now|set (?:the|to|at|a)"
    r"|updat\w+|revis\w+|correct\w+|agreed|decided|new|took over|takes over|became|becomes|turn(?:s|ed) into|signed|since"
    r"|mud(?:ou|amos|aram|a|ar|ada|ado)|troc(?:ou|amos|aram|ar|ada|ado)|passa(?:ou|amos|aram|ram)?|passou|vai passar|subi(?:u|mos|ram)|aument\w+|reduzi\w+"
    r"|baix(?:ou|amos|aram)|ca(?:iu|iram) para|migr\w+|prorrog\w+|adi(?:ou|ada|ado|amos|aram)|antecip\w+|remarc\w+|renome\w+"
    r"|substitu\w+|fech(?:amos|aram|ou) (?:o|a|em|por)|defini\w+|adot\w+|virou|viraram|a partir|daqui pra frente|de agora em diante|desde|agora"
    r"|nao (?:e|sao|fica|usamos) mais|deixou|em vez de|no lugar|assum(?:e|iu|iram)|novo|nova|novos|novas|atualiz\w+|corrig\w+"
    r"|combin(?:amos|aram|ado)|decidi\w+|ficou|ficaram|abrimos|voltou|voltamos|voltaram|back to|again|saiu o|saiu a)\b"
)
_RIGHT_NOW = re.compile(r"\b(?:yesterday|this (?:morning|afternoon|evening)|tonight|last night|ontem|hoje|anteontem|today)\b")
_EVENT = re.compile(
    r"\b(?:i|we|he|she|they|you)(?:'ve|'d| have| had)? (?:just |already |nearly |almost |also )?\w+(?:ed|t)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )(?<!\bgets )(?<!\bbeing )(?<!e )(?<!sao )"
    r"\b(?:ran|went|came|took|got|gave|saw|said|told|made|bought|sold|found|lost|broke|met|drove|flew|wrote|sent|spent"
    r"|paid|left|felt|did|had|won|read|began|thought|kept|held|brought|caught|grew|knew|showed|arrived|asked|called|waited"
    r"|ended|started|stopped|failed|crashed|returned|dropped|happened|complained|missed|printed|moved three|counted|ordered"
    r"|booked|packed|picked|finished|visited|needed|worked|helped|noticed|reported|tested|checked|delivered|received"
    r"|fiz|fez|fizeram|fomos|veio|vieram|vi|viu|viram|deu|deram|disse|disseram|teve|tive|tiveram|trouxe|pus|pos|quis"
    r"|soube|houve|li|leu|sai|caiu|perdi)\b"
    r"|\b(?!(?:sou|estou|vou|dou|ficou|passou|mudou|virou|meu|seu|teu|museu|europeu|pneu|ateu|rei|lei|sei|parou|deixou|voltou"
    r"|trocou|baixou|adiou|assumiu|subiu|definiu|decidiu)\b)"
    r"[a-z]{2,}(?:ei|ou|aram|eram|iram|eu|iu)\b(?<!\beram)"
)
_STATE = re.compile(
    r"\b(?:is|are|'s|has|have|costs?|takes?|runs?|uses?|goes|go|lives?|opens?|closes?|starts?|begins?|ends?|meets?|pays?|gets?|needs?|must"
    r"|may|can|will|lasts?|expires?|serves?|works?|applies|allows?|happens?|handles?|leads?|owns?|keeps?"
    r"|e|sao|fica|ficam|esta|estao|tem|custa|custam|roda|rodam|usa|usam|usamos|vale|valem|abre|abrem|fecha|fecham|comeca"
    r"|comecam|termina|dura|vence|vencem|atende|atendem|paga|pagam|cobra|cobram|vai|vao|pode|podem|deve|devem|sai|saem"
    r"|funciona|precisa|precisam|ganha|ganham|cuida|faz|fazem|aceita|aceitam)\b|:"
)


def mood_of(before: str, part: str, whole: str) -> Mood:
    """The mood of a part of a sentence (`whole`), with what stands `before` it; what it leaves open the rest decides."""
    if _DOUBT.search(before + part) or _OTHER.search(before + part) or whole.rstrip().endswith("?"):
        return "doubt"
    for text in (part, whole):
        changes = _CHANGE.search(text) is not None
        if _PAST.search(text):
            return "change" if changes and re.search(r"\b(?:was|were|foi|foram)\b", text) else "past"
        happened = _EVENT.search(text)
        if changes and not (happened and _RIGHT_NOW.search(text)):
            return "change"
        if happened or (_RIGHT_NOW.search(text) and not re.search(r"\b(?:a partir|from|as of|starting)\b", text)):
            return "event"
        if _STATE.search(text):
            return "state"
    return "state"
