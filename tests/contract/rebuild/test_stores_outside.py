"""Vectors move to a store outside, within one, and back, while memories are written: what is found stays the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import models
import pytest
from lousa.infra.errors import SchemaMismatch, ServerUnavailable, SettingsError
from lousa.runtime.app import Runtime
from lousa.runtime.rebuild import Done, rebuilding
from servers.pinecone import Emulator

from .conftest import SUBJECTS, World, likeness, live, remember, rows, settled

NEAR = timedelta(milliseconds=100)


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Pinecone's emulator, which shows a write late."""
    with Emulator(dimension=models.DIMENSIONS, delay=0.2) as emulator:
        monkeypatch.setenv("PINECONE_API_KEY", emulator.key)
        yield emulator


async def moved(world: World, embedder: str, vector_url: str | None) -> Done:
    """As the command does it."""
    settings = world.settings(embedder, vector_url=vector_url, deadline=NEAR)
    async with rebuilding(settings) as opened:
        return await opened.context()


def held(emulator: Emulator, tenant: str) -> dict[str, set[UUID]]:
    """What the store holds of a tenant, by space."""
    spaces = {name: {UUID(id) for id in ids} for name, ids in emulator.holds().items() if name.endswith(f":{tenant}")}
    return {name: ids for name, ids in spaces.items() if ids}


async def all_found(runtime: Runtime, *texts: str) -> None:
    for text in texts:
        found, silent = await likeness(runtime, text)
        assert found[0] == text and silent == ()


async def test_vectors_move_to_pinecone_within_it_and_back(world: World, emulator: Emulator) -> None:
    texts = [f"the {subject} is closed in winter" for subject in SUBJECTS]
    async with world.open() as runtime:
        await remember(runtime, *texts)
        await settled(runtime)
    there = await moved(world, "models:one", emulator.url)
    assert there.rebuilt.agreement.held == len(SUBJECTS) and there.left == []
    with pytest.raises(SchemaMismatch, match="rebuild context"):
        async with world.open():
            pass
    async with world.open(vector_url=emulator.url) as runtime:
        await all_found(runtime, *texts)
        await remember(runtime, "the mill is open")
        await settled(runtime)
        [(first, ids)] = held(emulator, world.tenant).items()
        assert ids == await live(runtime)
    within = await moved(world, "models:two", emulator.url)
    assert within.left == [] and [former.model for former in within.rebuilt.former] == ["models:one one"]
    async with world.open("models:two", vector_url=emulator.url) as runtime:
        await all_found(runtime, *texts, "the mill is open")
        await settled(runtime)
        [(second, ids)] = held(emulator, world.tenant).items()
        assert ids == await live(runtime) and second != first
    back = await moved(world, "models:two", None)
    assert len(back.left) == 1 and "its address is not at hand" in back.left[0]
    async with world.open("models:two") as runtime:
        await all_found(runtime, *texts, "the mill is open")


async def test_who_serves_from_the_same_store_follows_and_nothing_withdrawn_stays_there(
    world: World, emulator: Emulator
) -> None:
    async with world.open(vector_url=emulator.url) as runtime:
        first, *_ = await remember(runtime, *(f"the {subject} is closed" for subject in SUBJECTS))
        await settled(runtime)
        models.gates["one"] = asyncio.Event()
        models.calls.clear()
        async with asyncio.timeout(40), asyncio.TaskGroup() as group:
            moving = group.create_task(moved(world, "models:one", emulator.url))
            while not models.calls["one"]:  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
            await runtime.desk().forget(first, "said in error")
            await runtime.desk().remember("the tower is open", scope="tenant")
            models.gates["one"].set()
        assert moving.result().left == []
        await all_found(runtime, "the harbour is closed", "the tower is open")
        await remember(runtime, "the mill is open")
        await settled(runtime)
        [ids] = held(emulator, world.tenant).values()
        assert ids == await live(runtime) and first not in ids
        await all_found(runtime, "the mill is open")


async def test_one_that_is_given_up_leaves_nothing_in_the_store(world: World, emulator: Emulator) -> None:
    async with world.open() as runtime:
        await remember(runtime, *(f"the {subject} number {number}" for number in range(5) for subject in SUBJECTS))
        await settled(runtime)
        models.gates["two"], models.free["two"] = asyncio.Event(), 20
        moving = asyncio.create_task(moved(world, "models:two", emulator.url))
        async with asyncio.timeout(30):
            while not held(emulator, world.tenant):  # noqa: ASYNC110  # another task gets there
                await asyncio.sleep(0.01)
        moving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await moving
        models.gates["two"].set()
        async with rebuilding(world.settings("models:two", vector_url=emulator.url)) as opened:
            given_up, left = await opened.abandon_context()
        assert given_up.model == "models:two two" and left == []
        assert held(emulator, world.tenant) == {}
        assert await rows(runtime, "SELECT count(*) FROM debt") == [(0,)]
        await all_found(runtime, "the harbour number 3")


async def test_a_rebuild_towards_a_store_that_cannot_be_opened_leaves_nothing_begun(
    world: World, emulator: Emulator
) -> None:
    async with world.open() as runtime:
        await remember(runtime, "the mill is open")
        await settled(runtime)
    emulator.down()
    with pytest.raises(ServerUnavailable, match="describing index"):
        await moved(world, "models:one", emulator.url)
    emulator.up()
    with pytest.raises(SettingsError, match="gave no store"):
        await moved(world, "models:one", "langchain:not_there:vectors")
    async with world.open() as runtime:
        await all_found(runtime, "the mill is open")
        assert await rows(runtime, "SELECT name FROM layer_space WHERE state = 'filling'") == []
        await remember(runtime, "the forge is open")
        await settled(runtime)
    there = await moved(world, "models:one", emulator.url)
    assert not there.rebuilt.resumed and there.rebuilt.agreement.held == 2
