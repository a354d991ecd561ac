"""The lexicon: how the database stems what stands between two blanks, remembered, so that it stems it once.

No lexeme reaches over a blank, so a text's lexemes are those of its pieces. Stemming in two languages is half of what
indexing a memory costs, and a piece that came twice will come again: the second time it is noted, the relay asks the
database for the lexemes of all that is noted, and from then on nobody asks. What is not known yet is left to the
database as it always was. The database has the only say: nothing is stemmed here.

A text with ``<`` is left to the database as a whole, because a tag may hold blanks; so is one of extreme length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain

from .terms import identifiers

_PIECE = re.compile(r"[^ \t\n\r\f\v]+")
_LONGEST = 40
_LONGEST_TEXT = 100_000
_MOST = 20_000
_MOST_AT_ONCE = 500


class Lexicon:
    """Pieces of text and their lexemes: stems, and exact identifiers."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self._met: dict[str, None] = {}
        self._noted: dict[str, None] = {}

    def read(self, text: str) -> tuple[list[str], str]:
        """The lexemes that are known of a text, and the rest of the text, for the database to stem."""
        if "<" in text or len(text) > _LONGEST_TEXT:
            return identifiers(text), text
        pieces: list[str] = _PIECE.findall(text)
        known = [self._known.get(piece) for piece in pieces]
        lexemes = set(chain.from_iterable(filter(None, known)))
        rest = [piece for piece, found in zip(pieces, known, strict=True) if found is None]
        for piece in rest:
            self._meet(piece)
        unread = " ".join(rest)
        lexemes.update(identifiers(unread))
        return sorted(lexemes), unread  # the database sorts them too, which is faster done twice than once

    def noted(self) -> list[str]:
        """Some of the pieces whose lexemes are worth asking for."""
        return list(self._noted)[:_MOST_AT_ONCE]

    def learn(self, stems: Mapping[str, Iterable[str]]) -> None:
        """What the database said of some pieces."""
        for piece, found in stems.items():
            self._noted.pop(piece, None)
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[piece] = (*found, *identifiers(piece))

    def _meet(self, piece: str) -> None:
        if len(piece) > _LONGEST:
            return
        if piece not in self._met:
            if len(self._met) >= _MOST:
                self._met.clear()
            self._met[piece] = None
        elif len(self._noted) < _MOST:
            self._noted[piece] = None
