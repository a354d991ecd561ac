"""Who acts.

A principal is passed with every call and never kept on a client that others share: a connection pool serves everyone,
so only the call can say for whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from .errors import BadInput, WrongTenant
from .text import flaw

PERSON = "user"
"""The agent in whose name a program or a person acts outside a pipeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who acts: passed with every call, never kept on a shared client.

    `execution` is None outside a run (the command line, a script). Names are compared whole.
    """

    tenant: str
    agent: str
    session: str
    execution: UUID | None = None
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for what in ("tenant", "agent", "session"):
            name: object = getattr(self, what)
            if not isinstance(name, str):
                raise BadInput(f"{what} needs a name, which is text, got {type(name).__name__}")
        if not self.tenant.strip():
            raise WrongTenant(f"a tenant needs a name, got {self.tenant!r}: set LOUSA_TENANT or pass tenant=")
        for what in ("agent", "session"):
            if not getattr(self, what).strip():
                raise BadInput(f"{what} needs a name, got {getattr(self, what)!r}")
        for what in ("tenant", "agent", "session"):
            _check(what, getattr(self, what))
        for role in self.roles:
            _check("a role", role)


def _check(what: str, name: str) -> None:
    if len(name) > 200:
        raise BadInput(f"{what} {name[:40]!r}… cannot be used: it has at most 200 characters")
    if (wrong := flaw(name)) is not None:
        raise BadInput(f"{what} {name[:40]!r} {wrong}")
