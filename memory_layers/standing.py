"""Changes of a memory's standing: withdrawn by whoever owns it, or let out of quarantine or the archive by a curator.

Forgetting works the same for what is committed and for what still waits in the journal: the id gets a tombstone, under
a lock beneath which no write of the tenant is under way, so whatever arrives later is turned away. What is withdrawn
leaves words, vectors and facts in the same transaction, and nothing is owed for it any more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from psycopg.errors import UniqueViolation

from ..infra.clock import Clock
from ..infra.connections import Connection, Connections
from ..infra.errors import BadInput, NotFound
from ..infra.identity import Principal
from ..infra.ids import derived_id
from ..infra.text import flaw
from .commit import QUERIES, Committer, Outcome
from .execution import ledger, memories
from .journal import Journal
from .records import QUARANTINE_BELOW, Memory
from .truth.examination import QUERIES as TRUTH

CURATOR = "curator"


class Layer(Protocol):
    """What a withdrawal needs of a layer in the record's own database."""

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Hold these no longer."""
        ...


class Released(Protocol):
    """What became of a fact that was let out."""

    @property
    def superseded(self) -> Collection[UUID]: ...
    @property
    def contested_with(self) -> Collection[UUID]: ...


class Facts(Layer, Protocol):
    """What letting a fact out needs of layer 3."""

    async def confirm(self, connection: Connection, ids: Collection[UUID]) -> Collection[Released]:
        """From now on these take part in their keys."""
        ...


class Standing:
    """Withdraws and confirms memories."""

    def __init__(
        self,
        connections: Connections,
        journal: Journal,
        committer: Committer,
        context: Layer,
        facts: Facts,
        clock: Clock,
    ) -> None:
        self._connections = connections
        self._journal = journal
        self._committer = committer
        self._context = context
        self._facts = facts
        self._clock = clock

    async def forget(self, principal: Principal, identifier: UUID, reason: str, operation: UUID) -> Outcome:
        """Withdraw a memory.

        Raises:
            NotFound: there is none that this agent may forget.
            BadInput: the reason cannot be stored.
        """
        _check_reason(reason)
        waiting = await self._journal.owner_of(principal.tenant, identifier)  # before the record: it moves that way
        async with self._connections.system_transaction(principal.tenant) as connection:
            await connection.execute(QUERIES["hold_tenant"])
            memory = await memories.lock(connection, identifier)
            owner = memory.owner if memory else waiting
            if owner is None and await ledger.find(connection, [derived_id(operation, "memory.forget")]):
                return Outcome(id=identifier, state="withdrawn")  # a repeat, of what never arrived
            if owner is None or not (owner == principal.agent or CURATOR in principal.roles):
                raise NotFound(f"there is no memory {identifier} that {principal.agent!r} may forget")
            if memory is not None and memory.status != "withdrawn":
                await memories.set_status(connection, [identifier], "withdrawn")
                await connection.execute(QUERIES["forgiven"], {"ids": [identifier]})
                await self._context.remove(connection, [identifier])
                await self._facts.remove(connection, [identifier])
                await self._revive(connection, identifier)
            await connection.execute(QUERIES["bury"], {"ids": [identifier]})
            await self._enter(
                connection, principal, operation, identifier, memory, "memory.forget", "withdrawn", reason
            )
        return Outcome(id=identifier, state="withdrawn")

    async def _revive(self, connection: Connection, withdrawn: UUID) -> None:
        """What had given way to a memory holds again without it, until something else takes its place."""
        cursor = await connection.execute(TRUTH["revive"], {"ids": [withdrawn]})
        revived = [row[0] for row in await cursor.fetchall()]
        held = await memories.get(connection, revived) if revived else {}
        await self._find_again(connection, [*held.values()], examined=True)

    async def _find_again(self, connection: Connection, held: Sequence[Memory], *, examined: bool) -> None:
        if not held:
            return
        ids = [memory.id for memory in held]
        await self._committer.words.index_words(connection, held)
        await connection.execute(QUERIES["owe"], {"ids": ids, "layer": "context"})
        if examined and self._committer.examines:
            await connection.execute(QUERIES["owe"], {"ids": ids, "layer": "truth"})

    async def confirm(self, principal: Principal, identifier: UUID, reason: str, operation: UUID) -> Outcome:
        """Let a memory out of quarantine, or back from the archive, or uphold one that gave way to another text.

        What a tool brought and tells others what to do counts for what it says from then on. What is upheld stands
        beside what had taken its place, and gives way only to what is told later. Any other is left as it is.

        Raises:
            NotFound: there is none, or this agent is no curator.
            BadInput: the reason cannot be stored.
        """
        _check_reason(reason)
        try:
            return await self._release(principal, identifier, reason, operation)
        except UniqueViolation:  # an equal one went live at this moment, and is found the second time
            return await self._release(principal, identifier, reason, operation)

    async def _release(self, principal: Principal, identifier: UUID, reason: str, operation: UUID) -> Outcome:
        async with self._connections.system_transaction(principal.tenant) as connection:
            memory = await memories.lock(connection, identifier)
            if memory is None or CURATOR not in principal.roles:
                raise NotFound(f"there is no memory {identifier} that {principal.agent!r} may confirm")
            if memory.status in ("withdrawn", "expired"):
                return Outcome(id=identifier, state=memory.status)
            if memory.status == "superseded":
                return await self._uphold(connection, principal, memory, reason, operation)
            if memory.status not in ("quarantined", "archived"):
                await self._vouch(connection, principal, memory, reason, operation)
                return Outcome(id=identifier, state="stored")
            cursor = await connection.execute(QUERIES["equal_live"], {"id": identifier})
            if (equal := await cursor.fetchone()) is not None:
                await memories.set_status(connection, [identifier], "superseded", superseded_by=equal[0])
                outcome = Outcome(id=equal[0], state="duplicate")
            else:
                outcome = await self._let_out(connection, memory)
            await self._enter(
                connection,
                principal,
                operation,
                identifier,
                memory,
                "memory.confirm",
                outcome.state,
                reason,
            )
        return outcome

    async def _vouch(
        self, connection: Connection, principal: Principal, memory: Memory, reason: str, operation: UUID
    ) -> None:
        """Let what is found already count for what it says, though it tells others what to do."""
        cursor = await connection.execute(QUERIES["vouch"], {"id": memory.id, "now": self._clock.now()})
        if await cursor.fetchone() is not None:
            await self._enter(connection, principal, operation, memory.id, memory, "memory.confirm", "stored", reason)

    async def _uphold(
        self, connection: Connection, principal: Principal, memory: Memory, reason: str, operation: UUID
    ) -> Outcome:
        cursor = await connection.execute(QUERIES["equal_live"], {"id": memory.id})
        if (equal := await cursor.fetchone()) is not None:
            return Outcome(id=equal[0], state="duplicate")
        parameters = {"id": memory.id, "now": self._clock.now()}
        cursor = await connection.execute(TRUTH["uphold"], parameters)
        if await cursor.fetchone() is None:
            return Outcome(id=memory.id, state="stored")  # a fact's key decides, or an equal memory stands for it
        await self._find_again(connection, [replace(memory, status="live")], examined=False)
        await self._enter(connection, principal, operation, memory.id, memory, "memory.confirm", "stored", reason)
        return Outcome(id=memory.id, state="stored", owed=("context",))

    async def _let_out(self, connection: Connection, memory: Memory) -> Outcome:
        parameters = {"id": memory.id, "trust": QUARANTINE_BELOW, "now": self._clock.now()}
        await connection.execute(QUERIES["release_memory"], parameters)
        released = await self._facts.confirm(connection, [memory.id]) if memory.fact else ()
        await self._committer.words.index_words(connection, [replace(memory, status="live")])
        owed: tuple[str, ...] = ()
        if 2 in self._committer.policy[memory.kind].also:
            owed = ("context",)
            await connection.execute(QUERIES["owe"], {"ids": [memory.id], "layer": "context"})
        return Outcome(
            id=memory.id,
            state="stored",
            owed=owed,
            superseded=tuple(old for each in released for old in each.superseded),
            contested=tuple(other for each in released for other in each.contested_with),
        )

    async def _enter(
        self,
        connection: Connection,
        principal: Principal,
        operation: UUID,
        identifier: UUID,
        memory: Memory | None,
        action: str,
        outcome: str,
        reason: str,
    ) -> None:
        entry = ledger.Entry(
            id=derived_id(operation, action),
            tenant=principal.tenant,
            agent=principal.agent,
            session=principal.session,
            execution=principal.execution,
            retention="standard",
            occurred_at=self._clock.now(),
            action=action,
            outcome=outcome,
            memory=identifier,
            person=memory.subject if memory else None,
            payload={"reason": reason},
        )
        await ledger.append(connection, [entry])


def _check_reason(reason: str) -> None:
    if (wrong := flaw(reason)) is not None:
        raise BadInput(f"the reason {wrong}")
