"""Which graph `LOUSA_GRAPH_URL` names; its client is imported only when it is named."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from .outside import OutsideKnowledgeLayer
from .postgres import KnowledgeLayer

if TYPE_CHECKING:
    from ...infra.clock import Clock
    from ...infra.connections import Connections
    from .graph import GraphStore


def knowledge_layer(
    connections: Connections,
    url: str | None,
    *,
    clock: Clock | None = None,
    deadline: timedelta,
    retires: bool = True,
) -> KnowledgeLayer:
    """Layer 3 with its graph where an address says, in Postgres without one; not yet started.

    Raises:
        SettingsError: a malformed address.
    """
    if url is None:
        return KnowledgeLayer(connections, clock=clock, retires=retires)
    return OutsideKnowledgeLayer(connections, graph_store(url, deadline=deadline), clock=clock, retires=retires)


def graph_store(url: str, *, deadline: timedelta) -> GraphStore:
    """The graph that an address names, not yet started.

    Raises:
        SettingsError: a malformed address.
    """
    from .neo4j import Neo4jGraph

    return Neo4jGraph(url, deadline=deadline)
