"""Rules: whether a text says what must, may not, or always happens.

A rule is said once and asked for in other words than its own ("may I …?"), so few of its words come again when it is
needed. What a user said and reads as a rule therefore counts for somewhat more in a ranking, among what is found
anyway; nothing comes back for being a rule alone. A few words of each language tell; first persons, questions and what
happened do not count.
"""

from __future__ import annotations

import re

from .moods import mood_of
from .values import LONGEST, plain

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_RULE = re.compile(
    r"\b(?:never|must(?: not|n't)?|may not|not allowed|(?:is|are) (?:forbidden|prohibited|required|mandatory)"
    r"|nobody|no one|nothing|nada|without exception|under no circumstances|at all times"
    r"|no [a-z]+(?: [a-z]+)? (?:may|is|are|goes|leaves)"
    r"|nunca|jamais|ninguem|proibid[ao]s?|vedad[ao]s?|obrigatori\w+|sem excecao|em hipotese alguma"
    r"|nao (?:pode|podem|deve|devem)"
    r"|so (?:pode|podem|e|sao|sai|saem|entra|entram|com|se|depois|apos|quem)|somente|exige-se)\b"
    r"|^\s*(?:only|always|sempre|do not|don't|nao|apenas|regra\w*|rule\w*)\b|\b(?:rule|regra)\b[^.]{0,30}:"
)
_ONLY = re.compile(r"\b(?:only|so|somente|apenas)\b")
"""Beside which `sai`, `left` and the like tell no event."""
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|my|me|eu|meu|minha|mim)\b")


def is_rule(text: str) -> bool:
    """Whether some sentence of it reads as a rule."""
    for found in _SENTENCE.finditer(plain(text[:LONGEST])):
        sentence = found[0]
        if not _RULE.search(sentence) or _FIRST.search(sentence):
            continue
        mood = mood_of("", sentence, sentence)
        if mood in ("state", "change") or (mood == "event" and _ONLY.search(sentence)):
            return True
    return False
