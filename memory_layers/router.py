"""The router: where a write goes, and how. `remember` is the whole of it, in one visible line:

    admit → fence → validate → decide → room? → through | back

*through*: one transaction {record, words, facts, ledger entry, what is owed}; then the owed layers together, under one
deadline; then the receipt. A layer that misses the deadline is named in it, and the relay pays. *back*: one entry in
the tenant's journal; then the receipt. The relay does the rest. Which of the two is the policy's word, and nobody
else's.

A tenant whose debts are long is slowed, and refused at their marks (`pressure`). What was acknowledged survives: a
through-write is in the record, a write-back in the journal. A repeat of an operation is answered with the first answer.
When the ledger cannot be written, nothing is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg

from ..infra import telemetry
from ..infra.clock import Clock
from ..infra.connections import Connections, is_flaw, is_outage
from ..infra.errors import BadInput, LedgerUnavailable, ServerUnavailable
from ..infra.identity import Principal
from ..infra.retry import retrying
from ..infra.settings import Settings
from . import fencing, guard
from .ageing import named
from .auditing import BoardAudit
from .commit import Along, Committer, Outcome, Write, owed
from .context.outside import OutsideContextLayer, ReadBack
from .context.pgvector import ContextLayer
from .conversation.claims import Fence
from .conversation.feed import Feed
from .debts import Debts, Layer
from .echoes import Echoes
from .execution import ledger
from .journal import Journal, Journaled
from .knowledge.postgres import KnowledgeLayer
from .lookout import Lookout
from .policy import Policy
from .pressure import Brake, Marks
from .receipts import Receipt
from .records import Memory, MemoryKind
from .relay import Relay
from .standing import Standing
from .truth.examination import QUERIES as TRUTH
from .truth.examination import Examination
from .validators import Validators

_LOG = logging.getLogger(__name__)
_GLANCE = 0.02
"""Seconds between two looks at a journal that another process's relay may be emptying."""


class Router:
    """Takes every durable write, and answers whether what was acknowledged is committed."""

    def __init__(
        self,
        connections: Connections,
        policy: Mapping[MemoryKind, Policy],
        context: ContextLayer,
        knowledge: KnowledgeLayer,
        clock: Clock,
        settings: Settings,
        *,
        feed: Feed,
        validators: Validators | None = None,
    ) -> None:
        self.echoes = Echoes()
        """What sessions of this process were told lately, by whoever recalls for them."""
        self._connections, self._policy, self._clock = connections, policy, clock
        self._deadline = settings.deadline
        self._validators = validators or Validators(deadline=settings.deadline)
        self._patience = settings.deadline * 2.5
        """How long a write-through waits for a ledger that is away, before it is refused."""
        examines = settings.truth and named(settings.ageing).restates
        self._committer = Committer(policy=policy, words=context, facts=knowledge, examines=examines)
        self._brake = Brake(Marks.of(settings))
        self._lookout = Lookout(connections, self._brake.marks)
        self._journal = Journal(connections, self._brake, self._lookout.room)
        self._context, self._knowledge = context, knowledge
        examination = Examination(connections, clock, lambda: context.space) if examines else None
        self._debts = Debts(connections, _owed_to(context, knowledge, examination), self._unpayable)
        self._audit = BoardAudit(connections, feed, kept=settings.board_kept)
        self._relay = Relay(connections, self._journal, self._committer, self._debts, self._audit, self._clock)
        self._standing = Standing(connections, self._journal, self._committer, context, knowledge, self._clock)
        self._projecting: set[asyncio.Task[bool]] = set()
        self._given_up: set[asyncio.Task[Outcome]] = set()

    async def start(self, stack: AsyncExitStack) -> None:
        """Run a relay, and look at what is owed, until the stack closes."""
        await self._lookout.start(stack)
        await self._relay.start(stack)
        stack.push_async_callback(self._let_project)

    async def remember(
        self,
        principal: Principal,
        memory: Memory,
        *,
        operation: UUID,
        fence: Fence | None = None,
        along: Along | None = None,
    ) -> Receipt:
        """Write a memory, under the id of its operation; a repeat gets the first answer.

        `along` is done in the same transaction, so with it every write is a write-through.

        Raises:
            BadInput: the memory cannot be written as it is.
            Stale: the task that writes has passed to another attempt.
            LedgerUnavailable: a write-through without its audit record is refused.
            Overloaded: too much of the tenant's waits for its layers; nothing was done.
            ServerUnavailable: a write-back was not acknowledged; sending it again is safe.
        """
        admitted = await guard.admitted(principal, memory, operation, self._clock.now())
        policy = self._policy[admitted.kind]
        with telemetry.span("create_memory", _attributes(admitted, policy)):
            if fence is not None:
                await self._check(principal, fence)
            write = await self._validated(principal, admitted, operation)
            share = 0.0 if write.refused else await self._room(principal.tenant, policy)
            if policy.write == "back" and along is None and not write.refused:
                receipt = await self._back(principal, write, fence, share)
            else:
                receipt = await self._through(principal, write, along)
                await self._brake.held(share, "through")
            return replace(receipt, reason=write.ruling.reason) if write.ruling else receipt

    async def derive(self, principal: Principal, memories: Sequence[Memory], along: Along) -> list[Receipt]:
        """Write what a job derived, for `principal`, from other memories: all, with what is done `along`, or nothing.

        Each is written under its own id as its operation; a repeat gets the first answers.

        Raises:
            BadInput: one of them cannot be written as it is.
            Overloaded, ServerUnavailable: nothing was done.
        """
        now = self._clock.now()
        ruled = [await self._validators.ruled(await guard.admitted(principal, one, one.id, now)) for one in memories]
        writes = [Write(operation=memory.id, memory=memory, ruling=ruling) for memory, ruling in ruled]
        for kind in {write.memory.kind for write in writes}:
            await self._room(principal.tenant, self._policy[kind])
        acting = partial(self._connections.system_transaction, principal.tenant, pipelined=True)
        outcomes = await self._committer.commit(acting, principal, writes, along=along)
        self._debts.incurred.set()
        return [self._receipt(principal, outcome) for outcome in outcomes]

    async def forget(self, principal: Principal, memory: UUID, reason: str, operation: UUID) -> Receipt:
        """Withdraw a memory, committed or still on its way: no recall brings it back.

        Raises:
            NotFound: there is none that this agent may forget.
        """
        with telemetry.span("delete_memory", {"gen_ai.memory.record.id": str(memory)}):
            return self._receipt(principal, await self._standing.forget(principal, memory, reason, operation))

    async def confirm(self, principal: Principal, memory: UUID, reason: str, operation: UUID) -> Receipt:
        """Let a memory out of quarantine; for curators.

        Raises:
            NotFound: there is none, or this agent is no curator.
        """
        with telemetry.span("update_memory", {"gen_ai.memory.record.id": str(memory)}):
            outcome = await self._standing.confirm(principal, memory, reason, operation)
            self._debts.incurred.set()
            return self._receipt(principal, outcome)

    async def caught_up(self, principal: Principal, timeout: timedelta) -> bool:  # noqa: ASYNC109  # its end is an answer
        """Wait until what the principal's session and execution had acknowledged is committed; False: still behind."""
        ends = time.monotonic() + timeout.total_seconds()
        while await self._journal.length(principal.tenant):
            last = await self._journal.last_of(principal)
            if last is None:
                return True
            while await self._journal.waits(principal.tenant, last):
                if time.monotonic() > ends:
                    return False
                await self._glance()
        return True

    async def drained(self, tenant: str, timeout: timedelta) -> bool:  # noqa: ASYNC109  # its end is an answer
        """Wait until nothing that a tenant's writers had acknowledged waits any more; False: something still does."""
        ends = time.monotonic() + timeout.total_seconds()
        while (waits := await self._journal.length(tenant) > 0) and time.monotonic() <= ends:
            await self._glance()
        return not waits

    async def trail(self, principal: Principal, execution: UUID) -> list[ledger.Recorded]:
        """Who did what in an execution, in order and up to now; payloads where the caller may read them."""
        await self._audit.catch_up(principal.tenant, execution, self._deadline)
        async with self._connections.transaction(principal) as connection:
            return await ledger.trail(connection, execution)

    async def dead_letters(self, tenant: str) -> int:
        """How many acknowledged writes could not be committed and wait for a person."""
        return await self._journal.buried(tenant)

    # The two ways

    async def _validated(self, principal: Principal, memory: Memory, operation: UUID) -> Write:
        memory, ruling = await self._validators.ruled(memory)
        trace_id, span_id = telemetry.current_ids()
        if (echo := self.echoes.repeats(principal, memory)) is not None and memory.fact is None:
            memory = replace(memory, sources=tuple(dict.fromkeys((*memory.sources, echo))))
        return Write(operation=operation, memory=memory, trace_id=trace_id, span_id=span_id, echo=echo, ruling=ruling)

    async def _back(self, principal: Principal, write: Write, fence: Fence | None, share: float) -> Receipt:
        await self._journal.append(principal.tenant, Journaled.of(write, fence), share)
        return self._receipt(principal, Outcome(id=write.memory.id, state="journaled"))

    async def _through(self, principal: Principal, write: Write, along: Along | None) -> Receipt:
        memory = write.memory
        if memory.sources:
            await self.caught_up(principal, self._deadline)  # a source that still waits would vouch for nothing
        outcome = await self._commit(principal, write, along)
        if outcome.owed and outcome.id == memory.id:
            outcome = replace(outcome, owed=await self._project(principal.tenant, memory, outcome.owed))
            if outcome.superseded or outcome.contested:
                self._debts.incurred.set()  # a store outside is owed what else has changed
        return self._receipt(principal, outcome)

    async def _commit(self, principal: Principal, write: Write, along: Along | None) -> Outcome:
        async def attempt() -> Outcome:
            (outcome,) = await self._committer.commit(
                lambda: self._connections.transaction(principal, pipelined=True),
                principal,
                [write],
                due_after=timedelta(0) if self._unpayable() else self._deadline * 5,
                along=along,
            )
            return outcome

        try:
            return await self._in_time(
                retrying(
                    attempt,
                    transient=lambda error: isinstance(error, ServerUnavailable) and not is_flaw(error),
                    what="a write-through",
                    within=self._patience,
                )
            )
        except TimeoutError as error:
            raise LedgerUnavailable(
                f"the ledger did not confirm this write in {self._patience.total_seconds():g} s, so it counts as"
                " refused: is Postgres running, and does it answer? Sending it again under the same operation is safe"
            ) from error
        except (ServerUnavailable, psycopg.Error) as error:
            if is_flaw(error):
                raise BadInput(
                    f"the record cannot hold this {write.memory.kind.value} ({type(error).__name__}): it was refused,"
                    " sending it again will not help, the cause says what does not fit"
                ) from error
            if not is_outage(error):
                raise
            raise LedgerUnavailable(
                f"the ledger did not take this write, so it was refused ({type(error).__name__}): is Postgres running,"
                " has it disk, and may Lousa write to it? Sending it again under the same operation is safe"
            ) from error

    async def _in_time(self, commit: Coroutine[Any, Any, Outcome]) -> Outcome:
        """What it gives, if it does so in time. A server that hangs may keep it for longer: nobody waits for that."""
        task = asyncio.create_task(commit)
        try:
            async with asyncio.timeout(self._patience.total_seconds()):
                return await asyncio.shield(task)
        finally:
            if not task.done():
                task.cancel()
                self._given_up.add(task)
                task.add_done_callback(self._given_up.discard)

    async def _project(self, tenant: str, memory: Memory, owed: tuple[str, ...]) -> tuple[str, ...]:
        """Give the memory to the layers that are owed it, together; those that do not have it when time is over.

        It is examined once they have it.
        """
        others = {*self._unpayable(), "truth"}
        tasks = {layer: asyncio.create_task(self._pay(tenant, layer, memory)) for layer in owed if layer not in others}
        for task in tasks.values():
            self._projecting.add(task)
            task.add_done_callback(self._projecting.discard)
        if tasks:
            await asyncio.wait(tasks.values(), timeout=self._deadline.total_seconds())
        # One that is late goes on by itself; one that failed, or dies with this process, is the relay's to pay.
        paid = {layer for layer, task in tasks.items() if task.done() and task.result()}
        if "truth" in owed and len(paid) == len(owed) - 1 and await self._pay(tenant, "truth", memory):
            paid.add("truth")
        return tuple(layer for layer in owed if layer not in paid)

    def _unpayable(self) -> tuple[str, ...]:
        """The layers that this process cannot pay, because they lie elsewhere than it was set to."""
        likeness = ("context", "shown") if self._context.estranged else ()
        return likeness if self._knowledge.payable else (*likeness, "knowledge")

    async def _pay(self, tenant: str, layer: str, memory: Memory) -> bool:
        """Whether the layer took it. It may be known when nobody asks any more, so a failure is told here."""
        try:
            late = await self._debts.put(tenant, layer, [memory])
        except Exception as error:
            _LOG.warning("layer %r did not take a memory (%s): the relay will", layer, type(error).__name__)
            return False
        return memory.id not in late

    # What they share

    async def _room(self, tenant: str, policy: Policy) -> float:
        """How near the tenant's vectors are to their mark, once there is room for another."""

        async def attempt() -> float:
            return self._lookout.share(tenant)

        return await self._brake.admitted(f"{policy.write} vectors {tenant}", attempt) if 2 in policy.also else 0.0

    async def _check(self, principal: Principal, fence: Fence) -> None:
        if principal.execution is None:
            raise BadInput(f"task {fence.task!r} belongs to an execution, and agent {principal.agent!r} is in none")
        await fencing.check(self._connections, principal.tenant, principal.execution, fence)

    def _receipt(self, principal: Principal, outcome: Outcome) -> Receipt:
        async def follow(receipt: Receipt, within: timedelta) -> Receipt:
            return await self._followed(principal, receipt, within)

        return Receipt(
            id=outcome.id,
            state=outcome.state,
            owed=outcome.owed,
            superseded=outcome.superseded,
            contested=outcome.contested,
            _follow=follow,
        )

    async def _followed(self, principal: Principal, receipt: Receipt, within: timedelta) -> Receipt:
        """The receipt once everything is where it belongs, or as it stands when the time is over."""
        ends = time.monotonic() + within.total_seconds()
        while True:
            async with self._connections.transaction(principal) as connection:
                if receipt.state == "journaled":
                    outcome = await self._committer.first_answer(connection, receipt.id)
                    receipt = receipt if outcome is None else self._receipt(principal, outcome)
                else:
                    receipt = replace(receipt, owed=await owed(connection, receipt.id))
                done = receipt.state != "journaled" and not receipt.owed
                if done and receipt.state == "stored":
                    cursor = await connection.execute(TRUTH["because"], {"id": receipt.id})
                    because: dict[UUID, str] = dict(await cursor.fetchall())
                    retired = (one for one in because if one not in receipt.superseded)
                    receipt = replace(receipt, superseded=(*receipt.superseded, *retired), because=because)
            if done or time.monotonic() > ends:
                return receipt
            await self._glance()

    async def _glance(self) -> None:
        """Until this process's relay committed something, or a moment later."""
        try:
            async with asyncio.timeout(_GLANCE):
                await self._relay.progress.wait()
        except TimeoutError:
            return

    async def _let_project(self) -> None:
        """What is still being projected has a moment to end; its debt stays if it does not."""
        if under_way := {*self._projecting, *self._given_up}:
            await asyncio.wait(under_way, timeout=self._deadline.total_seconds())
        for task in self._projecting:
            task.cancel()


def _owed_to(context: ContextLayer, knowledge: KnowledgeLayer, examination: Examination | None) -> dict[str, Layer]:
    """Whom debts are paid to, by what they are called."""
    layers: dict[str, Layer] = {"context": context}
    if isinstance(context, OutsideContextLayer):
        layers["shown"] = ReadBack(context)
    if not knowledge.capabilities.transactional:
        layers["knowledge"] = knowledge
    if examination is not None:
        layers["truth"] = examination
    return layers


def _attributes(memory: Memory, policy: Policy) -> dict[str, str]:
    return {
        "lousa.layer": str(policy.home),
        "lousa.kind": memory.kind,
        "lousa.policy": policy.write,
        "lousa.scope": memory.scope.kind,
        "gen_ai.memory.record.id": str(memory.id),
    }
