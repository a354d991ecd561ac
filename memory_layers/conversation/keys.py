"""Names of keys: percent-encoded parts, and a hash tag that keeps what belongs together in one slot.

A part is encoded whole, so that `/`, `{`, `}`, `%` or a space in a name can neither collide with another name nor leave
the slot. The tag of a board is ``{tenant/execution}``: one script may touch all its keys, in a Cluster as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import quote, unquote
from uuid import UUID

from ...infra.errors import BadInput
from ...infra.text import flaw, told

HINTS = "lousa:hints"
"""The channel on which board.lua names the change stream of every mutation, for whoever has no reader on it."""


A_FIELD = "a field's name"


def part(name: str) -> str:
    """`name` as a part of a key; equal only to itself."""
    return quote(name, safe="", errors="surrogatepass")


@dataclass(frozen=True, kw_only=True)
class BoardKeys:
    """The keys of one execution, all in one slot."""

    fields: str
    """Hash: field -> version and value. A deleted field keeps its version."""
    operations: str
    """Hash: operation id -> its first answer; ``opened`` since the execution is known, ``closed`` once it has ended;
    the numbers of the ``last`` change and of the last ``audited`` one."""
    changes: str
    """Stream: one entry a mutation, numbered without gaps."""
    claims: str
    """Hash: task -> token, lease, holder."""
    tokens: str
    """Counter of fencing tokens; never restarts."""
    messages: str
    """Stream: the messages among the changes, under the same numbers; lives as long as the board."""
    notes: str
    """Hash: agent and note -> value."""

    @cached_property
    def of_a_change(self) -> tuple[bytes, ...]:
        """The keys that a mutation touches, as board.lua takes them."""
        keys = (self.fields, self.operations, self.changes, self.claims, self.messages, self.tokens)
        return tuple(key.encode() for key in keys)

    def all(self) -> tuple[str, ...]:
        """Every key, as the other scripts take them."""
        return (self.fields, self.operations, self.changes, self.claims, self.tokens, self.messages, self.notes)


@lru_cache(maxsize=1_000)
def board_keys(tenant: str, execution: UUID) -> BoardKeys:
    """The keys of the board of `execution`."""
    prefix = f"lousa:board:{{{part(tenant)}/{execution}}}:"
    return BoardKeys(
        fields=prefix + "fields",
        operations=prefix + "operations",
        changes=prefix + "changes",
        claims=prefix + "claims",
        tokens=prefix + "tokens",
        messages=prefix + "messages",
        notes=prefix + "notes",
    )


def board_of(key: str) -> tuple[str, UUID]:
    """Tenant and execution that a key of a board belongs to."""
    tenant, execution = key[key.index("{") + 1 : key.index("}")].split("/")
    return unquote(tenant, errors="surrogatepass"), UUID(execution)


def window_keys(tenant: str, session: str) -> tuple[str, str]:
    """The turns of a session and the ids of those turns."""
    prefix = f"lousa:window:{{{part(tenant)}/{part(session)}}}:"
    return prefix + "turns", prefix + "ids"


def summary_keys(tenant: str, session: str) -> tuple[str, str]:
    """The summary of a session and its topics; in the slot of its window."""
    prefix = f"lousa:window:{{{part(tenant)}/{part(session)}}}:"
    return prefix + "summary", prefix + "topics"


def journal_key(tenant: str) -> str:
    """The journal of a tenant: acknowledged writes that are not yet in their layers."""
    return f"lousa:journal:{{{part(tenant)}}}"


def checked(name: str, what: str, most: int = 512) -> str:
    """`name`, if it can be one; `what` says what it would name.

    Raises:
        BadInput: saying what a name is.
    """
    if not isinstance(name, str) or not 0 < len(name) <= most or "\x00" in name:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        size = f" of {len(name):,}" if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"{what} has 1 to {most} characters and no NUL, not {told(name)}{size}")
    if (wrong := flaw(name)) is not None:
        raise BadInput(f"{what} {wrong}")
    return name
