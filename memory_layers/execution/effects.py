"""Effects outside: a mail, a payment, a pull request. Intent first, then the deed, then its result.

The intent is a row whose key only one attempt can insert, so only one attempt ever runs the deed. After a crash a
recorded result is returned and nothing is run; an intent without a result, or one whose deed raised, is `Uncertain`:
nobody here knows whether it happened. Then the worker's own check, or a person, says: it did (`record`), or it did not
(`retake`, which again only one attempt wins). Every step has its entry in the ledger, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ...infra.clock import Clock, SystemClock
from ...infra.connections import Connection, Connections
from ...infra.errors import BadInput, NotFound
from ...infra.identity import Principal
from ...infra.ids import new_id
from ...infra.sql import load_queries
from ...infra.text import fit
from ..conversation.keys import checked
from ..records import Json
from . import ledger

_QUERIES = load_queries(__package__ or "")
_LONGEST = 1_000
"""Characters in a name or key; the database's index takes no long ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """The intent is recorded and this attempt is the one that runs the deed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It was done before; nothing is run again."""

    result: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """It was begun and its end is unknown. `error` is what the deed raised, where it did."""

    name: str
    agent: str
    task: str
    since: datetime
    error: str | None = None


class Effects:
    """The effects of executions."""

    def __init__(self, connections: Connections, clock: Clock | None = None) -> None:
        self._connections = connections
        self._clock = clock or SystemClock()

    async def intend(
        self, principal: Principal, execution: UUID, key: str, name: str, task: str
    ) -> Intended | Done | Uncertain:
        """Record the intent, or tell what is known of the one that was recorded before.

        Raises:
            BadInput: the key belongs to an effect of another name, or one of them is no name.
        """
        for what, word in (("an effect's name", name), ("an effect's key", key)):
            checked(word, what, _LONGEST)
        parameters: dict[str, object] = {"execution": execution, "key": key, "name": name, "task": task}
        async with self._connections.transaction(principal) as connection:
            cursor = await connection.execute(
                _QUERIES["intend_effect"], {**parameters, "agent": principal.agent, "now": self._clock.now()}
            )
            if await cursor.fetchone() is not None:
                await self._enter(connection, principal, execution, key, name, "effect.intend", "intended", {})
                return Intended()
            row = await _locked(connection, execution, key)
            if row["name"] != name:
                raise BadInput(f"the key {key!r} belongs to the effect {row['name']!r}, not {name!r}: give it another")
            return Done(result=row["result"]) if row["state"] == "done" else _uncertain(row)

    async def retake(self, principal: Principal, execution: UUID, key: str, task: str, seen: Uncertain) -> bool:
        """It was found out that it never happened: try again. False when somebody else moved it since it was `seen`."""
        parameters: dict[str, object] = {"execution": execution, "key": key, "task": task, "agent": principal.agent}
        async with self._connections.transaction(principal) as connection:
            row = await _locked(connection, execution, key)
            if row["state"] == "done" or row["intended_at"] != seen.since:
                return False
            await connection.execute(_QUERIES["retake_effect"], {**parameters, "now": self._clock.now()})
            await self._enter(connection, principal, execution, key, seen.name, "effect.retake", "intended", {})
            return True

    async def record(self, principal: Principal, execution: UUID, key: str, result: Json) -> None:
        """It was done, with this result. A second record changes nothing."""
        checked(key, "an effect's key", _LONGEST)
        await self._end(principal, execution, key, "done", result, {"result": result})

    async def fail(self, principal: Principal, execution: UUID, key: str, error: str) -> None:
        """The deed raised; whether it happened is not known."""
        told = fit(error)
        await self._end(principal, execution, key, "failed", told, {"error": told})

    async def _end(
        self,
        principal: Principal,
        execution: UUID,
        key: str,
        state: str,
        result: Json,
        payload: Mapping[str, Json],
    ) -> None:
        async with self._connections.transaction(principal) as connection:
            row = await _locked(connection, execution, key)
            if row["state"] == "done":
                return
            parameters: dict[str, object] = {"execution": execution, "key": key, "state": state}
            await connection.execute(
                _QUERIES["end_effect"], {**parameters, "result": Jsonb(result), "now": self._clock.now()}
            )
            await self._enter(connection, principal, execution, key, row["name"], "effect.end", state, payload)

    async def _enter(
        self,
        connection: Connection,
        principal: Principal,
        execution: UUID,
        key: str,
        name: str,
        action: str,
        outcome: str,
        payload: Mapping[str, Json],
    ) -> None:
        entry = ledger.Entry(
            id=new_id(),  # the effect's row is held and was just changed: this transaction is the step's only one
            tenant=principal.tenant,
            agent=principal.agent,
            session=principal.session,
            execution=execution,
            action=action,
            field=key,
            outcome=outcome,
            occurred_at=self._clock.now(),
            basis={"effect": name},
            payload=payload,
        )
        await ledger.append(connection, [entry])


async def _locked(connection: Connection, execution: UUID, key: str) -> Mapping[str, Any]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES["lock_effect"], {"execution": execution, "key": key})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"execution {execution} has no effect {key!r}: intend it first")
    return row


def _uncertain(row: Mapping[str, Any]) -> Uncertain:
    error = row["result"] if row["state"] == "failed" else None
    return Uncertain(name=row["name"], agent=row["agent"], task=row["task"], since=row["intended_at"], error=error)
