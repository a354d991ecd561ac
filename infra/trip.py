"""One trip: statements that are sent at once, as one transaction, and read when all of it is answered.

What is sent to Postgres in a pipeline is one transaction from its first statement to its end, without saying so. The
driver's own pipeline says so all the same, wakes the server for each statement, and looks up anew how every value is
written and every column is read: that took a recall, which is two statements, as long as a third of what it finds takes
the database. Here it is one message out and one back, and what was looked up stays with the connection.

Whatever fails ends the transaction, as it would anyway. A trip that was left halfway takes its connection with it,
since nobody could tell its answers from the next one's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, LiteralString
from weakref import WeakKeyDictionary, proxy

from psycopg import AsyncConnection, adapt
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format

if TYPE_CHECKING:
    from psycopg.abc import PQGen, Transformer
    from psycopg.adapt import AdaptersMap
    from psycopg.pq.abc import PGresult

Parameters = Mapping[str, object] | Sequence[object]
_PLACEHOLDER = re.compile(r"%(?:\((\w+)\))?s")
_MOST = 100
"""Statements prepared on a connection; more than we have, unless parameters come in ever new types."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A statement with its parameters as they are sent."""

    query: bytes
    values: Sequence[Any]
    types: tuple[int, ...]
    formats: Sequence[Format]


@dataclass(frozen=True, slots=True)
class _Context:
    """What values are written and columns read for; held weakly by whoever must not outlive it."""

    adapters: AdaptersMap
    connection: AsyncConnection[Any]


@dataclass(slots=True)
class _Known:
    """What stays with a connection: how values and columns are written and read, and statements under their names."""

    transformer: Transformer
    names: dict[tuple[bytes, tuple[int, ...]], bytes] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=count)


_KNOWN: WeakKeyDictionary[AsyncConnection[Any], _Known] = WeakKeyDictionary()


async def at_once(
    connection: AsyncConnection[Any], *statements: tuple[LiteralString, Parameters]
) -> list[dict[str, Any]]:
    """Run statements in one transaction of their own, in one trip; the rows of the last.

    Statements are kept prepared where the connection lets them be. A placeholder is `%s` or `%(name)s`, and a sign of
    percent that is none has to stay away.
    """
    if (known := _KNOWN.get(connection)) is None:
        context = _Context(connection.adapters, proxy(connection))  # itself, it would be kept for ever
        known = _KNOWN[connection] = _Known(adapt.Transformer(context))
    ready = [_ready(known.transformer, *each) for each in statements]
    async with connection.lock:
        try:
            result = await connection.wait(_trip(connection, known, ready))
        except InvalidSqlStatementName:
            # After a rollback the driver lets go of all that is prepared on a connection. Nothing of the trip was done.
            known.names.clear()
            result = await connection.wait(_trip(connection, known, ready))
    known.transformer.set_pgresult(result, format=Format.BINARY)
    columns = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
    rows = known.transformer.load_rows(0, result.ntuples, tuple)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _ready(transformer: Transformer, statement: LiteralString, parameters: Parameters) -> _Ready:
    query, names = _numbered(statement)
    given = [parameters[name] for name in names] if isinstance(parameters, Mapping) else parameters
    values = transformer.dump_sequence(given, [adapt.PyFormat.AUTO] * len(given))
    return _Ready(query, values, transformer.types or (), transformer.formats or ())


@lru_cache(maxsize=64)
def _numbered(statement: LiteralString) -> tuple[bytes, tuple[str, ...]]:
    """A statement as the server reads it, and whose place each number has; equal names have one number."""
    places: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1] or f"%{len(places)}"
        return f"${places.setdefault(name, len(places) + 1)}"

    query = _PLACEHOLDER.sub(number, statement).encode()
    return query, tuple(places)


def _trip(connection: AsyncConnection[Any], known: _Known, statements: Sequence[_Ready]) -> PQGen[PGresult]:
    """Send all, and wait for all; the result of the last."""
    pgconn = connection.pgconn
    fresh: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
    try:
        pgconn.enter_pipeline_mode()
        for one in statements:
            key = (one.query, one.types)
            name = known.names.get(key) or fresh.get(key)
            if name is None and connection.prepare_threshold is not None and len(known.names) < _MOST:
                # A number is never used twice: it may be known to the server although what came with it failed.
                name = fresh[key] = b"_lousa_%d" % next(known.numbers)
                pgconn.send_prepare(name, one.query, param_types=one.types)
            if name is None:
                pgconn.send_query_params(one.query, one.values, one.types, one.formats, Format.BINARY)
            else:
                pgconn.send_query_prepared(name, one.values, one.formats, Format.BINARY)
        pgconn.pipeline_sync()
        yield from send(pgconn)
        results: list[PGresult] = []
        while (found := (yield from fetch_many(pgconn)))[0].status != ExecStatus.PIPELINE_SYNC:
            results += found
        pgconn.exit_pipeline_mode()
    except BaseException:
        pgconn.finish()
        raise
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result, connection.info.encoding)
    known.names |= fresh
    return results[-1]
