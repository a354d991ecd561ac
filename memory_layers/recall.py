"""A recall: three ways of finding, one ranking, and every hit fetched from the record and checked again.

    wait for what was acknowledged, and embed → ask the three ways → fuse → fetch and check → fold → touch

Words, graph and likeness are asked in one statement, in one transaction with the fetching, under one deadline; when
that fails or is late, each is asked again by itself, and the one that does not answer is named in `Recall.silent`. A
store outside Postgres is asked beside the statement, for vectors after it: the database holds what such a store does
not show yet, so what has just left the one is in the other.
Their scores are summed, since they are made to be: words give a share of what the question weighs, likeness is what
lies above the hundredth hit (modern embedders give everything a high cosine), and the graph adds a little to facts
about what the question names.

Layers propose, the record decides: a hit that the caller may not see, that is superseded, withdrawn, in quarantine or
expired, falls out here whatever a layer says, and the next best is fetched in its place. Equal texts become one hit
that carries the others' ids. Age and trust are mild factors in the ranking and never keep anything out.

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
from itertools import islice
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from psycopg.errors import UndefinedTable

from ..infra.clock import Clock
from ..infra.connections import Connection, Connections
from ..infra.errors import ServerUnavailable
from ..infra.identity import Principal
from ..infra.settings import Settings
from ..infra.sql import load_queries
from .ageing import OURS, Ageing
from .asking import Elsewhere, Packed, Part, ask, united, unpacked
from .context.pgvector import BREADTH, ContextLayer
from .contract import Query, Way
from .execution import memories
from .execution.sameness import core, retold
from .knowledge.postgres import KnowledgeLayer
from .policy import DEFAULT, Policy
from .records import Hit, Memory, MemoryKind, Recall
from .truth.past import before

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
_SIGNS_PER_TOKEN = 4
_DENSE: tuple[Way, ...] = ("dense",)

_Answer = TypeVar("_Answer")
CaughtUp = Callable[[Principal, timedelta], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How the ways are summed, and how far trust may lower a score; how far age may is the ageing's affair.

    The first two are measured on long conversations and on questions across two languages; half to twice their ratio
    changes little.
    """

    words: float = 1.0
    dense: float = 7.5
    graph: float = 0.3
    distrust: float = 0.1


LIKENESS = Weights(words=0, graph=0, distrust=0)
"""Nothing but how alike texts are: the simplest way there is, to compare with."""

_Fused = tuple[float, bytes, tuple[Way, ...]]
"""Of a candidate: its score with the sign turned, so that the best sorts first; its id; the ways that found it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fused candidate that is looked up."""

    id: UUID
    score: float
    via: tuple[Way, ...]


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
        self._weights = LIKENESS if ageing.likeness_only else weights or Weights()

    async def recall(self, principal: Principal, query: Query) -> Recall:
        """What is known about `query`, best first, as far as `principal` may see it."""
        vector, behind = await asyncio.gather(self._vector(query), self._behind(principal, query))
        space = self._context.space
        hits, silent = await self._find(principal, query, vector)
        if self._context.space != space:
            hits, silent = await self._find(principal, query, vector)
        if query.touch and hits:
            await self._touch(principal, hits)
        return Recall(hits=hits, silent=silent, behind=behind)

    async def always(self, principal: Principal, kinds: Collection[MemoryKind]) -> tuple[Hit, ...]:
        """All that holds of these kinds and that `principal` may see, the newest confirmed first; nothing is ranked."""
        await self._is_caught_up(principal)
        async with self._connections.transaction(principal) as connection:
            found = await memories.standing(connection, kinds, now=self._clock.now())
        return tuple(_hit(1.0, Ranked(memory.id, 1.0, ()), memory, also=()) for memory in found)

    async def _vector(self, query: Query) -> Vectors | None:
        """The question's own, made while the journal is waited for; None where nothing can be compared with it."""
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

    async def _find(
        self, principal: Principal, query: Query, vector: Vectors | None
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """The hits, and the layers that were silent: everything in one transaction, unless something in it fails."""
        vector = None if self._context.estranged else vector
        deaf = () if vector is not None else (_LAYER["dense"],)
        graph = self._knowledge.part(principal, query)
        likeness = None if vector is None else self._context.elsewhere(principal, query, vector)
        parts = [self._context.part(principal, query, vector), *([graph] if isinstance(graph, Part) else [])]
        if likeness is not None or isinstance(graph, Elsewhere):
            hits, silent = await self._find_beside(principal, query, vector, parts, likeness, graph)
            return hits, deaf + silent
        found = await self._in_time("a way of finding", self._ask(principal, query, *parts))
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

        async def here() -> tuple[dict[Way, bytes | None], set[str]]:
            together = await self._in_time("a way of finding", self._ask_alone(principal, *parts))
            if together is not None:
                return dict(together), set()
            return await self._ask_each(principal, self._apart(principal, query, vector, graph))

        async def near() -> tuple[dict[Way, bytes | None], set[str]]:
            found, silent = await here()
            if likeness is not None:
                if (shown := await self._in_time(_LAYER["dense"], likeness.ask())) is None:
                    silent.add(_LAYER["dense"])
                    found["dense"] = None  # the likest of what is young would outrank what was asked for
                else:
                    found["dense"] = united(found.get("dense"), shown.get("dense"), max(BREADTH, query.k))
            return found, silent

        async def far() -> Packed | None:
            return await self._in_time(_LAYER["graph"], graph.ask()) if isinstance(graph, Elsewhere) else {}

        (found, silent), facts = await asyncio.gather(near(), far())
        if facts is None:
            silent.add(_LAYER["graph"])
        return await self._fetch(principal, query, {**found, **(facts or {})}), tuple(sorted(silent))

    async def _ask(self, principal: Principal, query: Query, *parts: Part) -> tuple[Hit, ...]:
        """All ways in the trip that begins the transaction, the record in the one that ends it."""
        async with self._connections.reading(principal) as connection:
            ranked = await self._with_past(connection, query, fuse(await ask(connection, *parts), self._weights))
            first = await self._look_up(connection, query, ranked[: query.k + _MORE])
        return await self._hits(principal, query, ranked, first)

    async def _find_apart(
        self, principal: Principal, query: Query, ways: Mapping[Way, Part]
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        found, silent = await self._ask_each(principal, ways)
        return await self._fetch(principal, query, found), tuple(sorted(silent))

    async def _fetch(self, principal: Principal, query: Query, found: Packed) -> tuple[Hit, ...]:
        """The hits among candidates that are at hand."""
        async with self._connections.reading(principal) as connection:
            ranked = await self._with_past(connection, query, fuse(found, self._weights))
            first = await self._look_up(connection, query, ranked[: query.k + _MORE])
        return await self._hits(principal, query, ranked, first)

    async def _ask_each(
        self, principal: Principal, ways: Mapping[Way, Part]
    ) -> tuple[dict[Way, bytes | None], set[str]]:
        """What each finds, and the layers of those that did not answer.

        Raises:
            ServerUnavailable: none did, so nothing can be fetched either.
        """
        asked = [self._in_time(_LAYER[way], self._ask_alone(principal, part)) for way, part in ways.items()]
        answers = dict(zip(ways, await asyncio.gather(*asked), strict=True))
        found: dict[Way, bytes | None] = {way: answer[way] for way, answer in answers.items() if answer is not None}
        if not found:
            raise ServerUnavailable(
                f"nothing can be recalled: Postgres did not answer within {self._deadline.total_seconds():g} s, asked"
                " twice: is it running, and has it connections left? 'lousa doctor' looks"
            )
        return found, {_LAYER[way] for way, answer in answers.items() if answer is None}

    async def _ask_alone(self, principal: Principal, *parts: Part) -> Packed:
        async with self._connections.reading(principal) as connection:
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

    async def _with_past(self, connection: Connection, query: Query, ranked: list[_Fused]) -> list[_Fused]:
        """Of a question about the past: beside each candidate what it took the place of, with the same score."""
        if query.as_of is None or not ranked:
            return ranked
        by_id = {identifier: (score, via) for score, identifier, via in ranked[:BREADTH]}
        past = await before(connection, [UUID(bytes=one) for one in by_id], query.as_of)
        known = {identifier for _, identifier, _ in ranked}
        found = [(one.bytes, *by_id[after.bytes]) for one, after in past.items() if one.bytes not in known]
        return sorted([*ranked, *((score, identifier, via) for identifier, score, via in found)])

    async def _look_up(self, connection: Connection, query: Query, part: Sequence[_Fused]) -> memories.Fetched:
        return await memories.look_up(
            connection, [UUID(bytes=one) for _, one, _ in part], now=self._clock.now(), as_of=query.as_of
        )

    async def _hits(
        self, principal: Principal, query: Query, ranked: Sequence[_Fused], first: memories.Fetched
    ) -> tuple[Hit, ...]:
        """The hits, from the record: what falls out or is folded away is refilled from further down."""
        now = self._clock.now()
        checked: list[tuple[float, Ranked, Memory]] = []
        hits: list[Hit] = []
        step = query.k + _MORE
        known = await first.known()
        for start in range(0, len(ranked), step):
            part = ranked[start : start + step]
            if start:
                async with self._connections.reading(principal) as connection:
                    further = await self._look_up(connection, query, part)
                known = await further.known()
            candidates = [Ranked(UUID(bytes=one), -score, via) for score, one, via in part]
            checked += [
                (candidate.score * self._standing(memory, now), candidate, memory)
                for candidate in candidates
                if (memory := known.get(candidate.id)) is not None and _holds(memory, query, now)
            ]
            hits = _fold(sorted(checked, key=lambda one: (-one[0], one[1].id.int)), query.k)
            if len(hits) == query.k:
                break
        return _within(hits, query.budget)

    def _standing(self, memory: Memory, now: datetime) -> float:
        """How far age and trust lower a score, between 0 and 1."""
        policy = self._policy.get(memory.kind)
        faded = 0.0 if policy is None else self._ageing.faded(policy, now - memory.occurred_at)
        return (1 - self._ageing.fading * faded) * (1 - self._weights.distrust * (1 - memory.trust))

    async def _touch(self, principal: Principal, hits: Sequence[Hit]) -> None:
        async with self._connections.transaction(principal) as connection:
            await connection.execute(_QUERIES["touch"], {"ids": [hit.id for hit in hits], "now": self._clock.now()})


def fuse(found: Packed, weights: Weights) -> list[_Fused]:
    """One ranking of all ways' candidates, best first."""
    likest = [*unpacked(found.get("dense"))]
    floor = sorted([score for _, score in likest], reverse=True)[:BREADTH][-1] if likest else 0.0
    dense = weights.dense
    fused = {identifier: (dense * max(0.0, score - floor), _DENSE) for identifier, score in likest}
    others: tuple[tuple[Way, float], ...] = (("words", weights.words), ("graph", weights.graph))
    for way, weight in others:
        alone = (way,)
        for identifier, score in unpacked(found.get(way)):
            if known := fused.get(identifier):
                fused[identifier] = (known[0] + weight * score, (*known[1], way))
            else:
                fused[identifier] = (weight * score, alone)
    return sorted([(-score, identifier, via) for identifier, (score, via) in fused.items()])


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


def _fold(checked: Sequence[tuple[float, Ranked, Memory]], k: int) -> list[Hit]:
    """The best `k` hits; those that say the same are one, the best, which carries the others' ids."""
    best: dict[str, tuple[float, Ranked, Memory]] = {}
    also: dict[str, list[UUID]] = {}
    for one in checked:
        text = core(retold(one[2].text) if one[2].source == "agent" else one[2].text)
        if text in best:
            also.setdefault(text, []).append(one[2].id)
        else:
            best[text] = one
    return [_hit(*one, also=tuple(also.get(text, ()))) for text, one in islice(best.items(), k)]


def _hit(score: float, ranked: Ranked, memory: Memory, *, also: tuple[UUID, ...]) -> Hit:
    return Hit(
        id=memory.id,
        text=memory.text,
        kind=memory.kind,
        score=score,
        owner=memory.owner,
        session=memory.session,
        execution=memory.execution,
        source=memory.source,
        trust=memory.trust,
        status=memory.status,
        occurred_at=memory.occurred_at,
        value=memory.value,
        speaker=memory.speaker,
        metadata=memory.metadata,
        also=also,
        via=ranked.via,
        fact=memory.fact,
        to_confirm=memory.to_confirm,
        confirmed_at=memory.confirmed_at,
    )


def _within(hits: Sequence[Hit], budget: int | None) -> tuple[Hit, ...]:
    """The hits that a budget of tokens has room for; one too long gives way to the next."""
    if budget is None:
        return tuple(hits)
    kept: list[Hit] = []
    for hit in hits:
        tokens = -(-len(hit.text) // _SIGNS_PER_TOKEN)
        if tokens <= budget:
            kept.append(hit)
            budget -= tokens
    return tuple(kept)
