"""The router's table as a value: where each kind lives, how it gets there, and how long it stays.

Policy is handed down; no layer knows whether its write was through or back.

`kept` and `by_category` say how long a memory stays, and `then` what consolidation does once it is older. What a user
said is another matter: nobody says a rule twice, so where it has no category with a limit of its own, `told` goes
before `then`. A category is compared without case, accents, hyphens and underscores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from ..infra.errors import SettingsError
from .records import MemoryKind

Write = Literal["through", "back"]
Retention = Literal["operational", "standard", "decision"]
Then = Literal["expire", "archive", "confirm", "stay"]

_YEAR, _HALF_A_YEAR, _QUARTER = timedelta(days=365), timedelta(days=183), timedelta(days=92)
CATEGORIES: Mapping[str, timedelta] = {
    "preference": _YEAR,
    "preferencia": _YEAR,
    "technical": _HALF_A_YEAR,
    "tecnico": _HALF_A_YEAR,
    "tecnica": _HALF_A_YEAR,
    "project state": _QUARTER,
    "estado do projeto": _QUARTER,
}
"""How long what is said of a category may be relied on, in English and in Portuguese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table. `kept` is None for what stays until it is superseded, edited or withdrawn.

    `then`: once older, it expires; it goes to the archive; it is marked as to be confirmed; or nothing happens to it
    here. What expires counts from its last use, anything else from when it was last said. `told` is the same of what a
    user said and no category limits; None makes no difference between who said it. `tie_break`: age decides between
    what answers equally well, and hardly anything else.
    """

    home: Literal[1, 4]
    also: tuple[int, ...]
    write: Write
    kept: timedelta | None
    half_life: timedelta | None = None
    tie_break: bool = False
    retention: Retention = "standard"
    by_category: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])
    then: Then = "stay"
    told: Literal["confirm", "stay"] | None = None


DEFAULT: Mapping[MemoryKind, Policy] = {
    MemoryKind.WORKING: Policy(home=1, also=(), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.SCRATCH: Policy(home=1, also=(), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.TURN: Policy(home=1, also=(4,), write="through", kept=timedelta(hours=24), retention="operational"),
    MemoryKind.EPISODIC: Policy(
        home=4,
        also=(2,),
        write="back",
        kept=timedelta(days=90),
        half_life=timedelta(days=30),
        then="archive",
        told="stay",
    ),
    MemoryKind.SEMANTIC: Policy(
        home=4,
        also=(2,),
        write="back",
        kept=timedelta(days=90),
        half_life=timedelta(days=180),
        tie_break=True,
        by_category=CATEGORIES,
        then="expire",
        told="confirm",
    ),
    MemoryKind.FACT: Policy(home=4, also=(3, 2), write="through", kept=None, by_category=CATEGORIES, then="confirm"),
    MemoryKind.PROCEDURAL: Policy(home=4, also=(2,), write="through", kept=None),
    MemoryKind.BLOCK: Policy(home=4, also=(1,), write="through", kept=None),
    MemoryKind.DECISION: Policy(
        home=4, also=(3,), write="through", kept=timedelta(days=365 * 7 + 2), retention="decision"
    ),
}


def table(overrides: Mapping[MemoryKind, Policy] | None = None) -> Mapping[MemoryKind, Policy]:
    """The table in force, checked: a kind that must not be lost keeps its write-through, and never goes by its age."""
    merged = {**DEFAULT, **(overrides or {})}
    for kind in (MemoryKind.FACT, MemoryKind.PROCEDURAL, MemoryKind.DECISION):
        if merged[kind].write != "through":
            raise SettingsError(f"{kind!r} is written through: its readers act on it at once, so it cannot be 'back'")
        if merged[kind].half_life is not None:
            raise SettingsError(f"{kind!r} never fades: half_life must stay None")
    for kind in (MemoryKind.FACT, MemoryKind.PROCEDURAL, MemoryKind.BLOCK, MemoryKind.DECISION):
        if merged[kind].then in ("expire", "archive"):
            raise SettingsError(f"{kind!r} does not go by its age: then must be 'stay', or 'confirm' for a fact")
    return merged
