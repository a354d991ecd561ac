"""Lousa with its vectors in a store outside: late, away or back again, users see the same as with Postgres alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import lousa
import pytest
from elsewhere import LATE, Stores
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import SchemaMismatch
from lousa.memory_layers.context import pinecone as pinecone_store
from lousa.runtime.app import Runtime
from lousa.runtime.doctor_stores import store_checks
from psycopg.conninfo import conninfo_to_dict
from servers.pinecone import Emulator

STORES = ("pinecone",)
NEVER = 3_600.0


@pytest.fixture
def emulator(stores: Stores) -> Generator[Emulator]:
    """The store outside, as it was found."""
    assert stores.emulator is not None
    yield stores.emulator
    stores.emulator.mend()
    stores.emulator.up()
    stores.emulator.delay = LATE.total_seconds()
    stores.emulator.show()


@pytest.fixture
async def runtime(servers: Endpoints, stores: Stores, tmp_path: Path, tenant: str) -> AsyncGenerator[Runtime]:
    async with opened(servers, stores, tmp_path, tenant) as runtime:
        yield runtime


@asynccontextmanager
async def opened(servers: Endpoints, stores: Stores, home: Path, tenant: str) -> AsyncGenerator[Runtime]:
    async with lousa.open(
        home=home,
        redis_url=servers.redis_url,
        postgres_url=database(servers, stores),
        vector_url=stores.vector_url,
        tenant=tenant,
        consolidate=False,
        truth=False,  # what is told here resembles itself
        deadline=timedelta(seconds=20),
    ) as runtime:
        yield runtime


def database(servers: Endpoints, stores: Stores) -> str:
    """The address of the arrangement's database, as the settings take it."""
    name = conninfo_to_dict(stores.postgres_url)["dbname"]
    return urlsplit(servers.postgres_url)._replace(path=f"/{name}").geturl()


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    while True:
        answer = holds()
        if answer is True or (isinstance(answer, Awaitable) and await answer):
            return
        await asyncio.sleep(0.05)


def held(emulator: Emulator, tenant: str) -> set[UUID]:
    """What the store holds of a tenant, shown or not."""
    return {UUID(id) for name, ids in emulator.holds().items() if name.endswith(f":{tenant}") for id in ids}


async def kept_here(connections: Connections, tenant: str) -> int:
    """Vectors of a tenant in Postgres."""
    async with connections.system_transaction(tenant) as connection:
        serving = "SELECT name FROM layer_space WHERE layer = 'context' AND state = 'serving'"
        ((space,),) = await (await connection.execute(serving)).fetchall()
        cursor = await connection.execute(f"SELECT count(*) FROM memory_vector_{space}".encode())
        return (await cursor.fetchall())[0][0]


async def owed(connections: Connections, tenant: str) -> int:
    async with connections.system_transaction(tenant) as connection:
        cursor = await connection.execute("SELECT count(*) FROM debt WHERE tenant = %s", [tenant])
        return (await cursor.fetchall())[0][0]


async def entries(connections: Connections, tenant: str, action: str) -> int:
    async with connections.system_transaction(tenant) as connection:
        cursor = await connection.execute("SELECT count(*) FROM ledger_entry WHERE action = %s", [action])
        return (await cursor.fetchall())[0][0]


async def test_what_was_remembered_is_found_by_meaning_while_the_store_shows_nothing_yet(
    runtime: Runtime, emulator: Emulator, tenant: str
) -> None:
    emulator.delay = NEVER
    desk = runtime.desk()
    receipt = await desk.remember("O contrato de aluguel vence em março")
    await until(lambda: held(emulator, tenant) == {receipt.id})
    recall = await desk.recall("when does the lease end?")
    assert [hit.id for hit in recall] == [receipt.id]
    assert recall.silent == ()


async def test_once_the_store_shows_it_the_copy_here_goes_and_it_is_found_all_the_same(
    runtime: Runtime, emulator: Emulator, tenant: str, connections: Connections
) -> None:
    desk = runtime.desk()
    receipt = await desk.remember("O contrato de aluguel vence em março")
    await until(lambda: held(emulator, tenant) == {receipt.id})

    async def gone() -> bool:
        return await kept_here(connections, tenant) == 0 and await owed(connections, tenant) == 0

    await until(gone)
    assert [hit.id for hit in await desk.recall("when does the lease end?")] == [receipt.id]


async def test_what_was_forgotten_never_comes_back_though_the_store_shows_it_still(
    runtime: Runtime, emulator: Emulator, tenant: str, connections: Connections
) -> None:
    desk = runtime.desk()
    kept, forgotten = await desk.remember("The lease ends in March"), await desk.remember("The lease ends in April")
    await until(lambda: held(emulator, tenant) == {kept.id, forgotten.id})
    emulator.delay = NEVER
    await desk.forget(forgotten.id, reason="mistaken")
    for _ in range(3):
        assert [hit.id for hit in await desk.recall("when does the lease end?")] == [kept.id]
    await until(lambda: held(emulator, tenant) == {kept.id})
    assert [hit.id for hit in await desk.recall("when does the lease end?")] == [kept.id]


async def test_a_superseded_fact_leaves_the_store(runtime: Runtime, emulator: Emulator, tenant: str) -> None:
    desk = runtime.desk()
    await desk.state_fact("the lease", "ends in", "March")
    current = await desk.state_fact("the lease", "ends in", "April")
    await until(lambda: held(emulator, tenant) == {current.id})
    assert [hit.id for hit in await desk.recall("when does the lease end?")] == [current.id]


async def test_while_the_store_is_away_writes_go_on_and_recalls_say_so_and_afterwards_it_has_everything_once(
    runtime: Runtime, emulator: Emulator, tenant: str, connections: Connections
) -> None:
    desk = runtime.desk()
    before = await desk.remember("The lease of the harbour office ends in March")
    mistaken = await desk.remember("The lease of the harbour office ends in May")
    await until(lambda: held(emulator, tenant) == {before.id, mistaken.id})
    emulator.down()
    during = [await desk.remember(f"The harbour office has {floors} floors") for floors in range(2, 12)]
    await desk.forget(mistaken.id, reason="mistaken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pinecone_store, "READING", 0.3)  # the client would try again for seconds
        recall = await desk.recall("harbour office", k=20)
    assert "context" in recall.silent
    assert {hit.id for hit in recall} == {before.id, *(receipt.id for receipt in during)}
    assert await owed(connections, tenant) > 0
    emulator.up()
    expected = {before.id, *(receipt.id for receipt in during)}
    await until(lambda: held(emulator, tenant) == expected)

    async def paid() -> bool:
        return await owed(connections, tenant) == 0

    await until(paid)
    assert held(emulator, tenant) == expected
    recall = await desk.recall("onde fica o escritório do porto?", k=20)
    assert recall.silent == ()
    assert mistaken.id not in {hit.id for hit in recall}
    assert await entries(connections, tenant, "memory.write") == 2 + len(during)


async def test_a_store_that_refuses_for_now_loses_nothing_and_is_told_of_once(
    runtime: Runtime, emulator: Emulator, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    emulator.refuse(403)  # as when a quota is used up
    before = emulator.requests["/vectors/upsert"]
    receipts = [await runtime.desk().remember(f"Berth {berth} is taken") for berth in range(5)]
    await until(lambda: emulator.requests["/vectors/upsert"] > before + 2)
    assert held(emulator, tenant) == set()
    emulator.mend()
    await until(lambda: held(emulator, tenant) == {receipt.id for receipt in receipts})
    await until(lambda: "layer 'context' answers again" in caplog.text)
    assert caplog.text.count("layer 'context' is away") == caplog.text.count("layer 'context' answers again") == 1


async def test_a_lost_answer_of_the_store_does_nothing_twice(
    runtime: Runtime, emulator: Emulator, tenant: str, connections: Connections
) -> None:
    emulator.cut(times=3)
    receipts = [await runtime.desk().remember(f"Crane {crane} is out of order") for crane in range(5)]

    async def paid() -> bool:
        return await owed(connections, tenant) == 0

    await until(lambda: held(emulator, tenant) == {receipt.id for receipt in receipts})
    await until(paid)
    assert {hit.id for hit in await runtime.desk().recall("crane", k=10)} == {receipt.id for receipt in receipts}
    assert await entries(connections, tenant, "memory.write") == 5


async def test_another_process_finds_it_too(
    runtime: Runtime, servers: Endpoints, stores: Stores, tmp_path: Path, tenant: str, emulator: Emulator
) -> None:
    emulator.delay = NEVER
    receipt = await runtime.desk().remember("O contrato de aluguel vence em março")
    async with opened(servers, stores, tmp_path / "other", tenant) as other:
        await until(lambda: held(emulator, tenant) == {receipt.id})
        assert [hit.id for hit in await other.desk().recall("when does the lease end?")] == [receipt.id]


async def test_without_the_address_of_its_store_a_database_is_refused_with_the_way_out(
    runtime: Runtime, servers: Endpoints, stores: Stores, tmp_path: Path, connections: Connections
) -> None:
    await runtime.desk().remember("Something that is in the store")

    async def used() -> bool:
        async with connections.system_transaction("") as connection:
            cursor = await connection.execute("SELECT used FROM layer_space WHERE layer = 'context'")
            return (True,) in await cursor.fetchall()

    await until(used)
    with pytest.raises(SchemaMismatch, match=r"LOUSA_VECTOR_URL.*lousa rebuild context"):
        async with lousa.open(
            home=tmp_path / "other", redis_url=servers.redis_url, postgres_url=database(servers, stores)
        ):
            pass


async def test_a_process_that_starts_while_the_store_is_away_serves_without_it_until_it_answers(
    servers: Endpoints,
    stores: Stores,
    tmp_path: Path,
    tenant: str,
    runtime: Runtime,
    emulator: Emulator,
) -> None:
    before = await runtime.desk().remember("o moinho está fechado", kind="procedural")
    await until(lambda: held(emulator, tenant) == {before.id})
    emulator.down()
    async with opened(servers, stores, tmp_path, tenant) as late:
        receipt = await late.desk().remember("a forja está aberta", kind="procedural")
        assert receipt.state == "stored"
        recall = await late.desk().recall("moinho fechado")
        assert recall.silent == ("context",)
        assert "o moinho está fechado" in [hit.text for hit in recall.hits]
        (away,) = [check async for check in store_checks(late.services)]
        assert away.state == "wrong" and "describing index" in away.said
        emulator.up()
        async with asyncio.timeout(30):
            while (await late.desk().recall("moinho fechado")).silent:  # noqa: ASYNC110  # a server comes back
                await asyncio.sleep(0.05)
        (answers,) = [check async for check in store_checks(late.services)]
        assert (answers.state, answers.what) == ("ok", "vectors") and "#" not in answers.said
