"""A run counts what it does, is one ledger entry, does nothing twice, and leaves nothing behind unentered."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from lousa.consolidation import partitions
from lousa.consolidation.contract import ORDER, Batch, Counts, Hour, Work
from lousa.consolidation.expire import Expire
from lousa.consolidation.run import Consolidation, Overtaken, in_order
from lousa.infra.connections import Connection
from lousa.infra.errors import BadInput
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import Fact, MemoryKind

if TYPE_CHECKING:
    from .conftest import Tended

pytestmark = pytest.mark.usefixtures("to_the_letter")
DAY = timedelta(days=1)
MEMORIES = ("memory", "memory_words", "debt", "fact")


async def filled(tended: Tended, who: Principal) -> None:
    """Something for every step, with some that two steps could take."""
    fact = Fact(subject="Ana", predicate="likes", object="chá")
    await tended.keep(
        who,
        *(tended.aged(who, f"an old word {number}", (80 + number) * DAY) for number in range(25)),
        *(tended.aged(who, f"an old word {number}.", (60 + number) * DAY) for number in range(25)),
        *(
            tended.aged(who, f"an episode {number}", (80 + number) * DAY, kind=MemoryKind.EPISODIC)
            for number in range(25)
        ),
        *(tended.aged(who, f"an episode {number}.", number * DAY, kind=MemoryKind.EPISODIC) for number in range(25)),
        tended.aged(who, "an episode with a date", DAY, kind=MemoryKind.EPISODIC, expires_at=tended.now),
        tended.aged(who, fact.sentence(), 366 * DAY, fact=fact, category="preference"),
        tended.aged(who, "a rule", 900 * DAY, kind=MemoryKind.PROCEDURAL),
        embed=True,
    )


async def test_a_dry_run_changes_nothing_and_counts_what_a_run_then_does(tended: Tended, principal: Principal) -> None:
    await filled(tended, principal)
    before = await tended.database()
    dry = await tended.consolidation.examine(principal.tenant)
    alone = {name: await tended.consolidation.examine(principal.tenant, [name]) for name in ORDER}
    assert await tended.database() == before
    real = await tended.run(principal.tenant)
    assert dry.steps == real.steps
    assert [dry.steps[name].changed > 0 for name in ("expire", "archive", "deduplicate")] == [True] * 3
    assert dry.steps["expire"].flagged == 1
    assert alone["deduplicate"].steps["deduplicate"].changed > dry.steps["deduplicate"].changed
    assert (dry.entry, dry.tenant) == (None, principal.tenant)
    changed = {name for name, digest in (await tended.database()).items() if digest != before[name]}
    assert {"memory", "memory_words"} <= changed and "consolidation_run" not in changed


async def test_a_dry_run_cannot_write(tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    async def writing(self: Expire, connection: Connection, hour: Hour) -> Counts:
        await connection.execute("UPDATE memory SET uses = 0")
        return Counts()

    monkeypatch.setattr(Expire, "examine", writing)
    with pytest.raises(Exception, match="read-only"):
        await tended.consolidation.examine(principal.tenant, ["expire"])


async def test_a_second_run_changes_nothing_but_the_ledger(tended: Tended, principal: Principal) -> None:
    await filled(tended, principal)
    await tended.run(principal.tenant)
    once = await tended.database()
    second = await tended.run(principal.tenant)
    assert {name: (each.changed, each.skipped, each.flagged) for name, each in second.steps.items()} == dict.fromkeys(
        ORDER, (0, 0, 0)
    )
    twice = await tended.database()
    assert {name for name in once if once[name] != twice[name] and not name.startswith("ledger_entry_")} == set()


async def test_a_run_is_one_entry_that_counts_each_step_and_names_what_it_changed(
    tended: Tended, principal: Principal
) -> None:
    await filled(tended, principal)
    report = await tended.run(principal.tenant, by="user")
    [(entry, outcome, steps)] = await tended.entries(principal.tenant)
    assert (entry, outcome) == (report.entry, "done")
    assert steps == {name: counts.to_json() for name, counts in report.steps.items()}
    done = sum(each.changed + each.flagged for each in report.steps.values())
    query = "SELECT count(*) FROM memory WHERE consolidated_by = %s AND superseded_by IS DISTINCT FROM id"
    keepers = "SELECT count(DISTINCT superseded_by) FROM memory WHERE consolidated_by = %s AND status = 'superseded'"
    [(named,)], [(kept,)] = (
        await tended.rows(principal.tenant, query, entry),
        await tended.rows(principal.tenant, keepers, entry),
    )
    assert named == done + kept
    assert await tended.rows(principal.tenant, "SELECT id FROM consolidation_run WHERE tenant = current_tenant()") == []
    assert await tended.consolidation.run(principal.tenant, entry=entry) is None
    assert len(await tended.entries(principal.tenant)) == 1


async def test_what_a_broken_off_run_had_done_is_entered_by_the_next(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tended, principal)
    broken = new_id()
    await broken_off(tended, principal, monkeypatch, broken, after=2)
    assert await tended.entries(principal.tenant) == []
    report = await tended.run(principal.tenant)
    [(first, outcome, steps), (second, done, _)] = await tended.entries(principal.tenant)
    assert (first, outcome, second, done) == (broken, "interrupted", report.entry, "done")
    [(named,)] = await tended.rows(
        principal.tenant, "SELECT count(*) FROM memory WHERE consolidated_by = %s AND tenant = current_tenant()", broken
    )
    assert sum(step["changed"] for step in steps.values()) == named > 0


async def test_a_run_that_is_taken_up_ends_as_one_that_was_never_broken_off(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tended, principal)
    expected = (await tended.consolidation.examine(principal.tenant)).steps
    entry = new_id()
    for after in (1, 1, 2, 3):
        await broken_off(tended, principal, monkeypatch, entry, after=after)
    report = await another(tended).run(principal.tenant, entry=entry)
    assert report is not None and report.steps == expected
    assert [(id, outcome) for id, outcome, _ in await tended.entries(principal.tenant)] == [(entry, "done")]


async def broken_off(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch, entry: object, *, after: int
) -> None:
    """A run of another process that dies in a batch, after so many that were committed."""
    dying = another(tended)
    from lousa.consolidation.run import _Run  # pyright: ignore[reportPrivateUsage]  # where a batch is left

    whole, left = _Run.take_out, [after]

    async def take_out(self: Work, batch: Batch, kind: MemoryKind, ids: list[object]) -> None:
        if not left[0]:
            raise InterruptedError
        left[0] -= 1
        await whole(self, batch, kind, ids)  # pyright: ignore[reportArgumentType]  # the same

    with monkeypatch.context() as patched, pytest.raises(InterruptedError):
        patched.setattr(_Run, "take_out", take_out)
        await dying.run(principal.tenant, entry=entry)  # pyright: ignore[reportArgumentType]  # an id


def another(tended: Tended, **parts: object) -> Consolidation:
    """Another process's."""
    mine = tended.consolidation
    return Consolidation(mine.connections, table(), mine.layers, clock=mine.clock, batch=10, **parts)  # pyright: ignore[reportArgumentType]


async def test_whoever_was_overtaken_commits_nothing_more(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is over and the run is somebody else's; it finds out at its next batch."""
    await filled(tended, principal)
    slow, entry = another(tended, lease=timedelta(0)), new_id()
    go_on, held = asyncio.Event(), asyncio.Event()
    work = Expire.work

    async def waiting(self: Expire, work_of: Work, hour: Hour) -> None:
        held.set()
        await go_on.wait()
        await work(self, work_of, hour)

    with monkeypatch.context() as patched:
        patched.setattr(Expire, "work", waiting)
        first = asyncio.create_task(slow.run(principal.tenant, entry=entry))
        await held.wait()
    report = await tended.run(principal.tenant, entry=entry)
    digest = await tended.database()
    go_on.set()
    with pytest.raises(Overtaken):
        await first
    assert await tended.database() == digest
    assert [id for id, _, _ in await tended.entries(principal.tenant)] == [report.entry]


async def test_one_that_is_under_way_is_left_to_whoever_is_at_it(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, go_on, held = new_id(), asyncio.Event(), asyncio.Event()

    async def waiting(self: Expire, work: Work, hour: Hour) -> None:
        held.set()
        await go_on.wait()

    with monkeypatch.context() as patched:
        patched.setattr(Expire, "work", waiting)
        first = asyncio.create_task(tended.run(principal.tenant, "expire", entry=entry))
        await held.wait()
    with pytest.raises(Overtaken, match="somebody else"):
        await another(tended).run(principal.tenant, entry=entry)
    go_on.set()
    assert (await first).entry == entry


async def test_a_run_that_is_told_to_stop_leaves_whole_batches(tended: Tended, principal: Principal) -> None:
    await filled(tended, principal)
    stopping = asyncio.Event()
    stopping.set()
    with pytest.raises(Overtaken, match="told to stop"):
        await tended.consolidation.run(principal.tenant, stopping=stopping)
    assert (await tended.run(principal.tenant)).steps["expire"].changed > 0


async def test_steps_run_in_their_order_and_an_unknown_one_is_refused_by_the_names_of_all(
    tended: Tended, principal: Principal
) -> None:
    assert in_order(["deduplicate", "expire"]) == ("expire", "deduplicate")
    assert in_order([]) == ORDER
    with pytest.raises(BadInput, match=r"no step 'polish'.*expire, archive, deduplicate, promote, partitions"):
        await tended.run(principal.tenant, "polish")
    assert await tended.entries(principal.tenant) == []


async def test_the_ledger_gets_room_for_the_months_to_come(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await without_months_beyond(tended, 12)
    monkeypatch.setattr(partitions, "AHEAD", 14)
    dry = await tended.consolidation.examine(principal.tenant, ["partitions"])
    report = await tended.run(principal.tenant, "partitions")
    assert report.steps == dry.steps == {"partitions": Counts(examined=45, changed=6)}
    assert (await tended.counts(principal.tenant, "partitions")) == Counts()
    entry = "INSERT INTO ledger_entry (id, retention, tenant, agent, occurred_at, action, outcome, subject)"
    found = await tended.rows(
        principal.tenant,
        f"{entry} SELECT lowest_id(now() + interval '14 months'), class, current_tenant(), 'a', now(), 'x', 'y', ''"
        " FROM unnest(ARRAY['operational', 'standard', 'decision']) AS class"
        " RETURNING tableoid::regclass::text ~ '_[0-9]{6}$', has_table_privilege('lousa_app', tableoid, 'SELECT')",
    )
    assert found == [(True, False)] * 3


async def test_a_ledger_that_is_in_use_is_left_for_another_time(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await without_months_beyond(tended, 12)
    monkeypatch.setattr(partitions, "AHEAD", 13)
    monkeypatch.setattr(partitions, "PATIENCE", "50ms")
    async with tended.connections.transaction(principal) as connection:
        await connection.execute("SELECT FROM ledger_entry LIMIT 1")
        assert (await tended.counts(principal.tenant, "partitions")).skipped == 3
    assert (await tended.counts(principal.tenant, "partitions")).changed == 3


async def test_a_month_that_has_entries_already_stays_as_it_is_and_the_others_are_made(
    tended: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a database that nobody opened for more than a year."""
    await without_months_beyond(tended, 12)
    monkeypatch.setattr(partitions, "AHEAD", 13)
    query = "SELECT month FROM missing_partitions(13) WHERE class = 'standard'"
    [(month,)] = await tended.rows(principal.tenant, query)
    await tended.rows(
        principal.tenant,
        "INSERT INTO ledger_entry (id, retention, tenant, agent, occurred_at, action, outcome, subject)"
        " SELECT lousa.lowest_id(%s), 'standard', current_tenant(), 'a', now(), 'x', 'y', '' RETURNING id",
        month,
    )
    assert await tended.counts(principal.tenant, "partitions") == Counts(changed=2, skipped=1)
    await without_months_beyond(tended, 12)


async def without_months_beyond(tended: Tended, months: int) -> None:
    """Take the partitions of later months away, with what other tests put there."""
    async with tended.connections.owner_transaction() as connection:
        cursor = await connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE relnamespace = 'lousa'::regnamespace AND relispartition"
            " AND relkind = 'r' AND relname ~ '_[0-9]{6}$'"
            " AND right(relname, 6) > to_char(now() AT TIME ZONE 'UTC' + make_interval(months => %s), 'YYYYMM')",
            (months,),
        )
        for (name,) in await cursor.fetchall():
            await connection.execute(f"DROP TABLE {name}".encode())
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            "DELETE FROM lousa.ledger_entry WHERE id > lousa.lowest_id(clock_timestamp() + interval '300 days')"
        )
