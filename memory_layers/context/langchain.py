"""Any LangChain `VectorStore` as the store of layer 2's vectors.

`LOUSA_VECTOR_URL=langchain:module:factory` names a function that is called with an `Embeddings` of ours and the name
of a space, and gives a store that holds nothing but what Lousa puts there, by preference in a collection of that name:

    def factory(embeddings, space):
        return Chroma(space, embeddings, persist_directory="vectors")

A space belongs to one embedding model and one generation, so a change of model, or a rebuild, fills a second beside
the first. Space and tenant are part of every id, mark and text (a mark is a digest), so that neither two tenants nor
two spaces meet in one collection, and what others keep there is passed over.

A document is a memory: it holds the memory's id instead of a text, a mark for each circle that may see it, one for
each circle and kind, one for the tenant and one for itself. The last are what `clear` and `shown` ask for: a store of
LangChain can neither list nor say what a search would find by now. A memory of very many circles is offered to all of
its tenant, and the record refuses it to those who are not among them.

The store is tried at the start (`trial.py`). After that, an error of a search means that the store is away, since what
is asked never changes in kind; an error of a write does as well, unless a search works.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import NAMESPACE_OID, UUID, uuid5

from ...infra.errors import BadInput, ServerUnavailable, SettingsError, WrongTenant
from .marked import OURS, Entry, Marked
from .remote import Point, StoreCapabilities
from .trial import Scale, Trial, Unfit

if TYPE_CHECKING:
    from ..embedding import Embedder, Vectors

T = TypeVar("T")

_OURS = re.compile(OURS + "([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}):([0-9a-f]{16})")
_MANY, _CROWD = 2_000, "*"
"""Above so many circles, a memory is in one that everybody is in: Chroma breaks for good over some 5,000 marks."""
_PAGE = 1_000
_MARKS = 100
"""How many marks a search for memories by themselves is told at once."""
_VANISHING = 20.0
"""Seconds after which what was deleted must no longer be found."""


class LangChainStore:
    """Vectors of one embedder in a store of LangChain. Satisfies `VectorStore`."""

    def __init__(self, url: str, embedder: Embedder, *, generation: int = 0) -> None:
        scheme, _, factory = url.partition(":")
        module, colon, function = factory.partition(":")
        if scheme != "langchain" or not (module and colon and function):
            raise SettingsError(f"LOUSA_VECTOR_URL={url!r} cannot be used: expected 'langchain:module:factory'")
        self._url, self._module, self._function = url, module, function
        self.space = f"lousa_{embedder.fingerprint}_{generation}"
        self._marked = Marked(embedder.dimensions)
        self._scale: Scale | None = None

    @property
    def name(self) -> str:
        return f"{self._url}#{self.space}"

    @property
    def capabilities(self) -> StoreCapabilities:
        """As its dialect declares; known once it is started."""
        how = self._marked.how
        return StoreCapabilities(eventual=how.eventual, counts=how.count is not None)

    async def start(self, stack: AsyncExitStack) -> None:
        try:
            await self._marked.open(stack, self._make)
        except ServerUnavailable:
            raise
        except Exception as error:
            raise SettingsError(
                f"the factory of {self._url!r} gave no store: {error!r}; LOUSA_VECTOR_URL must name a function of"
                " embeddings and space that returns a VectorStore of LangChain (docs/vector-stores.md)"
            ) from error
        try:
            self._scale = await Trial(self._marked).run()
        except Unfit as unfit:
            raise SettingsError(
                f"{type(self._marked.how.store).__name__} of {self._url!r} {unfit}; let its factory return Lousa's"
                " Adapted, which says how the store is spoken to, or name another store in LOUSA_VECTOR_URL"
                " (docs/vector-stores.md)"
            ) from unfit

    async def put(self, tenant: str, points: Sequence[Point]) -> None:
        latest = {point.id: point for point in points}
        await self._write(tenant, self._marked.add([self._entry(tenant, point) for point in latest.values()]))

    async def remove(self, tenant: str, ids: Collection[UUID]) -> None:
        names = [_name(self._text(tenant, identifier)) for identifier in ids]
        await self._write(tenant, self._marked.delete(names))

    async def nearest(
        self, tenant: str, vector: Vectors, *, circles: Collection[str], kinds: Collection[str], k: int
    ) -> list[tuple[UUID, float]]:
        if not circles or k < 1:
            return []
        asked = [_CROWD, *sorted(circles)]
        if kinds:
            marks = [self._mark(tenant, "kind", circle, kind) for circle in asked for kind in sorted(kinds)]
        else:
            marks = [self._mark(tenant, "circle", circle) for circle in asked]
        assert self._scale is not None, "start() comes first"
        found = await self._search(tenant, vector, marks, k)
        likest = sorted(((min(1.0, max(-1.0, self._scale(score))), one) for one, score in found.items()), reverse=True)
        return [(identifier, cosine) for cosine, identifier in likest[:k]]

    async def shown(self, tenant: str, ids: Collection[UUID]) -> set[UUID]:
        every, found = sorted(ids), set[UUID]()
        for start in range(0, len(every), _MARKS):
            some = every[start : start + _MARKS]
            if self._marked.how.fetched:
                names = [_name(self._text(tenant, identifier)) for identifier in some]
                found |= {
                    identifier for identifier, _ in self._ours(tenant, await self._ask(self._marked.fetch(names)))
                }
            else:
                marks = [self._mark(tenant, "memory", str(identifier)) for identifier in some]
                found |= (await self._search(tenant, self._anywhere, marks, len(some))).keys()
        return found

    async def count(self, tenant: str) -> int | None:
        return await self._ask(self._marked.count(self._mark(tenant, "tenant")))

    async def clear(self, tenant: str) -> None:
        gone = set[UUID]()
        last, mark = time.monotonic() + _VANISHING, self._mark(tenant, "tenant")
        while found := (await self._search(tenant, self._anywhere, [mark], _PAGE)).keys():
            await self.remove(tenant, found)
            if not found <= gone:
                last = time.monotonic() + _VANISHING
            elif time.monotonic() > last:
                raise ServerUnavailable(f"{self.name} still shows what was deleted")
            else:
                await asyncio.sleep(0.2)
            gone |= found

    def _make(self, embeddings: object) -> object:
        try:
            module = import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name and f"{self._module}.".startswith(f"{error.name}."):
                raise LookupError(f"there is no module {error.name!r}; is its folder in PYTHONPATH?") from error
            raise
        factory: Any = getattr(module, self._function)
        return factory(embeddings, self.space)

    async def _search(self, tenant: str, vector: Vectors, marks: Sequence[str], k: int) -> dict[UUID, float]:
        found = await self._ask(self._marked.search(vector, marks, k))
        return {identifier: found[text] for identifier, text in self._ours(tenant, found)}

    async def _ask(self, asking: Awaitable[T]) -> T:
        try:
            return await asking
        except ServerUnavailable:
            raise
        except Exception as error:
            raise ServerUnavailable(f"{self.name} does not answer: {error!r}") from error

    async def _write(self, tenant: str, writing: Awaitable[None]) -> None:
        try:
            await writing
        except ServerUnavailable:
            raise
        except Exception as error:
            await self._search(tenant, self._anywhere, [self._mark(tenant, "tenant")], 1)  # raises if it is away
            raise BadInput(f"{self.name} refuses what it was given: {error!r}") from error

    def _entry(self, tenant: str, point: Point) -> Entry:
        text = self._text(tenant, point.id)
        marks = [self._mark(tenant, "tenant"), self._mark(tenant, "memory", str(point.id))]
        for circle in point.circles if len(point.circles) <= _MANY else [_CROWD]:
            marks += self._mark(tenant, "circle", circle), self._mark(tenant, "kind", circle, point.kind)
        return Entry(name=_name(text), text=text, marks=marks, vector=point.vector)

    def _text(self, tenant: str, identifier: UUID) -> str:
        return f"{OURS}{identifier}:{self._mark(tenant, 'tenant')}"

    def _ours(self, tenant: str, texts: Iterable[str]) -> Iterator[tuple[UUID, str]]:
        """Those of this tenant's memories, with their ids: others may keep theirs in the same collection."""
        owner = self._mark(tenant, "tenant")
        for text in texts:
            if (ours := _OURS.fullmatch(text)) and ours[2] == owner:
                yield UUID(ours[1]), text

    def _mark(self, tenant: str, *parts: str) -> str:
        if not tenant:
            raise WrongTenant("a tenant needs a name")
        return hashlib.sha256("\0".join((self.space, tenant, *parts)).encode()).hexdigest()[:16]

    @property
    def _anywhere(self) -> Vectors:
        return self._marked.told.anywhere


def _name(text: str) -> str:
    """Some stores take only UUIDs."""
    return str(uuid5(NAMESPACE_OID, text))
