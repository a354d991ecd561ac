"""What a store of vectors finds: by likeness, and only what shares a circle and is of the kinds asked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy
import pytest
from lousa.memory_layers.context.remote import Point, VectorStore

from .conftest import EVERYONE, found, mark, points, put, vectors

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors


def near(vector: Vectors, count: int) -> Vectors:
    """Vectors that lie close around one."""
    around = vector + 0.05 * vectors(count, vector.size, seed=9)
    return (around / numpy.linalg.norm(around, axis=1, keepdims=True)).astype(numpy.float32)


async def test_scores_are_cosines_likest_first(store: VectorStore, tenant: str) -> None:
    held, [asked] = points(200), vectors(1, seed=1)
    await put(store, tenant, held)
    answer = await store.nearest(tenant, asked, circles=[EVERYONE], kinds=[], k=200)
    cosines = {point.id: float(point.vector @ asked) for point in held}
    assert dict(answer) == pytest.approx(cosines, abs=1e-3)
    assert min(cosines.values()) < -0.3 and max(cosines.values()) > 0.3
    assert [score for _, score in answer] == sorted((score for _, score in answer), reverse=True)


async def test_no_cosine_is_above_one(store: VectorStore, tenant: str) -> None:
    held = points(100)
    await put(store, tenant, held)
    for point in held:
        [(_, score)] = await store.nearest(tenant, point.vector, circles=[EVERYONE], kinds=[], k=1)
        assert 0.999 < score <= 1


async def test_the_k_likest_are_found_and_no_more(store: VectorStore, tenant: str) -> None:
    held, [asked] = points(50), vectors(1, seed=1)
    await put(store, tenant, held)
    likest = sorted(held, key=lambda point: -float(point.vector @ asked))
    assert await found(store, tenant, asked, k=7) == [point.id for point in likest[:7]]
    assert len(await found(store, tenant, asked, k=1_000)) == 50


async def test_what_nobody_of_the_asked_circles_may_see_crowds_nothing_out(store: VectorStore, tenant: str) -> None:
    [asked] = vectors(1, seed=1)
    hidden = [Point(id=uuid4(), kind="semantic", circles=[mark("others")], vector=v) for v in near(asked, 2_000)]
    seen = [Point(id=uuid4(), kind="semantic", circles=[mark("ours")], vector=v) for v in vectors(3, seed=2)]
    await put(store, tenant, [*hidden, *seen])
    assert set(await found(store, tenant, asked, circles=[mark("ours")], k=3)) == {point.id for point in seen}
    assert await found(store, tenant, asked, circles=[mark("nobody's")], k=3) == []


async def test_other_kinds_crowd_nothing_out(store: VectorStore, tenant: str) -> None:
    [asked] = vectors(1, seed=1)
    episodes = [Point(id=uuid4(), kind="episodic", circles=[EVERYONE], vector=v) for v in near(asked, 1_000)]
    rules = points(2, kind="procedural", seed=2)
    facts = points(2, kind="fact", seed=3)
    await put(store, tenant, [*episodes, *rules, *facts])
    assert set(await found(store, tenant, asked, kinds=["procedural"], k=2)) == {point.id for point in rules}
    both = {point.id for point in [*rules, *facts]}
    assert set(await found(store, tenant, asked, kinds={"fact", "procedural"}, k=4)) == both
    assert await found(store, tenant, asked, kinds=["decision"], k=4) == []
    assert len(await found(store, tenant, asked, kinds=[], k=3_000)) == 1_004


async def test_one_shared_circle_is_enough_and_each_is_found_once(store: VectorStore, tenant: str) -> None:
    circles = [mark(name) for name in ("ana", "bia", "caio", "davi")]
    held = points(1, circles=circles[:2]) + points(1, circles=circles[1:3]) + points(1, circles=circles[3:])
    await put(store, tenant, held)
    first, second, third = (point.id for point in held)
    [asked] = vectors(1, seed=1)
    assert set(await found(store, tenant, asked, circles=circles[:1])) == {first}
    assert sorted(await found(store, tenant, asked, circles=circles[:3])) == sorted([first, second])
    assert sorted(await found(store, tenant, asked, circles=set(circles))) == sorted([first, second, third])


async def test_kinds_and_circles_narrow_together(store: VectorStore, tenant: str) -> None:
    ours, theirs = mark("ours"), mark("theirs")
    held = [points(1, kind=kind, circles=[circle])[0] for kind in ("fact", "semantic") for circle in (ours, theirs)]
    await put(store, tenant, held)
    assert await found(store, tenant, held[0].vector, circles=[ours], kinds=["fact"]) == [held[0].id]


async def test_a_memory_of_very_many_readers_reaches_each_of_them(store: VectorStore, tenant: str) -> None:
    [asked] = vectors(1, seed=1)
    for readers in (1_500, 3_000, 12_000):
        circles = [mark(f"{readers} {reader}") for reader in range(readers)]
        [held] = points(1, circles=circles)
        await put(store, tenant, [held])
        for circle in (circles[0], circles[readers // 2], circles[-1]):
            assert held.id in await found(store, tenant, asked, circles=[circle])


async def test_a_memory_of_many_readers_is_offered_to_no_other(store: VectorStore, tenant: str) -> None:
    held = points(1, circles=[mark(f"reader {reader}") for reader in range(1_500)])
    await put(store, tenant, held)
    outsiders = [mark(f"outsider {reader}") for reader in range(500)]
    assert await found(store, tenant, held[0].vector, circles=outsiders) == []


async def test_a_reader_of_very_many_circles_is_answered(store: VectorStore, tenant: str) -> None:
    circles = [mark(f"role {role}") for role in range(2_000)]
    held = points(1, circles=circles[-1:])
    await put(store, tenant, held)
    assert await found(store, tenant, held[0].vector, circles=circles) == [held[0].id]


async def test_a_reader_of_no_circle_finds_nothing(store: VectorStore, tenant: str) -> None:
    held = points(3)
    await put(store, tenant, held)
    assert await found(store, tenant, held[0].vector, circles=[]) == []


async def test_nothing_is_found_where_nothing_was_ever_put(store: VectorStore, tenant: str) -> None:
    assert await found(store, tenant, vectors(1)[0]) == []


async def test_many_questions_at_once_are_each_answered(store: VectorStore, tenant: str) -> None:
    held = points(40)
    await put(store, tenant, held)
    answers = await asyncio.gather(*(found(store, tenant, point.vector, k=1) for point in held))
    assert answers == [[point.id] for point in held]
