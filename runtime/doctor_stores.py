"""Stores outside as the doctor sees them: whether they answer, and whether they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

from ..agents.services import Services
from ..infra.errors import ServerUnavailable
from ..memory_layers.context.outside import OutsideContextLayer
from ..memory_layers.knowledge.outside import OutsideKnowledgeLayer
from .check import Check

_NOBODY = UUID(int=0)


async def store_checks(services: Services) -> AsyncIterator[Check]:
    """The stores that the settings name, each asked for a memory that is none; nothing where none is named."""
    tenant, context, knowledge = services.settings.tenant, services.context, services.knowledge
    if isinstance(context, OutsideContextLayer):
        try:
            await context.store.shown(tenant, [_NOBODY])
        except ServerUnavailable as error:
            said = f"{error}: memories are found by words and facts, and its vectors wait in Postgres until it answers"
            yield Check(what="vectors", state="wrong", said=said)
        else:
            yield Check(what="vectors", state="ok", said=f"{context.store_address} answers")
    if isinstance(knowledge, OutsideKnowledgeLayer):
        try:
            await knowledge.graph.revisions(tenant, [_NOBODY])
        except ServerUnavailable as error:
            said = f"{error} Facts are read in Postgres, and what the graph is owed waits there until it answers"
            yield Check(what="graph", state="wrong", said=said)
        else:
            said = f"{knowledge.graph.name} answers"
            if knowledge.standing == "serving":
                yield Check(what="graph", state="ok", said=said)
            else:
                said = f"{said}, and the graph is read in Postgres until it was brought there"
                yield Check(what="graph", state="note", said=said)
