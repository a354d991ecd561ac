"""The shape of what a caller hands in, asked at the door: a wrong type is refused by the name of its argument.

Callers are not all typed, and what a store would refuse later has then been acknowledged already. Every function gives
back what it was asked about, in the form in which it goes on, or raises `BadInput` with the way out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import isfinite
from typing import cast
from uuid import UUID

from .clock import utc
from .errors import BadInput
from .text import flaw

_SHOWN = 60


def text(what: str, given: object) -> str:
    """A text that every store can hold: no NUL, no half of a character."""
    if not isinstance(given, str):
        raise BadInput(f"{what} is text, got {shown(given)}")
    if (wrong := flaw(given)) is not None:
        raise BadInput(f"{what} {wrong}")
    return given


def texts(what: str, given: object) -> list[str]:
    """A list of texts; a single text is not its letters."""
    return [text(f"each of {what}", item) for item in items(what, given)]


def items(what: str, given: object) -> list[object]:
    """What a list, a tuple or a set holds."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, dict)):
        raise BadInput(f"{what} is a list, got {shown(cast(object, given))}: write {what}=[…]")
    return [*cast(Iterable[object], given)]


def whole(what: str, given: object) -> int:
    """A whole number."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise BadInput(f"{what} is a whole number, got {shown(given)}")
    return given


def share(what: str, given: object) -> float:
    """A number from 0 to 1."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not (isfinite(given) and 0 <= given <= 1):
        raise BadInput(f"{what} lies in 0…1, got {shown(given)}")
    return given


def flag(what: str, given: object) -> bool:
    """True or False."""
    if not isinstance(given, bool):
        raise BadInput(f"{what} is True or False, got {shown(given)}")
    return given


def moment(what: str, given: object) -> datetime:
    """A moment, in UTC."""
    if not isinstance(given, datetime):
        raise BadInput(f"{what} is a datetime with a time zone, got {shown(given)}")
    try:
        return utc(given)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{what}: {error}") from error


def identifier(what: str, given: object) -> UUID:
    """An id, or one as text."""
    if isinstance(given, UUID):
        return given
    try:
        return UUID(text(what, given))
    except (ValueError, BadInput):
        raise BadInput(f"{what} is an id like 019a2b3c-…, as a receipt has it, got {shown(given)}") from None


def shown(given: object) -> str:
    """A value as an error may quote it."""
    try:
        told = repr(given)
    except Exception:  # a caller's own repr, or a number too long to be written out
        told = "…"
    return f"{told if len(told) <= _SHOWN else told[: _SHOWN - 1] + '…'} ({type(given).__name__})"
