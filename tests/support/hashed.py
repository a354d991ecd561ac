"""An embedder for tests that is quick and always the same: words fall into 64 places by their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy

DIMENSIONS = 64


class Hashed:
    """Likeness by shared words. Satisfies LangChain's `Embeddings` as far as it is used."""

    model = "hashed words"

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def embed_query(self, text: str) -> list[float]:
        sums = numpy.full(DIMENSIONS, 0.01)
        for word in text.casefold().split():
            digest = hashlib.sha256(word.encode()).digest()
            sums[digest[0] % DIMENSIONS] += 1 if digest[1] % 2 else -1
        return [float(value) for value in sums]


def embeddings() -> Hashed:
    """What `LOUSA_EMBEDDER=hashed:embeddings` calls."""
    return Hashed()
