"""Ids: UUIDv7 (RFC 9562), so that an id carries its time and the ledger can be cut by months.

A fresh id is random beyond its time. A derived id takes its time from an id that exists and everything else from a
digest of its parts: the same parts give the same id over all attempts, which is how a repeated write meets itself.
"""

from __future__ import annotations

import hashlib
import os
import time
from datetime import UTC, datetime
from uuid import UUID


def new_id() -> UUID:
    """A fresh UUIDv7 of this moment."""
    return _assemble(time.time_ns() // 1_000_000, os.urandom(10))


def derived_id(base: UUID, *parts: str | int) -> UUID:
    """The id that `parts` always have under `base`; it carries the time of `base`."""
    return id_at(milliseconds(base), base.hex, *parts)


def id_at(unix_ms: int, *parts: str | int) -> UUID:
    """The id that `parts` always have at a moment, in milliseconds since 1970."""
    digest = hashlib.sha256("\x1f".join(f"{len(str(part))}:{part}" for part in parts).encode()).digest()
    return _assemble(unix_ms, digest[:10])


def milliseconds(identifier: UUID) -> int:
    """The time in a UUIDv7, in milliseconds since 1970."""
    return identifier.int >> 80


def moment(identifier: UUID) -> datetime:
    """The time in a UUIDv7."""
    return datetime.fromtimestamp(milliseconds(identifier) / 1000, UTC)


def _assemble(unix_ms: int, rest: bytes) -> UUID:
    bits = int.from_bytes(rest)
    value = (unix_ms & (1 << 48) - 1) << 80 | 0x7 << 76 | (bits >> 64 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1
    return UUID(int=value)
