"""Whether a text bears out what a model says of it: the words, the names, the numbers, a no that is a no.

Everything is compared folded, without case and accents, as tokens: words, numbers with their sign, currency signs. A
quotation has to be there token by token; a name or a value as well. A sentence in the model's own words has to be made
of the text's: most of its words, by their beginnings, and all that is a name or a number. So an answer in another
language, or about something else, is not borne out, whatever it claims to quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..memory_layers.conversation.language import language_of
from ..memory_layers.execution.memories import folded

Language = Literal["pt", "en"]

SHARE = 0.6
"""The part of a sentence's words that have to be the text's."""
_TOKEN = re.compile(r"(?<![\w.,:/-])-\d+(?:[.,:/]\d+)*|\d+(?:[.,:/]\d+)*|[^\W\d]\w*[+#]*|[$€£¥%]")
_BEGINNING = 4
_NAME = re.compile(r"(?<=[^\W\d_])[\s,;(]+([^\W\d_a-z]\w*)|(\S*\w+[\d_@/.-]\w+\S*)|(\b[A-Z]{2,}\b)")
_NO: dict[Language, re.Pattern[str]] = {
    "pt": re.compile(
        r"\b(?:nao|nunca|jamais|nem|nenhum\w?|ninguem|nada|sem|evit\w+|proib\w+|vedad\w|deix\w+|par[ae] de|exceto|salvo"
        r"|somente|apenas)\b"
    ),
    "en": re.compile(
        r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n[’']?t|avoid\w*|refrain|forbid\w*|forbad\w*|bans?"
        r"|banned|banning|prohibit\w*|stop|except|unless|only)\b"
    ),
}
_DENIES: dict[Language, re.Pattern[str]] = {
    "pt": re.compile(r"\b(?:nao|nunca|jamais|nem|deix\w+ de|par\w+ de|antigamente|ex)\b"),
    "en": re.compile(r"\b(?:not|never|no longer|\w+n[’']?t|nor|neither|used to|stopped|quit|former|formerly)\b"),
}
_DENYING: dict[Language, re.Pattern[str]] = {
    "pt": re.compile(
        r"\b(?:nao|nunca|jamais|nem|nenhum\w?|sem|deix\w+|par(?:a|ou|aram|ei)|odei\w+|detest\w+|evit\w+|recus\w+|saiu"
        r"|ex|antig\w+|desgosta)\b"
    ),
    "en": re.compile(
        r"\b(?:not|never|no|none|\w+n[’']?t|without|nor|neither|stop\w*|quit|left|former\w*|dislik\w+|hat(?:es?|ed)|lack\w*"
        r"|avoid\w*|refus\w+|used to|free of)\b"
    ),
}
"""What a quotation says no by, and the words of a claim that say it too."""
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?\n]?")
_PRONOUNS = """
o os a as um uma de do da dos das em no na nos nas e eu voce voces ele ela eles elas meu minha seu sua nosso nossa
isso isto esse essa este esta esses essas aquilo lhe the an of to in and i me my mine you your he him his she her it
its we us our they them their this that these those
"""
_BEGIN = """
que nao para por com foi ser mais mas como quando muito ja tem ao aos pelo pela se houve ha alguem antes depois cada
todo toda todos todas use usar sempre nunca usuario usuaria cliente agente assistente is for on with was be are but
very have has had not at by from will would or if when there some someone before after every each always never user
client customer agent assistant
"""
_EMPTY = frozenset(_PRONOUNS.split())
"""Words that stand for something else, or for nothing by themselves."""
_OPENERS = _EMPTY | frozenset(_BEGIN.split())
"""Words that a sentence may begin with though the text does not have them; any other first word may be a name."""


def tokens(text: str) -> str:
    """A text as its tokens, each between two spaces, so that one is in another as a whole."""
    plain = folded(text).replace("−", "-").replace("’", "'")
    return f" {' '.join(_TOKEN.findall(plain))} "


def holds(text: str, part: str) -> bool:
    """Whether a text, as tokens, holds these words in this order, and there are any."""
    wanted = tokens(part)
    return bool(wanted.strip()) and wanted in text


def borne_out(sentence: str, texts: Iterable[str]) -> bool:
    """Whether a sentence is made of these texts, given as tokens: most of its words, and all its names and numbers."""
    there = set(" ".join(texts).split())
    beginnings = {token[:_BEGINNING] for token in there}
    words = tokens(sentence).split()
    telling = [word for word in words if len(word) > 3 and not word[0].isdigit() and word not in _OPENERS]
    named = [word for found in _NAME.finditer(sentence) for word in tokens(found[0]).split()]
    exact = {*named, *(word for word in words if any(sign.isdigit() for sign in word))}
    if not (telling or exact) or not there.issuperset(exact):
        return False
    opens = words[0] in _OPENERS or words[0][:_BEGINNING] in beginnings
    return opens and sum(word[:_BEGINNING] in beginnings for word in telling) >= SHARE * len(telling)


def turned_round(sentence: str, quotation: str) -> bool:
    """Whether one of the two says no and the other does not."""
    languages = _languages(f"{quotation} {sentence}")
    return _found(_NO, languages, sentence) != _found(_NO, languages, quotation)


def denied(claim: str, quotation: str) -> bool:
    """Whether a quotation says that something is not so, or no more, and a claim says that it is."""
    languages = _languages(f"{quotation} {claim}")
    return _found(_DENIES, languages, quotation) and not _found(_DENYING, languages, claim)


def asks(text: str, quotation: str) -> bool:
    """Whether a quotation stands in a question of a text, and nowhere else."""
    sentences = [sentence for sentence in _SENTENCE.findall(text) if holds(tokens(sentence), quotation)]
    return bool(sentences) and all(sentence.rstrip().endswith("?") for sentence in sentences)


def tells(name: str) -> bool:
    """Whether a name is more than words that stand for another: not he, it, we, você, and no article alone."""
    return any(token not in _EMPTY for token in tokens(name).split())


def language_for(text: str) -> Language:
    """Which of the two a model is spoken to in about a text: Portuguese where that is what it is in, else English."""
    return "pt" if language_of(text) == "pt" else "en"


def same_language(one: str, other: str) -> bool:
    """Whether nothing says that these are in two languages."""
    first, second = language_of(one), language_of(other)
    return first is None or second is None or first == second


def _languages(text: str) -> Sequence[Language]:
    """The languages whose words for no are looked for; both, where it cannot be told."""
    found = language_of(text)
    return (found,) if found == "pt" or found == "en" else ("pt", "en")


def _found(words: Mapping[Language, re.Pattern[str]], languages: Sequence[Language], text: str) -> bool:
    plain = folded(text)
    return any(words[language].search(plain) for language in languages)
