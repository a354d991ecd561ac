"""The graph in Neo4j, 5.26 or newer, the community edition included.

A fact is a node, because it has an interval, a standing and readers, which relations between things could not be found
by; `migration_*.cypher` draws the rest. Every statement is in `queries.cypher`, names and predicates are parameters,
and every pattern names the tenant. Beginnings of words for the full-text index are all that becomes part of a query
language, and are letters and digits only.

Writes go in batches, in managed transactions. Two writers that meet (a deadlock, a name made by both) are tried again
here; a server that is away is left to whoever asked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar, cast
from urllib.parse import unquote, urlsplit
from uuid import UUID

from ...infra.errors import SchemaMismatch, ServerUnavailable, SettingsError
from ...infra.retry import retrying
from ...infra.sql import load_queries
from . import naming
from .graph import GraphDecision, GraphFact, Run, Sight

if TYPE_CHECKING:
    from neo4j import AsyncDriver, AsyncManagedTransaction, AsyncSession

QUERIES = load_queries(__package__ or "", "queries.cypher")
_FILES = resources.files(__package__ or "")
_BATCH = 500
_CLEARED = 5_000
_MEETING = timedelta(seconds=20)
"""How long writers that meet one another are tried again."""
_SOLVED = ("DeadlockDetected", "ConstraintValidationFailed", "EntityNotFound", "LockClientStopped", "Outdated")
_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"

T = TypeVar("T")


class Neo4jGraph:
    """Facts and decisions in Neo4j. Satisfies `GraphStore`.

    The address is `neo4j://user:password@host:7687/database`; all but the host may be left out. Nothing waits longer
    than `deadline` for a server.
    """

    def __init__(self, url: str, *, deadline: timedelta = timedelta(seconds=2)) -> None:
        told = urlsplit(url)
        if not told.hostname:
            raise SettingsError("LOUSA_GRAPH_URL names no server: expected neo4j://user:password@host:7687/database")
        host = f"[{told.hostname}]" if ":" in told.hostname else told.hostname
        self._address = f"{told.scheme}://{host}:{told.port or 7687}" + (f"?{told.query}" if told.query else "")
        self._auth = (unquote(told.username), unquote(told.password or "")) if told.username else None
        self._database = unquote(told.path.strip("/")) or None
        self._deadline = deadline
        self._driver: AsyncDriver = None  # pyright: ignore[reportAttributeAccessIssue]  # set by start
        self.name = f"neo4j {host}:{told.port or 7687}" + (f"/{self._database}" if self._database else "")

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the driver, and bring the graph's constraints and indexes up to date."""
        try:
            from neo4j import AsyncGraphDatabase, NotificationMinimumSeverity
            from neo4j.exceptions import AuthError, ConfigurationError
        except ImportError as error:
            raise SettingsError("LOUSA_GRAPH_URL needs the Neo4j driver: pip install 'lousa[neo4j]'") from error
        patience = self._deadline.total_seconds()
        try:
            self._driver = AsyncGraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType]  # open keywords
                self._address,
                auth=self._auth,
                connection_timeout=patience,
                connection_acquisition_timeout=patience,
                connection_write_timeout=patience * 5,
                max_transaction_retry_time=patience,
                liveness_check_timeout=30.0,
                notifications_min_severity=NotificationMinimumSeverity.OFF,
                telemetry_disabled=True,
                user_agent="lousa",
            )
        except (ConfigurationError, ValueError) as error:
            raise SettingsError(f"LOUSA_GRAPH_URL cannot be used ({error}), at {self._address}") from error
        stack.push_async_callback(self._driver.close)
        try:
            await self._migrate()
        except ServerUnavailable as error:
            if isinstance(error.__cause__, AuthError):
                raise SettingsError(
                    f"Neo4j at {self._address} lets nobody in with what LOUSA_GRAPH_URL says:"
                    " expected neo4j://user:password@host:7687, percent-encoded where it has signs"
                ) from error
            if getattr(error.__cause__, "code", None) == _NO_DATABASE:
                raise SettingsError(
                    f"{error}: make it there (CREATE DATABASE), or name another one as the path of LOUSA_GRAPH_URL"
                ) from error
            raise

    # Writing -----------------------------------------------------------------------------------------------------

    async def put(
        self,
        tenant: str,
        facts: Sequence[GraphFact],
        decisions: Sequence[GraphDecision],
        gone: Collection[UUID],
        things: Collection[str],
    ) -> Mapping[UUID, int]:
        """Hold these, all or nothing, in place of older revisions; answers which revision of each stands."""
        rows = [_fact(fact) for fact in sorted(facts, key=lambda fact: (fact.subject_key, fact.object_key, fact.id))]
        links = [_link(fact) for fact in facts if fact.revision > 1 or fact.superseded_by or fact.contested_with]
        decided = [_decision(decision) for decision in decisions]
        fixed = {"tenant": tenant, "mark": _mark(tenant) + " "}

        async def write(transaction: AsyncManagedTransaction) -> list[list[Any]]:
            stand: list[list[Any]] = []

            async def each(query: str, what: str, given: Sequence[object]) -> None:
                for start in range(0, len(given), _BATCH):
                    part = given[start : start + _BATCH]
                    result = await transaction.run(QUERIES[query], {**fixed, what: part})
                    for record in await result.fetch(1):
                        stand.extend(record["stand"])

            await each("remove", "ids", sorted(map(str, gone)))
            await each("put_facts", "facts", rows)
            await each("put_links", "links", links)
            await each("put_decisions", "decisions", decided)
            await each("become_things", "things", [{"key": key, "words": _words(key)} for key in sorted(things)])
            return stand

        return _revisions(await self._write(write))

    async def clear(self, tenant: str) -> None:
        """Hold nothing of a tenant any more."""
        for query in ("clear_records", "clear_terms", "clear_agents", "clear_sessions"):
            while await self._write(_one(QUERIES[query], tenant=tenant, most=_CLEARED)):
                pass

    # Reading -----------------------------------------------------------------------------------------------------

    async def within_two(
        self, sight: Sight, runs: Sequence[Run], *, named: bool, most: int
    ) -> tuple[list[UUID], list[UUID]]:
        """The facts at the things that these runs name, and those one step further."""
        if not runs:
            return [], []
        told = [{"key": run.key, "places": run.places} for run in runs]
        near, far = await self._read("within_two", **_seen(sight), at=sight.at, runs=told, named=named, most=most)
        return [*map(UUID, near)], [*map(UUID, far)]

    async def touching(self, sight: Sight, keys: Collection[str], *, most: int) -> list[UUID]:
        """The facts that have one of these keys as subject or as object."""
        (ids,) = await self._read("touching", **_seen(sight), at=sight.at, keys=sorted(keys), most=most)
        return [*map(UUID, ids)]

    async def alike(self, sight: Sight, beginnings: Sequence[str], *, most: int) -> list[str]:
        """The keys of things in whose names a word begins with each of these, the shortest names first."""
        words = " ".join(f"+{beginning}*" for beginning in beginnings)
        (keys,) = await self._read("alike", **_seen(sight), words=f"+{_mark(sight.tenant)} {words}", most=most)
        return keys

    async def revisions(self, tenant: str, ids: Collection[UUID]) -> dict[UUID, int]:
        """Those of `ids` that are held, with their revisions."""
        (stand,) = await self._read("revisions", tenant=tenant, ids=[*map(str, ids)])
        return _revisions(stand)

    async def held(self, tenant: str, *, after: UUID | None, most: int) -> list[tuple[UUID, int]]:
        """A page of what is held of a tenant, by id, with revisions."""
        (stand,) = await self._read("held", tenant=tenant, after=str(after or ""), most=most)
        return [(UUID(identifier), revision) for identifier, revision in stand]

    async def count(self, tenant: str) -> int:
        """How many facts and decisions are held of a tenant."""
        (held,) = await self._read("count", tenant=tenant)
        return held

    # The server --------------------------------------------------------------------------------------------------

    async def _read(self, query: str, **parameters: object) -> list[Any]:
        """The values of the one record that a query gives; none where it gives none."""

        async def read(transaction: AsyncManagedTransaction) -> list[Any]:
            result = await transaction.run(QUERIES[query], parameters)
            return [value for record in await result.fetch(1) for value in record.values()]

        async def attempt() -> list[Any]:
            async with self._session() as session:
                return await session.execute_read(read)

        return await self._reached(attempt)

    async def _write(self, work: Callable[[AsyncManagedTransaction], Awaitable[T]]) -> T:
        async def attempt() -> T:
            async with self._session() as session:
                return await session.execute_write(work)

        return await self._reached(lambda: retrying(attempt, transient=_met, what="a write to Neo4j", within=_MEETING))

    def _session(self) -> AsyncSession:
        return self._driver.session(database=self._database)  # pyright: ignore[reportUnknownMemberType]  # likewise

    async def _reached(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What it answers, with the driver's errors made ours."""
        from neo4j.exceptions import AuthError, ClientError, DriverError, Forbidden, TransientError

        try:
            return await attempt()
        except (DriverError, TransientError, AuthError, Forbidden, OSError) as error:
            raise ServerUnavailable(
                f"Neo4j at {self._address} does not answer ({type(error).__name__}):"
                " is it running, is LOUSA_GRAPH_URL right?"
            ) from error
        except ClientError as error:
            if error.code != _NO_DATABASE:
                raise
            raise ServerUnavailable(f"Neo4j at {self._address} has no database {self._database!r}") from error

    async def _migrate(self) -> None:
        """Run the numbered files that this graph has not had."""
        wanted = migrations()
        done: dict[int, str] = await self._write(_migrated)
        if max(done, default=0) > max(wanted):
            raise SchemaMismatch(
                f"the graph at {self._address} has schema {max(done)}, this version of Lousa knows up to {max(wanted)}:"
                " upgrade Lousa (pip install -U lousa) or point LOUSA_GRAPH_URL at another database"
            )
        for number, text in wanted.items():
            digest = hashlib.sha256(text.encode()).hexdigest()
            if number in done and done[number] != digest:
                raise SchemaMismatch(
                    f"the graph at {self._address} was made by another state of migration {number}"
                    " (a version in the making): point LOUSA_GRAPH_URL at a new database"
                )
            if number not in done:
                for statement in _statements(text):
                    await self._write(_one(statement))
                await self._write(_one(QUERIES["migrated"], number=number, digest=digest))


async def _migrated(transaction: AsyncManagedTransaction) -> dict[int, str]:
    result = await transaction.run(QUERIES["migrations"])
    return {record["number"]: record["digest"] for record in await result.fetch(10_000)}


def _one(query: LiteralString, **parameters: object) -> Callable[[AsyncManagedTransaction], Awaitable[Any]]:
    """Work of one statement; its answer is the first value, None where there is none."""

    async def work(transaction: AsyncManagedTransaction) -> Any:
        result = await transaction.run(query, parameters)
        return next((record[0] for record in await result.fetch(1) if len(record)), None)

    return work


def _met(error: BaseException) -> bool:
    """Whether another writer was in the way, and will be gone."""
    return getattr(error, "code", None) is not None and str(getattr(error, "code", "")).endswith(_SOLVED)


def migrations() -> dict[int, str]:
    """The migrations in this program: number → Cypher."""
    files = resources.files(__package__ or "").iterdir()
    numbered = {
        int(found[1]): file for file in files if (found := re.fullmatch(r"migration_(\d{4})\.cypher", file.name))
    }
    return {number: numbered[number].read_text(encoding="utf-8") for number in sorted(numbered)}


def _statements(text: str) -> list[LiteralString]:
    """One file's statements, without comments; each ends with a semicolon at the end of its line."""
    plain = re.sub(r"^//.*\n", "", text, flags=re.MULTILINE)
    return [cast(LiteralString, part.strip()) for part in plain.split(";\n") if part.strip()]


def _mark(tenant: str) -> str:
    """A word that stands for a tenant in the index of words."""
    return "t" + hashlib.sha256(tenant.encode()).hexdigest()[:16]


def _words(key: str) -> str:
    return " ".join(naming.words(key))


def _seen(sight: Sight) -> dict[str, object]:
    return {"tenant": sight.tenant, "circles": [*sight.circles], "now": sight.now}


def _revisions(stand: Iterable[Sequence[Any]]) -> dict[UUID, int]:
    return {UUID(identifier): revision for identifier, revision in stand}


def _fact(fact: GraphFact) -> dict[str, object]:
    return {
        "id": str(fact.id),
        "subject_key": fact.subject_key,
        "subject": fact.subject,
        "subject_words": _words(fact.subject_key),
        "object_key": fact.object_key,
        "object": fact.object,
        "object_words": _words(fact.object_key) if fact.thing else "",
        "thing": [fact.thing] if fact.thing else [],
        "agent": fact.agent,
        "session": [fact.session] if fact.session else [],
        "held": {
            "revision": fact.revision,
            "predicate": fact.predicate,
            "object": fact.object,
            "status": fact.status,
            "trust": fact.trust,
            "valid_from": fact.valid_from,
            "valid_to": fact.valid_to,
            "recorded_at": fact.recorded_at,
            "expires_at": fact.expires_at,
            "circles": [*fact.circles],
        },
    }


def _link(fact: GraphFact) -> dict[str, object]:
    return {
        "id": str(fact.id),
        "revision": fact.revision,
        "by": [str(fact.superseded_by)] if fact.superseded_by else [],
        "contested": [str(other) for other in fact.contested_with],
    }


def _decision(decision: GraphDecision) -> dict[str, object]:
    return {
        "id": str(decision.id),
        "agent": decision.agent,
        "session": [decision.session] if decision.session else [],
        "evidence": [str(fact) for fact in decision.evidence],
        "held": {
            "revision": decision.revision,
            "question": decision.question,
            "decided_at": decision.decided_at,
            "circles": [*decision.circles],
        },
    }
