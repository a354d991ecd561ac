"""When two texts say the same: to the letter but for what never changes what is said, in Portuguese and in English.

`core` is a text as it is compared: without case, accents, spacing, quotes and the punctuation of sentences, without
articles and the like, and with plurals as singulars. Everything else stays in its place and order: every number, sign,
identifier, name and date, every `not` and `nunca`, every word. So it is a key, which one index can hold, and two
writers at one moment meet in it. How alike vectors are decides nothing here: "approved" and "rejected" lie nearer to
each other than many a paraphrase to its original.

`retold` is what an agent's text says where it only tells what was told before: "The user said: …", "Segundo o usuário,
…", or a text in quotes. What an agent says again is no evidence of it.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import filterfalse

_LIGHT = frozenset(
    ("o", "a", "os", "as", "um", "uma", "uns", "umas", "de", "da", "do", "das", "dos", "the", "an", "of")
)
"""Folded words that say nothing by themselves; `Plano A`, in capitals, or a last word, is another matter."""
_POLITE = "please"
_EDGE = ".,;:!…\"'“”«»‘’`"
_SHORTEST_PLURAL = 5
_WHO = r"(?:(?:the|my|our)\s+)?(?:user|human|person)\s+(?:(?:has|had|also|once)\s+)?"
_QUEM = r"(?:[oa]\s+)?(?:usu[aá]ri[oa]|pessoa)\s+(?:(?:me|nos|j[aá]|tamb[eé]m)\s+)?"
_SIGN = r"(?:\s*[:,–—]\s*|\s+-\s+|\s+(?:that|que)\s*:?\s+)"
_FRAME = re.compile(
    rf"""\s*(?:[-*•>]\s*)?(?:
        (?:{_WHO}(?:said|says)|{_QUEM}(?:disse|falou))(?:{_SIGN}|\s+)
      | (?:
            {_WHO}(?:told\s+(?:me|us)|mentioned|noted|stated|wrote|reported|confirmed|explained)
          | (?:according\s+to|as\s+(?:said|told|stated|mentioned)\s+by)\s+the\s+(?:user|human|person)
          | (?:as\s+)?i\s+(?:remember|recall|know|noted|was\s+told)
          | (?:from\s+)?(?:my\s+)?memor(?:y|ies)(?:\s+says)? | recalled | remembered | reminder | note | fact
          | {_QUEM}(?:informou|contou|mencionou|comentou|afirmou|confirmou|escreveu|relatou|explicou)
          | (?:segundo|conforme|de\s+acordo\s+com)\s+[oa]\s+(?:usu[aá]ri[oa]|pessoa)
          | (?:eu\s+)?(?:me\s+)?(?:lembro|recordo|sei|anotei)(?:\s+de)?
          | (?:da\s+)?(?:minha\s+)?mem[oó]ria | lembrete | nota | fato
        ){_SIGN}
    )(?P<rest>\S.*)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_DEEPEST = 4
"""How many frames around each other are taken off."""
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’", "`": "`"}


def folded(text: str) -> str:
    """Text without case, accents and spacing, for comparing and never for showing."""
    plain = text.casefold()
    if not plain.isascii():
        plain = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", plain)))
    return " ".join(plain.split())


def core(text: str) -> str:
    """A text as it is compared with others for being the same."""
    words, shouted = text.split(), text.isupper()
    plains = folded(text).split()
    if len(plains) != len(words):  # a sign that is a space or nothing once it is folded
        plains = [folded(word) for word in words]
    last = len(words) - 1
    kept: list[str] = []
    for place, plain in enumerate(plains):
        bare = plain.strip(_EDGE)
        if not bare or bare == _POLITE:
            continue
        if bare in _LIGHT and place < last and (shouted or place == 0 or words[place].islower()):
            continue
        kept.append(_singular(bare))
    return " ".join(kept) or folded(text)


def ending(text: str) -> str:
    """How the `core` of a text ends, mostly told by the last word: where that differs, texts are not the same."""
    last = text.rstrip().rpartition(" ")[2].split()
    bare = folded(last[-1]).strip(_EDGE) if last else ""
    return (core(text) if not bare or bare == _POLITE else _singular(bare)).rpartition(" ")[2]


def _singular(bare: str) -> str:
    plural = bare[-1] == "s" and len(bare) >= _SHORTEST_PLURAL and bare[-2] != "s" and bare.isalpha()
    return bare[:-1] if plural else bare


def retold(text: str) -> str:
    """What a text says, without the words that only say from whom it is; the text itself where there are none."""
    for _ in range(_DEEPEST):
        inner = text.strip()
        if found := _FRAME.match(inner):
            inner = found["rest"].strip()
        bare = inner.rstrip(".!")
        if len(bare) > 2 and _QUOTES.get(bare[0]) == bare[-1] and bare[-1] not in bare[1:-1]:
            inner = bare[1:-1]
        if inner == text:
            break
        text = inner
    return text
