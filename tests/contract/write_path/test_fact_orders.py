"""Facts of one key end alike in whatever order they arrive, on the real server as in the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.records import Fact, Memory

from .conftest import WritePath

DAY = timedelta(days=1)
TODAY = datetime(2026, 11, 30, tzinfo=UTC)


async def test_five_facts_with_equal_and_lost_times_end_alike_in_all_120_orders(
    path: WritePath, principal: Principal
) -> None:
    """A value that returns, two that contest a moment, and one whose time was lost: it counts from when it was said."""
    told = (("a", -50, 0.7), ("b", -40, 0.7), ("a", -30, 0.5), ("c", -30, 0.5), ("d", None, 0.7))
    knowledge = KnowledgeLayer(path.connections)
    for step in zip(*permutations(told), strict=True):  # the next fact of every order, each of a key of its own
        batch: list[Memory] = []
        for number, (value, day, trust) in enumerate(step):
            since = None if day is None else TODAY + day * DAY
            fact = Fact(subject=f"thing {number}", predicate="value", object=value, since=since)
            said = TODAY + (-45 if day is None else day) * DAY
            batch.append(
                path.memory(
                    principal, fact.sentence(), fact=fact, id=new_id(), trust=trust, occurred_at=said, recorded_at=said
                )
            )
        async with path.connections.transaction(principal) as connection:
            await memories.insert(connection, batch)
            await knowledge.state(connection, principal, batch)
    async with path.connections.system_transaction(principal.tenant) as connection:
        cursor = await connection.execute(
            "SELECT s.name, array_agg((f.object, f.valid_from, f.valid_to, f.status, m.status, m.confirmed_at)::text"
            " ORDER BY f.valid_from, f.object) FROM fact AS f JOIN entity AS s ON s.id = f.subject"
            " JOIN memory AS m ON m.id = f.id WHERE f.tenant = %s GROUP BY s.name",
            (principal.tenant,),
        )
        ends = [tuple(row[1]) for row in await cursor.fetchall()]
    assert len(ends) == 120
    assert len(set(ends)) == 1, sorted(set(ends))
    assert [end.split(",")[3] for end in ends[0]] == ["superseded"] * 3 + ["contested"] * 2
