"""Text that every store can hold: no NUL, which Postgres refuses, and no half of a character, which is no UTF-8.

And text that anyone may see: an address without its passwords.
"""

from __future__ import annotations

import re

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_SECRET = re.compile(r"([?&][^=&]*(?:password|passwd|secret|token|api_?key)[^=&]*=)[^&#]*", re.IGNORECASE)
MOST_BITS = 14_284
"""An int of more bits may have more than 4,300 digits, which Python neither writes nor reads."""


def flaw(text: str) -> str | None:
    """What is wrong with `text`, to be said after what it is; None when any store can hold it."""
    if "\x00" in text:
        return "holds a NUL character, which no database keeps: take it out"
    if not text.isascii() and (found := _UNFIT.search(text)):
        return f"holds half a character ({found[0]!r}): decode it with errors='replace'"
    return None


def fit(text: str) -> str:
    """`text` with a mark in place of what no store can hold; for words that are told and not answered for."""
    return _UNFIT.sub("�", text)


def told(value: object, most: int = 60) -> str:
    """A value in an error, cut where it gets long; an int may have more digits than Python writes."""
    try:
        shown = repr(value)
    except ValueError:
        return f"{type(value).__name__} of too many digits"
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def without_password(url: str) -> str:
    """An address without its passwords: neither the user's nor one among its options."""
    head, at, tail = url.rpartition("@")
    return _SECRET.sub(r"\1…", f"{head.split('://', 1)[0]}://…@{tail}" if at else url)
