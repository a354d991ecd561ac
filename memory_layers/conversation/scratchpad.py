"""The scratchpad: what one agent keeps to itself while an execution runs.

Notes are private to tenant, execution and agent; nobody watches them and no audit records them. They live as long as
the board does, also through days of waiting for a person; a note with a time to live ends sooner, by the server's
clock. Only one agent writes them, so the last write stands; agents of the same name, say ten tasks of one worker,
share them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from ...infra.connections import Connections
from ...infra.errors import BadInput
from ...infra.identity import Principal
from ..records import Json
from .claims import Fence, FirstClaim, shown, stale
from .keys import board_keys, board_of, checked, part
from .opening import unknown
from .script import Script
from .values import Artifacts, Values

A_NOTE = "a note's name"
LONGEST_TTL = 366 * 86_400.0
_SCRATCHPAD = Script("scratchpad.lua", "fence.lua")


class Scratchpad:
    """The notes of one agent."""

    def __init__(
        self,
        connections: Connections,
        principal: Principal,
        *,
        artifacts: Artifacts,
        fence: Fence | FirstClaim | None = None,
    ) -> None:
        if principal.execution is None:
            raise BadInput(f"agent {principal.agent!r} is in no execution, and notes belong to one")
        self._connections = connections
        self._fence = fence
        self._values = Values(principal, artifacts)
        self._keys = board_keys(principal.tenant, principal.execution).all()
        self._agent = part(principal.agent) + "/"

    async def read(self, note: str) -> Json:
        """The value of `note`, None when there is none."""
        found = await self._ask("read", checked(note, A_NOTE))
        return await self._values.value(found[0]) if found and found[0] is not None else None

    async def all(self) -> dict[str, Json]:
        """All notes, sorted by name."""
        flat = cast(list[bytes], await self._ask("all"))
        notes = sorted((name.decode(), payload) for name, payload in zip(flat[::2], flat[1::2], strict=True))
        return {name: await self._values.value(payload) for name, payload in notes}

    async def write(self, note: str, value: Json, *, ttl: timedelta | float | None = None) -> None:
        """Keep `value`, for `ttl` seconds or as long as the board.

        Raises:
            BadInput: the name, the value or `ttl` cannot be used, or the execution has ended.
            Stale: the task is run by somebody else now.
        """
        seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
        if seconds is not None and not 0 < seconds <= LONGEST_TTL:
            raise BadInput(f"a note cannot live for {seconds:g} s: leave ttl out to keep it as long as the board")
        name = checked(note, A_NOTE)
        payload = await self._values.payload(f"the note {note!r}", value)
        milliseconds = max(1, int(seconds * 1000)) if seconds else 0
        await self._ask("write", name, payload, milliseconds)
        await self._values.taken(payload)

    async def delete(self, note: str) -> None:
        """Forget `note`; nothing happens when there is none."""
        await self._ask("delete", checked(note, A_NOTE))

    async def _ask(self, verb: str, note: str = "", payload: bytes = b"", ttl: int = 0) -> list[bytes | None]:
        changing = verb in ("write", "delete")
        fence = (await shown(self._fence) if changing else None) or Fence(task="", token=0)
        answer = cast(
            list[bytes | None],
            await _SCRATCHPAD(
                self._connections.redis, self._keys, verb, self._agent, note, payload, ttl, fence.task, fence.token
            ),
        )
        if changing:
            if answer[0] == b"stale":
                raise stale(fence, answer[1] or b"")
            if answer[0] == b"unknown":
                raise unknown(*board_of(self._keys[0]))
            if answer[0] == b"closed":
                raise BadInput("the execution has ended: its notes can be read, not written")
        return answer
