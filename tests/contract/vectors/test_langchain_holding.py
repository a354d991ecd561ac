"""What a LangChain store holds of ours, whose tests are not those of every store of vectors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.embeddings import Embeddings
from langchain_stores import Dictionaries, qdrant_in, started
from lousa.memory_layers.context.dialects import KEY, Adapted
from lousa.memory_layers.context.trial import SCALES
from qdrant_client import QdrantClient, models

from .conftest import EVERYONE, Model, found, mark, points, put, vectors

[ASKED] = vectors(1, seed=1)


CALLED: Mapping[str, Callable[[float], float]] = {
    "cosine": lambda cosine: cosine,
    "1 - cosine": lambda cosine: 1 - cosine,
    "(1 + cosine) / 2": lambda cosine: (1 + cosine) / 2,
    "(1 - cosine) / 2": lambda cosine: (1 - cosine) / 2,
    "-cosine": lambda cosine: -cosine,
    "squared distance": lambda cosine: 2 - 2 * cosine,
    "distance": lambda cosine: max(0.0, 2 - 2 * cosine) ** 0.5,
    "1 - distance / √2": lambda cosine: 1 - max(0.0, 1 - cosine) ** 0.5,
    "1 / (1 + squared distance)": lambda cosine: 1 / (3 - 2 * cosine),
    "1 / (1 + distance)": lambda cosine: 1 / (1 + max(0.0, 2 - 2 * cosine) ** 0.5),
}
"""What stores call a score."""


class Scored(Dictionaries):
    """Calls a cosine as it is told to."""

    def __init__(self, embedding: Embeddings, score: Callable[[float], float]) -> None:
        super().__init__(embedding, {}, [])
        self._score = score

    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        answer = super()._similarity_search_with_score_by_vector(embedding, k, filter)
        return [(document, self._score(cosine), vector) for document, cosine, vector in answer]


@pytest.mark.parametrize("name", SCALES)
async def test_whatever_a_store_calls_a_score_a_cosine_comes_back(name: str, tenant: str) -> None:
    def factory(embeddings: Embeddings, _: str) -> object:
        return Adapted(Scored(embeddings, CALLED[name]), eventual=False)

    async with started(factory, Model()) as store:
        held = points(50)
        await store.put(tenant, held)
        answer = await store.nearest(tenant, ASKED, circles=[EVERYONE], kinds=[], k=50)
        assert dict(answer) == pytest.approx({one.id: float(one.vector @ ASKED) for one in held}, abs=1e-5)
        [(_, same)] = await store.nearest(tenant, held[0].vector, circles=[EVERYONE], kinds=[], k=1)
        assert same == pytest.approx(1.0, abs=1e-5) and same <= 1.0


class BringsVectors(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        answer = super()._similarity_search_with_score_by_vector(embedding, k, filter)
        for rank, (document, _, vector) in enumerate(answer):
            document.metadata = {**document.metadata, "vector": [2 * number for number in vector]}
            yield document, 1 / (60 + rank), vector


async def test_a_store_whose_scores_mean_nothing_may_bring_vectors_instead(tenant: str) -> None:
    def factory(embeddings: Embeddings, _: str) -> object:
        return Adapted(BringsVectors(embeddings, {}, []), eventual=False, vectors="vector")

    async with started(factory, Model()) as store:
        held = points(20)
        await store.put(tenant, held)
        answer = await store.nearest(tenant, ASKED, circles=[EVERYONE], kinds=[], k=20)
        assert dict(answer) == pytest.approx({one.id: float(one.vector @ ASKED) for one in held}, abs=1e-5)


async def test_a_store_is_given_ids_marks_and_vectors_and_nothing_that_anyone_wrote(tenant: str) -> None:
    held: dict[str, dict[str, Any]] = {}
    async with started(
        lambda embeddings, _: Adapted(Dictionaries(embeddings, held, []), eventual=False), Model()
    ) as store:
        assert held == {}, "the trial leaves nothing behind"
        [point] = points(1, kind="episodic", circles=[mark("ana")])
        await store.put(tenant, [point])
        [one] = held.values()
        assert set(one) == {"id", "vector", "text", "metadata", "written"}
        assert re.fullmatch(rf"lousa:{point.id}:[0-9a-f]{{16}}", one["text"])
        assert all(re.fullmatch(rf"{KEY}_[0-9a-f]{{16}}", key) for key in one["metadata"])
        assert set(one["metadata"].values()) == {True}
        assert one["vector"] == pytest.approx(point.vector.tolist())
        assert not any(word in str(one) for word in (tenant, "episodic", mark("ana")))


async def test_a_memory_of_more_readers_than_a_store_bears_takes_little_room_and_is_offered_to_all(tenant: str) -> None:
    held: dict[str, dict[str, Any]] = {}
    readers = [mark(f"reader {reader}") for reader in range(2_001)]

    def factory(embeddings: Embeddings, _: str) -> object:
        return Adapted(Dictionaries(embeddings, held, []), eventual=False)

    async with started(factory, Model()) as store:
        few, many = points(1, circles=readers[1:]) + points(1, circles=readers, kind="fact")
        await store.put(tenant, [few, many])
        assert sorted(len(one["metadata"]) for one in held.values()) == [4, 4_002]
        for circle, seen in ((readers[0], {many.id}), (readers[1], {few.id, many.id}), (mark("no reader"), {many.id})):
            assert set(await found(store, tenant, ASKED, circles=[circle])) == seen
        assert await found(store, tenant, ASKED, circles=[mark("no reader")], kinds=["semantic"]) == []
        assert await found(store, f"{tenant}-other", ASKED, circles=readers) == []


async def test_what_others_keep_in_the_collection_neither_shows_nor_breaks_anything(tenant: str) -> None:
    client = QdrantClient(":memory:")
    async with started(lambda embeddings, space: qdrant_in(client, embeddings, space), Model()) as store:
        own = points(3)
        await store.put(tenant, own)
        # With the very marks of ours: a filter alone would let them through.
        [ours], _ = client.scroll(store.space, limit=1)
        marks = {KEY: (ours.payload or {})["metadata"][KEY]}
        payloads: list[dict[str, Any]] = [
            {},
            {"page_content": "somebody's text"},
            {"page_content": "lousa:", "metadata": marks},
            {"page_content": "lousa:not-an-id:0123456789abcdef", "metadata": marks},
            {"page_content": f"lousa:{uuid4()}:0123456789abcdef", "metadata": marks},
            {"page_content": "açaí", "metadata": {KEY: "no list"}},
            {"page_content": "x", "metadata": {KEY: {"a": [1, None]}}},
            {"page_content": "x", "metadata": None},
        ]
        client.upsert(
            store.space,
            [models.PointStruct(id=n, vector=ASKED.tolist(), payload=one) for n, one in enumerate(payloads)],
        )
        assert set(await found(store, tenant, ASKED)) == {point.id for point in own}
        assert await store.shown(tenant, [point.id for point in own]) == {point.id for point in own}
        await store.remove(tenant, [own[0].id])
        assert set(await found(store, tenant, ASKED)) == {point.id for point in own[1:]}
    client.close()


async def test_generations_and_tenants_are_apart_in_a_factory_that_knows_one_collection(tenant: str) -> None:
    held: dict[str, dict[str, Any]] = {}

    def factory(embeddings: Embeddings, _: str) -> object:
        return Adapted(Dictionaries(embeddings, held, []), eventual=False)

    async with started(factory, Model()) as first, started(factory, Model(), generation=1) as second:
        [point] = points(1)
        for store in (first, second):
            await store.put(tenant, [point])
            await store.put(f"{tenant}-two", [point])
        assert len(held) == 4
        await first.clear(tenant)
        assert len(held) == 3
        assert await found(first, tenant, ASKED) == []
        assert await found(second, tenant, ASKED) == await found(first, f"{tenant}-two", ASKED) == [point.id]


async def test_a_store_that_goes_on_showing_what_was_deleted_is_cleared_when_it_no_longer_does(tenant: str) -> None:
    class Lingers(Dictionaries):
        async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
            asyncio.get_running_loop().call_later(0.1, self.delete, ids)

    async with started(lambda embeddings, _: Adapted(Lingers(embeddings, {}, []), awaited=True), Model()) as store:
        await put(store, tenant, points(5))
        await store.clear(tenant)
        assert await found(store, tenant, ASKED) == []
