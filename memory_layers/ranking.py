"""The ranking of what the ways found, and what a hit is made of.

One statement ranks and fetches: `rank_found` sums what the ways propose, and the best are read from the record under
row-level security, which checks each again. Where something falls out, the same is asked for those further down.

Scores are summed, since they are made to be: words give a share of what the question weighs, likeness is what lies
above the hundredth hit (modern embedders give everything a high cosine), and the graph adds a little to facts about
what the question names. Equal texts become one hit that carries the others' ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, LiteralString
from uuid import UUID

from ..infra.sql import load_queries
from .asking import WAYS, Part, composed, learned, texts
from .asking import parameters as of_parts
from .context.pgvector import BREADTH
from .context.spans import spans
from .context.terms import WORD
from .contract import Query, Way
from .execution import memories
from .execution.sameness import core, ending, retold
from .records import Hit, Memory
from .truth.outdated import asks_for_conduct, asks_for_value
from .truth.rules import FIRST_RULES, LIKER

_QUERIES = load_queries(__package__ or "")
_SIGNS_PER_TOKEN = 4
_FEW = 20
"""What more facts touch than these leads to none of their texts."""
_VIAS: list[tuple[Way, ...]] = [
    tuple(way for bit, way in enumerate(WAYS) if via >> bit & 1) for via in range(2 << len(WAYS))
]
_RULE = 1 << len(WAYS)
"""The bit beside those of the ways which says that it is a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How a ranking is summed, and how far trust may lower a score; how far age may is the ageing's affair.

    Measured over conversations, passages and records in two languages (docs/recall.md); half to twice of any of them
    changes little. `dense` counts by what likeness is above the hundredth hit's; `graph` is for facts about what the
    question names, and a share of it, `source`, for the texts that such facts were drawn from. Of what a turn scores by
    likeness `before` goes to the turn before it, `behind` to the one behind it, `second` to the next in either
    direction; of what a question scores `answer` goes to the turn behind it; `telling` is for a turn that names
    something. `first` and `added` are of a memory that shares a rare name with one of the best: of that one's score,
    and of what it adds. `steepness` is the power to which the share of the question's words is raised, so that one word
    of four stays little. By `rule` of itself the score of what a user said as a rule is raised, up to the third place,
    unless a value is asked for. What came from a tool and tells others what to do comes last, by the share `directing`
    of its score, less one.
    """

    words: float = 1.0
    dense: float = 3.5
    graph: float = 0.3
    source: float = 0.5
    before: float = 0.5
    behind: float = 0.2
    second: float = 0.25
    answer: float = 0.4
    asking: float = -0.1
    speaker: float = 0.33
    time: float = 0.5
    first: float = 0.5
    added: float = 0.65
    steepness: float = 1.5
    telling: float = 0.15
    distrust: float = 0.1
    rule: float = 0.5
    directing: float = 0.01

    def factors(self, question: str) -> list[float]:
        """As `rank_found` takes them. Who asks for a value is told no rules; who asks what to do, some first."""
        value = asks_for_value(question)
        every = (
            self.dense,
            self.words,
            self.graph,
            self.before,
            self.behind,
            self.second,
            self.answer,
            self.asking,
            self.speaker,
            self.time,
            self.first,
            self.added,
            self.steepness,
            self.telling,
            0.0 if value else self.rule,
            FIRST_RULES if not value and asks_for_conduct(question) else 0,
            self.directing,
            LIKER,
        )
        return [float(one) for one in every]


LIKENESS = Weights(
    **{each.name: 0.0 for each in fields(Weights) if each.name not in ("dense", "steepness", "directing")},
)
"""Nothing but how alike texts are: the simplest way there is, to compare with."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory that was found, as the record has it."""

    score: float
    via: tuple[Way, ...]
    memory: Memory
    rule: bool = False
    """A user said it, and it counts as a rule here, so it does not fade."""


class Ranking:
    """A ranking that is to be asked for: a statement, its parameters, and how its rows are read."""

    def __init__(
        self,
        text: LiteralString,
        parameters: Mapping[str, object],
        parts: Sequence[Part],
        told: Sequence[str],
        most: int,
    ) -> None:
        self.statement: LiteralString = text
        self.parameters = parameters
        self._parts = parts
        self._told = told
        self._most = most

    def found(self, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Ranked], bool]:
        """What the record lets come back of it, best first; whether there may be more."""
        learned(self._parts, tuple(rows[0][name] for name in self._told))
        found = [
            Ranked(row["score"], _VIAS[via := int(row["via"])], memories.read(row), bool(via & _RULE))
            for row in rows
            if row["id"] is not None
        ]
        return found, rows[-1]["place"] == self._most


def rank(
    query: Query,
    parts: Sequence[Part],
    weights: Weights,
    *,
    now: datetime,
    skipped: int,
    most: int,
) -> Ranking:
    """How to ask for what comes behind the first `skipped`, at most `most`."""
    asked = composed(parts)
    when = spans(query.text, now)
    parameters = {
        **of_parts(parts),
        "factors": weights.factors(query.text),
        "asked": texts(WORD.findall(memories.folded(query.text))),
        "begins": [span.begin for span in when],
        "ends": [span.end for span in when],
        "kinds": sorted(query.kinds) or None,
        "share": weights.source,
        "few": _FEW,
        "breadth": BREADTH,
        "skipped": skipped,
        "page": most,
        "now": now,
        "as_of": query.as_of,
    }
    text = statement(asked.head, asked.columns, asked.source, asked.told)
    return Ranking(text, parameters, parts, [name for name, _ in asked.told], most)


@cache
def statement(
    head: LiteralString,
    columns: LiteralString,
    source: LiteralString,
    told: tuple[tuple[LiteralString, LiteralString], ...],
) -> LiteralString:
    """The whole statement; what is told of the parts stands in the first row alone."""
    once: list[LiteralString] = [_once(name, column) for name, column in told]
    return (
        _QUERIES["ranked"]
        .replace("{head}", head)
        .replace("{columns}", columns)
        .replace("{source}", source)
        .replace("{told}", "".join(once))
        .replace("{fetched}", memories.RECALLED.replace("{which}", "id = best.id"))
    )


def _once(name: LiteralString, column: LiteralString) -> LiteralString:
    return ", CASE WHEN best.place IS NULL OR best.place = 1 THEN (SELECT " + column + ") END AS " + name


def folded(found: Sequence[Ranked], k: int) -> list[Hit]:
    """The best `k` hits; those that say the same are one, the best, which carries the others' ids."""
    best: dict[str, Ranked] = {}
    also: dict[str, list[UUID]] = {}
    told = [retold(one.memory.text) if one.memory.source == "agent" else one.memory.text for one in found]
    endings = [ending(text) for text in told]
    alike = Counter(endings)
    said = [core(text) if alike[end] > 1 else end for text, end in zip(told, endings, strict=True)]
    for text, one in sorted(zip(said, found, strict=True), key=lambda each: (-each[1].score, each[1].memory.id.int)):
        if text in best:
            also.setdefault(text, []).append(one.memory.id)
        else:
            best[text] = one
    return [hit(one, also=tuple(also.get(text, ()))) for text, one in islice(best.items(), k)]


def hit(found: Ranked, *, also: tuple[UUID, ...] = ()) -> Hit:
    """What a caller is given."""
    memory = found.memory
    return Hit(
        id=memory.id,
        text=memory.text,
        kind=memory.kind,
        score=found.score,
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
        via=found.via,
        fact=memory.fact,
        to_confirm=memory.to_confirm,
        confirmed_at=memory.confirmed_at,
    )


def within(hits: Sequence[Hit], budget: int | None) -> tuple[Hit, ...]:
    """The hits that a budget of tokens has room for; one too long gives way to the next."""
    if budget is None:
        return tuple(hits)
    kept: list[Hit] = []
    for one in hits:
        tokens = -(-len(one.text) // _SIGNS_PER_TOKEN)
        if tokens <= budget:
            kept.append(one)
            budget -= tokens
    return tuple(kept)
