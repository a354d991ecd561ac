"""What is Pinecone's own: its address and key, its limits, when a write shows, and how its failures are told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy
import pytest
from lousa.infra.errors import BadInput, LousaError, ServerUnavailable, SettingsError, WrongTenant
from lousa.memory_layers.context import pinecone
from lousa.memory_layers.context.pinecone import PineconeStore
from lousa.memory_layers.context.remote import Point
from lousa.memory_layers.context.stores import vector_store
from servers.pinecone import Emulator

from .conftest import DIMENSIONS, EVERYONE, Model, found, mark, points, vectors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.skipif(
    "LOUSA_TEST_PINECONE_HOST" in os.environ, reason="LOUSA_TEST_PINECONE_HOST: only the emulator has these controls"
)
MODEL = Model()
[ASKED] = vectors(1, seed=1)


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Generator[Emulator]:
    monkeypatch.setenv("PINECONE_API_KEY", "a-key")
    with Emulator(dimension=DIMENSIONS, key="a-key") as emulator:
        yield emulator


@contextmanager
def impatience() -> Generator[None]:
    """Requests may take little here, so that nobody waits for the client's own retries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pinecone, "LEFT_ALONE", 0.0)
        for patience in ("READING", "WRITING"):
            patch.setattr(pinecone, patience, 0.3)
        yield


@asynccontextmanager
async def started(url: str, model: Model = MODEL) -> AsyncGenerator[PineconeStore]:
    async with AsyncExitStack() as stack:
        store = PineconeStore(url, model)
        await store.start(stack)
        yield store


# Addresses and keys


@pytest.mark.parametrize(
    "url",
    [
        "pinecone://",
        "pinecone:lousa",
        "pinecone:///lousa",
        "pinecone://lousa/other",
        "pinecone://lousa?hots=typo.io",
        "pinecone://lousa#part",
        "pinecone://lousa?host=one.io&region=us",
        "pinecone://lousa?host=pinecone://lousa?host=one.io",
    ],
)
def test_a_malformed_address_is_refused_with_the_form(url: str) -> None:
    with pytest.raises(SettingsError, match="pinecone://INDEX"):
        vector_store(url, Model())


@pytest.mark.parametrize(
    "url", ["pinecone://pcsk_secret@lousa", "pinecone://me:pcsk_secret@lousa", "pinecone://lousa?api_key=pcsk_secret"]
)
def test_a_key_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        vector_store(url, Model())
    assert "pcsk_secret" not in str(refused.value)


def test_a_name_says_index_host_model_and_generation() -> None:
    store = vector_store("pinecone://lousa?host=https://lousa-x1.svc.pinecone.io/", Model(), generation=3)
    assert store.name == "pinecone://lousa?host=lousa-x1.svc.pinecone.io#0123456789ab.3"
    assert vector_store("pinecone://lousa?host=lousa-x1.svc.pinecone.io", Model(), generation=3).name == store.name


def test_without_its_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start() -> None:
        async with AsyncExitStack() as stack:
            await PineconeStore("pinecone://lousa?host=lousa-x1.svc.pinecone.io", Model()).start(stack)

    monkeypatch.setattr(pinecone, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - any name
    with pytest.raises(SettingsError, match=r"pip install 'lousa\[pinecone\]'"):
        asyncio.run(start())


@pytest.mark.parametrize("key", ["", "  ", "wrong-key", "a-key\n"])
async def test_a_missing_or_wrong_key_is_refused_at_the_start(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", key)
    with pytest.raises(SettingsError, match="PINECONE_API_KEY") as refused:
        async with started(emulator.url):
            pass
    assert "wrong-key" not in str(refused.value)
    assert key or "is not set" in str(refused.value)


async def test_without_a_host_it_is_looked_up(emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tenant: str) -> None:
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", emulator.host)
    async with started("pinecone://lousa") as store:
        held = points(1)
        await store.put(tenant, held)
        assert await found(store, tenant, ASKED) == [held[0].id]
        assert store.name == "pinecone://lousa#0123456789ab.0"
    assert emulator.requests["/indexes/lousa"] == 1
    with pytest.raises(SettingsError, match=r"no index 'other'.*dimension=16"):
        async with started("pinecone://other"):
            pass


# What fits


async def test_an_index_by_dot_product_gives_cosines_too(emulator: Emulator, tenant: str) -> None:
    emulator.metric = "dotproduct"
    async with started(emulator.url) as store:
        held = points(20)
        await store.put(tenant, held)
        answer = await store.nearest(tenant, ASKED, circles=[EVERYONE], kinds=[], k=20)
        assert dict(answer) == pytest.approx({point.id: float(point.vector @ ASKED) for point in held}, abs=1e-3)


async def test_an_index_by_distance_is_refused_with_the_way_out(emulator: Emulator) -> None:
    emulator.metric = "euclidean"
    with pytest.raises(SettingsError, match=r"'euclidean'.*metric='cosine'.*LOUSA_VECTOR_URL"):
        async with started(emulator.url):
            pass


async def test_an_index_without_dense_vectors_is_refused(emulator: Emulator) -> None:
    emulator.vector_type = "sparse"
    with pytest.raises(SettingsError, match=r"no dense vectors.*dimension=16"):
        async with started(emulator.url):
            pass


# Limits


async def test_requests_stay_below_pinecones_limits(monkeypatch: pytest.MonkeyPatch, tenant: str) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", "a-key")
    with Emulator(dimension=384, key="a-key") as emulator:
        async with started(emulator.url, Model(dimensions=384)) as store:
            readers = [mark(str(reader)) for reader in range(1_900)]
            held = [*points(900, dimensions=384), *points(60, dimensions=384, circles=readers)]
            await store.put(tenant, held)
            assert await store.count(tenant) == 960
            # As few as its limits allow: the emulator refuses what is larger.
            assert emulator.requests["/vectors/upsert"] == 4
            assert emulator.largest > 1_500_000
            await store.remove(tenant, [uuid4() for _ in range(2_001)])
            assert emulator.requests["/vectors/delete"] == 3


async def test_the_longest_and_oddest_tenant_has_a_namespace_that_pinecone_takes(emulator: Emulator) -> None:
    async with started(emulator.url) as store:
        for tenant in ("\N{ROCKET}" * 5_000, "\x01", "\n", "é" * 100):
            held = points(1)
            await store.put(tenant, held)
            assert await found(store, tenant, ASKED) == [held[0].id]
        assert all(name.isascii() and name.isprintable() and len(name) <= 512 for name in emulator.holds())
        with pytest.raises(WrongTenant):
            await store.put("", points(1))


async def test_a_question_for_more_than_pinecone_gives_is_answered_with_what_it_gives(
    emulator: Emulator, tenant: str
) -> None:
    async with started(emulator.url) as store:
        await store.put(tenant, points(3))
        assert len(await found(store, tenant, ASKED, k=1_000_000)) == 3


# When a write shows


async def test_a_write_is_acknowledged_before_it_shows(emulator: Emulator, tenant: str) -> None:
    emulator.delay = 3_600
    async with started(emulator.url) as store:
        held = points(2)
        await store.put(tenant, held)
        assert await store.shown(tenant, [point.id for point in held]) == set()
        assert await found(store, tenant, ASKED) == []


async def test_a_fetch_that_sees_a_write_makes_nothing_shown(emulator: Emulator, tenant: str) -> None:
    emulator.delay, emulator.fetch_delay = 3_600, 0
    async with started(emulator.url) as store:
        held = points(1)
        await store.put(tenant, held)
        assert await store.shown(tenant, [held[0].id]) == set()


async def test_a_replaced_record_is_not_shown_in_its_old_form(emulator: Emulator, tenant: str) -> None:
    async with started(emulator.url) as store:
        held = points(2, circles=[mark("old")])
        await store.put(tenant, held)
        emulator.delay = 3_600
        await store.put(tenant, [Point(id=held[0].id, kind="semantic", circles=[mark("new")], vector=held[0].vector)])
        assert await found(store, tenant, ASKED, circles=[mark("old")]) != []
        assert await store.shown(tenant, [point.id for point in held]) == {held[1].id}


async def test_writing_the_same_again_does_not_put_off_when_it_is_shown(emulator: Emulator, tenant: str) -> None:
    async with started(emulator.url) as store:
        held = points(1)
        await store.put(tenant, held)
        emulator.delay = 3_600
        await store.put(tenant, held)
        assert await store.shown(tenant, [held[0].id]) == {held[0].id}


async def test_a_write_that_pinecone_forgot_the_place_of_is_shown_once_it_is_old(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tenant: str
) -> None:
    async with started(emulator.url) as store:
        held = points(1)
        await store.put(tenant, held)
        emulator.delay = 3_600
        [changed] = points(1, seed=4)
        await store.put(tenant, [Point(id=held[0].id, kind="fact", circles=[EVERYONE], vector=changed.vector)])
        assert await store.shown(tenant, [held[0].id]) == set()
        monkeypatch.setattr(pinecone, "_CATCHING_UP", -1.0)
        assert await store.shown(tenant, [held[0].id]) == {held[0].id}


# Failures


@pytest.mark.parametrize("status", [401, 402, 403, 404, 409, 412])
async def test_a_refusal_that_is_about_us_counts_as_away(emulator: Emulator, tenant: str, status: int) -> None:
    async with started(emulator.url) as store:
        emulator.refuse(status)
        for verb in (
            lambda: store.put(tenant, points(1)),
            lambda: store.remove(tenant, [uuid4()]),
            lambda: found(store, tenant, ASKED),
            lambda: store.clear(tenant),
        ):
            with pytest.raises(ServerUnavailable):
                await verb()


@pytest.mark.parametrize(("status", "retry_after"), [(429, 60.0), (429, None), (500, None), (503, 1.0), (504, None)])
async def test_throttled_or_broken_it_counts_as_away_and_nobody_waits_as_long_as_it_says(
    emulator: Emulator, tenant: str, status: int, retry_after: float | None
) -> None:
    async with started(emulator.url) as store:
        await store.put(tenant, held := points(1))
        emulator.refuse(status, retry_after=retry_after)
        with impatience():
            with pytest.raises(ServerUnavailable):
                await found(store, tenant, ASKED)
            with pytest.raises(ServerUnavailable):
                await store.put(tenant, points(1))
        emulator.mend()
        assert await found(store, tenant, ASKED) == [held[0].id]


async def test_a_store_that_answers_too_late_counts_as_away(emulator: Emulator, tenant: str) -> None:
    async with started(emulator.url) as store:
        await store.put(tenant, held := points(1))
        emulator.latency = 0.6
        with impatience(), pytest.raises(ServerUnavailable, match="in time"):
            await found(store, tenant, ASKED)
        emulator.latency = 0
        assert await found(store, tenant, ASKED) == [held[0].id]


async def test_a_tenant_whose_question_was_not_answered_waits_for_no_other_and_others_are_asked(
    emulator: Emulator, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinecone, "LEFT_ALONE", 3_600.0)
    async with started(emulator.url) as store:
        held = points(1)
        for name in (tenant, "another"):
            await store.put(name, held)
        emulator.latency = 0.6
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ServerUnavailable, match="in time"):
            patch.setattr(pinecone, "READING", 0.3)
            await found(store, tenant, ASKED)
        emulator.latency = 0
        with pytest.raises(ServerUnavailable, match="a moment ago"):
            await found(store, tenant, ASKED)
        assert await found(store, "another", ASKED) == [held[0].id]


@pytest.mark.parametrize("given_up", ["early", "late"])
async def test_a_question_that_was_given_up_late_counts_as_not_answered(
    emulator: Emulator, tenant: str, monkeypatch: pytest.MonkeyPatch, given_up: str
) -> None:
    monkeypatch.setattr(pinecone, "LEFT_ALONE", 3_600.0)
    monkeypatch.setattr(pinecone, "_LONG", 0.0 if given_up == "late" else 3_600.0)
    async with started(emulator.url) as store:
        held = points(1)
        await store.put(tenant, held)
        emulator.latency = 0.5
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await found(store, tenant, ASKED)
        emulator.latency = 0
        if given_up == "early":
            assert await found(store, tenant, ASKED) == [held[0].id]
        else:
            with pytest.raises(ServerUnavailable, match="a moment ago"):
                await found(store, tenant, ASKED)


async def test_hundreds_of_questions_given_up_under_load_leave_the_store_usable(
    emulator: Emulator, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinecone, "READING", 20.0)
    monkeypatch.setattr(pinecone, "LEFT_ALONE", 0.0)
    chance = Random(7)

    async def give_up(store: PineconeStore) -> None:
        with suppress(TimeoutError, ServerUnavailable):
            async with asyncio.timeout(chance.random() * 0.08):
                await found(store, tenant, ASKED)

    async with started(emulator.url) as store:
        held = points(1)
        await store.put(tenant, held)
        emulator.latency = 0.005
        for _ in range(8):
            await asyncio.gather(*(give_up(store) for _ in range(60)))
        assert await found(store, tenant, ASKED) == [held[0].id]


async def test_closing_ends_the_questions_that_nobody_waits_for(emulator: Emulator, tenant: str) -> None:
    async with started(emulator.url) as store:
        await store.put(tenant, points(1))
        emulator.latency = 0.5
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await found(store, tenant, ASKED)
        before = asyncio.all_tasks()
    assert len(before) > len(asyncio.all_tasks())


async def test_a_lost_answer_leaves_one_record(emulator: Emulator, tenant: str) -> None:
    async with started(emulator.url) as store:
        held = points(3)
        emulator.cut()
        try:
            await store.put(tenant, held)
        except ServerUnavailable:
            await store.put(tenant, held)
        assert await store.count(tenant) == 3


@pytest.mark.parametrize("kind", ["short", "nan", "zero"])
async def test_what_is_wrong_with_a_vector_is_no_outage(emulator: Emulator, tenant: str, kind: str) -> None:
    wrong = {
        "short": vectors(1, DIMENSIONS - 1)[0],
        "nan": numpy.full(DIMENSIONS, numpy.nan, dtype=numpy.float32),
        "zero": numpy.zeros(DIMENSIONS, dtype=numpy.float32),
    }[kind]
    async with started(emulator.url) as store:
        with pytest.raises(BadInput):
            await store.put(tenant, [Point(id=uuid4(), kind="fact", circles=[EVERYONE], vector=wrong)])
        await store.put(tenant, points(1))
        assert await store.count(tenant) == 1


async def test_no_error_shows_the_key(emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tenant: str) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", "pcsk_secret")
    emulator.key = "pcsk_secret"
    async with started(emulator.url) as store:
        for status in (400, 401, 403, 404):
            emulator.mend()
            emulator.refuse(status)
            with pytest.raises(LousaError) as error:
                await store.put(tenant, points(1))
            assert "pcsk_secret" not in f"{error.value!r} {error.value.__cause__!r}"
