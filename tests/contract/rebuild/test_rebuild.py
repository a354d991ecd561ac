"""Layer 2 is made anew while it serves: nothing is lost, nothing comes back, and no recall is wrong meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import models
import psycopg
import pytest
from lousa.infra.errors import BadInput, LousaError, NotFound, SchemaMismatch, ServerUnavailable
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers import embedding
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.execution import memories
from lousa.memory_layers.rebuild import context
from lousa.memory_layers.rebuild.context import Progress

from .conftest import SUBJECTS, World, likeness, live, remember, rows, settled, space, vectors


async def test_another_model_takes_over_and_whoever_has_its_settings_recalls_by_likeness(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} is closed in winter" for subject in SUBJECTS))
        await settled(runtime)
    with pytest.raises(SchemaMismatch, match="rebuild context"):
        async with world.open("models:two"):
            pass
    done = await world.rebuilt()
    assert done.agreement.live == done.agreement.held == len(SUBJECTS)
    assert done.agreement.sampled == done.agreement.alike == len(SUBJECTS)
    assert (done.inherited, done.resumed, [former.model for former in done.former]) == (0, False, ["models:one one"])
    async with world.open("models:two") as runtime:
        texts, silent = await likeness(runtime, "the harbour is closed in winter")
        assert texts[0] == "the harbour is closed in winter" and silent == ()
        assert await vectors(runtime) == await live(runtime)
        tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'memory_vector_%'"
        assert await rows(runtime, tables) == [(1,)]


async def test_who_serves_under_the_same_settings_follows_without_a_restart(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} is closed in winter" for subject in SUBJECTS))
        await settled(runtime)
        before = await space(runtime)
        await world.rebuilt("models:one")
        assert await space(runtime) != before
        texts, silent = await likeness(runtime, "the orchard is closed in winter")
        assert texts[0] == "the orchard is closed in winter" and silent == ()
        [new] = await remember(runtime, "the mill is open in winter")
        await settled(runtime)
        assert new in await vectors(runtime)


async def test_who_only_writes_follows_too(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
        await world.rebuilt("models:one")
        receipt = await runtime.desk().remember("the forge is open", kind="procedural", scope="tenant")
        assert receipt.owed == ()
        assert await vectors(runtime) == await live(runtime)


async def test_who_serves_under_former_settings_goes_on_by_words_and_leaves_vectors_to_others(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.open() as former:
        await remember(former, *(f"the {subject} is closed in winter" for subject in SUBJECTS))
        await settled(former)
        await world.rebuilt()
        for _ in range(3):
            found = await former.desk().recall("the station is closed in winter", k=3)
            assert found.hits[0].text == "the station is closed in winter"
            assert "context" in found.silent and not any("dense" in hit.via for hit in found.hits)
        assert sum("rebuilt under other settings" in line for line in caplog.messages) == 1
        receipt = await former.desk().remember("the quarry is deep", kind="procedural", scope="tenant")
        assert receipt.owed == ("context",)
        await former.desk().remember("the well is deep", scope="tenant")
        assert await former.desk().recall("quarry well deep", k=2)
        assert len(await live(former)) == len(SUBJECTS) + 2
        async with world.open("models:two") as newer:
            await settled(newer)
            assert await vectors(newer) == await live(newer)
            texts, silent = await likeness(newer, "the quarry is deep")
            assert texts[0] == "the quarry is deep" and silent == ()


async def test_what_is_written_and_withdrawn_while_a_space_is_filled_is_right_in_it(world: World) -> None:
    async with world.open() as runtime:
        desk = runtime.desk()
        first, second, third = await remember(runtime, "the mill is open", "the forge is open", "the inn is open")
        await desk.state_fact("Acme", "is based in", "Recife", scope="tenant")
        quarantined = await desk.remember("the moon is open", kind="procedural", scope="tenant", source="web")
        await settled(runtime)
        curator = Principal(tenant=world.tenant, agent="user", session="default", roles=frozenset({"curator"}))
        models.gates["two"] = asyncio.Event()
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            rebuilding = group.create_task(world.rebuilt())
            while not models.calls["two"]:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
            await desk.forget(second, "said in error")
            await desk.state_fact("Acme", "is based in", "Olinda", scope="tenant")
            await remember(runtime, "the tower is open", "the mill is open")
            await runtime.services.router.confirm(curator, quarantined.id, "seen", new_id())
            await desk.remember("the bridge is open", scope="tenant")
            await desk.recall("bridge")
            assert (await likeness(runtime, "the mill is open"))[0][0] == "the mill is open"
            models.gates["two"].set()
        assert rebuilding.result().former[0].model == "models:one one"
    async with world.open("models:two") as runtime:
        await settled(runtime)
        there = await vectors(runtime)
        assert there == await live(runtime)
        assert {first, third, quarantined.id} < there and second not in there
        assert len(there) == 6


async def test_a_memory_whose_transaction_was_open_when_it_began_is_waited_for(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
        connections = runtime.services.connections
        async with asyncio.timeout(30), connections.owner_transaction() as late:
            await late.execute("SET LOCAL search_path = lousa, public")
            await late.execute(
                "INSERT INTO memory SELECT (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(),"
                " 'text', 'the forge is open', 'content_key', '\\x01'))).* FROM memory m"
            )
            rebuild = asyncio.create_task(world.rebuilt())
            # Until it was refused the moment that it waits for, and tries again.
            while not any("a moment in which nobody writes" in line for line in caplog.messages):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert await rows(runtime, "SELECT count(*) FROM layer_space WHERE layer = 'context'") == [(1,)]
        done = await rebuild
        assert done.agreement.live == done.agreement.held == 2


async def test_one_that_was_interrupted_is_gone_on_with(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} number {number}" for number in range(50) for subject in SUBJECTS))
        await settled(runtime)
        models.gates["two"], models.free["two"] = asyncio.Event(), 40
        rebuild = asyncio.create_task(world.rebuilt())
        async with asyncio.timeout(30):
            while models.calls["two"] <= 40:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
            filling = "SELECT name FROM layer_space WHERE layer = 'context' AND state = 'filling'"
            [(name,)] = await rows(runtime, filling)
            while not (kept := (await rows(runtime, f"SELECT count(*) FROM memory_vector_{name}"))[0][0]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            rebuild.cancel()
            with pytest.raises(asyncio.CancelledError):
                await rebuild
            models.gates["two"].set()
            calls = models.calls["two"]
            assert 16 <= kept <= 40
            done = await world.rebuilt()
        assert done.resumed and done.space == name and done.agreement.held == 300
        assert models.calls["two"] - calls <= 300 - kept + done.agreement.sampled


async def test_another_target_while_one_is_filled_is_refused_until_that_is_given_up(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
        models.gates["two"] = asyncio.Event()
        rebuild = asyncio.create_task(world.rebuilt())
        async with asyncio.timeout(30):
            while not models.calls["two"]:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
        rebuild.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rebuild
        with pytest.raises(SchemaMismatch, match="which was begun and is not done yet"):
            async with world.open("models:two"):
                pass
        with pytest.raises(BadInput, match=r"'models:two two' in postgres is under way.*--abandon"):
            await world.rebuilt("models:one")
        async with world.rebuild("models:one") as other:
            assert (await other.abandon()).model == "models:two two"
            with pytest.raises(NotFound, match="no rebuild of context is under way"):
                await other.abandon()
        await remember(runtime, "the forge is open")
        await settled(runtime)  # nothing is owed to a space that is gone
        assert (await likeness(runtime, "the mill is open"))[0][0] == "the mill is open"
        assert (await world.rebuilt("models:one")).agreement.held == 2


async def test_of_two_at_once_one_works_and_the_other_says_so(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
        models.gates["two"] = asyncio.Event()
        lease = timedelta(seconds=1)
        rebuild = asyncio.create_task(world.rebuilt(lease=lease))
        async with asyncio.timeout(30):
            while not models.calls["two"]:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
            with pytest.raises(LousaError, match="another process rebuilds context"):
                await world.rebuilt(lease=lease)
            async with world.rebuild() as other:
                with pytest.raises(LousaError, match="another process rebuilds context"):
                    await other.abandon()
            models.gates["two"].set()
            assert (await rebuild).agreement.held == 1


async def test_one_that_was_overtaken_does_not_switch(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
        models.gates["two"] = asyncio.Event()
        rebuild = asyncio.create_task(world.rebuilt(lease=timedelta(hours=1)))
        async with asyncio.timeout(30):
            while not models.calls["two"]:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
            async with runtime.services.connections.owner_transaction() as connection:
                await connection.execute("UPDATE lousa.rebuild SET holder = gen_random_uuid()")
            models.gates["two"].set()
            with pytest.raises(LousaError, match="taken over"):
                await rebuild
        states = "SELECT model, state FROM layer_space WHERE layer = 'context' ORDER BY model"
        assert await rows(runtime, states) == [("models:one one", "serving"), ("models:two two", "filling")]


def spoiling(world: World, statement: str, *, times: int) -> Callable[[Progress], None]:
    """Does something to the space that is being filled, each time just before it is compared with the record."""
    left = iter(range(times))

    def tell(progress: Progress) -> None:
        if progress.phase == "comparing" and next(left, None) is not None:
            with psycopg.connect(world.postgres_url) as connection:
                [(name,)] = connection.execute("SELECT name FROM lousa.layer_space WHERE state = 'filling'").fetchall()
                connection.execute(statement.replace("{table}", f"lousa.memory_vector_{name}").encode())

    return tell


STRAY = (
    "INSERT INTO {table} SELECT (jsonb_populate_record(v, jsonb_build_object('id', gen_random_uuid()))).*"
    " FROM {table} v LIMIT 1"
)
MIXED_UP = "UPDATE {table} SET embedding = (SELECT array_agg(-v)::halfvec FROM unnest(embedding::real[]) AS v)"


@pytest.mark.parametrize(
    ("spoils", "said"), [(STRAY, "1 have one too many"), (MIXED_UP, "6 of 6 are not what the model makes")]
)
async def test_a_space_that_does_not_agree_with_the_record_never_serves(world: World, spoils: str, said: str) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} is closed" for subject in SUBJECTS))
        await settled(runtime)
        before = await space(runtime)
        with pytest.raises(LousaError, match=said):
            await world.rebuilt(tell=spoiling(world, spoils, times=1))
        assert await space(runtime) == before
        assert (await likeness(runtime, "the harbour is closed"))[0][0] == "the harbour is closed"


async def test_what_a_space_lacks_is_found_and_filled_before_it_serves(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} is closed" for subject in SUBJECTS))
        await settled(runtime)
        done = await world.rebuilt(tell=spoiling(world, "DELETE FROM {table}", times=2))
        assert done.agreement.held == len(SUBJECTS)


@pytest.mark.parametrize("each", [1, 35])
async def test_a_model_that_gives_nothing_ends_it_with_the_way_on_however_few_there_are(
    world: World, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "_SETTLING", 0.1)  # pyright: ignore[reportPrivateUsage]
    many = each * len(SUBJECTS)
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} {number}" for number in range(each) for subject in SUBJECTS))
        await settled(runtime)
        models.gates["two"] = asyncio.Event()
        async with asyncio.timeout(30):
            with pytest.raises(ServerUnavailable, match=rf"{many} memories are left.*goes on from here"):
                await world.rebuilt(patience=timedelta(seconds=1))
            models.gates["two"].set()
            assert (await world.rebuilt()).agreement.held == many


async def test_what_a_model_cannot_read_holds_up_nothing_and_stays_owed(world: World) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} is closed" for subject in SUBJECTS), "the crypt is closed")
        await settled(runtime)
    models.refused["two"] = "crypt"
    done = await world.rebuilt()
    assert (done.agreement.held, done.agreement.owed, done.inherited) == (len(SUBJECTS), 1, 1)
    async with world.open("models:two") as runtime:
        assert (await likeness(runtime, "the harbour is closed"))[0][0] == "the harbour is closed"
        assert "the crypt is closed" in [hit.text for hit in await runtime.desk().recall("crypt")]
        models.refused.clear()
        await settled(runtime)
        assert (await likeness(runtime, "the crypt is closed"))[0][0] == "the crypt is closed"


async def test_an_empty_database_is_rebuilt_too(world: World) -> None:
    async with AsyncExitStack() as stack:
        done = await world.rebuilt()
        assert done.agreement.live == done.agreement.held == done.agreement.sampled == 0
        runtime = await stack.enter_async_context(world.open("models:two"))
        await remember(runtime, "the mill is open")
        assert (await likeness(runtime, "the mill is open"))[0] == ["the mill is open"]


async def test_a_debt_that_is_raised_while_it_is_paid_is_paid_again(world: World) -> None:
    async with world.open() as runtime:
        [kept] = await remember(runtime, "the mill is open")
        await settled(runtime)
        connections, who = runtime.services.connections, world.tenant
        context = ContextLayer(connections, embedding.load("models:one"))
        async with AsyncExitStack() as stack:
            await context.start(stack)
            async with connections.system_transaction(who) as connection:
                memory = (await memories.get(connection, [kept]))[kept]
                await memories.set_status(connection, [kept], "superseded")
                await context.remove(connection, [kept])
                owing = "INSERT INTO debt (tenant, memory, layer, due_at) VALUES (%s, %s, 'context', 'infinity')"
                await connection.execute(owing, (who, kept))
            async with asyncio.timeout(20), connections.system_transaction(who) as back:
                await memories.set_status(back, [kept], "live")
                await back.execute("SELECT owe(ARRAY[%s], 'context')", (kept,))
                # It reads the record as it was, finds nothing to hold, and waits for the debt that is being raised.
                paying = asyncio.create_task(context.put(who, [memory]))
                blocked = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
                while (await rows(runtime, blocked)) == [(0,)]:  # noqa: ASYNC110  # a server gets there
                    await asyncio.sleep(0.01)
            await paying
        assert await rows(runtime, "SELECT revision FROM debt") == [(1,)]
