"""A process that starts while its store of vectors is away serves without it, and uses it once it answers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

import pytest
from lousa.infra.errors import ServerUnavailable, SettingsError
from lousa.memory_layers.context.late import LateStore

from .conftest import EVERYONE, Backend, Model, found, points, put


async def answers(store: LateStore, tenant: str) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await store.shown(tenant, [points(1)[0].id])
            except ServerUnavailable:
                await asyncio.sleep(0.02)
            else:
                return


async def test_a_store_that_is_away_at_the_start_is_used_once_it_answers(
    backend: Backend, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    if backend.away is None:
        pytest.skip("this store cannot be taken away")
    store = LateStore(backend.open())
    async with AsyncExitStack() as stack:
        with backend.away():
            await store.start(stack)
            held = points(2)
            for verb in (
                lambda: store.put(tenant, held),
                lambda: store.remove(tenant, [held[0].id]),
                lambda: store.nearest(tenant, held[0].vector, circles=[EVERYONE], kinds=[], k=1),
                lambda: store.shown(tenant, [held[0].id]),
                lambda: store.count(tenant),
                lambda: store.clear(tenant),
            ):
                with pytest.raises(ServerUnavailable):
                    await verb()
        assert "away at the start" in caplog.text
        await answers(store, tenant)
        await put(store, tenant, held)
        assert set(await found(store, tenant, held[0].vector)) == {point.id for point in held}
    assert store.name == backend.open().name


async def test_a_store_that_turns_out_not_to_fit_stays_away_and_the_log_says_why(
    backend: Backend, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    if backend.away is None or not backend.checks_dimensions:
        pytest.skip("this store cannot be taken away, or learns the dimensions from what is put")
    store = LateStore(backend.open(Model(dimensions=17)))
    async with AsyncExitStack() as stack:
        with backend.away():
            await store.start(stack)
        async with asyncio.timeout(30):
            while not any(record.levelno == logging.ERROR for record in caplog.records):  # noqa: ASYNC110 - a server's turn
                await asyncio.sleep(0.02)
        with pytest.raises(ServerUnavailable, match="LOUSA_VECTOR_URL"):
            await store.shown(tenant, [points(1)[0].id])


async def test_a_store_that_answers_and_does_not_fit_is_refused_at_once(backend: Backend) -> None:
    if not backend.checks_dimensions:
        pytest.skip("this store learns the dimensions from what is put")
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match="LOUSA_VECTOR_URL"):
            await LateStore(backend.open(Model(dimensions=17))).start(stack)


async def test_whoever_leaves_before_it_answers_waits_for_nothing(backend: Backend) -> None:
    if backend.away is None:
        pytest.skip("this store cannot be taken away")
    with backend.away():
        async with AsyncExitStack() as stack:
            await LateStore(backend.open()).start(stack)
        assert not [task for task in asyncio.all_tasks() if "that is away" in task.get_name()]
