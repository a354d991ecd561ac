"""LangChain documents without text: a name, marks and a vector of ours.

LangChain's stores take texts and make the vectors themselves, with an `Embeddings` that they are given. Ours is given
vectors under a token each and answers a token with its vector; the token is the document's content, so nothing a
person wrote leaves. A question is a token as well.

Blocking verbs run in threads of our own, so that a store that hangs takes none from the embedder. A client that is not
safe in several threads has one for all, in which its factory runs as well.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

import numpy
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ...infra.errors import ServerUnavailable
from ...infra.tasks import together
from .dialects import KEY, Adapted, adapted
from .workers import Workers

if TYPE_CHECKING:
    from ..embedding import Vectors

T = TypeVar("T")

OURS = "lousa:"
"""What every text begins with that a store is given."""
PATIENCE = 30.0
"""Seconds that one request may take."""
_AT_ONCE = 100
_NOT_THE_NETWORK = (
    BlockingIOError,  # a file that somebody else has locked
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document: its id in the store, a text that begins with `OURS`, its marks, its vector."""

    name: str
    text: str
    marks: Sequence[str]
    vector: Vectors


class Told(Embeddings):
    """Our vectors by the texts that stand for them.

    A text that is not ours gets a vector of the right length: stores embed some word of theirs to learn it.
    """

    def __init__(self, dimensions: int) -> None:
        self._vectors: dict[str, Vectors] = {}
        self._held = Counter[str]()
        self.anywhere = numpy.zeros(dimensions, dtype=numpy.float32)
        self.anywhere[0] = 1.0

    @contextmanager
    def telling(self, vectors: Mapping[str, Vectors]) -> Generator[None]:
        """These are known for as long as somebody tells them."""
        self._vectors.update(vectors)
        self._held.update(vectors.keys())
        try:
            yield
        finally:
            for text in vectors:
                self._held[text] -= 1
                if not self._held[text]:
                    del self._held[text], self._vectors[text]

    def embed_query(self, text: str) -> list[float]:
        vector = self._vectors[text] if text.startswith(OURS) else self.anywhere
        return vector.tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class Marked:
    """What a factory opened, spoken to in entries and marks.

    Raises `ServerUnavailable` where the network failed or time ran out; whatever else the store raises comes as it is.
    """

    def __init__(self, dimensions: int) -> None:
        self.told = Told(dimensions)
        self._threads: Workers | None = None
        self._adapted: Adapted | None = None

    async def open(self, stack: AsyncExitStack, make: Callable[[Embeddings], object]) -> None:
        """Call a factory, and take what it gives: a store, an awaitable, or a context that closes what it opened.

        Raises:
            TypeError: it gives no store.
        """
        self._threads = Workers(1, "lousa-vectors")
        stack.callback(lambda: self._workers.close())
        given = await self._in_a_thread(make, self.told)
        if isinstance(given, Awaitable):
            given = await _within(given)
        if isinstance(given, AbstractContextManager):
            context = cast("AbstractContextManager[object]", given)
            given = await self._in_a_thread(context.__enter__)
            stack.push_async_callback(self._in_a_thread, context.__exit__, None, None, None)
        elif isinstance(given, AbstractAsyncContextManager):
            given = await stack.enter_async_context(cast("AbstractAsyncContextManager[object]", given))
        if isinstance(given, VectorStore):
            given = await self._in_a_thread(adapted, given)
        if not isinstance(given, Adapted):
            raise TypeError(f"it gave {given!r}, expected a VectorStore of LangChain or Lousa's Adapted")
        self._adapted = given
        if given.threads != 1:
            self._workers.close()
            self._threads = Workers(given.threads, "lousa-vectors")

    @property
    def how(self) -> Adapted:
        assert self._adapted is not None, "open() comes first"
        return self._adapted

    async def add(self, entries: Sequence[Entry]) -> None:
        """Hold these, in place of what was held under their names."""
        for start in range(0, len(entries), _AT_ONCE):
            some = entries[start : start + _AT_ONCE]
            documents = [
                Document(id=entry.name, page_content=entry.text, metadata=self._metadata(entry.marks)) for entry in some
            ]
            with self.told.telling({entry.text: entry.vector for entry in some}):
                await self._do("add_documents", documents, ids=[entry.name for entry in some])

    async def delete(self, names: Collection[str]) -> None:
        """Hold these no longer."""
        every = list(names)
        for start in range(0, len(every), _AT_ONCE):
            if await self._do("delete", every[start : start + _AT_ONCE]) is False:
                raise RuntimeError(f"{type(self.how.store).__name__} says that it did not delete")

    async def search(self, vector: Vectors, marks: Sequence[str], k: int) -> dict[str, float]:
        """The texts of the `k` likest that carry any of these marks, with the store's own scores, its best first."""
        how, every = self.how, list(marks)
        at_once = how.at_once or len(every)
        text = f"{OURS}{uuid4()}"
        with self.told.telling({text: vector}):
            answers = await together(
                *(
                    self._do("similarity_search_with_score", text, k=k, **how.where(every[start : start + at_once]))
                    for start in range(0, len(every), at_once)
                )
            )
        found = [one for answer in answers for one in cast("list[tuple[Document, float]]", answer)]
        return {document.page_content: self._score(vector, document, score) for document, score in found}

    async def fetch(self, names: Sequence[str]) -> set[str]:
        """The texts of those that are held, as the store tells without a search."""
        return {document.page_content for document in cast("list[Document]", await self._do("get_by_ids", list(names)))}

    async def count(self, mark: str) -> int | None:
        """How many carry a mark; None when the store cannot say."""
        return None if self.how.count is None else await self._in_a_thread(self.how.count, mark)

    def _metadata(self, marks: Sequence[str]) -> dict[str, object]:
        return {KEY: list(marks)} if self.how.listed else {f"{KEY}_{mark}": True for mark in marks}

    def _score(self, vector: Vectors, document: Document, score: float) -> float:
        if self.how.vectors is None:
            return float(score)
        found = numpy.asarray(document.metadata[self.how.vectors], dtype=numpy.float32)
        return float(vector @ found / max(float(numpy.linalg.norm(found)), 1e-12))

    async def _do(self, verb: str, *arguments: object, **options: object) -> object:
        store = self.how.store
        if self.how.awaited:
            return await _within(getattr(store, f"a{verb}")(*arguments, **options))
        return await self._in_a_thread(partial(getattr(store, verb), *arguments, **options))

    async def _in_a_thread(self, function: Callable[..., T], *arguments: object) -> T:
        return await _within(self._workers.call(partial(function, *arguments)))

    @property
    def _workers(self) -> Workers:
        assert self._threads is not None, "open() comes first"
        return self._threads


async def _within(request: Any) -> Any:
    try:
        async with asyncio.timeout(PATIENCE):
            return await request
    except Exception as error:
        if _away(error):
            raise ServerUnavailable(f"the store of vectors is not to be reached: {error!r}") from error
        raise


def _away(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, is the network's."""
    while error is not None:
        if isinstance(error, OSError) and not isinstance(error, _NOT_THE_NETWORK):  # a TimeoutError is one too
            return True
        error = error.__cause__ or error.__context__
    return False
