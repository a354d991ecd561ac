"""What was accepted and is not yet where it belongs, tenant by tenant, held against the marks of back-pressure.

A debt over its soft mark is wrong and comes with the way out; any other is only on its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..infra.connections import Connections
from ..infra.sql import load_queries
from ..memory_layers.auditing import BoardAudit
from ..memory_layers.conversation.feed import Feed
from ..memory_layers.journal import Journal
from ..memory_layers.pressure import Marks
from .check import Check

_QUERIES = load_queries(__package__ or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """The debts of one tenant. `oldest` is how many seconds its oldest write has waited; None when none waits.

    `unaudited` counts the changes of all its boards that the ledger lacks, `most_unaudited` those of one board.
    """

    tenant: str
    entries: int
    bytes: int
    oldest: float | None
    vectors: int
    unaudited: int
    most_unaudited: int
    dead_letters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Debts:
    """Those of every tenant that has any, and how many relays live."""

    relays: int
    tenants: Sequence[Owed]


async def look(connections: Connections) -> Debts:
    """Every debt, as it stands."""
    journal = Journal(connections)
    known = sorted(await journal.tenants())
    waiting = await journal.owing(known)
    dead = await journal.all_buried(known)
    async with connections.system_transaction("") as connection:
        cursor = await connection.execute(_QUERIES["debts_by_tenant"])
        vectors: dict[str, int] = dict(await cursor.fetchall())
    unaudited: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for (tenant, _), lacking in (await BoardAudit(connections, Feed(connections)).unaudited()).items():
        unaudited[tenant] += lacking
        most[tenant] = max(most[tenant], lacking)
    found = [
        Owed(
            tenant=tenant,
            entries=waiting.get(tenant, (0, 0))[0],
            bytes=waiting.get(tenant, (0, 0))[1],
            oldest=await journal.oldest(tenant) if tenant in waiting else None,
            vectors=vectors.get(tenant, 0),
            unaudited=unaudited[tenant],
            most_unaudited=most[tenant],
            dead_letters=dead.get(tenant, 0),
        )
        for tenant in sorted({*waiting, *dead, *vectors, *unaudited})
    ]
    return Debts(relays=len(await journal.living()), tenants=found)


def findings(debts: Debts, marks: Marks) -> Iterator[Check]:
    """What there is to say of them."""
    alive = "relay works" if debts.relays == 1 else "relays work"
    said = f"{debts.relays} {alive}, that of this process included"
    yield Check(what="relay", state="ok" if debts.relays else "wrong", said=said)
    entries = sum(owed.entries for owed in debts.tenants)
    yield Check(what="journal", state="ok", said=f"{entries} acknowledged writes wait for their layers")
    for owed in debts.tenants:
        yield from _of(owed, marks)
    dead = ", ".join(f"{owed.dead_letters} of tenant {owed.tenant!r}" for owed in debts.tenants if owed.dead_letters)
    if dead:
        yield Check(what="dead letters", state="wrong", said=f"writes that could not be committed: {dead}")


def _of(owed: Owed, marks: Marks) -> Iterator[Check]:
    waited = f", the oldest for {owed.oldest:.0f} s" if owed.oldest is not None else ""
    for what, amount, mark, setting, way_out in (
        (
            "acknowledged writes wait for the record" + waited,
            owed.entries,
            marks.entries,
            "LOUSA_DEBT_ENTRIES",
            "keep a process open, its relay works them off",
        ),
        (
            "bytes of acknowledged writes wait for the record" + waited,
            owed.bytes,
            marks.bytes,
            "LOUSA_DEBT_MEGABYTES",
            "keep a process open, its relay works them off",
        ),
        (
            "memories wait for their vectors",
            owed.vectors,
            marks.vectors,
            "LOUSA_DEBT_VECTORS",
            "use a faster embedder, or more processes",
        ),
        (
            "changes of one board wait for the ledger",
            owed.most_unaudited,
            marks.changes,
            "LOUSA_DEBT_CHANGES",
            "keep a process open, its relay copies them",
        ),
    ):
        if amount > mark * marks.soft:
            effect = "writes are refused" if amount >= mark else "writers are slowed"
            said = f"tenant {owed.tenant!r}: {amount:,} {what}, {mark:,} may ({setting}), so {effect}: {way_out}"
            yield Check(what="back-pressure", state="wrong", said=said)
