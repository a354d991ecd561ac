"""What outlives an execution, and what is known: the half of a desk that a script or a person has as well.

Every memory gets the id of the operation that made it, which a task that runs again repeats, so it is kept once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput
from ..infra.identity import Principal
from ..memory_layers.contract import Freshness, Query
from ..memory_layers.conversation.claims import Fence, FirstClaim, shown
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.execution.decisions import decision_value
from ..memory_layers.guard import check_decision
from ..memory_layers.knowledge.facts import name_key
from ..memory_layers.knowledge.paths import Edge, Entity, Path
from ..memory_layers.receipts import Receipt
from ..memory_layers.records import TRUST, Fact, Json, Memory, MemoryKind, Recall, Scope, Source
from .contract import Evidence
from .plan import to_json

if TYPE_CHECKING:
    from .services import Services


SHOWN = 2_000
"""How many characters of a decision its text shows; the whole is in its value."""


class Remembering:
    """What one agent remembers and recalls. `fence` shows that its task is still run by this attempt, if it has one."""

    def __init__(
        self,
        services: Services,
        principal: Principal,
        operations: Operations,
        *,
        fence: Fence | FirstClaim | None = None,
    ) -> None:
        self.principal = principal
        self._services = services
        self._operations = operations
        self._fence = fence

    async def remember(
        self,
        text: str,
        *,
        kind: str | MemoryKind = MemoryKind.SEMANTIC,
        scope: str | Scope = "shared",
        value: Json = None,
        category: str | None = None,
        subject: str | None = None,
        speaker: str | None = None,
        source: Source = "agent",
        trust: float | None = None,
        occurred_at: datetime | None = None,
        expires_at: datetime | None = None,
        sources: Sequence[UUID | str] = (),
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Keep `text` as a memory of that kind, seen as far as `scope` says.

        `subject` names the person it is about, so that it can be erased. `trust` (0…1) defaults to that of the source.
        `speaker` says who said it, word for word: it is then a turn of the session's conversation, in the order of
        `occurred_at`, and is found with the turns beside it.
        """
        parsed = MemoryKind.parse(kind)
        if parsed in (MemoryKind.FACT, MemoryKind.DECISION):
            way = "state_fact(subject, predicate, object)" if parsed is MemoryKind.FACT else "decide(question, outcome)"
            raise BadInput(f"a {parsed.value} is more than its text: use desk.{way}")
        memory = self._memory(
            parsed,
            text,
            key=key,
            scope=scope,
            value=value,
            category=category,
            subject=subject,
            speaker=speaker,
            source=source,
            trust=trust,
            occurred_at=occurred_at,
            expires_at=expires_at,
            sources=sources,
            metadata=metadata,
        )
        return await self._keep(memory)

    async def state_fact(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        since: datetime | None = None,
        many: bool = False,
        qualifier: str = "",
        object_is_entity: bool = False,
        scope: str | Scope = "shared",
        category: str | None = None,
        person: str | None = None,
        source: Source = "agent",
        trust: float | None = None,
        sources: Sequence[UUID | str] = (),
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> Receipt:
        """State that `subject` has `predicate` `object`, since then or now; an older value of that key is superseded.

        `many` keeps several values side by side, and all facts of a key say the same about it; `person` names whom it
        is about, so that it can be erased.

        Raises:
            BadInput: this key was stated to hold one value and is now told that it holds many, or the other way round.
        """
        fact = Fact(
            subject=subject,
            predicate=predicate,
            object=object,
            since=since,
            many=many,
            qualifier=qualifier,
            object_is_entity=object_is_entity,
        )
        memory = self._memory(
            MemoryKind.FACT,
            fact.sentence(),
            key=key,
            about=f"{subject} {predicate}",
            scope=scope,
            fact=fact,
            category=category,
            subject=person,
            source=source,
            trust=trust,
            sources=sources,
            metadata=metadata,
        )
        return await self._keep(memory)

    async def decide(
        self,
        question: str,
        outcome: Json,
        *,
        reasons: Sequence[str] = (),
        evidence: Sequence[Evidence] = (),
        scope: str | Scope = "shared",
        key: str | None = None,
    ) -> Receipt:
        """Record a decision, its reasons and evidence, written through and kept for seven years."""
        return await self._keep(self._decision(question, outcome, reasons, evidence, scope, key))

    async def forget(self, memory: UUID | str, reason: str, *, key: str | None = None) -> Receipt:
        """Withdraw a memory that this agent may change: no recall brings it back."""
        memory = shape.identifier("memory", memory)
        shape.text("reason", reason)
        operation = self._operations.next(key, of=f"{self.principal.agent} forget {memory}")
        return await self._services.router.forget(self.principal, memory, reason, operation)

    async def recall(
        self,
        query: str,
        *,
        k: int = 8,
        budget: int | None = None,
        kinds: Collection[str | MemoryKind] = (),
        as_of: datetime | None = None,
        touch: bool = False,
        freshness: Freshness = "acknowledged",
    ) -> Recall:
        """At most `k` memories (or as many as `budget` tokens hold) that answer `query`, best first."""
        asked = Query(
            text=query,
            k=k,
            budget=budget,
            kinds=frozenset(MemoryKind.parse(kind) for kind in shape.texts("kinds", kinds)),
            as_of=as_of,
            touch=touch,
            freshness=freshness,
        )
        found = await self._services.recaller.recall(self.principal, asked)
        self._services.router.echoes.heard(self.principal, found)
        return found

    async def facts(self, about: str, *, hops: int = 1, as_of: datetime | None = None) -> list[Edge]:
        """The facts that name `about` as subject or as thing, now or `as_of`; with `hops` those of its neighbours too.

        A name is compared whole, without case and accents.
        """
        thing = Entity(name_key(shape.text("about", about)), about)
        shape.whole("hops", hops)
        as_of = None if as_of is None else shape.moment("as_of", as_of)
        await self._services.router.caught_up(self.principal, self._services.settings.deadline)
        async with self._services.connections.transaction(self.principal) as connection:
            knowledge = self._services.knowledge
            return await knowledge.neighbourhood(connection, self.principal, [thing], hops=hops, as_of=as_of)

    async def paths(self, a: str, b: str, *, as_of: datetime | None = None) -> list[Path]:
        """How `a` and `b` are connected: the shortest chains of facts, each with the sentence it reads as."""
        for what, name in (("a", a), ("b", b)):
            shape.text(what, name)
        as_of = None if as_of is None else shape.moment("as_of", as_of)
        async with self._services.connections.transaction(self.principal) as connection:
            return await self._services.knowledge.paths(connection, self.principal, a, b, as_of=as_of)

    async def _keep(self, memory: Memory) -> Receipt:
        """Hand a memory to the router."""
        return await self._services.router.remember(
            self.principal, memory, operation=memory.id, fence=await shown(self._fence)
        )

    def _decision(
        self,
        question: str,
        outcome: Json,
        reasons: Sequence[str] = (),
        evidence: Sequence[Evidence] = (),
        scope: str | Scope = "shared",
        key: str | None = None,
    ) -> Memory:
        """The memory that a decision is."""
        decided = to_json(outcome, "the outcome")
        why, given = shape.texts("reasons", reasons), shape.items("evidence", evidence)
        supports = [to_json(item, "the evidence") for item in given]
        check_decision(question, decided, why, supports)
        said = decided if isinstance(decided, str) else json.dumps(decided, ensure_ascii=False)
        return self._memory(
            MemoryKind.DECISION,
            f"{question}: {said if len(said) <= SHOWN else said[: SHOWN - 1] + '…'}",
            key=key,
            about=question,
            scope=scope,
            value=decision_value(question, decided, why, supports),
            sources=[item for item in given if isinstance(item, UUID)],
        )

    def _memory(
        self,
        kind: MemoryKind,
        text: str,
        *,
        key: str | None,
        scope: str | Scope,
        about: str = "",
        value: Json = None,
        fact: Fact | None = None,
        category: str | None = None,
        subject: str | None = None,
        speaker: str | None = None,
        source: Source = "agent",
        trust: float | None = None,
        occurred_at: datetime | None = None,
        expires_at: datetime | None = None,
        sources: Sequence[UUID | str] = (),
        metadata: Mapping[str, Json] | None = None,
    ) -> Memory:
        """A memory under an id that every attempt of this task gives it."""
        if shape.text("source", source) not in TRUST:
            raise BadInput(f"there is no source {source!r}; the sources are {', '.join(TRUST)}")
        operation = self._operations.next(key, of=f"{self.principal.agent} remember {kind} {about}")
        now = self._services.clock.now()
        return Memory(
            id=operation,
            tenant=self.principal.tenant,
            owner=self.principal.agent,
            session=self.principal.session,
            execution=self.principal.execution,
            scope=Scope.parse(scope),
            kind=kind,
            text=text,
            value=value,
            fact=fact,
            category=category,
            subject=subject,
            speaker=speaker,
            source=source,
            trust=TRUST[source] if trust is None else trust,
            occurred_at=now if occurred_at is None else occurred_at,
            recorded_at=now,
            expires_at=expires_at,
            sources=tuple(shape.identifier("each of sources", one) for one in shape.items("sources", sources)),
            metadata={} if metadata is None else metadata,
        )
