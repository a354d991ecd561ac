"""A LangChain store that cannot do what layer 2 needs is refused at the start, with the way out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_stores import Dictionaries, Factory, qdrant_in, started
from lousa.infra.errors import ServerUnavailable, SettingsError
from lousa.memory_layers.context.dialects import Adapted
from lousa.memory_layers.context.langchain import LangChainStore
from qdrant_client import QdrantClient

from .conftest import DIMENSIONS, Model


async def refusal(factory: Factory) -> str:
    with pytest.raises(SettingsError) as refused:
        async with started(factory, Model()):
            pass
    assert "LOUSA_VECTOR_URL" in str(refused.value)
    assert "docs/vector-stores.md" in str(refused.value)
    assert re.search(r"langchain:a_users_stores_\d+:factory", str(refused.value))
    return str(refused.value)


class PassesOverFilters(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        return InMemoryVectorStore._similarity_search_with_score_by_vector(self, embedding, k)


class FiltersTheLikestOnly(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        likest = InMemoryVectorStore._similarity_search_with_score_by_vector(self, embedding, k)
        fitting = super()._similarity_search_with_score_by_vector(embedding, 1_000, filter)
        return [one for one in fitting if one[0].id in {document.id for document, _, _ in likest}]


class ReadsOneMarkOfSeveral(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        one = filter["$or"][0] if "$or" in filter else filter
        return super()._similarity_search_with_score_by_vector(embedding, k, one)


class KnowsNoSuchFilter(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        raise ValueError("filters are strings here")


class GivesTheLeastLike(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        return super()._similarity_search_with_score_by_vector(embedding, 1_000, filter)[::-1][:k]


class ScoresByRank(Dictionaries):
    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        answer = super()._similarity_search_with_score_by_vector(embedding, k, filter)
        return [(document, 1 / (60 + rank), vector) for rank, (document, _, vector) in enumerate(answer)]


class DeletesNothing(Dictionaries):
    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        return


class CannotDelete(Dictionaries):
    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        raise NotImplementedError("delete method must be implemented by subclass.")


class ForbidsToDeleteTwice(Dictionaries):
    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        for one in ids or ():
            del self.store[one]


class KeepsTheFirst(Dictionaries):
    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        new = [document for document in documents if document.id not in self.store]
        return super().add_documents(new, [str(document.id) for document in new]) if new else []


class RefusesWhatItHolds(Dictionaries):
    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        if any(document.id in self.store for document in documents):
            raise ValueError("duplicate ids")
        return super().add_documents(documents, ids)


class ChoosesItsOwnIds(Dictionaries):
    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        return super().add_documents(documents, [str(uuid4()) for _ in documents])


class AddsMarks(Dictionaries):
    """As Chroma does: the keys of the metadata that are not named again stay."""

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        for document in documents:
            if document.id in self.store:
                document.metadata.update(self.store[document.id]["metadata"])
        return super().add_documents(documents, ids)


class HoldsNothing(Dictionaries):
    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        return list(ids or ())


class OfOtherDimensions(Dictionaries):
    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        raise ValueError(f"expected 1536 dimensions, got {len(self.embedding.embed_query('?'))}")


@pytest.mark.parametrize(
    ("kind", "lacking"),
    [
        (PassesOverFilters, "does not filter"),
        (FiltersTheLikestOnly, "does not give the likest when it is asked for a few"),
        (ReadsOneMarkOfSeveral, "does not find what carries any of several marks"),
        (KnowsNoSuchFilter, "does not search with such a filter: ValueError.*strings"),
        (GivesTheLeastLike, "does not give the likest"),
        (ScoresByRank, "gives scores that follow the cosine in no known way"),
        (DeletesNothing, "does not delete by id"),
        (CannotDelete, "does not delete by id.*NotImplementedError"),
        (ForbidsToDeleteTwice, "does not delete by id, also what it does not hold: KeyError"),
        (KeepsTheFirst, "does not put in place of what was held"),
        (RefusesWhatItHolds, "does not put what it holds already: ValueError.*duplicate"),
        (ChoosesItsOwnIds, "does not put in place of what was held"),
        (AddsMarks, "does not put in place of what was held"),
        (HoldsNothing, "does not find by its filter what was put"),
        (OfOtherDimensions, rf"does not hold vectors of {DIMENSIONS} numbers.*1536"),
    ],
)
async def test_a_store_that_cannot_do_what_is_needed_is_refused_and_left_empty(
    kind: type[Dictionaries], lacking: str
) -> None:
    held: dict[str, dict[str, Any]] = {}
    told = await refusal(lambda embeddings, _: Adapted(kind(embeddings, held, []), eventual=False))
    assert re.search(lacking, told), told
    assert "Adapted" in told and kind.__name__ in told
    assert bool(held) == (kind in {DeletesNothing, CannotDelete, ChoosesItsOwnIds})


async def test_a_store_full_of_others_that_passes_over_filters_is_refused() -> None:
    held: dict[str, dict[str, Any]] = {}

    def factory(embeddings: Embeddings, _: str) -> object:
        store = PassesOverFilters(embeddings, held, [])
        store.add_documents([Document(id=str(n), page_content=f"somebody's text {n}") for n in range(100)])
        return Adapted(store, eventual=False)

    assert "does not filter" in await refusal(factory)
    assert len(held) == 100


async def test_a_store_that_does_not_fetch_what_it_declares_to_is_refused() -> None:
    class FetchesNothing(Dictionaries):
        def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
            return []

    def factory(embeddings: Embeddings, _: str) -> object:
        return Adapted(FetchesNothing(embeddings, {}, []), eventual=False, fetched=True, threads=1)

    assert "does not fetch by id" in await refusal(factory)


def _raises(_: Embeddings, __: str) -> object:
    raise RuntimeError("no licence")


def _none(_: Embeddings, __: str) -> object:
    return None


def _a_class(_: Embeddings, __: str) -> object:
    return InMemoryVectorStore


def _unreadable(_: Embeddings, __: str) -> object:
    return Path("/nowhere/at/all").read_text()


NO_STORES: Sequence[tuple[Any, str]] = [
    (_raises, "no licence"),
    (_none, "it gave None, expected a VectorStore"),
    (_a_class, "expected a VectorStore"),
    (lambda: None, "TypeError"),
    (_unreadable, "FileNotFoundError"),
    ("not a function", "TypeError"),
]


@pytest.mark.parametrize(("factory", "said"), NO_STORES)
async def test_a_factory_that_gives_no_store_is_refused(factory: Any, said: str) -> None:
    assert said in await refusal(factory)


@pytest.mark.parametrize("url", ["langchain:", "langchain:module", "langchain::f", "langchain:module:", "other:m:f"])
def test_an_address_without_module_and_factory_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="expected 'langchain:module:factory'"):
        LangChainStore(url, Model())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("langchain:no_such:f", r"no module 'no_such'; is its folder in PYTHONPATH\?"),
        ("langchain:json.no_such:f", r"no module 'json.no_such'"),
        ("langchain:json:no_such", "has no attribute 'no_such'"),
    ],
)
async def test_a_module_or_a_function_that_is_not_there_is_named(url: str, said: str) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match=said):
            await LangChainStore(url, Model()).start(stack)


async def test_a_server_that_the_factory_cannot_reach_is_away_and_not_wrongly_set() -> None:
    def factory(_: Embeddings, __: str) -> object:
        try:
            raise ConnectionRefusedError("connection refused")
        except ConnectionRefusedError as error:
            raise RuntimeError("the client's own error") from error

    with pytest.raises(ServerUnavailable):
        async with started(factory, Model()):
            pass


async def test_a_qdrant_server_that_is_not_there_is_away() -> None:
    with pytest.raises(ServerUnavailable):
        async with started(lambda embeddings, space: qdrant_in(_nowhere(), embeddings, space), Model()):
            pass


def _nowhere() -> QdrantClient:
    return QdrantClient(url="http://127.0.0.1:9", check_compatibility=False)
