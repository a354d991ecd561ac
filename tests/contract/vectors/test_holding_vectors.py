"""What a store of vectors holds: what was put last, once, of one tenant, until it is removed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

from lousa.memory_layers.context.remote import Point, VectorStore

from .conftest import EVERYONE, Backend, Model, found, mark, points, put, until, vectors

[ASKED] = vectors(1, seed=1)


async def gone(store: VectorStore, tenant: str, *left: UUID) -> None:
    """Wait until exactly these are left."""

    async def holds() -> bool:
        return set(await found(store, tenant, ASKED)) == set(left)

    await until(store, holds)


async def test_what_is_put_twice_is_held_once(store: VectorStore, tenant: str) -> None:
    held = points(3)
    await put(store, tenant, held)
    await put(store, tenant, held)
    assert sorted(await found(store, tenant, ASKED)) == sorted(point.id for point in held)


async def test_twice_in_one_put_the_last_one_holds(store: VectorStore, tenant: str) -> None:
    first, last = vectors(2)
    twice = [Point(id=uuid4(), kind="fact", circles=[EVERYONE], vector=first)]
    twice.append(Point(id=twice[0].id, kind="fact", circles=[EVERYONE], vector=last))
    await put(store, tenant, twice)
    [(_, score)] = await store.nearest(tenant, last, circles=[EVERYONE], kinds=[], k=5)
    assert score > 0.999


async def test_a_put_replaces_vector_kind_and_circles(store: VectorStore, tenant: str) -> None:
    [before] = points(1, kind="episodic", circles=[mark("old")])
    await put(store, tenant, [before])
    [vector] = vectors(1, seed=5)
    await put(store, tenant, [Point(id=before.id, kind="fact", circles=[mark("new")], vector=vector)])
    [(id, score)] = await store.nearest(tenant, vector, circles=[mark("new")], kinds=["fact"], k=5)
    assert id == before.id and score > 0.999
    assert await found(store, tenant, vector, circles=[mark("old")]) == []
    assert await found(store, tenant, vector, circles=[mark("new")], kinds=["episodic"]) == []


async def test_what_is_removed_is_found_no_more_and_may_come_back(store: VectorStore, tenant: str) -> None:
    held = points(5)
    await put(store, tenant, held)
    await store.remove(tenant, [held[0].id, held[1].id])
    await gone(store, tenant, *(point.id for point in held[2:]))
    await store.remove(tenant, {held[0].id})
    await put(store, tenant, held[:1])
    await gone(store, tenant, held[0].id, *(point.id for point in held[2:]))


async def test_removing_what_was_never_there_is_no_error(store: VectorStore, tenant: str) -> None:
    await store.remove(tenant, [uuid4()])
    held = points(1)
    await put(store, tenant, held)
    await store.remove(tenant, [uuid4() for _ in range(3)])
    assert await found(store, tenant, ASKED) == [held[0].id]


async def test_put_and_removed_at_once_it_is_gone(store: VectorStore, tenant: str) -> None:
    held = points(2)
    await store.put(tenant, held)
    await store.remove(tenant, [held[0].id])
    await put(store, tenant, held[1:])
    await gone(store, tenant, held[1].id)


async def test_empty_orders_do_nothing(store: VectorStore, tenant: str) -> None:
    await store.put(tenant, [])
    await store.remove(tenant, [])
    assert await store.shown(tenant, []) == set()
    assert await found(store, tenant, ASKED) == []


async def test_more_than_a_thousand_are_put_shown_and_removed_in_one_call_each(store: VectorStore, tenant: str) -> None:
    held = points(1_200)
    await put(store, tenant, held)
    ids = [point.id for point in held]
    assert set(await found(store, tenant, ASKED)) == set(ids)
    await store.remove(tenant, ids[:1_100])
    await gone(store, tenant, *ids[1_100:])


async def test_shown_is_exactly_what_would_be_found(store: VectorStore, tenant: str) -> None:
    held = points(3)
    assert await store.shown(tenant, [point.id for point in held]) == set()
    await put(store, tenant, held[:2])
    assert await store.shown(tenant, [uuid4(), *(point.id for point in held)]) == {held[0].id, held[1].id}
    assert await store.shown(f"{tenant}-other", [point.id for point in held]) == set()


async def test_every_reader_of_a_circle_waits_for_shown_alone(store: VectorStore, tenant: str) -> None:
    """As soon as a replacement is shown, it is the replacement that is found: layer 2 forgets its own copy then."""
    [before] = points(1, circles=[mark("old")])
    await put(store, tenant, [before])
    await store.put(tenant, [Point(id=before.id, kind="semantic", circles=[mark("new")], vector=before.vector)])

    async def replaced() -> bool:
        return await store.shown(tenant, [before.id]) == {before.id}

    await until(store, replaced)
    assert await found(store, tenant, ASKED, circles=[mark("new")]) == [before.id]


async def test_tenants_are_apart_whatever_their_names(store: VectorStore, tenant: str) -> None:
    names = [
        "",
        "/",
        "/a",
        "%2Fa",
        "a",
        "A",
        "{}",
        "{a}",
        ".",
        "..",
        " ",
        "a b",
        "açúcar",
        "acucar",
        "ＡＢ",
        "日本" * 40,
    ]
    names += [
        "x" * 200,
        "x" * 199 + "y",
        "\N{ROCKET}" * 200,
        "\N{ROCKET}" * 199 + "x",
        "*",
        ":",
        "#",
        "ß",
        "ss",
        "?a=b",
        "'",
    ]
    held = dict(zip(names, points(len(names)), strict=True))
    await asyncio.gather(*(put(store, tenant + name, [point]) for name, point in held.items()))
    for name, point in held.items():
        assert await found(store, tenant + name, ASKED) == [point.id], name
    await store.clear(f"{tenant}a")
    await gone(store, f"{tenant}a")
    for name in ("A", "/a", "%2Fa", "{a}", ""):
        assert await found(store, tenant + name, ASKED) == [held[name].id], name


async def test_one_id_may_be_held_for_two_tenants(store: VectorStore, tenant: str) -> None:
    held = points(1)
    for name in (tenant, f"{tenant}-two"):
        await put(store, name, held)
    await store.remove(tenant, [held[0].id])
    await gone(store, tenant)
    assert await found(store, f"{tenant}-two", ASKED) == [held[0].id]


async def test_a_cleared_tenant_is_empty_and_may_be_filled_again(store: VectorStore, tenant: str) -> None:
    await store.clear(tenant)
    held = points(30)
    await put(store, tenant, held)
    await store.clear(tenant)
    await store.clear(tenant)
    await put(store, tenant, held[:2])
    await gone(store, tenant, held[0].id, held[1].id)


async def test_a_store_counts_as_it_declares(store: VectorStore, tenant: str) -> None:
    held = points(7)

    async def counts(expected: int) -> None:
        async def holds() -> bool:
            return await store.count(tenant) == expected

        await until(store, holds)

    if not store.capabilities.counts:
        await put(store, tenant, held)
        assert await store.count(tenant) is None
        return
    await counts(0)
    await put(store, f"{tenant}-other", points(2))
    await put(store, tenant, held)
    await put(store, tenant, held[:3])
    await counts(7)
    await store.remove(tenant, [held[0].id, uuid4()])
    await counts(6)
    await store.clear(tenant)
    await counts(0)


async def test_generations_and_models_are_apart(backend: Backend, store: VectorStore, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        beside = [backend.open(generation=1), backend.open(Model(fingerprint="ba9876543210"))]
        held = points(3)
        for one, point in zip([store, *beside], held, strict=True):
            if one is not store:
                await one.start(stack)
            await put(one, tenant, [point])
        for one, point in zip([store, *beside], held, strict=True):
            assert await found(one, tenant, ASKED) == [point.id]
        assert len({one.name for one in [store, *beside]}) == 3
        await store.clear(tenant)
        await gone(store, tenant)
        assert await found(beside[0], tenant, ASKED) == [held[1].id]


async def test_what_one_client_puts_another_finds(backend: Backend, store: VectorStore, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        other = backend.open()
        await other.start(stack)
        assert other.name == store.name
        held = points(3)
        await store.put(tenant, held)

        async def seen() -> bool:
            return await other.shown(tenant, [point.id for point in held]) == {point.id for point in held}

        await until(other, seen)
        assert set(await found(other, tenant, ASKED)) == {point.id for point in held}
