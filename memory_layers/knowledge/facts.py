"""Facts of one key: from assertions to what held when. Pure, and independent of the order of arrival.

A key is tenant, circle of readers, qualifier, subject and predicate, compared without case and accents. Its assertions
never change; intervals and standings are derived from all of them together:

- a later `since` supersedes an earlier value, whatever the trust; at the same moment the higher trust wins
- the same moment, the same trust, different values: all are contested, until something later decides
- the same value again, while it holds, confirms the first and is no second value
- a value that returns after another one held is an interval of its own
- what is quarantined or withdrawn takes no part: it retires nothing and leaves no gap
- a key of many values retires none of them: each value is confirmed by itself. Whether it is one, the first assertion
  in good standing says; another that says otherwise is refused, so that all of a key agree
- what begins in the future leaves the present value standing until then

A key that has any assertion in good standing therefore has a current value from its first moment on: none is retired
without another that takes its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Literal
from uuid import UUID

from ..execution.memories import folded
from ..records import Fact, Memory, Scope, ScopeKind

Standing = Literal["current", "superseded", "contested", "quarantined", "withdrawn"]

_KEY_BYTES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One statement of a key: this value since then, as stated at a moment. `id` is its memory's."""

    id: UUID
    value: str
    since: datetime
    stated_at: datetime
    trust: float
    standing: Literal["good", "quarantined", "withdrawn"] = "good"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What became of an assertion: it holds from `valid_from` until `valid_to` (None: until further notice).

    `by` is the assertion that took its place, or that it confirms; an assertion that never held by itself has an empty
    interval. `confirmations` counts the assertions that stand behind this one, itself included; `confirmed_at` is the
    last time that one of them was stated.
    """

    standing: Standing
    valid_from: datetime
    valid_to: datetime | None = None
    by: UUID | None = None
    confirms: bool = False
    confirmations: int = 1
    confirmed_at: datetime


@dataclass(slots=True)
class _Interval:
    """A value while it holds; `bearer` is the assertion that began it."""

    bearer: Assertion
    begins: datetime
    confirmed_at: datetime
    confirmations: int = 1
    ends: datetime | None = None
    by: UUID | None = None
    contested: bool = False


def resolve(assertions: Iterable[Assertion], *, now: datetime, many: bool = False) -> dict[UUID, Resolved]:
    """What became of each assertion of one key."""
    resolved: dict[UUID, Resolved] = {}
    good: list[Assertion] = []
    for assertion in assertions:
        if assertion.standing == "good":
            good.append(assertion)
        else:
            resolved[assertion.id] = Resolved(
                standing=assertion.standing, valid_from=assertion.since, confirmed_at=assertion.stated_at
            )
    chains = _by_value(good) if many else [good]
    for chain in chains:
        resolved |= _resolve_chain(chain, now)
    return resolved


def holds_many(taking_part: Iterable[tuple[datetime, UUID, bool]]) -> bool:
    """Whether a key holds many values: what the first of its assertions in good standing says.

    They are given as when each was recorded, its id, and what it says.
    """
    first = min(taking_part, default=None)
    return first is not None and first[2]


def _by_value(assertions: Iterable[Assertion]) -> list[list[Assertion]]:
    ordered = sorted(assertions, key=lambda assertion: assertion.value)
    return [list(same) for _, same in groupby(ordered, key=lambda assertion: assertion.value)]


def _resolve_chain(assertions: list[Assertion], now: datetime) -> dict[UUID, Resolved]:
    resolved: dict[UUID, Resolved] = {}
    intervals: list[_Interval] = []
    holding: dict[str, _Interval] = {}
    ordered = sorted(assertions, key=lambda assertion: (assertion.since, -assertion.trust, assertion.id))
    for moment, group in groupby(ordered, key=lambda assertion: assertion.since):
        stated = list(group)
        winners = {assertion.value for assertion in stated if assertion.trust == stated[0].trust}
        for assertion in stated:
            if assertion.value not in winners:
                continue
            if interval := holding.get(assertion.value):
                interval.confirmations += 1
                interval.confirmed_at = max(interval.confirmed_at, assertion.stated_at)
                resolved[assertion.id] = _aside(assertion, interval.bearer.id, confirms=True)
            else:
                holding[assertion.value] = _Interval(assertion, moment, assertion.stated_at)
                intervals.append(holding[assertion.value])
        winner = holding[stated[0].value].bearer.id
        resolved |= {lost.id: _aside(lost, winner) for lost in stated if lost.value not in winners}
        for value in holding.keys() - winners:
            ended = holding.pop(value)
            ended.ends, ended.by = moment, winner
        for interval in holding.values():
            interval.contested = len(holding) > 1
    for interval in intervals:
        over = interval.ends is not None and interval.ends <= now
        resolved[interval.bearer.id] = Resolved(
            standing="superseded" if over else "contested" if interval.contested else "current",
            valid_from=interval.begins,
            valid_to=interval.ends,
            by=interval.by,
            confirmations=interval.confirmations,
            confirmed_at=interval.confirmed_at,
        )
    return resolved


def _aside(assertion: Assertion, by: UUID, *, confirms: bool = False) -> Resolved:
    """An assertion that holds nothing by itself."""
    return Resolved(
        standing="superseded",
        valid_from=assertion.since,
        valid_to=assertion.since,
        by=by,
        confirms=confirms,
        confirmed_at=assertion.stated_at,
    )


def key_of(memory: Memory, fact: Fact) -> bytes:
    """The digest of a fact's key; only facts of the same key may retire one another.

    The circle of readers is part of it: a private fact is about its owner's view, a shared one about its session's (or
    its execution's, outside any), and who names readers speaks for itself among them.
    """
    circle = _circle(memory.tenant, memory.scope, memory.owner, memory.session, memory.execution)
    parts = ", ".join([circle, _written(fact.qualifier), _written(fact.subject), _written(fact.predicate)])
    return hashlib.sha256(f"[{parts}]".encode()).digest()


@lru_cache(maxsize=1_000)
def _circle(tenant: str, scope: Scope, owner: str, session: str | None, execution: UUID | None) -> str:
    """Tenant and circle of readers, as JSON without the brackets around it."""
    match scope.kind:
        case ScopeKind.PRIVATE:
            circle = [owner]
        case ScopeKind.SHARED if session is not None:
            circle = ["session", session]
        case ScopeKind.SHARED:
            circle = ["execution", str(execution)]
        case ScopeKind.HIERARCHICAL:
            circle = [owner, *sorted(scope.readers), "", *sorted(scope.roles)]
        case ScopeKind.TENANT:
            circle = []
    return json.dumps([tenant, scope.kind, circle], ensure_ascii=False)[1:-1]


@lru_cache(maxsize=10_000)
def _written(name: str) -> str:
    """A name, folded, as JSON; keys come again with other values."""
    return json.dumps(folded(name), ensure_ascii=False)


@lru_cache(maxsize=10_000)
def name_key(name: str) -> str:
    """A name as it is compared and indexed: folded, and no longer than an index can hold."""
    return indexable(folded(name))


def indexable(plain: str) -> str:
    """A folded name, shortened with a digest where an index could not hold it."""
    if len(plain) * 4 <= _KEY_BYTES or len(plain.encode()) <= _KEY_BYTES:
        return plain
    return plain[:80] + "…" + hashlib.sha256(plain.encode()).hexdigest()
