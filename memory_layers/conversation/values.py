"""Values: what a board, a note or a turn may hold, and where it is kept.

A value is JSON: None, bool, int, finite float, str, lists (a tuple becomes one) and dicts with string keys. Anything
else, half a character too, is refused with the place inside the value where it was found. A NUL is kept: JSON writes it
as six letters, and the ledger's copy is encrypted; what Postgres is to read as JSON passes `for_the_database` first. Up
to 10 KB a value is kept where it is written; a
larger one, up to 64 MB, goes to an artifact in layer 4 and a reference takes its place, which reads resolve unseen.

The written form is a mark and JSON: ``=`` a value, ``@`` a reference, ``-`` nothing any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Protocol, cast

from ...infra.errors import BadInput
from ...infra.identity import Principal
from ...infra.text import MOST_BITS, flaw, told
from ..records import Json

INLINE = 10 * 1024
"""The most bytes of JSON kept in Redis itself."""
LARGEST = 64 * 1024 * 1024
DEEPEST = 100
GONE = b"-"
_JSON = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_LEAVES = frozenset({str, int, bool, type(None)})


class Artifacts(Protocol):
    """Where large values live: bodies by tenant, data subject and digest."""

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        """Keep `body`; its digest. Putting it again is free, and saves it from collection for another hour."""
        ...

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        """Something refers to it now: it is no longer collected."""
        ...

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        """The body. Raises `NotFound` when it was erased."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A value that lives in an artifact."""

    digest: bytes
    size: int
    subject: str = ""

    def payload(self) -> bytes:
        """The written form."""
        return b"@" + json.dumps({"digest": self.digest.hex(), "size": self.size, "subject": self.subject}).encode()

    @classmethod
    def of(cls, payload: bytes) -> Reference | None:
        """The reference that a payload is, or None when it holds its value itself."""
        if not payload.startswith(b"@"):
            return None
        told = cast(dict[str, str], json.loads(payload[1:]))
        return cls(digest=bytes.fromhex(told["digest"]), size=int(told["size"]), subject=told["subject"])


class Values:
    """Payloads of one principal: from values and back, large ones by way of its artifacts."""

    def __init__(self, principal: Principal, artifacts: Artifacts) -> None:
        self._principal = principal
        self._artifacts = artifacts

    async def payload(self, what: str, value: Json, subject: str = "") -> bytes:
        """The written form of `value`; `what` names it in an error. A large one is put away first.

        Raises:
            BadInput: not JSON, or above 64 MB.
        """
        body = encode(value, what)
        if len(body) <= INLINE:
            return b"=" + body
        if len(body) > LARGEST:
            raise BadInput(
                f"{what} holds {len(body) / 1024 / 1024:.0f} MB of JSON, at most {LARGEST // 1024 // 1024} fit:"
                " keep it in a file or an object store and write its address"
            )
        digest = await self._artifacts.put(self._principal, body, subject)
        return Reference(digest=digest, size=len(body), subject=subject).payload()

    async def taken(self, payload: bytes) -> None:
        """What `payload` refers to is written now and must stay."""
        if reference := Reference.of(payload):
            await self._artifacts.take(self._principal, reference.digest, reference.subject)

    async def value(self, payload: bytes) -> Json:
        """The value that was written; None when there is nothing any more.

        Raises:
            NotFound: its artifact was erased.
        """
        if reference := Reference.of(payload):
            return decode(await self._artifacts.get(self._principal, reference.digest, reference.subject))
        return None if payload == GONE else decode(payload[1:])


def encode(value: Json, what: str) -> bytes:
    """`value` as JSON in UTF-8.

    Raises:
        BadInput: naming the place inside the value that is not JSON.
    """
    if not _is_json(value, 0):
        raise BadInput(_why_not(value, what, 0))
    try:
        return _JSON(value).encode()
    except ValueError as error:  # half a character, or an int of too many digits
        why = _unfit(value, what, nul=True) or f"{what} cannot be written as JSON: {error}"
        raise BadInput(why) from error


def for_the_database(value: Json, what: str) -> None:
    """Nothing, if Postgres can read `value`, which is JSON.

    Raises:
        BadInput: naming the place of what it cannot, a NUL above all.
    """
    if (why := _unfit(value, what)) is not None:
        raise BadInput(why)


def decode(body: bytes) -> Json:
    """What `encode` was given."""
    return cast(Json, json.loads(body))


def _is_json(value: object, depth: int) -> bool:
    """Every write passes here: the common types are known by identity, and only their kin by inheritance."""
    kind = type(value)
    if kind in _LEAVES:
        return True
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, (dict, list, tuple)):
        if depth == DEEPEST:
            return False
        inner = cast(Iterable[object], value)
        if isinstance(value, dict):
            for key in inner:
                if not isinstance(key, str):
                    return False
            inner = cast(dict[str, object], value).values()
        return all(type(entry) in _LEAVES or _is_json(entry, depth + 1) for entry in inner)
    return isinstance(value, (str, int))


def _why_not(value: object, place: str, depth: int) -> str:
    """The first thing in `value` that is not JSON, by its place; called only when there is one."""
    if depth == DEEPEST and isinstance(value, (dict, list, tuple)):
        return f"{place[:200]}… is nested deeper than {DEEPEST}, or holds itself"
    if isinstance(value, dict):
        for key, inner in cast(dict[object, object], value).items():
            if not isinstance(key, str):
                return f"{place} has the key {told(key)}: the keys of JSON are strings"
            if not _is_json(inner, depth + 1):
                return _why_not(inner, f"{place}[{key!r}]", depth + 1)
    if isinstance(value, (list, tuple)):
        for index, inner in enumerate(cast(list[object], value)):
            if not _is_json(inner, depth + 1):
                return _why_not(inner, f"{place}[{index}]", depth + 1)
    if isinstance(value, float):
        return f"{place} is {value!r}: JSON has no such number"
    return f"{place} is {type(cast(object, value)).__name__}: JSON knows None, bool, int, float, str, list and dict"


def _unfit(value: object, place: str, *, nul: bool = False) -> str | None:
    """The first text or int in `value` that cannot be kept, by its place; None when there is none. `nul`: it may be."""

    def wrong_with(text: str) -> str | None:
        return flaw(text.replace("\x00", "") if nul else text)

    if isinstance(value, str):
        return None if (wrong := wrong_with(value)) is None else f"{place} {wrong}"
    if isinstance(value, int):
        fits = value.bit_length() <= MOST_BITS
        return None if fits else f"{place} is an int of more than 4,300 digits: write it as text"
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        inner = cast(dict[object, object], value).items()
    elif isinstance(value, (list, tuple)):
        inner = enumerate(cast(list[object], value))
    for key, entry in inner:
        if isinstance(key, str) and (wrong := wrong_with(key)) is not None:
            return f"{place} has the key {key[:60]!r}, which {wrong}"
        if (why := _unfit(entry, f"{place}[{key!r}]", nul=nul)) is not None:
            return why
    return None
