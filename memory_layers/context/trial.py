"""A store is tried before it is used: a few vectors of known cosines are put, found, replaced and deleted.

What a store cannot do shows here and not in a recall: one that passes over the filter, keeps what was deleted, cuts
before it ranks. And its scores are learned: stores call a cosine, a distance, its square or its half a score, and
whichever of these fits what was put is used from then on.

Whatever the trial puts carries marks of its own that nobody asks for, and is taken out at the end, however that comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import numpy

from ...infra.errors import ServerUnavailable
from .marked import OURS, Entry, Marked

if TYPE_CHECKING:
    from ..embedding import Vectors

T = TypeVar("T")
Scale = Callable[[float], float]
"""From a score to the cosine."""

SCALES: Mapping[str, Scale] = {
    "cosine": lambda score: score,
    "1 - cosine": lambda score: 1 - score,
    "(1 + cosine) / 2": lambda score: 2 * score - 1,
    "(1 - cosine) / 2": lambda score: 1 - 2 * score,
    "-cosine": lambda score: -score,
    "squared distance": lambda score: 1 - score / 2,
    "distance": lambda score: 1 - score**2 / 2,
    "1 - distance / √2": lambda score: 1 - (1 - score) ** 2,
    "1 / (1 + squared distance)": lambda score: 1.5 - 0.5 / score if score else float("nan"),
    "1 / (1 + distance)": lambda score: 1 - (1 / score - 1) ** 2 / 2 if score else float("nan"),
}

_COSINES = (0.9, 0.6, 0.1, -0.4, -0.8)
_NEAR = 0.02
"""How far off a cosine may be: some stores keep vectors in a byte a number."""
_EVENTUALLY = 20.0


class Unfit(Exception):
    """What a store cannot do; the message goes on after its name."""


class Trial:
    """One trial of one store."""

    def __init__(self, marked: Marked) -> None:
        self._marked = marked
        self._one, self._other = uuid4().hex[:16], uuid4().hex[:16]
        self._question = marked.told.anywhere
        one = [self._entry(cosine, self._one) for cosine in _COSINES]
        self._texts = {entry.text: cosine for entry, cosine in zip(one, _COSINES, strict=True)}
        self._decoy = self._entry(1.0, self._other)
        self._entries = [*one, self._decoy]

    async def run(self) -> Scale:
        """What takes the store's scores to cosines.

        Raises:
            Unfit: the store cannot do what layer 2 needs.
            ServerUnavailable: it does not answer.
        """
        first = self._entry(0.0, uuid4().hex[:16])
        names = [entry.name for entry in (first, *self._entries)]
        await self._holds([first])  # some make their collection only now; and if this one stays, it is but one
        for _ in range(2):
            await _can("delete by id, also what it does not hold", self._marked.delete(names))
        try:
            await self._holds(self._entries)
            await self._finds()
            scale = await self._scores()
            await self._replaces(scale)
            await self._deletes()
        finally:
            await _can("delete by id", self._marked.delete(names))
        return scale

    async def _holds(self, entries: Sequence[Entry]) -> None:
        what = f"hold vectors of {len(self._question)} numbers with ids and metadata"
        await _can(what, self._marked.add(entries))

    async def _finds(self) -> None:
        async def found() -> bool:
            return (await self._search(self._one)).keys() == self._texts.keys()

        async def either() -> bool:
            return len(await self._search(self._one, self._other)) == len(self._entries)

        async def likest() -> bool:
            return {self._texts[text] for text in await self._search(self._one, k=2)} == set(_COSINES[:2])

        await self._until(found, "find by its filter what was put")
        await self._until(either, "find what carries any of several marks")
        if self._marked.how.fetched:
            await self._until(self._all_fetched, "fetch by id")
        await self._until(likest, "give the likest when it is asked for a few")

    async def _scores(self) -> Scale:
        scores = await self._search(self._one)
        for scale in SCALES.values():
            if all(abs(scale(score) - self._texts[text]) <= _NEAR for text, score in scores.items()):
                return scale
        told = ", ".join(f"{self._texts[text]}: {score:.4g}" for text, score in scores.items())
        raise Unfit(f"gives scores that follow the cosine in no known way ({told})")

    async def _replaces(self, scale: Scale) -> None:
        moved = self._entries[0]
        again = Entry(name=moved.name, text=moved.text, marks=[self._other], vector=self._at(-0.4))

        async def replaced() -> bool:
            here, there = await self._search(self._one), await self._search(self._other)
            return moved.text not in here and abs(scale(there.get(moved.text, 9.0)) + 0.4) <= _NEAR

        await _can("put what it holds already", self._marked.add([again]))
        await self._until(replaced, "put in place of what was held under an id")

    async def _deletes(self) -> None:
        async def gone() -> bool:
            return self._entries[1].text not in await self._search(self._one)

        await _can("delete", self._marked.delete([self._entries[1].name]))
        await self._until(gone, "delete by id")

    async def _all_fetched(self) -> bool:
        fetched = await _can("fetch by id", self._marked.fetch([entry.name for entry in self._entries]))
        return fetched == {entry.text for entry in self._entries}

    async def _search(self, *marks: str, k: int = 20) -> dict[str, float]:
        found = await _can("search with such a filter", self._marked.search(self._question, marks, k))
        wanted = {entry.text for entry in self._entries if self._other in marks or entry is not self._decoy}
        if found.keys() - wanted:
            raise Unfit("does not filter: a search found what carries none of the marks that were asked for")
        return found

    async def _until(self, condition: Callable[[], Awaitable[bool]], what: str) -> None:
        last = time.monotonic() + (_EVENTUALLY if self._marked.how.eventual else 0.0)
        pause = 0.02
        while not await condition():
            if time.monotonic() >= last:
                raise Unfit(f"does not {what}")
            await asyncio.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def _entry(self, cosine: float, mark: str) -> Entry:
        return Entry(name=str(uuid4()), text=f"{OURS}trial:{uuid4()}", marks=[mark], vector=self._at(cosine))

    def _at(self, cosine: float) -> Vectors:
        vector = numpy.zeros_like(self._question)
        vector[0], vector[1] = cosine, (1 - cosine**2) ** 0.5
        return vector


async def _can(what: str, doing: Awaitable[T]) -> T:
    try:
        return await doing
    except ServerUnavailable:
        raise
    except Exception as error:
        raise Unfit(f"does not {what}: {error!r}") from error
