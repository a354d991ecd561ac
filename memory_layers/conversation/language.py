"""Which language something is in, as far as it matters here: English, Portuguese, or another.

Told by small words alone, which every sentence has and no name is. Spanish is told from Portuguese, because it shares
half of them. Where too few are there, or as many of each, nothing is said: a guess would be worse.
"""

from __future__ import annotations

import re
from typing import Literal

from ..execution.memories import folded

Language = Literal["en", "pt", "other"]

_ENGLISH = """
the and is are was were be been of to in for with that this these those it you we they he she his her our your i'm it's
have has had will would should could can from what which who how does did do don't not there at by an my me about when
but or if then so please
"""
_PORTUGUESE = """
o os um uma uns umas e de do da dos das em no na nos nas para pra por pelo pela com que nao sim se mais mas foi sao esta
estao tem isso isto esse essa este eu ele ela eles elas voce voces meu minha seu sua nosso nossa ao aos ou ja ate quando
tambem muito como qual porque entao ser ter vai vou
"""
_OTHER = """
el la los las y un una unos de del en por para con que no si se lo su sus es son fue esta estan pero mas como muy ya
tambien yo ella ellos usted ustedes mi al le nos cuando porque entonces hay ser les des du et est une dans pour sur pas
avec vous nous je il elle sont cette der die das und ist nicht mit ein eine zu den von fur auf sie ich wir di che non
sono della per gli
"""
_SMALL: dict[Language, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "pt": frozenset(_PORTUGUESE.split()),
    "other": frozenset(_OTHER.split()),
}
_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
_LAST_LATIN = 0x24F
_MOST = 20_000


def language_of(text: str) -> Language | None:
    """The language of `text`, None where it does not show."""
    text = text[:_MOST]
    letters = [sign for sign in text if sign.isalpha()]
    if len(letters) > 3 and sum(ord(sign) > _LAST_LATIN for sign in letters) * 2 > len(letters):
        return "other"
    words: list[str] = _WORD.findall(folded(text))
    hits: dict[Language, int] = {name: sum(word in small for word in words) for name, small in _SMALL.items()}
    best, second = sorted(hits.values(), reverse=True)[:2]
    if best < 2 or best == second:
        return None
    return next(name for name, count in hits.items() if count == best)
