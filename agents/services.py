"""What a run is given to work with: the parts of one `open()`, made and closed by whoever opened it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..infra.clock import Clock
    from ..infra.connections import Connections
    from ..infra.settings import Settings
    from ..memory_layers.context.pgvector import ContextLayer
    from ..memory_layers.conversation.feed import Feed
    from ..memory_layers.execution.artifacts import Artifacts
    from ..memory_layers.execution.effects import Effects
    from ..memory_layers.execution.executions import Executions
    from ..memory_layers.execution.transcript import Transcript
    from ..memory_layers.knowledge.postgres import KnowledgeLayer
    from ..memory_layers.recall import Recaller
    from ..memory_layers.router import Router
    from .llm import Model
    from .ownership import Life


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts, started."""

    connections: Connections
    settings: Settings
    clock: Clock
    feed: Feed
    artifacts: Artifacts
    executions: Executions
    effects: Effects
    transcript: Transcript
    router: Router
    recaller: Recaller
    context: ContextLayer
    knowledge: KnowledgeLayer
    life: Life
    model: Model | None = None
