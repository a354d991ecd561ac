"""What a step of consolidation is, and what it is given.

A step tends the memories of one tenant. Whatever it changes it changes in batches: each is one bounded transaction,
which also writes how far the run is, so that a run that is killed at any moment leaves whole batches behind, each of
them counted and marked with the run. Running a step again finds only what is left; a second run changes nothing.

The steps of a run go in the order of `contract.ORDER`: what goes by its age goes first, so that what it takes is not
folded any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ..infra.connections import Connection
from ..memory_layers.execution.memories import folded
from ..memory_layers.policy import Policy, Then
from ..memory_layers.records import Json, MemoryKind

BATCH = 500
"""Rows that one transaction changes, at most."""
ORDER = ("expire", "archive", "deduplicate", "promote", "partitions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a step did: how many it looked at, changed, and had to leave because somebody held them at that moment.

    `flagged` are those that were marked, as to be confirmed or as looked at; nothing else about them changed. `told` is
    what else a step has to say, by name; numbers of a name are summed.
    """

    examined: int = 0
    changed: int = 0
    skipped: int = 0
    flagged: int = 0
    told: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            examined=self.examined + other.examined,
            changed=self.changed + other.changed,
            skipped=self.skipped + other.skipped,
            flagged=self.flagged + other.flagged,
            told=_together(self.told, other.told),
        )

    def to_json(self) -> dict[str, Json]:
        """As the ledger keeps it."""
        return {
            "examined": self.examined,
            "changed": self.changed,
            "skipped": self.skipped,
            "flagged": self.flagged,
            **({"told": {**self.told}} if self.told else {}),
        }


def _together(one: Mapping[str, int | str], other: Mapping[str, int | str]) -> dict[str, int | str]:
    """What two counts tell: numbers of one name are summed; of two words the later one stands."""
    both = {**one, **other}
    for name in one.keys() & other.keys():
        before, after = one[name], other[name]
        if isinstance(before, int) and isinstance(after, int):
            both[name] = before + after
    return both


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """The moment that a run takes for now, and what the table says of it. `before` are steps to think of as done."""

    now: datetime
    policy: Mapping[MemoryKind, Policy]
    before: frozenset[str] = frozenset()

    def kinds(self, *then: Then) -> list[str]:
        """The kinds of which this happens to what is too old."""
        return [kind.value for kind, policy in self.policy.items() if policy.then in then]

    def doubted(self) -> list[str]:
        """The kinds of which some is to be confirmed once it is too old."""
        return [kind.value for kind, policy in self.policy.items() if "confirm" in (policy.then, policy.told)]

    def limits(self) -> Mapping[str, object]:
        """What the queries need to tell what has lapsed: from when on it would not have."""
        given: dict[str, datetime] = {}
        for kind, policy in self.policy.items():
            if policy.kept is not None:
                given[kind.value] = self.now - policy.kept
            for category, kept in policy.by_category.items():
                given[f"{kind.value}/{folded(category)}"] = self.now - kept
        return {
            "names": [*given],
            "cutoffs": [*given.values()],
            "by_use": self.kinds("expire"),
            "spared": [kind.value for kind, policy in self.policy.items() if policy.told is not None],
        }

    def latest(self, kind: str) -> datetime | None:
        """What was recorded after this cannot have lapsed; None for a kind without a limit."""
        policy = self.policy[MemoryKind(kind)]
        kept = [*policy.by_category.values(), *([] if policy.kept is None else [policy.kept])]
        return self.now - min(kept) if kept else None

    def gone(self) -> Mapping[str, object]:
        """What the queries need to leave out what the steps before will have taken."""
        expiring = "expire" in self.before
        aged = [
            *(self.kinds("expire") if expiring else ()),
            *(self.kinds("archive") if "archive" in self.before else ()),
        ]
        dated = self.kinds("expire", "archive") if expiring else []
        return {**self.limits(), "now": self.now, "aged": aged, "dated": dated}


@dataclass(slots=True)
class Batch:
    """One transaction of a step, and what it has done so far."""

    connection: Connection
    changed: int = 0
    flagged: int = 0
    told: dict[str, int | str] = field(default_factory=dict[str, int | str])


class Removing(Protocol):
    """What taking memories out needs of a layer."""

    async def remove(self, connection: Connection, ids: Collection[UUID]) -> None:
        """Hold these no longer."""
        ...


class Work(Protocol):
    """A run, as a step sees it."""

    @property
    def entry(self) -> UUID:
        """The id of the ledger entry that the run will end with; each changed row gets it."""
        ...

    @property
    def size(self) -> int:
        """How many rows a batch changes, at most."""
        ...

    def batch(self) -> AbstractAsyncContextManager[Batch]:
        """One transaction within the tenant; counts and changes commit together, or neither does.

        Raises:
            Overtaken: the run is somebody else's now, or shall stop; nothing of this batch was done.
        """
        ...

    async def take_out(self, batch: Batch, kind: MemoryKind, ids: Sequence[UUID]) -> None:
        """Out of every layer that the table names for the kind, in the batch's transaction; nothing is owed."""
        ...


class Step(Protocol):
    """One thing that consolidation does."""

    @property
    def name(self) -> str: ...

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """What `work` would count: reads only."""
        ...

    async def work(self, work: Work, hour: Hour) -> None:
        """Do it, batch after batch, until nothing is left that is free."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did in a tenant. `entry` is its ledger entry's id; a dry run has none."""

    tenant: str
    entry: UUID | None
    steps: Mapping[str, Counts] = field(default_factory=dict[str, Counts])
