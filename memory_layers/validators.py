"""Validators: categories whose values a source of truth has the last word on.

A validator is an async function that is shown a memory before it is written and rules on it: it is accepted, rejected
with a reason, or set apart until a curator confirms it. It is asked about every memory of its category, and about every
fact whose predicate bears that name, whatever category it was given; names are compared without case, accents, hyphens
and underscores. So the discount that only the CRM may set can be stated by anybody, and holds where the CRM agrees::

    async def crm(memory: Memory) -> Ruling:
        value = await discounts.of(memory.fact.subject)
        return Ruling.accept() if memory.fact.object == value else Ruling.reject(f"the CRM says {value}")

    async with lousa.open(validators={"discount": crm}) as runtime: ...

One that fails, takes longer than the deadline or gives anything but a ruling has not accepted, and must not lose what
was said either: the memory is set apart. What is in quarantine already is not asked about. The ledger's entry of the
write says which validator ruled, and how; why is in its payload. A rejected memory is written nowhere else.

Plain text that names no category is validated by nobody: who must be sure states facts.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, cast

from ..infra.errors import SettingsError
from ..infra.text import fit
from .execution.memories import folded
from .records import Json, Memory

_LOG = logging.getLogger(__name__)
_LONGEST_REASON = 1_000
_SPACING = re.compile(r"[-_\s]+")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a validator says of a memory; `by` is its name, which whoever asked it puts there."""

    decision: Literal["accept", "reject", "quarantine"]
    reason: str = ""
    by: str = ""

    @classmethod
    def accept(cls) -> Ruling:
        """It may be written as it is."""
        return cls("accept")

    @classmethod
    def reject(cls, reason: str) -> Ruling:
        """It is not written; the ledger keeps the reason."""
        return cls("reject", reason)

    @classmethod
    def quarantine(cls, reason: str) -> Ruling:
        """It is stored apart, in no recall, until a curator confirms it."""
        return cls("quarantine", reason)

    def to_json(self) -> dict[str, Json]:
        """As it waits in a journal."""
        return {"decision": self.decision, "reason": self.reason, "by": self.by}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Ruling | None:
        """The ruling that `to_json` wrote, if there was one."""
        return None if stored is None else cls(**stored)


Validator = Callable[[Memory], Awaitable[Ruling]]


class Validators:
    """Those that were given, by the names they answer for."""

    def __init__(self, given: Mapping[str, Validator] | None = None, *, deadline: timedelta) -> None:
        """Raises:
        SettingsError: a name is empty or given twice, or what answers for it cannot be called.
        """
        self._by_name: dict[str, tuple[str, Validator]] = {}
        self._deadline = deadline.total_seconds()
        for name, validator in (given or {}).items():
            if not (plain := _plain(name)) or plain in self._by_name:
                raise SettingsError(f"each category has one validator, and a name, got {name!r}")
            if not callable(cast(object, validator)):
                raise SettingsError(f"the validator of {name!r} is an async function of a memory, got {validator!r}")
            self._by_name[plain] = (getattr(validator, "__qualname__", type(validator).__qualname__), validator)

    async def ruled(self, memory: Memory) -> tuple[Memory, Ruling | None]:
        """The memory as it may be written, and what was ruled of it; None where nobody answers for it."""
        found = self._answering(memory)
        if found is None or memory.status == "quarantined":
            return memory, None
        name, validator = found
        ruling = replace(await self._asked(name, validator, memory), by=name)
        return (replace(memory, status="quarantined") if ruling.decision == "quarantine" else memory), ruling

    def _answering(self, memory: Memory) -> tuple[str, Validator] | None:
        if not self._by_name:
            return None
        names = (memory.category, memory.fact.predicate if memory.fact is not None else None)
        return next((found for name in names if name and (found := self._by_name.get(_plain(name)))), None)

    async def _asked(self, name: str, validator: Validator, memory: Memory) -> Ruling:
        try:
            async with asyncio.timeout(self._deadline):
                ruling = cast(object, await validator(memory))
        except Exception as error:
            _LOG.warning(
                "validator %s did not rule (%s): what it was asked about is set apart", name, type(error).__name__
            )
            return Ruling.quarantine(f"the validator failed: {type(error).__name__}")
        if not isinstance(ruling, Ruling) or ruling.decision not in ("accept", "reject", "quarantine"):
            _LOG.warning("validator %s gave no ruling: what it was asked about is set apart", name)
            return Ruling.quarantine(f"the validator gave a {type(ruling).__name__} for a ruling")
        return replace(ruling, reason=fit(str(ruling.reason))[:_LONGEST_REASON].replace("\0", " "))


def _plain(name: str) -> str:
    return _SPACING.sub(" ", folded(name)).strip()
