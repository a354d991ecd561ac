"""LangChain stores for tests, each as a user's factory would give it, and doubles that lack what Lousa needs.

`named` puts a factory where `LOUSA_VECTOR_URL=langchain:…` finds it. `STORES` are the stores that the suite of
`VectorStore` is held to: Qdrant in this process, LangChain's own store in memory, and two dialects of others on top of
it: filters written as Pinecone, Chroma or Postgres read them, shown late; and a store that only compares for equality.
Chroma as well, where it is installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_qdrant import QdrantVectorStore
from lousa.memory_layers.context.dialects import KEY, Adapted
from lousa.memory_layers.context.langchain import LangChainStore
from lousa.memory_layers.embedding import Embedder
from qdrant_client import QdrantClient, models

Factory = Callable[[Embeddings, str], object]
_NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Named:
    """An address; and how the store behind it is taken away, where that can be done."""

    url: str
    away: Callable[[], AbstractContextManager[None]] | None = None


def named(factory: Factory, patch: pytest.MonkeyPatch) -> str:
    """The address under which this factory is found while the test runs."""
    module = f"a_users_stores_{next(_NUMBERS)}"
    patch.setitem(sys.modules, module, cast(Any, SimpleNamespace(factory=factory)))
    return f"langchain:{module}:factory"


@asynccontextmanager
async def started(factory: Factory, model: Embedder, *, generation: int = 0) -> AsyncGenerator[LangChainStore]:
    """The store behind a factory, ready; closed afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        async with AsyncExitStack() as stack:
            store = LangChainStore(named(factory, patch), model, generation=generation)
            await store.start(stack)
            yield store


class Switched(InMemoryVectorStore):
    """LangChain's store in memory, which can be taken away. Its data is a dictionary that several may share."""

    def __init__(self, embedding: Embeddings, held: dict[str, dict[str, Any]], away: list[bool]) -> None:
        self._held, self._away = held, away
        super().__init__(embedding)

    @property
    def store(self) -> dict[str, dict[str, Any]]:
        if any(self._away):
            raise RuntimeError("no answer") from ConnectionRefusedError("connection refused")
        return self._held

    @store.setter
    def store(self, empty: dict[str, dict[str, Any]]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        assert not empty


class Dictionaries(Switched):
    """Filters by one key of a dictionary, or by any of several under `$or`, and shows a write `late` seconds after."""

    late = 0.0

    def _similarity_search_with_score_by_vector(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, embedding: list[float], k: int = 4, filter: Mapping[str, Any] | None = None
    ) -> list[tuple[Document, float, list[float]]]:
        shown, wanted = time.monotonic() - self.late, _keys(filter or {})
        found = [
            (float(numpy.dot(embedding, one["vector"])), one)
            for one in self.store.values()
            if one["written"] <= shown and not wanted.isdisjoint(one["metadata"])
        ]
        likest = sorted(found, key=lambda pair: -pair[0])[:k]
        return [
            (Document(id=one["id"], page_content=one["text"], metadata=one["metadata"]), score, one["vector"])
            for score, one in likest
        ]

    async def aadd_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        return self.add_documents(documents, ids, **kwargs)

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        added = super().add_documents(documents, ids, **kwargs)
        for one in added:
            self.store[one]["written"] = time.monotonic()
        return added


class Late(Dictionaries):
    late = 0.1


def _keys(filter: Mapping[str, Any]) -> set[str]:
    choices: list[dict[str, object]] = filter.get("$or", [filter])
    assert "$or" not in filter or len(choices) > 1, "such stores refuse a choice of one"
    assert all([*choice.values()] == [True] for choice in choices), "such stores want one key, one value"
    return {key for choice in choices for key in choice}


def equal(marks: Sequence[str]) -> dict[str, object]:
    """One key, one value."""
    [mark] = marks
    return {"filter": {f"{KEY}_{mark}": True}}


@contextmanager
def _qdrant(patch: pytest.MonkeyPatch) -> Generator[Named]:
    client = QdrantClient(":memory:")

    def factory(embeddings: Embeddings, space: str) -> object:
        return qdrant_in(client, embeddings, space)

    yield Named(url=named(factory, patch))
    client.close()


def qdrant_in(client: QdrantClient, embeddings: Embeddings, space: str) -> object:
    """As the documentation shows it."""
    if not client.collection_exists(space):
        size = len(embeddings.embed_query("how long?"))
        client.create_collection(space, models.VectorParams(size=size, distance=models.Distance.COSINE))
    return QdrantVectorStore(client, space, embeddings)


@contextmanager
def _chroma(patch: pytest.MonkeyPatch) -> Generator[Named]:
    from langchain_chroma import Chroma  # pyright: ignore  # heavy (126 MB of one of its own), so not asked of everybody

    with TemporaryDirectory(prefix="lousa-chroma-") as folder:

        def factory(embeddings: Embeddings, space: str) -> object:
            return Chroma(space, embeddings, persist_directory=folder)  # pyright: ignore

        yield Named(url=named(factory, patch))


@contextmanager
def _memory(kind: type[Switched], patch: pytest.MonkeyPatch, **dialect: Any) -> Generator[Named]:
    held: dict[str, dict[str, Any]] = {}
    away: list[bool] = []

    def factory(embeddings: Embeddings, space: str) -> object:
        store = kind(embeddings, held, away)
        return Adapted(store, **dialect) if dialect else store

    @contextmanager
    def gone() -> Generator[None]:
        away.append(True)
        try:
            yield
        finally:
            away.clear()

    yield Named(url=named(factory, patch), away=gone)


STORES: Mapping[str, Callable[[pytest.MonkeyPatch], AbstractContextManager[Named]]] = {
    "langchain-qdrant": _qdrant,
    "langchain-memory": lambda patch: _memory(Switched, patch),
    "langchain-late": lambda patch: _memory(Late, patch, awaited=True),
    "langchain-equal": lambda patch: _memory(Dictionaries, patch, where=equal, at_once=1, eventual=False, threads=1),
    **({"langchain-chroma": _chroma} if find_spec("langchain_chroma") else {}),
}
