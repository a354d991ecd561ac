"""Who may see a memory, as marks that any store can filter by.

A memory carries a mark for each circle that may see it; a reader carries one for each circle it is in; it may see what
shares a mark with it. The rule is that of row-level security, told to stores that have none: the owner and named
readers by agent, named roles by role, shared memories by session and by execution, the rest by tenant.

A mark is a digest: stores limit how long such lists may grow, and have no business knowing names. Two circles that met
in one mark would show a candidate too many, which the record then refuses.
"""

from __future__ import annotations

import hashlib
from typing import Protocol
from uuid import UUID

from ..infra.identity import Principal
from .records import Scope, ScopeKind


class Scoped(Protocol):
    """What says who may see it, as a memory does."""

    @property
    def owner(self) -> str: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def session(self) -> str | None: ...
    @property
    def execution(self) -> UUID | None: ...


def marks_of(memory: Scoped) -> list[str]:
    """The circles that may see a memory, sorted."""
    circles = {_mark("agent", memory.owner)}
    match memory.scope.kind:
        case ScopeKind.PRIVATE:
            pass
        case ScopeKind.SHARED:
            if memory.session is not None:
                circles.add(_mark("session", memory.session))
            if memory.execution is not None:
                circles.add(_mark("execution", str(memory.execution)))
        case ScopeKind.HIERARCHICAL:
            circles |= {_mark("agent", reader) for reader in memory.scope.readers}
            circles |= {_mark("role", role) for role in memory.scope.roles}
        case ScopeKind.TENANT:
            circles.add(_mark("tenant", ""))
    return sorted(circles)


def circles_of(principal: Principal) -> list[str]:
    """The circles that a reader is in, sorted."""
    circles = {_mark("tenant", ""), _mark("agent", principal.agent), _mark("session", principal.session)}
    if principal.execution is not None:
        circles.add(_mark("execution", str(principal.execution)))
    return sorted(circles | {_mark("role", role) for role in principal.roles})


def _mark(circle: str, name: str) -> str:
    return hashlib.sha256(f"{circle}\0{name}".encode()).hexdigest()[:16]
