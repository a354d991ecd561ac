"""Cuts an agreement into sentences that know the heading they stand under.

Agreements reach a review in every state: one paragraph a line, lines wrapped at eighty columns, Markdown, a whole
contract on one line, or a filing whose page breaks put blank lines and page numbers inside sentences. The cutting
goes from coarse to fine:

1. *blocks* are runs of lines between blank lines, cut again where a line opens a list item or is plainly a heading;
2. *paragraphs* are blocks, joined where the first breaks off in mid-sentence and the next goes on in lower case;
3. *sentences* end at a full stop that is no abbreviation and no number's. A short title-like sentence ("12.3
   Assignment.") is no sentence but the heading of what follows, wherever it stands.

Sentences carry their offsets in the document's text, and `flat`: the same words in lower case, without accents,
mark-up and line breaks, which is what cues are written against.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_MARKER = (
    r"(?:[a-zA-Z]{1,2}[.-]\d{1,3}(?:\.\d{1,3})*[.)]?(?:\s*[–—-](?=\s))?(?=\s)|"
    r"\d{1,2}(?:\.\d{1,3})+[.)]?(?:\s*[–—-](?=\s))?|\(?(?:\d{1,3}|[a-zA-Z]|"
    r"[ivxIVX]{1,5})[.)]|[-*•+](?=\s)|\d+[ºª°]?\s*[-–—.)])"
)
_NUMBERED = (
    r"(?:section|article|se[çc][ãa]o|artigo|art\.|cl[áa]usula|item|cap[íi]tulo|anexo|exhibit|"
    r"schedule|§)\s*[\w.]{1,12}[ºª°]?"
)
_ORDINAL = r"(?:primeir|segund|terceir|quart|quint|sext|s[ée]tim|oitav|non|d[ée]cim)[oa]"
_LABEL = re.compile(
    r"[\s#>*_|]*(?:par[áa]grafo\s+\w+(?:[ºª°]|\b)\s*[.:–—-]*\s*|§\s*(?:\d+[ºª°]?|"
    rf"[úu]nico)\s*[.:–—-]*\s*|{_ORDINAL}\s*[–—-]\s+|"
    r"cl[áa]usula\s+\w+[ºª]?(?:\s+\w+)?\s*[.:–—-]+\s+|(?:art(?:igo|\.)|item)\s*\d+[ºo°]?\s*[.:–—-]*\s+|"
    rf"{_MARKER}\s*)?(?:\[x\])?[\s*_]*",
    re.IGNORECASE,
)
_UNTICKED = re.compile(r"\s*(?:[-*]\s*)?\[ \]")
_OPENS = re.compile(
    rf"\s*(?:#{{1,6}}\s|\||{_MARKER}\s|\*\*|par[áa]grafo\s|§|cl[áa]usula\s|article\s|section\s)", re.IGNORECASE
)
_NOISE = re.compile(
    r"\s*(?:[-–—\s]*(?:page|p[áa]gina)?\s*[-–—]?\s*\d{1,4}\s*(?:of|de|/)?\s*\d*[-–—\s]*|"
    r"source:.*|\*{3,}|[-_=–—\s]+)\s*",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"(?<=[.!?])[\"”’')\]*_]*(?:</?\w+[^>]*>)*\s+(?=[\"“‘'(\[*_<§•]*\w)|" r"(?<=[;:])[\"”]?\s*\n+\s*(?=\(?\w{1,4}[.)])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“'./])(?:inc|corp|co|ltd|ltda|llc|s\.a|s/a|n[ºo°]?|nos|arts?|sra?|srs|dra?|"
    r"mrs?|ms|st|ave?|blvd|jr|u\.s(?:\.a)?|i\.e|e\.g|"
    r"etc|vs?|cf|al|fls?|pp?|eng|pty|esq|l\.p|l\.l\.c|approx|sec|fig|ph\.d|tel|ex[am]o?|cia|"
    r"prof|hon|dept|est|ref|min|max|obs|inv|[a-z])\.$",
    re.IGNORECASE,
)
_STARTER = re.compile(
    r"[\"“(]*(?:the|this|these|if|in|either|neither|no|any|all|each|upon|such|for|at|except|"
    r"it|o|a|os|as|este|esta|se|em|caso|no|na|nenhuma|qualquer|"
    r"cada|para|por|fica|ficam|whereas|notwithstanding|subject|unless)\s",
    re.IGNORECASE,
)
_JUST_A_NUMBER = re.compile(rf"[\s*_#\"“(]*(?:{_NUMBERED}|{_MARKER}|\d+(?:\.\d+)*[ºª°]?)\s*[.)]*\s*", re.IGNORECASE)
_PARAGRAPH_LABEL = re.compile(r"[\s*_]*(?:par[áa]grafo\s+\w+[ºª°]?|§\s*\w+[ºª°]?)[\s*_.:–—-]*", re.IGNORECASE)
_NUMBER_FIRST = re.compile(rf"[\s#*_]*(?:{_NUMBERED}|{_MARKER}|\d)", re.IGNORECASE)
_NAMED_CLAUSE = re.compile(r"(?i)cl[áa]usula\s+[\wªº]+(?:\s+\w+)?\s*\([^()]{3,60}\)")
_SAYS = re.compile(
    r"(?i)\b(?:shall|will|is|are|may|é|são|ser[áa]o?|ficam?|n[ãa]o|pode|deve|vale|h[áa]|tem|"
    r"paga|custa|eleg\w+|rege)\b"
)
_ABOUT = re.compile(r"(?:D[oa]s?|Sobre|Quanto|Se|Como|Por|Até)(?:\s+[^\W\d_]+){1,4}")
_TITLE_BEFORE_COLON = re.compile(r"([A-ZÀ-Ý][^.:;\n]{2,60}):\s+(?=[A-ZÀ-Ý\"“(])")
_SMALL = re.compile(
    r"(?i)(?:an?|and|as|at|by|for|from|in|of|on|or|the|to|with|d[aeo]s?|e|em|n[ao]s?|ou|os?|"
    r"ao|à|por|para|com|sem|se|que)"
)


LONGEST = 6_000
"""Characters of a sentence that are read; what goes on for longer is no sentence, and must not cost minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """`heading` is flat, nearest first; `first` tells whether the sentence opens what stands under it."""

    start: int
    end: int
    flat: str
    heading: str
    first: bool


def flat(text: str) -> str:
    """Lower case, no accents, no mark-up, plain quotes, single spaces."""
    text = re.sub(r"<[^<>\n]{1,120}>|\*\*|__|^#+", "", text)
    text = re.sub(r"\]\([^)\s]{1,200}\)", "]", text)
    text = text.translate(_PLAIN)
    folded = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return " ".join(folded.split())


_PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\ufeff": " ", "_": " ", "*": " "})


@lru_cache(maxsize=64)
def sentences(text: str) -> tuple[Sentence, ...]:
    """All sentences of a text, in order."""
    return tuple(_Reading(text).sentences())


class _Reading:
    """Goes through a text with the heading it is under in mind.

    A title that nothing follows before the next one was no title: "7. Foro de Paranaguá." says it all. It is held
    back until that is known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.section = self.title = self.above = ""
        self.held: tuple[int, int] | None = None
        self.first = False

    def sentences(self) -> Iterator[Sentence]:
        for number, (start, end) in enumerate(paragraphs(self.text)):
            whole = self.text[start:end]
            if is_heading(whole) and not (self.first and number and _answers(whole)):
                yield from self._under(start, end)
                self.section, self.title = flat(whole), ""
                continue
            self.title = ""
            for s, e in _cut(self.text, start, end):
                yield from self._piece(s, e, last=e == end, long=len(whole) > 6000)
        yield from self._under(0, 0)

    def _piece(self, start: int, end: int, *, last: bool, long: bool) -> Iterator[Sentence]:
        piece = self.text[start:end]
        if _PARAGRAPH_LABEL.fullmatch(piece) or _UNTICKED.match(piece):
            return
        if is_title(piece) and not (self.first and _answers(piece)):
            yield from self._under(start, end)
            self.title = flat(piece)
            if long or last:
                self.section = self.title
            return
        start += len(_label(piece))
        if end - start < 10:
            return
        self.held = None
        yield self._sentence(start, end, self._heading())
        self.first = False

    def _under(self, start: int, end: int) -> Iterator[Sentence]:
        """A new title is at hand: what was the last one worth?"""
        if self.held and self.first:
            s, e = self.held
            s += len(_label(self.text[s:e]))
            yield self._sentence(s, e, self.above)
        piece = self.text[start:end]
        says = piece.rstrip(" *_").endswith(".") and not piece.isupper() and len(piece) > 14
        self.held, self.above, self.first = ((start, end) if says else None), self._heading(), True

    def _heading(self) -> str:
        if self.title and self.section and self.title != self.section:
            return f"{self.title} / {self.section}"
        return self.title or self.section

    def _sentence(self, start: int, end: int, heading: str) -> Sentence:
        return Sentence(
            start=start,
            end=end,
            flat=flat(self.text[start : min(end, start + LONGEST)]),
            heading=heading,
            first=self.first,
        )


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Paragraphs as (start, end), joined over page breaks and blank lines that fall inside a sentence."""
    joined: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        block = text[start:end]
        if joined and not is_heading(block):
            before = text[joined[-1][0] : joined[-1][1]]
            if _goes_on(before, block) and not is_heading(before):
                joined[-1] = (joined[-1][0], end)
                continue
        joined.append((start, end))
    return joined


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines; page numbers, rules and source notes are dropped."""
    start = end = -1
    previous = ""
    offset = 0
    for line in text.splitlines(keepends=True):
        body = line.strip()
        opens = bool(start >= 0 and body and (_opens(previous, line) or _stands_over(text[start:offset], body)))
        if start >= 0 and (not body or opens):
            yield from _trimmed(text, start, end)
            start = -1
        if body and not _NOISE.fullmatch(body):
            if start < 0:
                start = offset
            end = offset + len(line)
            previous = line
        offset += len(line)
    if start >= 0:
        yield from _trimmed(text, start, end)


def _stands_over(block: str, line: str) -> bool:
    """Whether a block of one short line is the title of the longer line right below it."""
    title = block.strip()
    return (
        len(title) < 50
        and "\n" not in title
        and len(line) > max(60, 1.5 * len(title))
        and line[0].isupper()
        and is_heading(title)
        and not re.search(r"[,;:\d)]$", title)
    )


def _opens(previous: str, line: str) -> bool:
    """Whether a line begins a block of its own although no blank line stands before it."""
    if previous.lstrip().startswith("|") != line.lstrip().startswith("|"):
        return True
    if (
        is_heading(previous)
        and len(previous) < 80
        and not line[:1].islower()
        and (previous.isupper() or previous.lstrip().startswith(("#", "**")) or _numbered_title(previous))
    ):
        return True
    if not _OPENS.match(line):
        return False
    return previous.rstrip().endswith(
        (".", ";", ":", "!", "?", "|", '"', "”", ")", " e", " and", "**", "; or", ", or")
    ) or line.lstrip().startswith(("#", "|", "- "))


def _numbered_title(line: str) -> bool:
    return bool(re.match(rf"\s*(?:{_NUMBERED}|{_MARKER})\s*[-–—:.]?\s*\S", line, re.IGNORECASE))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _goes_on(before: str, after: str) -> bool:
    """Whether `after` continues the sentence that `before` breaks off."""
    tail = before.rstrip().rstrip("\"”')*_")
    head = after.lstrip('"“(*_ ')
    if not head or not tail or tail.endswith((".", "!", "?", ":", ";", "|")) or before.lstrip().startswith(("#", "|")):
        return False
    if _OPENS.match(after) and re.match(rf"\s*{_MARKER}", after):
        return False
    return head[0].islower() or tail.endswith(",") or bool(_SMALL.fullmatch(tail.rsplit(None, 1)[-1]))


def is_heading(block: str) -> bool:
    """A whole block that names what follows instead of saying something."""
    line = block.strip()
    if line.startswith("|") or len(line) > 120 or not re.search(r"[^\W\d_]{2}", line):
        return False
    if re.match(r"#{1,6}\s", line):
        return "\n" not in line
    bare = re.sub(r"<[^<>]*>|[*_]", "", line).strip()
    if bare.endswith((",", ";", "-")) or (bare.endswith(":") and len(bare.split()) > 6):
        return False
    if _JUST_A_NUMBER.fullmatch(bare) or bare.endswith("?"):
        return len(bare) < 80
    return is_title(line) or (
        not bare.endswith((".", "!", "”", '"'))
        and len(bare.split()) <= 9
        and _capital(bare)
        and not _ends_a_sentence(bare)
    )


def _answers(piece: str) -> bool:
    """Whether what looks like a title says all there is to say under the heading before it: "Foro" / "Comarca de
    Uberaba."."""
    return piece.rstrip(" *_").endswith(".") and not piece.isupper() and not _NUMBER_FIRST.match(piece)


def _ends_a_sentence(bare: str) -> bool:
    return bool(re.search(r"\b(?:shall|will|deve|dever[áa]|poder[áa]|may)\b|_{3,}|@|\d{4,}|/s/", bare))


def _capital(bare: str) -> bool:
    letters = re.search(r"[^\W\d_]", bare)
    return bool(letters) and bare[letters.start()].isupper()


def is_title(piece: str) -> bool:
    """A short sentence in title case or capitals, "12.3 Assignment." or "DO FORO:", or a short one that is
    numbered or named."""
    bare = re.sub(r"<[^<>]*>|[*_#]", " ", piece).strip().rstrip(".:").strip()
    if not bare or len(bare) > 110 or _PARAGRAPH_LABEL.fullmatch(bare) or re.search(r"_{3,}|@|/s/", piece):
        return False
    if _NAMED_CLAUSE.fullmatch(bare) or _ABOUT.fullmatch(bare):
        return True
    rest = _JUST_A_NUMBER.match(bare)
    words = re.findall(r"[^\W\d_][\w'’-]*", bare[rest.end() :] if rest else bare)
    if not words or len(words) > 12:
        return False
    if bare.isupper():
        return not _SAYS.search(bare)
    if re.search(r":\s|\d{1,2}/\d|\d{4}\.?$|\d[\d.,]*%|\$|,\s|;", bare) or not words[0][0].isupper():
        return False
    numbered = bool(rest and rest.end()) and piece.rstrip(" *_\n").endswith((".", ":"))
    if numbered and len(words) <= 5 and not _SAYS.search(bare):
        return True
    return len(words) <= 9 and all(w[0].isupper() or _SMALL.fullmatch(w) for w in words)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentences of one paragraph, as offsets."""
    last = start
    for match in _BOUNDARY.finditer(text, start, end):
        piece = text[last : match.start()]
        after = text[match.end() : match.end() + 24]
        if match[0].strip() == "" and _ABBREVIATION.search(piece[-24:]) and not _STARTER.match(after):
            continue
        if _JUST_A_NUMBER.fullmatch(piece) or (after[:1].islower() and piece.endswith(".")):
            continue
        yield from _titled(text, last, _right(text, last, match))
        last = match.end()
    if last < end:
        yield from _titled(text, last, end)


def _right(text: str, last: int, match: re.Match[str]) -> int:
    end = match.end()
    while end > last and text[end - 1].isspace():
        end -= 1
    return end


def _titled(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Splits "GOVERNING LAW: This agreement ..." after the colon."""
    body = start + len(_label(text[start:end]))
    match = _TITLE_BEFORE_COLON.match(text, body, end)
    if match and is_title(match[1]):
        yield start, body + len(match[1]) + 1
        yield match.end(), end
    else:
        yield start, end


def _label(piece: str) -> str:
    """The number, letter or mark-up that a sentence opens with."""
    match = _LABEL.match(piece)
    return match[0] if match and match.end() < len(piece) else ""
