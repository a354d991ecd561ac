"""How what is remembered gives way to what came later: ours, and four simpler ways to compare it with.

    naive    everything is kept; the likest comes first, whatever its age
    keyed    a fact that is stated anew retires the older one of its key; everything else is kept
    decay    everything is kept; a score halves with every half-life since it was said
    tiers    what was said falls into colder tiers, scores less in each, and is gone after the last
    lousa    the default: keys and plain restatements retire; age lowers a score a little; what nobody used goes by
             the table, what a user said is marked as to be confirmed

An ageing is a value that is handed down: the table that consolidation reads is what `over` makes of it, recall asks
`faded` how far a score has gone, layer 3 asks whether keys retire. None of them is about what may be known at all: what
is in quarantine, withdrawn or private stays so under each. The four are for measuring; they keep no promise about what
is outdated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ..infra.errors import SettingsError
from .policy import Policy
from .records import MemoryKind

GOING = (MemoryKind.EPISODIC, MemoryKind.SEMANTIC)
"""The kinds that go by their age under some way; rules, facts, blocks and decisions do under none."""
_HALF_LIFE = timedelta(days=30)
_TIE = 0.001
"""The share of its fading that a memory may lose where age is a tie-break."""
_TIERS = ((timedelta(days=30), 0.0), (timedelta(days=90), 0.5), (timedelta(days=365), 0.75))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing:
    """One way. `retires`: whether a newer value takes the place of an older one of its key, `restates`: as it is told.

    `fading` is the share of a score that age may take; `likeness_only` ranks by nothing else. `stays` keeps whatever
    the table would let go. `half_life` goes before the table's. `tiers` are the age at which each ends, and how much of
    the fading is lost in it.
    """

    name: str
    retires: bool = True
    restates: bool = False
    stays: bool = False
    likeness_only: bool = False
    fading: float = 0.15
    half_life: timedelta | None = None
    tiers: tuple[tuple[timedelta, float], ...] = ()

    def over(self, table: Mapping[MemoryKind, Policy]) -> Mapping[MemoryKind, Policy]:
        """The table as consolidation and recall read it under this ageing."""
        changed = dict(table)
        if self.half_life is not None:
            for kind in (*GOING, MemoryKind.FACT):
                changed[kind] = replace(changed[kind], half_life=self.half_life, tie_break=False)
        for kind in GOING:
            if self.tiers:
                last = self.tiers[-1][0]
                changed[kind] = replace(changed[kind], kept=last, by_category={}, then="expire", told=None)
            elif self.stays:
                changed[kind] = replace(changed[kind], kept=None, by_category={}, then="stay", told=None)
        return changed

    def faded(self, policy: Policy, age: timedelta) -> float:
        """How much of its fading a memory of that age has lost: 0 just after it was said, towards 1."""
        if policy.half_life is None:
            return 0.0
        age = max(age, timedelta())
        if self.tiers:
            return next((lost for ends, lost in self.tiers if age < ends), 1.0)
        return (_TIE if policy.tie_break else 1.0) * (1 - 0.5 ** (age / policy.half_life))


OURS = Ageing(name="lousa", restates=True)
AGEINGS: Mapping[str, Ageing] = {
    ageing.name: ageing
    for ageing in (
        OURS,
        Ageing(name="naive", retires=False, stays=True, likeness_only=True, fading=0.0),
        Ageing(name="keyed", stays=True, fading=0.0),
        Ageing(name="decay", retires=False, stays=True, fading=1.0, half_life=_HALF_LIFE),
        Ageing(name="tiers", retires=False, fading=1.0, half_life=_HALF_LIFE, tiers=_TIERS),
    )
}


def named(name: str) -> Ageing:
    """The ageing that a setting names.

    Raises:
        SettingsError: there is none of that name.
    """
    if (ageing := AGEINGS.get(name)) is None:
        raise SettingsError(f"LOUSA_AGEING={name!r} cannot be used: the ways are {', '.join(AGEINGS)}")
    return ageing
