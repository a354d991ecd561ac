"""A store of vectors that is away, or that does not fit, says so in one way."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest
from lousa.infra.errors import ServerUnavailable, SettingsError
from lousa.memory_layers.context.remote import VectorStore

from .conftest import DIMENSIONS, EVERYONE, Backend, Model, found, points, put, vectors


async def test_every_verb_says_that_the_store_is_away_and_works_again_after(
    backend: Backend, store: VectorStore, tenant: str
) -> None:
    if backend.away is None:
        pytest.skip("this store cannot be taken away")
    held, ids = points(2), []
    await put(store, tenant, held)
    ids = [point.id for point in held]
    with backend.away():
        for verb in (
            lambda: store.put(tenant, held),
            lambda: store.remove(tenant, ids),
            lambda: store.nearest(tenant, held[0].vector, circles=[EVERYONE], kinds=[], k=1),
            lambda: store.shown(tenant, ids),
            *([lambda: store.count(tenant)] if store.capabilities.counts else []),
            lambda: store.clear(tenant),
        ):
            with pytest.raises(ServerUnavailable):
                await verb()

    async def back() -> bool:
        with suppress(ServerUnavailable):  # for a moment it may be left alone
            return set(await found(store, tenant, vectors(1)[0])) == set(ids)
        return False

    async with asyncio.timeout(30):
        while not await back():  # noqa: ASYNC110 - what is waited for happens in a server
            await asyncio.sleep(0.02)
    await put(store, tenant, points(1))


async def test_a_store_that_is_away_is_not_started(backend: Backend) -> None:
    if backend.away is None:
        pytest.skip("this store cannot be taken away")
    async with AsyncExitStack() as stack:
        with backend.away(), pytest.raises(ServerUnavailable):
            await backend.open().start(stack)


async def test_an_index_of_other_dimensions_is_refused_with_the_way_out(backend: Backend) -> None:
    if not backend.checks_dimensions:
        pytest.skip("this store learns the dimensions from what is put")
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match=rf"{DIMENSIONS}.*{DIMENSIONS + 1}.*LOUSA_VECTOR_URL"):
            await backend.open(Model(dimensions=DIMENSIONS + 1)).start(stack)


async def test_a_store_is_named_without_secrets_and_alike_when_opened_again(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", "a-key")
    first, second = backend.open(), backend.open()
    assert first.name == second.name
    assert "a-key" not in first.name
