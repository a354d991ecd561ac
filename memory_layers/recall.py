"""A recall: three ways of finding, one ranking, and every hit fetched from the record and checked again.

    wait for what was acknowledged, and embed → ask the three ways, rank and fetch → check → fold → touch

Words, graph and likeness are asked, ranked and fetched in one statement, under one deadline; when that fails or is
late, each is asked again by itself, and the one that does not answer is named in `Recall.silent`. A store outside
Postgres is asked beside the statement, for vectors after it: the database holds what such a store does not show yet, so
what has just left the one is in the other. What is then at hand is ranked and fetched as ever (`ranking`).

Layers propose, the record decides: a hit that the caller may not see, that is superseded, withdrawn, in quarantine or
expired, falls out whatever a layer says, and the next best is fetched in its place. Age and trust are mild factors in
the ranking and never keep anything out.

A rebuild may put another space of vectors in the place of the one that is asked: such a recall finds it closed, and
asks once more where layer 2 lies now. Where that is not what this process was set to, it answers without likeness.

A recall changes no later one, unless `touch` says that its hits are used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg.errors import UndefinedTable

from ..infra.clock import Clock
from ..infra.connections import Connections
from ..infra.errors import ServerUnavailable
from ..infra.identity import Principal
from ..infra.settings import Settings
from ..infra.sql import load_queries
from ..infra.tasks import together
from .ageing import OURS, Ageing
from .asking import Elsewhere, Found, Part, ask, given, of_way, united
from .context.pgvector import BREADTH, ContextLayer
from .contract import Query, Way
from .execution import memories
from .knowledge.postgres import KnowledgeLayer
from .policy import DEFAULT, Policy
from .present import present_first
from .ranking import LIKENESS, Ranked, Weights, folded, hit, rank, within
from .records import Hit, Memory, MemoryKind, Recall

if TYPE_CHECKING:
    from .embedding import Vectors

_QUERIES = load_queries(__package__ or "")
_LOG = logging.getLogger(__name__)
_LAYER: Mapping[Way, str] = {"dense": "context", "words": "words", "graph": "knowledge"}
_MORE = 4
_LOADING = timedelta(seconds=30)
"""What loading a model may take, once a process; a deadline is for answering."""
_MARGIN = 0.1
"""Seconds beside a deadline, so that whoever keeps it answers first."""

_Answer = TypeVar("_Answer")
CaughtUp = Callable[[Principal, timedelta], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class _Ways:
    """How a recall finds: likeness and words, in that space of vectors, and the graph; no vector, no likeness."""

    space: str
    vector: Vectors | None
    context: Part
    graph: Part | Elsewhere


class Recaller:
    """The read path over layers 2, 3 and 4."""

    def __init__(
        self,
        connections: Connections,
        context: ContextLayer,
        knowledge: KnowledgeLayer,
        *,
        caught_up: CaughtUp,
        clock: Clock,
        settings: Settings,
        policy: Mapping[MemoryKind, Policy] = DEFAULT,
        weights: Weights | None = None,
        ageing: Ageing = OURS,
    ) -> None:
        self._connections = connections
        self._context = context
        self._knowledge = knowledge
        self._caught_up = caught_up
        self._clock = clock
        self._deadline = settings.deadline
        self._policy = policy
        self._ageing = ageing
        self._presents = settings.truth and ageing.restates
        self._weights = LIKENESS if ageing.likeness_only else weights or Weights()

    async def recall(self, principal: Principal, query: Query) -> Recall:
        """What is known about `query`, best first, as far as `principal` may see it."""
        behind, ways = await together(self._behind(principal, query), self._ways(principal, query))
        hits, silent = await self._find(principal, query, ways)
        if self._context.space != ways.space:
            hits, silent = await self._find(principal, query, self._ways_for(principal, query, ways.vector))
        if query.touch and hits:
            await self._touch(principal, hits)
        return Recall(hits=hits, silent=silent, behind=behind)

    async def always(self, principal: Principal, kinds: Collection[MemoryKind]) -> tuple[Hit, ...]:
        """All that holds of these kinds and that `principal` may see, the newest confirmed first; nothing is ranked."""
        await self._is_caught_up(principal)
        async with self._connections.transaction(principal) as connection:
            found = await memories.standing(connection, kinds, now=self._clock.now())
        return tuple(hit(Ranked(1.0, (), memory)) for memory in found)

    async def _ways(self, principal: Principal, query: Query) -> _Ways:
        """What will be asked, made while the journal is waited for."""
        return self._ways_for(principal, query, await self._vector(query))

    def _ways_for(self, principal: Principal, query: Query, vector: Vectors | None) -> _Ways:
        space, vector = self._context.space, None if self._context.estranged else vector
        graph = self._knowledge.part(principal, query)
        return _Ways(space, vector, self._context.part(principal, query, vector), graph)

    async def _vector(self, query: Query) -> Vectors | None:
        """The question's own; None where nothing can be compared with it."""
        if self._context.estranged:
            return None
        await self._in_time("context", self._context.embedder.prepare(), _LOADING)
        return await self._in_time("context", self._context.embedder.query(query.text))

    async def _behind(self, principal: Principal, query: Query) -> bool:
        return query.freshness == "acknowledged" and not await self._is_caught_up(principal)

    async def _is_caught_up(self, principal: Principal) -> bool:
        """Whether what was acknowledged is committed; a journal that does not answer in time leaves that open."""
        try:
            async with asyncio.timeout(self._deadline.total_seconds() + _MARGIN):
                return await self._caught_up(principal, self._deadline)
        except (ServerUnavailable, TimeoutError) as error:
            _LOG.warning("recall: the journal did not answer: %s", type(error).__name__)
            return False

    async def _find(self, principal: Principal, query: Query, ways: _Ways) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """The hits, and the layers that were silent: everything in one transaction, unless something in it fails."""
        vector, graph = ways.vector, ways.graph
        deaf = () if vector is not None else (_LAYER["dense"],)
        likeness = None if vector is None else self._context.elsewhere(principal, query, vector)
        parts = [ways.context, *([graph] if isinstance(graph, Part) else [])]
        if likeness is not None or isinstance(graph, Elsewhere):
            hits, silent = await self._find_beside(principal, query, vector, parts, likeness, graph)
            return hits, deaf + silent
        found = await self._in_time("a way of finding", self._hits(principal, query, parts))
        if found is not None:
            return found, deaf
        hits, silent = await self._find_apart(principal, query, self._apart(principal, query, vector, graph))
        return hits, deaf + silent

    def _apart(
        self, principal: Principal, query: Query, vector: Vectors | None, graph: Part | Elsewhere
    ) -> dict[Way, Part]:
        """A failure ends the transaction for all, so each is asked alone and only the broken one stays silent."""
        ways: dict[Way, Part] = {"words": self._context.part(principal, query, None)}
        if vector is not None:
            ways["dense"] = self._context.part(principal, query, vector, words=False)
        if isinstance(graph, Part):
            ways["graph"] = graph
        return ways

    async def _find_beside(
        self,
        principal: Principal,
        query: Query,
        vector: Vectors | None,
        parts: Sequence[Part],
        likeness: Elsewhere | None,
        graph: Part | Elsewhere,
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """The hits where some of the ways lead out of Postgres."""

        async def here() -> tuple[dict[str, Any], set[str]]:
            at_once = await self._in_time("a way of finding", self._ask_alone(principal, *parts))
            if at_once is not None:
                return at_once, set()
            return await self._ask_each(principal, self._apart(principal, query, vector, graph))

        async def near() -> tuple[dict[str, Any], set[str]]:
            found, silent = await here()
            if likeness is not None:
                if (shown := await self._in_time(_LAYER["dense"], likeness.ask())) is None:
                    silent.add(_LAYER["dense"])
                    found |= of_way("dense", {})  # the likest of what is young would outrank what was asked for
                else:
                    found |= united(found, shown, max(BREADTH, query.k))
            return found, silent

        async def far() -> Found | None:
            return await self._in_time(_LAYER["graph"], graph.ask()) if isinstance(graph, Elsewhere) else {}

        (found, silent), facts = await together(near(), far())
        if facts is None:
            silent.add(_LAYER["graph"])
        found |= facts or {}
        return await self._hits(principal, query, [given(found)]), tuple(sorted(silent))

    async def _find_apart(
        self, principal: Principal, query: Query, ways: Mapping[Way, Part]
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        found, silent = await self._ask_each(principal, ways)
        return await self._hits(principal, query, [given(found)]), tuple(sorted(silent))

    async def _ask_each(self, principal: Principal, ways: Mapping[Way, Part]) -> tuple[dict[str, Any], set[str]]:
        """What each finds, and the layers of those that did not answer.

        Raises:
            ServerUnavailable: none did, so nothing can be fetched either.
        """
        asked = [self._in_time(_LAYER[way], self._ask_alone(principal, part)) for way, part in ways.items()]
        answers = dict(zip(ways, await together(*asked), strict=True))
        if all(answer is None for answer in answers.values()):
            raise ServerUnavailable(
                f"nothing can be recalled: Postgres did not answer within {self._deadline.total_seconds():g} s, asked"
                " twice: is it running, and has it connections left? 'lousa doctor' looks"
            )
        found: dict[str, Any] = {}
        for way, answer in answers.items():
            found |= of_way(way, answer or {})
        return found, {_LAYER[way] for way, answer in answers.items() if answer is None}

    async def _ask_alone(self, principal: Principal, *parts: Part) -> dict[str, Any]:
        async with self._connections.transaction(principal, pipelined=True) as connection:
            return await ask(connection, *parts)

    async def _in_time(self, name: str, answer: Awaitable[_Answer], within: timedelta | None = None) -> _Answer | None:
        """An answer, or None when there was none: one silent way leaves the others their say."""
        try:
            async with asyncio.timeout((within or self._deadline).total_seconds()):
                try:
                    return await answer
                except UndefinedTable:  # the space of vectors that was asked is closed
                    await self._context.follow()
                    return None
        except Exception as error:
            _LOG.warning("recall: %s did not answer: %s", name, type(error).__name__)
            return None

    async def _hits(self, principal: Principal, query: Query, parts: Sequence[Part]) -> tuple[Hit, ...]:
        """The hits: what falls out or is folded away is refilled from further down."""
        now = self._clock.now()
        checked: list[Ranked] = []
        step = query.k + _MORE
        skipped, more = 0, True
        hits: list[Hit] = []
        while more and len(hits) < query.k:
            ranking = rank(query, parts, self._weights, now=now, skipped=skipped, most=step)
            rows = await self._connections.read(principal, ranking.statement, ranking.parameters)
            found, more = ranking.found(rows)
            checked += [
                Ranked(one.score * self._standing(one, now), one.via, one.memory, one.rule)
                for one in found
                if _holds(one.memory, query, now)
            ]
            hits = folded(present_first(query.text, checked) if self._presents else checked, query.k)
            skipped += step
        return within(hits, query.budget)

    def _standing(self, found: Ranked, now: datetime) -> float:
        """How far age and trust lower a score, between 0 and 1."""
        memory = found.memory
        policy = None if found.rule else self._policy.get(memory.kind)
        faded = 0.0 if policy is None else self._ageing.faded(policy, now - memory.occurred_at)
        return (1 - self._ageing.fading * faded) * (1 - self._weights.distrust * (1 - memory.trust))

    async def _touch(self, principal: Principal, hits: Sequence[Hit]) -> None:
        async with self._connections.transaction(principal) as connection:
            await connection.execute(_QUERIES["touch"], {"ids": [one.id for one in hits], "now": self._clock.now()})


def _holds(memory: Memory, query: Query, now: datetime) -> bool:
    """Whether a fetched memory answers this query: of its kinds, and begun by the moment asked about."""
    begins = memory.occurred_at
    if memory.fact is not None and memory.fact.since is not None:
        begins = memory.fact.since
    if query.kinds and memory.kind not in query.kinds:
        return False
    if query.as_of is not None:
        return begins <= query.as_of
    return memory.fact is None or begins <= now
