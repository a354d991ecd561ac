"""Commands reach the server as the driver's own packing would send them."""

from __future__ import annotations

from typing import Any

import pytest
from lousa.infra.packing import packing
from lousa.infra.redis_pool import Pool
from redis.asyncio.connection import Connection


@pytest.mark.parametrize("url", ["redis://localhost", "rediss://localhost", "unix:///tmp/none.sock"])
@pytest.mark.parametrize(
    "words",
    [("SET", "chave é", b"\x00\xff", 3, 1.5), ("CONFIG GET", "x"), (b"EVALSHA", b"", ""), ("SET", "k", "x" * 50_000)],
)
def test_a_command_is_packed_as_the_driver_packs_it(url: str, words: tuple[Any, ...]) -> None:
    ours = packing(Pool.from_url(url)).make_connection()  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    driver = Connection()
    assert b"".join(ours.pack_command(*words)) == b"".join(driver.pack_command(*words))
    both = [words, ("PING",)]
    assert b"".join(ours.pack_commands(both)) == b"".join(driver.pack_commands(both))
