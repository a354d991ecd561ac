"""Whether a text reads as an instruction to an assistant rather than as something to know.

A page or a tool's answer may carry commands for whoever reads it. People see through that; a model that finds such a
line in its prompt may obey. So what was not said by the user is read with suspicion before it can be recalled: the
text is laid bare (tags, invisible characters, letters of other alphabets, what is encoded), and `instruction_signs` are
counted in it. Enough of them within one passage, and it is an instruction; in a part that readers do not see, half as
many do.

Two tables of rules in English and Portuguese; they can be got around by whoever tries: trust decides first, and
whatever comes from the web waits for a person anyway. What it promises is that the blatant is caught, and that ordinary
work is let through: policies, runbooks, contracts and talk are full of imperatives. A phrase in quotation marks, in a
sentence that speaks about attacks or filters, is a mention and no command.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from .execution.memories import folded
from .instruction_points import enough
from .instruction_signs import ENOUGH

_ENOUGH_HIDDEN = ENOUGH // 2
_KEPT = 2_000
"""Characters of a text whose answer is kept in mind: a window's turns are read again for every context."""

_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)|^\[[^\]\n]*\]:\s*#\s*[(\"'](.*?)[)\"']\s*$", re.S | re.M)
_UNSEEN = re.compile(
    r"<(\w+)\s(?=[^<>]{0,300}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b|\bhidden\b))"
    r"[^<>]{0,400}>(.*?)(?:</\1\s*>|\Z)",
    re.S | re.I,
)
_INLINE = re.compile(
    r"</?(?:b|i|u|em|strong|span|font|a|wbr|sub|sup|small|mark)(?:\s[^<>=]{1,40}=[^<>]{0,200})?\s?/?>", re.I
)
_BLOCK = re.compile(
    r"</?(?:p|div|br|li|ul|ol|h[1-6]|td|tr|table|section|article|body|html|blockquote)(?:\s[^<>=]{1,40}=[^<>]{0,200})?\s?/?>",
    re.I,
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_SPLIT = re.compile("[A-Za-zÀ-ÿ][\u200b\u200c\u2060\ufeff]+(?=[A-Za-zÀ-ÿ])")
_SPACED = re.compile(r"(?<!\w)\w([ ._*-])\w(?:\1\w){3,}(?!\w)")
_LETTERS = re.compile(r"(?<!\w)\w([ ._*-])\w(?:\1\w)*(?!\w)")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[ :]?){12,}(?![0-9a-fA-F])")
_URL_SAFE = str.maketrans("-_", "+/")
_BACKWARDS = ("snoitcurtsni", "tpmorp", "seocurtsni", "sezirterid")
_WORD = re.compile(r"[\w-]+")
_BESIDE = re.compile(r"[a-z][013457@$]|[013457@$][a-z]")
_INSIDE = re.compile(r"[a-z][013457@$]{1,3}[a-z]")
"""As a word is disguised, and no unit or version is written."""
_MIXED = re.compile(r"(?<![\w@$])(?=[\w@$]{0,30}[a-z])(?=[\w@$]{0,30}[013457@$])[a-z013457@$]{2,30}")
_DIGITS = str.maketrans("013457@$", "oieastas")
_LOOKALIKE = str.maketrans("аеорсухіјѕԁһԛԝαεοριυνκτ", "aeopcyxijsdhqwaeopiuvkt")
_LATIN = re.compile(r"[a-z]")
_OTHER = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_QUOTED = re.compile("[\"“«']")
_QUOTATION = r"([\"“«][^\"”»]{1,120}[\"”»]|(?<!\w)'[^']{1,120}'(?!\w))"
_MENTIONED = re.compile(
    r"\b(?:(?:quot(?:e|es|ed)|cites?|cita|phrases?|blocked|filters?|filtered"
    r"|detect\w*|attack\w*|such as|for example|e\.g\.|malicious|pasted|typed|assert\w*|hid|planted|slipped"
    r"|colei|digitei|escond(?:eu|eram|iam)|ocult(?:ou|aram)|frases?|barrou|bloque\w+"
    r"|filtros?|detec\w+|ataques?|atacantes?|malicios\w+|por exemplo|algo como)"
    r"\b[^.!?¶]{0,120}?|(?:prompt injection|injections?|jailbreaks?|red team|injec(?:ao|oes))\b[^¶]{0,120}?)"
    + _QUOTATION
)


def commands(text: str) -> bool:
    """Whether a text reads as an instruction to an assistant, whoever said it."""
    return _known(text) if len(text) <= _KEPT else _commands(text)


def readings(text: str) -> Iterator[str]:
    """The ways in which a text may be read, folded, what is not seen among them; "¶" where a line ended."""
    shown, hidden = _apart(text)
    for part in (shown, *hidden):
        yield from _views(_plain(part), _INSIDE)


@lru_cache(maxsize=1024)
def _known(text: str) -> bool:
    return _commands(text)


def _commands(text: str) -> bool:
    shown, hidden = _apart(text)
    return _counts(shown, ENOUGH) or any(_counts(part, _ENOUGH_HIDDEN) for part in hidden)


def _counts(text: str, wanted: int) -> bool:
    """Whether signs enough stand together in it."""
    plain = _plain(text)
    if any(_enough(view, wanted) for view in _views(plain)):
        return True
    return "rot13" in plain and _enough(_plain(codecs.encode(text, "rot13")), wanted)


def _enough(plain: str, wanted: int) -> bool:
    return enough(_MENTIONED.sub(_without_quotation, plain) if _QUOTED.search(plain) else plain, wanted)


def _without_quotation(match: re.Match[str]) -> str:
    return match[0].replace(match[1], '""')


def _apart(text: str) -> tuple[str, list[str]]:
    """What a reader sees, and the parts that only a machine does."""
    hidden: list[str] = []
    shown = text
    if "&" in shown:
        shown = html.unescape(shown)
    if "<" in shown or "]:" in shown:
        hidden += [one or other for one, other in _COMMENT.findall(shown)]
        shown = _COMMENT.sub(" ", shown)
        hidden += [inner for _, inner in _UNSEEN.findall(shown)]
        shown = _UNSEEN.sub(" ", shown)
        shown = _BLOCK.sub("\n", _INLINE.sub("", shown))
    if not shown.isascii():
        hidden += ["".join(chr(ord(sign) - 0xE0000) for sign in run) for run in _TAGS.findall(shown)]
        if len(_SPLIT.findall(shown)) >= 3:  # nobody writes words so, to be read
            hidden.append(_INVISIBLE.sub("", shown))
        shown = _INVISIBLE.sub("", shown)
    hidden += _decoded(shown)
    if _SPACED.search(shown):
        shown = _LETTERS.sub(_joined, shown)
    return shown, hidden


def _joined(match: re.Match[str]) -> str:
    """Letters that stand apart, as the words they spell."""
    return match[0][::2]


def _decoded(text: str) -> list[str]:
    """What is readable once it is decoded."""
    found: list[str] = []
    for run in _BASE64.findall(text):
        body = run.rstrip("=").translate(_URL_SAFE)
        with suppress(binascii.Error):
            found.append(_readable(base64.b64decode(body + "=" * (-len(body) % 4))))
    found += [_readable(bytes.fromhex(run.replace(":", " "))) for run in _HEX.findall(text)]
    return [text for text in found if text]


def _readable(body: bytes) -> str:
    """As text, if it is one."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() or text.replace("\n", "").isprintable() else ""


def _plain(text: str) -> str:
    """Folded, with the ends of lines kept."""
    return folded(text.replace("\n", " ¶ "))


def _views(plain: str, disguised: re.Pattern[str] = _BESIDE) -> Iterator[str]:
    """The text, and as it reads when disguised letters are taken for what they look like."""
    yield plain
    if "¶" in plain:  # a sentence may run over the end of a line
        yield (plain := plain.replace(" ¶ ", " ").replace("¶", " "))
    if not plain.isascii():
        latin = _WORD.sub(_latin, plain)
        if latin != plain:
            yield latin
    if disguised.search(plain):
        yield _MIXED.sub(lambda match: match[0].translate(_DIGITS), plain)
    if any(word in plain for word in _BACKWARDS):
        yield plain[::-1]


def _latin(match: re.Match[str]) -> str:
    """A word that mixes alphabets, in one."""
    word = match[0]
    return word.translate(_LOOKALIKE) if _LATIN.search(word) and _OTHER.search(word) else word
