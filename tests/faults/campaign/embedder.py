"""An embedder that costs nothing: words are hashed into few dimensions, the same text always gives the same vector."""

from __future__ import annotations

from zlib import crc32

DIMENSIONS = 64


class Hashing:
    """Has the verbs of LangChain's `Embeddings` that Lousa asks for."""

    model = "hashing"

    def embed_query(self, text: str) -> list[float]:
        """One vector; never of length 0."""
        vector = [0.0] * DIMENSIONS
        vector[0] = 0.1
        for word in text.split():
            digest = crc32(word.encode())
            vector[digest % DIMENSIONS] += 1.0 if digest & 0x8000 else -1.0
        return vector

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector each."""
        return [self.embed_query(text) for text in texts]


def hashing() -> Hashing:
    """The factory that `LOUSA_EMBEDDER` names."""
    return Hashing()
