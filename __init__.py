"""The front door: everything a user of Lousa imports, and nothing else.

Names are fetched when they are first asked for (PEP 562), because LangGraph alone takes longer to import than most
commands take to run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents.contract import (
        Accept,
        Critic,
        Escalate,
        Failure,
        Finding,
        Outcome,
        Outcomes,
        Planner,
        Reject,
        Revise,
        Skipped,
        Task,
        Worker,
    )
    from .agents.desk import Desk
    from .agents.pipeline import Pipeline
    from .infra.errors import EffectUncertain, LousaError, Stale
    from .infra.identity import Principal
    from .memory_layers.conversation.board import Conflict, Written
    from .memory_layers.conversation.summaries import Summary, Topic
    from .memory_layers.conversation.window import Turn
    from .memory_layers.records import Fact, Hit, Memory, MemoryKind, Recall, Scope
    from .memory_layers.validators import Ruling
    from .runtime.app import Runtime, open
    from .runtime.execution import Result

_HOME = {
    "agents.contract": (
        "Accept", "Critic", "Escalate", "Failure", "Finding", "Outcome", "Outcomes", "Planner", "Reject", "Revise",
        "Skipped", "Task", "Worker",
    ),
    "agents.desk": ("Desk",),
    "agents.pipeline": ("Pipeline",),
    "infra.errors": ("EffectUncertain", "LousaError", "Stale"),
    "infra.identity": ("Principal",),
    "memory_layers.conversation.board": ("Conflict", "Written"),
    "memory_layers.conversation.summaries": ("Summary", "Topic"),
    "memory_layers.conversation.window": ("Turn",),
    "memory_layers.records": ("Fact", "Hit", "Memory", "MemoryKind", "Recall", "Scope"),
    "memory_layers.validators": ("Ruling",),
    "runtime.app": ("Runtime", "open"),
    "runtime.execution": ("Result",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Accept", "Conflict", "Critic", "Desk", "EffectUncertain", "Escalate", "Fact", "Failure", "Finding", "Hit",
    "LousaError", "Memory", "MemoryKind", "Outcome", "Outcomes", "Pipeline", "Planner", "Principal", "Recall",
    "Reject", "Result", "Revise", "Ruling", "Runtime", "Scope", "Skipped", "Stale", "Summary", "Task", "Topic", "Turn",
    "Worker", "Written", "open",
]  # fmt: skip
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'lousa' has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
