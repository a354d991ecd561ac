"""A LangChain store in a running program: threads, clients, failures, and a store on disk."""

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import lousa
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_stores import Dictionaries, started
from lousa.infra.errors import BadInput, ServerUnavailable, SettingsError
from lousa.memory_layers.context import marked
from lousa.memory_layers.context.dialects import Adapted
from lousa.memory_layers.context.langchain import LangChainStore
from lousa.memory_layers.context.stores import vector_store

from .conftest import EVERYONE, Model, found, points, vectors

[ASKED] = vectors(1, seed=1)


class Blocking(VectorStore):
    """A store with blocking verbs only, each of which waits while `gate` is shut. Safe in several threads."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._inner = Dictionaries(embeddings, {}, [])
        self._one_by_one = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()
        self.threads: set[str] = set()

    def _pass(self) -> None:
        self.threads.add(threading.current_thread().name)
        assert self.gate.wait(30)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        self._pass()
        with self._one_by_one:
            return self._inner.add_documents(documents, **kwargs)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> None:
        self._pass()
        with self._one_by_one:
            self._inner.delete(ids)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        self._pass()
        with self._one_by_one:
            return self._inner.similarity_search_with_score(query, k, **kwargs)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        raise AssertionError("nobody asks without scores")

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> Any:
        raise AssertionError("nobody gives texts")


async def test_a_store_that_blocks_holds_up_neither_the_loop_nor_the_threads_of_others(tenant: str) -> None:
    made: list[Blocking] = []

    def factory(embeddings: Embeddings, _: str) -> object:
        made.append(Blocking(embeddings))
        return Adapted(made[0], eventual=False)

    async with started(factory, Model()) as store:
        held = points(3)
        await store.put(tenant, held)
        made[0].gate.clear()
        asking = [asyncio.ensure_future(found(store, tenant, ASKED, k=1)) for _ in range(60)]
        await asyncio.sleep(0)
        main = threading.current_thread().name
        assert await asyncio.to_thread(lambda: threading.current_thread().name) != main
        assert not any(task.done() for task in asking)
        made[0].gate.set()
        assert len({tuple(answer) for answer in await asyncio.gather(*asking)}) == 1
        assert main not in made[0].threads
        assert 1 < len(made[0].threads) <= 9  # the first opened it, eight serve it


async def test_a_client_that_is_not_safe_in_several_threads_is_given_one_in_which_it_is_made_as_well(
    tenant: str,
) -> None:
    made: list[tuple[Blocking, str]] = []

    def factory(embeddings: Embeddings, _: str) -> object:
        made.append((Blocking(embeddings), threading.current_thread().name))
        return Adapted(made[0][0], eventual=False, threads=1)

    async with started(factory, Model()) as store:
        held = points(20)
        await asyncio.gather(*(store.put(tenant, [point]) for point in held))
        await asyncio.gather(*(found(store, tenant, point.vector, k=1) for point in held))
        [(blocking, thread)] = made
        assert blocking.threads == {thread}


async def test_the_same_memory_may_be_put_from_many_sides_at_once(tenant: str) -> None:
    async with started(lambda embeddings, _: Adapted(Blocking(embeddings), eventual=False), Model()) as store:
        [point] = points(1)
        await asyncio.gather(*(store.put(tenant, [point]) for _ in range(50)))
        [(id, score)] = await store.nearest(tenant, point.vector, circles=[EVERYONE], kinds=[], k=5)
        assert id == point.id and score > 0.999


async def test_a_store_that_hangs_is_away(tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Blocking] = []

    def factory(embeddings: Embeddings, _: str) -> object:
        made.append(Blocking(embeddings))
        return Adapted(made[0], eventual=False)

    async with started(factory, Model()) as store:
        monkeypatch.setattr(marked, "PATIENCE", 0.1)
        made[0].gate.clear()
        with pytest.raises(ServerUnavailable):
            await found(store, tenant, ASKED)
        made[0].gate.set()
        monkeypatch.undo()
        assert await found(store, tenant, ASKED) == []


class Failing(Dictionaries):
    """Fails as it is told to, in a way that says nothing of the network."""

    writes: Exception | None = None
    searches: Exception | None = None

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        if self.writes:
            raise self.writes
        return super().add_documents(documents, ids)

    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:
        if self.searches:
            raise self.searches
        return super()._similarity_search_with_score_by_vector(embedding, k, filter)


async def test_an_error_means_away_unless_a_write_fails_while_a_search_works(tenant: str) -> None:
    made: list[Failing] = []

    def factory(embeddings: Embeddings, _: str) -> object:
        made.append(Failing(embeddings, {}, []))
        return Adapted(made[0], eventual=False)

    async with started(factory, Model()) as store:
        [failing], held = made, points(2)
        await store.put(tenant, held[:1])
        failing.writes = ValueError("a key of the metadata is too long")
        with pytest.raises(BadInput, match=r"refuses what it was given.*too long"):
            await store.put(tenant, held)
        failing.searches = RuntimeError("status 503")
        for asking in (store.put(tenant, held), found(store, tenant, ASKED), store.shown(tenant, [held[0].id])):
            with pytest.raises(ServerUnavailable, match="does not answer"):
                await asking
        failing.searches, failing.writes = None, ConnectionResetError("reset by peer")
        with pytest.raises(ServerUnavailable, match="not to be reached"):
            await store.put(tenant, held)
        failing.writes = None
        await store.put(tenant, held)
        assert set(await found(store, tenant, ASKED)) == {point.id for point in held}


async def test_a_store_that_says_that_it_did_not_delete_is_not_believed_to_have(tenant: str) -> None:
    answers: list[bool | None] = []

    class Says(Dictionaries):
        def delete(self, ids: Any = None, **kwargs: Any) -> Any:
            super().delete(ids)
            return answers[-1] if answers else True

    async with started(lambda embeddings, _: Adapted(Says(embeddings, {}, []), eventual=False), Model()) as store:
        await store.put(tenant, held := points(1))
        for answer in (None, True):
            answers.append(answer)
            await store.remove(tenant, [held[0].id])
        answers.append(False)
        with pytest.raises(BadInput, match="did not delete"):
            await store.remove(tenant, [held[0].id])


async def test_a_factory_may_be_a_context_that_closes_what_it_opened(tenant: str) -> None:
    told: list[str] = []

    @contextmanager
    def blocking(embeddings: Embeddings, _: str) -> Generator[object]:
        told.append(threading.current_thread().name)
        yield Adapted(Dictionaries(embeddings, {}, []), eventual=False)
        told.append(threading.current_thread().name)

    @asynccontextmanager
    async def awaited(embeddings: Embeddings, _: str) -> AsyncGenerator[object]:
        await asyncio.sleep(0)
        yield Adapted(Dictionaries(embeddings, {}, []), eventual=False)
        told.append("closed")

    async def made(embeddings: Embeddings, _: str) -> object:
        await asyncio.sleep(0)
        return Adapted(Dictionaries(embeddings, {}, []), eventual=False)

    for factory, before, after in ((blocking, 1, 2), (awaited, 2, 3), (made, 3, 3)):
        async with started(factory, Model()) as store:
            await store.put(tenant, points(1))
            assert len(told) == before
        assert len(told) == after
    assert threading.current_thread().name not in told and told[2] == "closed"


async def test_a_store_that_is_refused_is_closed_too() -> None:
    closed: list[object] = []

    @contextmanager
    def factory(embeddings: Embeddings, given: object) -> Generator[object]:
        yield given
        closed.append(given)

    class HoldsNothing(Dictionaries):
        def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
            return []

    for lacking in (lambda told: Adapted(HoldsNothing(told, {}, []), eventual=False), lambda _: None):  # pyright: ignore
        with pytest.raises(SettingsError):
            async with started(lambda told, _, lacking=lacking: factory(told, lacking(told)), Model()):  # pyright: ignore
                pass
    assert len(closed) == 2


async def test_a_start_that_is_cut_off_leaves_nothing_behind() -> None:
    held: dict[str, dict[str, Any]] = {}
    reached = asyncio.Event()

    class Waits(Dictionaries):
        async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            assert held
            reached.set()
            await asyncio.Event().wait()

    async def start() -> None:
        async with started(lambda embeddings, _: Adapted(Waits(embeddings, held, []), awaited=True), Model()):
            pass

    starting = asyncio.ensure_future(start())
    await reached.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert held == {}


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store on disk, in a user's file that is copied from the documentation."""
    written = (Path(lousa.__file__).parent / "docs" / "vector-stores.md").read_text(encoding="utf-8")
    [server] = re.findall(r"```python\n([^`]*QdrantClient\(url=[^`]*)```", written)
    [folder] = re.findall(r"```python\n([^`]*QdrantClient\(path=[^`]*)```", written)
    module = f"stores_{uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(server + folder, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    return f"langchain:{module}:vectors"


async def test_qdrant_on_disk_finds_after_a_restart_what_it_was_given(on_disk: str, tenant: str) -> None:
    held = points(5)
    async with AsyncExitStack() as stack:
        store = LangChainStore(on_disk, Model())
        await store.start(stack)
        await store.put(tenant, held)
        await store.remove(tenant, [held[0].id])
    async with AsyncExitStack() as stack:
        store = vector_store(on_disk, Model())
        await store.start(stack)
        assert set(await found(store, tenant, ASKED)) == {point.id for point in held[1:]}
        assert await store.count(tenant) == 4


SECOND = """
import asyncio, sys
from contextlib import AsyncExitStack
from lousa.infra.errors import SettingsError
from lousa.memory_layers.context.langchain import LangChainStore

class Model:
    name, fingerprint, dimensions = "a model", "0123456789ab", 16

async def main():
    async with AsyncExitStack() as stack:
        await LangChainStore(sys.argv[1], Model()).start(stack)

try:
    asyncio.run(main())
except SettingsError as refused:
    print(refused)
"""


async def test_a_second_process_on_one_folder_is_refused_and_the_first_goes_on(
    on_disk: str, tmp_path: Path, tenant: str
) -> None:
    async with AsyncExitStack() as stack:
        store = LangChainStore(on_disk, Model())
        await store.start(stack)
        await store.put(tenant, held := points(1))
        second = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SECOND, on_disk, cwd=tmp_path, stdout=subprocess.PIPE
        )
        said, _ = await second.communicate()
        assert "already accessed by another instance" in said.decode() and "LOUSA_VECTOR_URL" in said.decode()
        assert await found(store, tenant, ASKED) == [held[0].id]


async def test_a_collection_of_other_dimensions_is_refused(on_disk: str) -> None:
    async with AsyncExitStack() as stack:
        await LangChainStore(on_disk, Model()).start(stack)
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match=r"16 dimensions.*17-dimensional.*LOUSA_VECTOR_URL"):
            await LangChainStore(on_disk, Model(dimensions=17)).start(stack)
