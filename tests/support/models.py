"""Embedders for tests that are quick and always the same: words fall into places by their digests, by each model's own.

Two models of equal dimensions share no meaning: what is alike to one is not to the other. `LOUSA_EMBEDDER=models:one`
names the one, also in a process of its own. `calls` counts documents; a gate that is closed keeps them waiting, but for
the first that are free.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Sequence

import numpy

DIMENSIONS = int(os.environ.get("LOUSA_TEST_DIMENSIONS", "64"))
calls: Counter[str] = Counter()
gates: dict[str, asyncio.Event] = {}
free: Counter[str] = Counter()
refused: dict[str, str] = {}
"""A word that a model cannot bear."""


class Words:
    """Likeness by shared words. Satisfies LangChain's `Embeddings` as far as it is used."""

    def __init__(self, name: str) -> None:
        self.model = name

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        calls[self.model] += len(texts)
        if any(refused.get(self.model, "\0") in text for text in texts):
            raise ValueError(f"{self.model} cannot read that")
        if (gate := gates.get(self.model)) is not None and calls[self.model] > free[self.model]:
            await gate.wait()
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def embed_query(self, text: str) -> list[float]:
        sums = numpy.full(DIMENSIONS, 0.01)
        for word in text.casefold().split():
            digest = hashlib.sha256(f"{self.model} {word}".encode()).digest()
            for place in range(0, 8, 2):
                sums[digest[place] % DIMENSIONS] += 1 if digest[place + 1] % 2 else -1
        return [float(value) for value in sums]


def one() -> Words:
    return Words("one")


def two() -> Words:
    return Words("two")


def stuck() -> Words:
    """One that never answers."""
    gates["stuck"] = asyncio.Event()
    return Words("stuck")
