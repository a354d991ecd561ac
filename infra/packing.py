"""Packing: commands for Redis, put into bytes by the C library that also reads the replies.

The driver's blocking connections pack with hiredis; its asynchronous ones, in Python, take six times as long for a
script with twenty arguments. This hands them the driver's own packer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from redis.connection import HiredisRespSerializer

from .redis_pool import Pool

_PACKER = HiredisRespSerializer()


class _Packing:
    """What a connection does otherwise."""

    def pack_command(self, *words: Any) -> list[bytes]:
        return cast(list[bytes], _PACKER.pack(*words))  # pyright: ignore[reportUnknownMemberType]  # vague stubs

    def pack_commands(self, commands: Iterable[Iterable[Any]]) -> list[bytes]:
        return [b"".join(piece for words in commands for piece in self.pack_command(*words))]


def packing(pool: Pool) -> Pool:
    """The pool, whose connections pack so."""
    kind = pool.connection_class
    pool.connection_class = type(kind.__name__, (_Packing, kind), {})
    return pool
