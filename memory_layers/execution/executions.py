"""Executions: one run towards one goal, from its first row to its end.

The row is there before the run's board is opened, and so before its first change. From then on its status moves one
guarded step at a time:

    running ──wait──▶ waiting ──answer──▶ running
       └──────────finish─────────┴──▶ accepted | rejected | failed

An accepted or rejected execution is never opened again; a failed one can be resumed, which makes it running. Asking for
a step that was already taken, with the same words, is a repeat and changes nothing; with other words it is refused.
Every step has its entry in the ledger, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ...infra.clock import Clock, SystemClock
from ...infra.connections import Connection, Connections
from ...infra.errors import BadInput, NotFound, ServerUnavailable
from ...infra.identity import Principal
from ...infra.ids import new_id
from ...infra.sql import load_queries
from ...infra.text import flaw
from ..conversation.opening import open_board
from ..records import Json
from . import ledger

_QUERIES = load_queries(__package__ or "")

Ended = Literal["accepted", "rejected", "failed"]
ExecutionStatus = Literal["running", "waiting"] | Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run. `question` is what a person was asked last, `answer` what they said to it.

    `source` is the file or folder the pipeline was loaded from; None when a program made it. `audited_through` is the
    cursor of the last change of its board that the ledger has.
    """

    id: UUID
    session: str
    pipeline: str
    source: str | None
    goal: Json
    status: ExecutionStatus
    question: Json
    answer: Json
    result: Json
    started_at: datetime
    ended_at: datetime | None
    drained: bool
    audited_through: str

    @property
    def ended(self) -> bool:
        """Whether it is over for good."""
        return self.status not in ("running", "waiting")


class Executions:
    """The runs of a tenant."""

    def __init__(self, connections: Connections, clock: Clock | None = None) -> None:
        self._connections = connections
        self._clock = clock or SystemClock()

    async def create(
        self,
        principal: Principal,
        pipeline: str,
        goal: Json,
        *,
        execution: UUID | None = None,
        source: str | None = None,
    ) -> UUID:
        """Begin an execution in the principal's session, and open its board; its id. Again, it changes nothing.

        Raises:
            BadInput: the pipeline's name or its source cannot be stored.
            ServerUnavailable: it may have begun; if its row is there, resuming it opens the board.
        """
        identifier = execution or new_id()
        if not await self.begin(principal, pipeline, goal, execution=identifier, source=source):
            return identifier  # its board is closed, or gone
        try:
            await open_board(self._connections, principal.tenant, identifier)
        except ServerUnavailable as error:
            error.add_note(
                f"this was execution {identifier}; `await runtime.resume({str(identifier)!r})` goes on with it"
            )
            raise
        return identifier

    async def begin(
        self, principal: Principal, pipeline: str, goal: Json, *, execution: UUID, source: str | None = None
    ) -> bool:
        """Begin an execution, of which there is only the row then; False when it is over already.

        Whoever runs it opens its board with the claim of the run.

        Raises:
            BadInput: the pipeline's name or its source cannot be stored.
        """
        for what, words in (("the pipeline's name", pipeline), ("the pipeline's file", source or "")):
            if (wrong := flaw(words)) is not None:
                raise BadInput(f"{what} {words[:60]!r} {wrong}")
        who = replace(principal, execution=execution)
        async with self._connections.transaction(who, pipelined=True) as connection:
            parameters: dict[str, object] = {
                "id": execution,
                "session": principal.session,
                "pipeline": pipeline,
                "source": source,
                "goal": Jsonb(goal),
                "now": self._clock.now(),
            }
            created = await connection.execute(_QUERIES["create_execution"], parameters)
            keys = await ledger.SubjectKeys.ask(connection, {ledger.subject_name(None, principal.session)})
            if await created.fetchone() is None:
                return not (await _one(connection, "get_execution", principal, execution)).ended
            entry = self._entry(principal, execution, "execution.begin", "running", {"goal": goal}, pipeline)
            await ledger.append_once(connection, [entry], keys)
            return True

    async def get(self, principal: Principal, execution: UUID) -> Execution:
        """One execution.

        Raises:
            NotFound: this tenant has none of that id.
        """
        async with self._connections.transaction(principal) as connection:
            return await _one(connection, "get_execution", principal, execution)

    async def list(
        self,
        principal: Principal,
        *,
        session: str | None = None,
        status: ExecutionStatus | None = None,
        limit: int = 100,
    ) -> list[Execution]:
        """Executions, the newest first."""
        async with self._connections.transaction(principal) as connection, connection.cursor(row_factory=dict_row) as c:
            await c.execute(_QUERIES["list_executions"], {"session": session, "status": status, "limit": limit})
            return [_execution(row) for row in await c.fetchall()]

    async def wait(self, principal: Principal, execution: UUID, question: Json) -> Execution:
        """Leave it waiting for a person, with what they are asked."""
        async with self._connections.transaction(principal, pipelined=True) as connection:
            now = await _one(connection, "lock_execution", principal, execution)
            if now.status == "waiting" and now.question == question:
                return now
            if now.status != "running":
                raise BadInput(f"execution {execution} is {now.status!r}: only a running one can begin to wait")
            then = replace(now, status="waiting", question=question, answer=None)
            await self._move(connection, principal, then, "execution.wait", {"question": question})
            return then

    async def answer(self, principal: Principal, execution: UUID, answer: Json) -> Execution:
        """Say what the person said; it runs on from there."""
        async with self._connections.transaction(principal, pipelined=True) as connection:
            now = await _one(connection, "lock_execution", principal, execution)
            if now.status == "running" and now.question is not None and now.answer == answer:
                return now
            if now.status != "waiting":
                raise BadInput(f"execution {execution} is {now.status!r} and waits for no answer")
            then = replace(now, status="running", answer=answer)
            await self._move(connection, principal, then, "execution.answer", {"answer": answer})
            return then

    async def reopen(self, principal: Principal, execution: UUID) -> Execution:
        """Take up one that has failed: it runs on, with all that was done."""
        async with self._connections.transaction(principal, pipelined=True) as connection:
            now = await _one(connection, "lock_execution", principal, execution)
            if now.status == "running":
                return now
            if now.status != "failed":
                raise BadInput(f"execution {execution} is {now.status!r}: only a failed one can be taken up again")
            if now.drained:
                raise BadInput(
                    f"execution {execution} failed more than a day ago and its board was let go: run it anew"
                )
            then = replace(now, status="running", result=None, ended_at=None)
            await self._move(connection, principal, then, "execution.resume", {})
            return then

    async def finish(self, principal: Principal, execution: UUID, status: Ended, result: Json = None) -> Execution:
        """End it, with its result."""
        async with self._connections.transaction(principal, pipelined=True) as connection:
            now = await _one(connection, "lock_execution", principal, execution)
            if now.ended:
                if (now.status, now.result) == (status, result):
                    return now
                raise _ended_otherwise(now)
            then = replace(now, status=status, result=result, ended_at=self._clock.now())
            await self._move(connection, principal, then, "execution.end", {"result": result})
            return then

    async def end(
        self, connection: Connection, principal: Principal, execution: UUID, status: Ended, result: Json
    ) -> Sequence[ledger.Entry]:
        """End a running one with its result, in the transaction of its decision; the entries that are then owed.

        Raises:
            BadInput: it ended otherwise.
        """
        ended = {"id": execution, "status": status, "result": _jsonb(result), "ended_at": self._clock.now()}
        cursor = await connection.execute(_QUERIES["end_execution"], ended)
        if await cursor.fetchone() is not None:
            return [self._entry(principal, execution, "execution.end", status, {"result": result})]
        now = await _one(connection, "get_execution", principal, execution)
        if (now.status, now.result) != (status, result):
            raise _ended_otherwise(now)
        return []

    async def _move(
        self,
        connection: Connection,
        principal: Principal,
        then: Execution,
        action: str,
        payload: Mapping[str, Json],
    ) -> None:
        parameters: dict[str, object] = {
            "id": then.id,
            "status": then.status,
            "question": _jsonb(then.question),
            "answer": _jsonb(then.answer),
            "result": _jsonb(then.result),
            "ended_at": then.ended_at,
        }
        await connection.execute(_QUERIES["move_execution"], parameters)
        await ledger.append(connection, [self._entry(principal, then.id, action, then.status, payload)])

    def _entry(
        self,
        principal: Principal,
        execution: UUID,
        action: str,
        outcome: str,
        payload: Mapping[str, Json],
        pipeline: str | None = None,
    ) -> ledger.Entry:
        return ledger.Entry(
            id=new_id(),  # the row is locked and its status changed: this transaction is the step's only one
            tenant=principal.tenant,
            agent=principal.agent,
            session=principal.session,
            execution=execution,
            action=action,
            outcome=outcome,
            occurred_at=self._clock.now(),
            basis={"pipeline": pipeline} if pipeline else {},
            payload=payload,
        )


async def _one(connection: Connection, query: str, principal: Principal, execution: UUID) -> Execution:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES[query], {"id": execution})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"tenant {principal.tenant!r} has no execution {execution}: 'lousa board' lists those there are")
    return _execution(row)


def _ended_otherwise(now: Execution) -> BadInput:
    return BadInput(f"execution {now.id} ended as {now.status!r}: it can have no other end")


def _execution(row: Mapping[str, Any]) -> Execution:
    return Execution(**row)


def _jsonb(value: Json) -> Jsonb | None:
    return None if value is None else Jsonb(value)
