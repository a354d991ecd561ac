"""The emulator of Pinecone speaks as Pinecone's own client expects, and refuses what Pinecone refuses."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from pinecone import ApiError, AsyncIndex, NotFoundError, UnauthorizedError
from pinecone.errors.exceptions import PayloadTooLargeError
from servers.pinecone import Emulator

TESTS = Path(__file__).parents[2]
GENRES = {"a": ["comedy", "drama"], "b": ["horror"], "c": None}


@pytest.fixture
async def emulator() -> AsyncGenerator[Emulator]:
    with Emulator(dimension=3) as emulator:
        yield emulator


@pytest.fixture
async def index(emulator: Emulator) -> AsyncGenerator[AsyncIndex]:
    async with AsyncIndex(host=emulator.host, api_key=emulator.key) as index:
        yield index


def record(id: str, *values: float, **metadata: Any) -> dict[str, Any]:
    return {"id": id, "values": list(values), "metadata": metadata}


async def test_it_ranks_by_cosine_and_gives_metadata_when_asked(index: AsyncIndex) -> None:
    await index.upsert(
        vectors=[record("x", 1, 0, 0, n=1), record("xy", 3, 3, 0), record("y", 0, 0.1, 0)], namespace="n"
    )
    plain = await index.query(vector=[2, 0, 0], top_k=2, namespace="n")
    assert [(match.id, round(match.score, 3)) for match in plain.matches] == [("x", 1.0), ("xy", 0.707)]
    told = await index.query(vector=[2, 0, 0], top_k=1, namespace="n", include_metadata=True)
    assert told.matches[0].metadata == {"n": 1}
    assert plain.matches[0].metadata is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"genre": "comedy"}, "a"),
        ({"genre": {"$eq": "drama"}}, "a"),
        ({"genre": {"$ne": "drama"}}, "bc"),
        ({"genre": {"$in": ["horror", "drama"]}}, "ab"),
        ({"genre": {"$nin": ["horror", "drama"]}}, "c"),
        ({"genre": {"$exists": True}}, "ab"),
        ({"year": {"$gte": 2, "$lt": 4}}, "bc"),
        ({"$and": [{"genre": "horror"}, {"year": {"$gt": 1}}]}, "b"),
        ({"$or": [{"genre": "comedy"}, {"year": {"$lte": 2}}]}, "ab"),
        ({"genre": "comedy", "year": 1}, "a"),
    ],
)
async def test_filters_mean_what_pinecone_says(index: AsyncIndex, wanted: dict[str, Any], expected: str) -> None:
    held = [record(id, 1, 0, 0, genre=genre, year=year) for year, (id, genre) in enumerate(GENRES.items(), start=1)]
    await index.upsert(vectors=held)
    found = await index.query(vector=[1, 0, 0], top_k=10, filter=wanted)
    assert "".join(sorted(match.id for match in found.matches)) == expected


@pytest.mark.parametrize(
    "wanted",
    [
        {"$gt": 5},
        {"$and": []},
        {"genre": {}},
        {"genre": {"$like": "com"}},
        {"genre": {"$in": "comedy"}},
        {"genre": {"$eq": ["comedy"]}},
        {"year": {"$gt": "1"}},
        {"genre": {"$in": [str(value) for value in range(10_001)]}},
    ],
)
async def test_filters_that_pinecone_refuses_are_refused(index: AsyncIndex, wanted: dict[str, Any]) -> None:
    await index.upsert(vectors=[record("a", 1, 0, 0)])
    with pytest.raises(ApiError) as refused:
        await index.query(vector=[1, 0, 0], top_k=1, filter=wanted)
    assert refused.value.status_code == 400


@pytest.mark.parametrize(
    "vectors",
    [
        [record("a", 1, 0)],
        [record("a", 0, 0, 0)],
        [record("a", 1, 0, 0, **{"$kind": "fact"})],
        [record("a", 1, 0, 0, long="x" * 41_000)],
        [record(str(number), 1, 0, 0) for number in range(1_001)],
    ],
    ids=["dimension", "zero", "dollar", "metadata", "thousand"],
)
async def test_records_that_pinecone_refuses_are_refused_whole(
    index: AsyncIndex, emulator: Emulator, vectors: list[dict[str, Any]]
) -> None:
    with pytest.raises(ApiError) as refused:
        await index.upsert(vectors=[record("good", 1, 0, 0), *vectors])
    assert refused.value.status_code == 400
    assert emulator.holds() == {}


async def test_other_limits_and_answers_are_pinecones(index: AsyncIndex, emulator: Emulator) -> None:
    with pytest.raises(PayloadTooLargeError):
        await index.upsert(vectors=[record(str(number), 1, 0, 0, x="x" * 30_000) for number in range(80)])
    with pytest.raises(NotFoundError, match="Namespace not found"):
        await index.delete(ids=["a"], namespace="new")
    assert (await index.query(vector=[1, 0, 0], top_k=1, namespace="new")).matches == []
    assert (await index.fetch(ids=["a"], namespace="new")).vectors == {}
    await index.upsert(vectors=[record("a", 1, 0, 0)], namespace="new")
    with pytest.raises(ApiError, match="must be 1 to 1000"):
        await index.delete(ids=[str(number) for number in range(1_001)], namespace="new")
    async with AsyncIndex(host=emulator.host, api_key="another") as stranger:
        with pytest.raises(UnauthorizedError):
            await stranger.describe_index_stats()


async def test_queries_and_fetches_see_a_write_at_times_of_their_own(index: AsyncIndex, emulator: Emulator) -> None:
    emulator.delay, emulator.fetch_delay = 3_600, 0
    written = await index.upsert(vectors=[record("a", 1, 0, 0)], namespace="n")
    assert list((await index.fetch(ids=["a"], namespace="n")).vectors) == ["a"]
    seen = await index.query(vector=[1, 0, 0], top_k=1, namespace="n")
    assert seen.matches == []
    assert written.response_info is not None and seen.response_info is not None
    assert written.response_info.lsn_committed == 1
    assert not seen.response_info.is_reconciled(1)
    assert (await index.describe_index_stats()).namespaces["n"].vector_count == 0
    assert emulator.holds() == {"n": {"a"}}


async def test_writes_show_in_their_order(index: AsyncIndex, emulator: Emulator) -> None:
    emulator.delay = 0.1
    await index.upsert(vectors=[record("a", 1, 0, 0)], namespace="n")
    await index.delete(delete_all=True, namespace="n")
    written = await index.upsert(vectors=[record("b", 1, 0, 0)], namespace="n")
    assert written.response_info is not None and written.response_info.lsn_committed is not None
    while True:
        seen = await index.query(vector=[1, 0, 0], top_k=5, namespace="n")
        assert seen.response_info is not None
        if seen.response_info.is_reconciled(written.response_info.lsn_committed):
            break
        await asyncio.sleep(0.02)
    assert [match.id for match in seen.matches] == ["b"]
    assert emulator.holds() == {"n": {"b"}}


async def test_by_itself_it_serves_and_is_controlled_over_http() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "servers.pinecone", "--dimension", "3", "--delay", "0"),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": str(TESTS)},
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        host = url.partition("?host=")[2]
        async with AsyncIndex(host=host, api_key="a-key") as index:
            await index.upsert(vectors=[record("a", 1, 0, 0)])
            assert len((await index.query(vector=[1, 0, 0], top_k=1)).matches) == 1
            await asyncio.to_thread(_control, host, {"delay": 3_600})
            await index.upsert(vectors=[record("b", 1, 0, 0)])
            assert len((await index.query(vector=[1, 0, 0], top_k=5)).matches) == 1
    finally:
        process.kill()
        await process.wait()


def _control(host: str, told: dict[str, float]) -> None:
    import httpx

    httpx.post(f"{host}/_emulator", json=told).raise_for_status()
