"""The router's table as a value: where each kind lives, how it gets there, and how long it stays.

Policy is handed down; no layer knows whether its write was through or back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ..infra.errors import SettingsError
from .records import MemoryKind

Write = Literal["through", "back"]
Retention = Literal["operational", "standard", "decision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table. `kept` is None for what stays until it is superseded, edited or withdrawn."""

    home: Literal[1, 4]
    also: tuple[int, ...]
    write: Write
    kept: timedelta | None
    half_life: timedelta | None = None
    retention: Retention = "standard"


DEFAULT: Mapping[MemoryKind, Policy] = {
    MemoryKind.WORKING: Policy(home=1, also=(), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.SCRATCH: Policy(home=1, also=(), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.TURN: Policy(home=1, also=(4,), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.EPISODIC: Policy(home=4, also=(2,), write="back", kept=timedelta(days=90), half_life=timedelta(days=30)),
    MemoryKind.SEMANTIC: Policy(
        home=4, also=(2,), write="back", kept=timedelta(days=90), half_life=timedelta(days=180)
    ),
    MemoryKind.FACT: Policy(home=4, also=(3, 2), write="through", kept=None),
    MemoryKind.PROCEDURAL: Policy(home=4, also=(2,), write="through", kept=None),
    MemoryKind.BLOCK: Policy(home=4, also=(1,), write="through", kept=None),
    MemoryKind.DECISION: Policy(
        home=4, also=(3,), write="through", kept=timedelta(days=365 * 7 + 2), retention="decision"
    ),
}


def table(overrides: Mapping[MemoryKind, Policy] | None = None) -> Mapping[MemoryKind, Policy]:
    """The table in force, checked: a kind that must not be lost keeps its write-through."""
    merged = {**DEFAULT, **(overrides or {})}
    for kind in (MemoryKind.FACT, MemoryKind.PROCEDURAL, MemoryKind.DECISION):
        if merged[kind].write != "through":
            raise SettingsError(f"{kind!r} is written through: its readers act on it at once, so it cannot be 'back'")
        if merged[kind].half_life is not None:
            raise SettingsError(f"{kind!r} never fades: half_life must stay None")
    return merged
