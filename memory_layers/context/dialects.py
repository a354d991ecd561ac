"""How a LangChain store is told what layer 2 wants of it.

LangChain has one way to put, to delete and to search, and none to filter: that is each store's own. So all that is
asked of a filter is one condition, "carries any of these marks". Tenant, circle and kind are folded into the marks
(`langchain.py` makes them), so that no store needs to combine conditions.

`Adapted` says how a store is told that. A few stores are known by their class, and a factory returns them as they are;
of any other it is taken that marks may lie in its metadata as keys that are true, and that it reads filters written as
many do: `{"$or": [{"a": True}, {"b": True}]}`. Whatever is said here is tried before the store is used (`trial.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

KEY = "lousa"
"""The metadata of ours: a list under this key, or keys that begin with it."""


def any_key(marks: Sequence[str]) -> dict[str, object]:
    """The filter that many stores read: any of these keys is true."""
    keys = [{f"{KEY}_{mark}": True} for mark in marks]
    return {"filter": keys[0] if len(keys) == 1 else {"$or": keys}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """A LangChain store, and how it is spoken to. What a factory returns for a store that is not known by its class."""

    store: VectorStore = field(kw_only=False)
    where: Callable[[Sequence[str]], Mapping[str, object]] = any_key
    """What a search is told so that it finds what carries any of these marks: the arguments beside query and k."""
    listed: bool = False
    """Marks lie in the metadata as a list, `{"lousa": ["a", "b"]}`; else as keys, `{"lousa_a": True}`."""
    at_once: int | None = None
    """So many marks may be asked for in one search, 1 where a store filters by equality only: more searches, merged."""
    eventual: bool = True
    """What it acknowledged may show later."""
    fetched: bool = False
    """What is fetched by its id is also found by a search, so that fetching tells whether it is; often faster."""
    threads: int = 8
    """Its blocking verbs are called in so many threads; 1 for a client that is not safe in several."""
    awaited: bool = False
    """Its asynchronous verbs are used instead. Not all stores have written them, and some need a client for them."""
    vectors: str | None = None
    """The key of the metadata under which what is found brings its vector, where scores do not follow the cosine."""
    count: Callable[[str], int] | None = None
    """How many documents carry this mark; may block."""


def adapted(store: VectorStore) -> Adapted:
    """How this store is spoken to, by its class."""
    for kind in type(store).__mro__:
        if known := _KNOWN.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}"):
            return known(store)
    return Adapted(store)


def _in_memory(store: VectorStore) -> Adapted:
    def where(marks: Sequence[str]) -> dict[str, object]:
        wanted = set(marks)

        def carries(document: Document) -> bool:
            return not wanted.isdisjoint(_marks(document.metadata))

        return {"filter": carries}

    def count(mark: str) -> int:
        held = cast(dict[str, dict[str, Any]], cast(Any, store).store)
        return sum(mark in _marks(one["metadata"]) for one in held.values())

    return Adapted(store, where=where, listed=True, eventual=False, fetched=True, threads=1, count=count)


def _qdrant(store: VectorStore) -> Adapted:
    from qdrant_client import models

    opened: Any = store
    told: Mapping[str, object] = opened.client.init_options
    local = told["path"] is not None or told["location"] == ":memory:"

    def carries(marks: Sequence[str]) -> Any:
        key = f"{opened.metadata_payload_key}.{KEY}"
        return models.Filter(must=[models.FieldCondition(key=key, match=models.MatchAny(any=list(marks)))])

    def count(mark: str) -> int:
        return int(opened.client.count(opened.collection_name, count_filter=carries([mark])).count)

    def where(marks: Sequence[str]) -> dict[str, object]:
        return {"filter": carries(marks)}

    if local:
        return Adapted(store, where=where, listed=True, eventual=False, fetched=True, threads=1, count=count)
    return Adapted(store, where=where, listed=True, count=count)


def _chroma(store: VectorStore) -> Adapted:
    opened: Any = store

    def where(marks: Sequence[str]) -> dict[str, object]:
        wanted: list[object] = [{KEY: {"$contains": mark}} for mark in marks]
        return {"filter": wanted[0] if len(wanted) == 1 else {"$or": wanted}}

    def count(mark: str) -> int:
        return len(opened.get(where={KEY: {"$contains": mark}}, include=[])["ids"])

    return Adapted(store, where=where, listed=True, at_once=_CHOICES, count=count)


def _weaviate(store: VectorStore) -> Adapted:
    from weaviate.classes.query import Filter  # pyright: ignore  # not installed with Lousa

    by_property: Any = cast(Any, Filter).by_property

    def where(marks: Sequence[str]) -> dict[str, object]:
        # alpha=1: by the vector alone. Its scores are relative to the best of each answer, so vectors are asked for.
        return {"filters": by_property(KEY).contains_any(list(marks)), "alpha": 1, "include_vector": True}

    return Adapted(store, where=where, listed=True, vectors="vector")


def _marks(metadata: Mapping[str, Any]) -> list[str]:
    """Ours, if it is one of ours: others may keep theirs in the same store."""
    marks = metadata.get(KEY)
    return cast(list[str], marks) if isinstance(marks, list) else []


_CHOICES = 200
"""Of one `$or`, which SQLite under Chroma nests so deep."""
_KNOWN: Mapping[str, Callable[[VectorStore], Adapted]] = {
    "langchain_core.InMemoryVectorStore": _in_memory,
    "langchain_qdrant.QdrantVectorStore": _qdrant,
    "langchain_chroma.Chroma": _chroma,
    "langchain_weaviate.WeaviateVectorStore": _weaviate,
}
