"""What the catalogues of a Postgres database tell of what Lousa needs: version, extensions, and who the login is there.

What is missing is said in words that name the way out, because whoever opens Lousa is often not who may change the
server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from .sql import load_queries

QUERIES = load_queries(__package__ or "")

EXTENSIONS = ("vector", "unaccent")
OLDEST = 15
OLDEST_VECTOR = (0, 8)
"""The first with a walk of the vector index that goes on where filters leave too few (iterative scan)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What one look at the catalogues told."""

    number: int
    version: str
    encoding: str
    login: str
    schema: bool
    """Whether there is a schema `lousa`."""
    migrated: bool
    """Whether there is a list of the migrations that were run."""
    reads: bool
    """Whether the login may read it as it is."""
    system: bool
    """Whether the login may act as lousa_system."""
    owns: bool
    """Whether the login may run migrations."""
    extensions: Mapping[str, tuple[str, str]]
    """Those of ours that there are: their version and schema."""
    available: Mapping[str, str]
    """Those of ours that could be created: their newest version; asked for only where one is missing or old."""

    def flaws(self) -> list[str]:
        """What is missing, each with the way out."""
        flaws: list[str] = []
        if self.number // 10_000 < OLDEST:
            flaws.append(f"this is PostgreSQL {self.version}: Lousa needs {OLDEST} or newer")
        if self.encoding != "UTF8":
            flaws.append(f"the database holds text in {self.encoding}: create one with ENCODING 'UTF8'")
        return flaws + [flaw for name in EXTENSIONS if (flaw := self._flaw_of(name)) is not None]

    def _flaw_of(self, name: str) -> str | None:
        if name not in self.extensions:
            if name not in self.available:
                what = "pgvector 0.8 or newer" if name == "vector" else "its contrib module unaccent"
                return f"the server has no extension {name!r}: have {what} installed there"
            if name == "vector" and _parts(self.available[name]) < OLDEST_VECTOR:
                return f"the server has pgvector {self.available[name]}: have 0.8 or newer installed there"
            return None  # it can be created
        version, place = self.extensions[name]
        if place != "public":
            return f"the extension {name!r} lies in schema {place!r}: run ALTER EXTENSION {name} SET SCHEMA public"
        if name == "vector" and _parts(version) < OLDEST_VECTOR:
            if _parts(self.available.get(name, "")) >= OLDEST_VECTOR:
                return f"the database has pgvector {version}: run ALTER EXTENSION vector UPDATE"
            return f"the database has pgvector {version}: have 0.8 or newer installed there, and update the extension"
        return None


async def look(connection: AsyncConnection[Any]) -> Catalogue:
    """Ask the catalogues."""
    cursor = await connection.cursor(row_factory=dict_row).execute(QUERIES["catalogue"])
    row = cast("dict[str, Any]", await cursor.fetchone())
    told = cast("dict[str, list[str]]", row.pop("extensions") or {})
    extensions = {name: (version, place) for name, (version, place) in told.items()}
    available: dict[str, str] = {}
    if "unaccent" not in extensions or _parts(extensions.get("vector", ("", ""))[0]) < OLDEST_VECTOR:
        cursor = await connection.execute(QUERIES["available"])
        available = dict(cast("list[tuple[str, str]]", await cursor.fetchall()))
    return Catalogue(**row, extensions=extensions, available=available)


def _parts(version: str) -> tuple[int, ...]:
    """A version in numbers, as far as it has such."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
