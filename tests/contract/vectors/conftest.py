"""The stores of vectors that the suite of `VectorStore` is run on, by name.

A new one needs an entry in `BACKENDS`: a context that brings the server, if there is one, and gives a `Backend`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid4

import langchain_stores
import numpy
import pytest
from lousa.memory_layers.context import pinecone
from lousa.memory_layers.context.remote import Point, VectorStore
from lousa.memory_layers.context.stores import vector_store
from servers.pinecone import Emulator

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors

DIMENSIONS = 16


@dataclass(frozen=True, kw_only=True)
class Model:
    """An embedder as a store sees it before anything is embedded. Satisfies `Embedder`."""

    name: str = "a model"
    fingerprint: str = "0123456789ab"
    dimensions: int = DIMENSIONS

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return vectors(len(texts), self.dimensions)

    async def query(self, text: str) -> Vectors:
        return vectors(1, self.dimensions)[0]


class Open(Protocol):
    """A store that is not started yet."""

    def __call__(self, model: Model = ..., *, generation: int = 0) -> VectorStore: ...


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Where stores can be opened; `away` takes the server away, where that can be done."""

    open: Open
    away: Callable[[], AbstractContextManager[None]] | None = None
    checks_dimensions: bool = True


@contextmanager
def pinecone_at(delay: float, monkeypatch: pytest.MonkeyPatch) -> Generator[Backend]:
    """The emulator, or Pinecone Local where that is named: an index of 16 dimensions, by cosine."""
    monkeypatch.setenv("PINECONE_API_KEY", os.environ.get("PINECONE_API_KEY", "a-key"))
    local = os.environ.get("LOUSA_TEST_PINECONE_HOST")
    if local:
        if delay:
            pytest.skip("LOUSA_TEST_PINECONE_HOST: how late Pinecone Local shows a write cannot be set")
        yield Backend(open=_opening(f"pinecone://lousa?host={local}"))
        return
    with Emulator(dimension=DIMENSIONS, delay=delay, key=os.environ["PINECONE_API_KEY"]) as emulator:

        @contextmanager
        def away() -> Generator[None]:
            emulator.down()
            try:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(pinecone, "LEFT_ALONE", 0.1)
                    for patience in ("READING", "WRITING", "STARTING"):
                        patch.setattr(pinecone, patience, 0.3)  # the client would try again for seconds
                    yield
            finally:
                emulator.up()

        yield Backend(open=_opening(emulator.url), away=away)


@contextmanager
def langchain(store: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Backend]:
    with langchain_stores.STORES[store](monkeypatch) as named:
        yield Backend(open=_opening(named.url), away=named.away, checks_dimensions=False)


def _opening(url: str) -> Open:
    def opened(model: Model = Model(), *, generation: int = 0) -> VectorStore:
        return vector_store(url, model, generation=generation)

    return opened


BACKENDS: dict[str, Callable[[pytest.MonkeyPatch], AbstractContextManager[Backend]]] = {
    "pinecone": lambda patch: pinecone_at(0, patch),
    "pinecone-late": lambda patch: pinecone_at(0.15, patch),
    **{store: partial(langchain, store) for store in langchain_stores.STORES},
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with BACKENDS[request.param](monkeypatch) as backend:
        yield backend


@pytest.fixture
async def store(backend: Backend) -> AsyncGenerator[VectorStore]:
    async with AsyncExitStack() as stack:
        opened = backend.open()
        await opened.start(stack)
        yield opened


def vectors(count: int, dimensions: int = DIMENSIONS, *, seed: int = 0) -> Vectors:
    """Vectors of length 1 in all directions."""
    drawn = numpy.random.default_rng(seed).normal(size=(count, dimensions)).astype(numpy.float32)
    return drawn / numpy.linalg.norm(drawn, axis=1, keepdims=True)


def mark(name: str) -> str:
    """A mark of a circle, of the form that `memory_layers.audience` gives them."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


EVERYONE = mark("everyone")


def points(
    count: int,
    *,
    kind: str = "semantic",
    circles: Sequence[str] = (EVERYONE,),
    seed: int = 0,
    dimensions: int = DIMENSIONS,
) -> list[Point]:
    return [
        Point(id=uuid4(), kind=kind, circles=circles, vector=vector) for vector in vectors(count, dimensions, seed=seed)
    ]


async def found(
    store: VectorStore,
    tenant: str,
    vector: Vectors,
    *,
    circles: Collection[str] = (EVERYONE,),
    kinds: Collection[str] = (),
    k: int = 10_000,
) -> list[UUID]:
    """The ids alone, likest first."""
    return [id for id, _ in await store.nearest(tenant, vector, circles=circles, kinds=kinds, k=k)]


async def put(store: VectorStore, tenant: str, held: Sequence[Point]) -> None:
    """Put, and wait until the store shows it, where it may show it late."""
    await store.put(tenant, held)
    ids = {point.id for point in held}
    await until(store, lambda: _all_shown(store, tenant, ids))


async def until(store: VectorStore, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what a store may show late; one that declares that it does not is given no time."""
    while not await holds():
        assert store.capabilities.eventual, "a store that is not `eventual` shows a write when it acknowledges it"
        await asyncio.sleep(0.02)


async def _all_shown(store: VectorStore, tenant: str, ids: set[UUID]) -> bool:
    return await store.shown(tenant, ids) == ids
