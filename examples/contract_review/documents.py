"""An agreement as it was read: its name, its characters, its language and its digest.

Every quotation of the review points into `Document.text` by character offsets, so the text must be what anyone else
gets by opening the same file. It is what `Path.read_text(encoding="utf-8")` returns: line ends read as a line feed,
everything else untouched, a byte order mark kept as the first character. Whoever opens the file in the usual way and
slices it finds the quotation.

A file that cannot be reviewed honestly (empty, binary, not UTF-8, huge) is refused by name, with the way out.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LARGEST = 20 * 1024 * 1024

_PORTUGUESE = re.compile(
    r"\b(?:d[aeo]s?|que|não|em|para|com|por|uma|ao|à|é|pel[ao]|entre|sem|contrato|partes|você|ou)\b"
)
_ENGLISH = re.compile(r"\b(?:the|of|and|to|in|or|by|shall|any|this|that|for|with|be|is|will|agreement|party|you)\b")


class DocumentError(ValueError):
    """A file that cannot be reviewed; the message names it and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One agreement. `digest` is the SHA-256 of the text in UTF-8, in hexadecimal; `name` is the file's name,
    without folders."""

    name: str
    text: str
    language: Literal["pt", "en"]
    digest: str


def read_document(path: Path) -> Document:
    """Reads one agreement, or raises `DocumentError`."""
    name = str(path)
    if not path.exists():
        raise DocumentError(f"{name!r} does not exist: check the path")
    if not path.is_file():
        raise DocumentError(f"{name!r} is not a file: name the agreements inside it, one by one")
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise DocumentError(
                f"{name!r} has {size:,} bytes: agreements of up to {LARGEST:,} are read; split it or convert it to text"
            )
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{name!r} cannot be read ({error.strerror}): check its permissions") from error
    if b"\0" in raw:
        raise DocumentError(f"{name!r} is binary: convert it to plain text or Markdown, in UTF-8, first")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name!r} is not UTF-8 (byte {error.start}): save it again as UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.lstrip("\ufeff").strip():
        raise DocumentError(f"{name!r} is empty: there is nothing to review in it")
    return document(path.name, text)


def document(name: str, text: str) -> Document:
    """A document from characters at hand."""
    return Document(name=name, text=text, language=language_of(text), digest=hashlib.sha256(text.encode()).hexdigest())


def language_of(text: str) -> Literal["pt", "en"]:
    """The language of most of the small words; English when there are none."""
    low = text.lower()
    return "pt" if len(_PORTUGUESE.findall(low)) > len(_ENGLISH.findall(low)) else "en"
