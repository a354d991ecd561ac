"""Artifacts: values too large for the board, kept once under what they are.

An artifact is addressed by tenant, data subject and the SHA-256 of its body, so that putting it twice keeps it once and
erasing a person takes everything that was theirs alone. It is put before the field that refers to it; from then on it
has an hour to be taken up. The relay takes it up when it copies the change to the ledger, in that same transaction, so
a writer that dies in between loses nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import timedelta

from ...infra.connections import Connection, Connections
from ...infra.errors import BadInput, NotFound
from ...infra.identity import Principal
from ...infra.sql import load_queries

LARGEST = 64 * 1024 * 1024
UNTAKEN_FOR = timedelta(hours=1)
_QUERIES = load_queries(__package__ or "")


class Artifacts:
    """Bodies by tenant, data subject and digest. Satisfies the `Artifacts` that boards ask for."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        """Keep `body`; its digest. Putting it again is free, and saves it from collection for another hour.

        Raises:
            BadInput: above 64 MB.
        """
        if len(body) > LARGEST:
            raise BadInput(
                f"an artifact holds at most {LARGEST // 1024 // 1024} MB, got {len(body) / 1024 / 1024:.1f}:"
                " keep it in a file or an object store and write its address"
            )
        digest = hashlib.sha256(body).digest()
        async with self._connections.transaction(principal) as connection:
            address = {"tenant": principal.tenant, "subject": subject, "digest": digest}
            cursor = await connection.execute(_QUERIES["touch_artifact"], address)
            if await cursor.fetchone() is None:
                await connection.execute(_QUERIES["put_artifact"], {**address, "body": body, "size": len(body)})
        return digest

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        """The body.

        Raises:
            NotFound: it was erased, or collected because nothing ever referred to it.
        """
        async with self._connections.transaction(principal) as connection:
            address = {"tenant": principal.tenant, "subject": subject, "digest": digest}
            cursor = await connection.execute(_QUERIES["get_artifact"], address)
            row = await cursor.fetchone()
        if row is None:
            raise _missing(digest)
        return bytes(row[0])

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        """Something refers to it now: it is no longer collected.

        Raises:
            NotFound: there is no such artifact.
        """
        async with self._connections.transaction(principal) as connection:
            if await take_up(connection, principal.tenant, [(subject, digest)]) == 0:
                raise _missing(digest)


async def take_up(connection: Connection, tenant: str, addresses: Iterable[tuple[str, bytes]]) -> int:
    """Mark artifacts as referred to, by data subject and digest; how many of them there are."""
    subjects, digests = zip(*addresses, strict=True)
    parameters = {"tenant": tenant, "subjects": list(subjects), "digests": list(digests)}
    return (await connection.execute(_QUERIES["take_artifacts"], parameters)).rowcount


async def collect(connection: Connection, older_than: timedelta = UNTAKEN_FOR) -> int:
    """Remove what nothing ever referred to; how many went. Only after every change so far is in the ledger."""
    return (await connection.execute(_QUERIES["collect_artifacts"], {"older_than": older_than})).rowcount


def _missing(digest: bytes) -> NotFound:
    return NotFound(f"there is no artifact {digest.hex()[:16]}…: it was erased, or collected as no field took it up")
