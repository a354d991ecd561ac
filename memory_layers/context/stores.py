"""Which store of vectors `LOUSA_VECTOR_URL` names; each one's client is imported only when it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...infra.errors import SettingsError
from .outside import OutsideContextLayer
from .pgvector import ContextLayer

if TYPE_CHECKING:
    from ...infra.connections import Connections
    from ..embedding import Embedder
    from .remote import VectorStore


def context_layer(connections: Connections, embedder: Embedder, url: str | None) -> ContextLayer:
    """Layer 2 with its vectors where an address says, in Postgres without one; not yet started.

    Raises:
        SettingsError: no such kind of store, a malformed address, or an extra that is not installed.
    """
    if url is None:
        return ContextLayer(connections, embedder)
    return OutsideContextLayer(
        connections, embedder, lambda generation: vector_store(url, embedder, generation=generation)
    )


def vector_store(url: str, embedder: Embedder, *, generation: int = 0) -> VectorStore:
    """The store that an address names, not yet started; it holds vectors of this embedder.

    `generation` tells a store that is being filled anew from the one beside it that is read meanwhile.

    Raises:
        SettingsError: no such kind of store, a malformed address, or an extra that is not installed.
    """
    if url.startswith("pinecone:"):
        from .pinecone import PineconeStore

        return PineconeStore(url, embedder, generation=generation)
    if url.startswith("langchain:"):
        from .langchain import LangChainStore

        return LangChainStore(url, embedder, generation=generation)
    raise SettingsError(
        f"LOUSA_VECTOR_URL={url!r} names no store: expected 'pinecone://INDEX?host=…' or 'langchain:module:factory'"
    )
