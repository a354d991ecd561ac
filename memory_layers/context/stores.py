"""Which store of vectors `LOUSA_VECTOR_URL` names; each one's client is imported only when it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...infra.errors import SettingsError

if TYPE_CHECKING:
    from ..embedding import Embedder
    from .remote import VectorStore


def vector_store(url: str, embedder: Embedder, *, generation: int = 0) -> VectorStore:
    """The store that an address names, not yet started; it holds vectors of this embedder.

    `generation` tells a store that is being filled anew from the one beside it that is read meanwhile.

    Raises:
        SettingsError: no such kind of store, a malformed address, or an extra that is not installed.
    """
    if url.startswith("pinecone:"):
        from .pinecone import PineconeStore

        return PineconeStore(url, embedder, generation=generation)
    raise SettingsError(
        f"LOUSA_VECTOR_URL={url!r} names no store: expected 'pinecone://INDEX?host=…' or 'langchain:module:factory'"
    )
