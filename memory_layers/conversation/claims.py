"""Claims and fences: who runs a task, and how a zombie is kept off the board.

A claim holds for a lease by the server's clock and carries a token from a counter that never restarts. Everything a
task writes carries the token as a `Fence`; once another claim has been granted, or the claim was released, scripts
refuse it. A lease that ran out stops nobody by itself: until someone else claims the task, its holder may renew and go
on.

A task that nobody claimed yet may be begun before its claim is granted (`FirstClaim`): the claim then goes to the
server with the first write that carries it, in the same trip, so a task that writes nothing but its result costs one.
It is granted only while the task has never been claimed: a write that arrives late cannot take it from a later attempt.

Who knows that a holder is gone (its process died) need not wait for the lease: a claim `over` its token takes the task
from that holder and from no other. A `note` says who holds it, for whoever has to find that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Literal, Self, cast

from ...infra.connections import Connections
from ...infra.errors import BadInput, Stale
from ...infra.ids import new_id
from .batch import Batch
from .keys import board_of
from .opening import unknown
from .script import Script, command

_CLAIMS = Script("claims.lua", "fence.lua")
LONGEST_LEASE = 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a mutation carries to show that its task is still run by this attempt."""

    task: str
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a task: its token and note. The lease may have run out: `until` is by the server's clock."""

    token: int
    note: str
    until: datetime


class Claim:
    """A task that is held. As a context it is released at the end; it does not renew itself."""

    def __init__(
        self, batch: Batch, keys: Sequence[str], fence: Fence, holder: str, lease: float, until: datetime
    ) -> None:
        self.fence = fence
        self.until = until
        self._batch = batch
        self._keys = keys
        self._holder = holder
        self._lease = lease

    @property
    def task(self) -> str:
        return self.fence.task

    @property
    def token(self) -> int:
        return self.fence.token

    async def renew(self, lease: timedelta | float | None = None) -> None:
        """Hold on for another lease, from now.

        Raises:
            Stale: the task is held by somebody else, or was released.
        """
        if lease is not None:
            self._lease = lease.total_seconds() if isinstance(lease, timedelta) else lease
        answer = await self._ask("renew")
        self.until = datetime.fromtimestamp(cast(int, answer[2]) / 1000, UTC)

    async def release(self) -> None:
        """Give the task up, unless it is lost already; what carries its fence is refused from here on."""
        try:
            await self._ask("release")
        except Stale:
            return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()

    async def _ask(self, verb: str) -> list[bytes]:
        answer = await self._batch.run(
            _CLAIMS, self._keys, verb, self.task, self._holder, _milliseconds(self._lease), "", 0, ""
        )
        parts = cast(list[bytes], answer)
        if parts[0] == b"stale":
            raise stale(self.fence, parts[1])
        return parts


async def claim(
    batch: Batch,
    keys: Sequence[str],
    task: str,
    lease: float,
    fence: Fence | None,
    *,
    over: int | Literal["any"] | None = None,
    note: str = "",
    holder: str = "",
    opening: bool = False,
) -> Claim | None:
    """Claim `task` for `lease` seconds on the board with `keys`; None when somebody holds it. `opening` opens it first.

    `holder` is unique to the claim: a claim by the same holder is the same claim.
    """
    holder = holder or f"{new_id().hex} {note}"
    own = fence or Fence(task="", token=0)
    answer = cast(
        list[bytes],
        await batch.run(
            _CLAIMS,
            keys,
            "open" if opening else "claim",
            task,
            holder,
            _milliseconds(lease),
            own.task,
            own.token,
            "" if over is None else over,
        ),
    )
    match answer:
        case [b"claimed", token, until]:
            held = datetime.fromtimestamp(int(until) / 1000, UTC)
            return Claim(batch, keys, Fence(task=task, token=int(token)), holder, lease, held)
        case [b"taken", _]:
            return None
        case [b"unknown"]:
            raise unknown(*board_of(keys[0]))
        case [b"stale", other]:
            raise stale(own, other)
        case _:
            raise BadInput(f"task {task!r} cannot be claimed: its execution has ended")


class FirstClaim:
    """The claim of a task that nobody claimed before, granted when it is first needed. `under` is the claimer's own."""

    def __init__(self, batch: Batch, keys: Sequence[str], task: str, lease: float, under: Fence | None) -> None:
        self.task = task
        self.holder = f"{new_id().hex} "
        self.lease = _milliseconds(lease)
        self.under = under or Fence(task="", token=0)
        self._batch = batch
        self._keys = keys
        self._claim: Claim | None = None
        self._given_up = False

    @property
    def fence(self) -> Fence | None:
        """Its fence, once it was granted."""
        return None if self._claim is None else self._claim.fence

    def words(self) -> tuple[str | int, ...]:
        """What a write that carries it adds for board.lua."""
        return (self.holder, self.lease, self.under.task, self.under.token)

    def granted_with(self, token: int) -> None:
        """A write that carried it was applied."""
        if self._claim is None:
            until = datetime.now(UTC) + timedelta(milliseconds=self.lease)
            fence = Fence(task=self.task, token=token)
            self._claim = Claim(self._batch, self._keys, fence, self.holder, self.lease / 1000, until)

    def check(self) -> None:
        """Raises:
        Stale: it was given up; who still goes on in its name is a late attempt.
        """
        if self._given_up:
            raise Stale(f"task {self.task!r} was given up by this attempt: stop, another attempt goes on")

    async def now(self) -> Claim:
        """The claim, asked for by itself if no write brought it.

        Raises:
            Stale: it was given up, the task is somebody else's, or so is what it is claimed under.
        """
        self.check()
        return await self._granted()

    async def renew(self) -> None:
        """Hold on for another lease; one that is not granted yet needs none.

        Raises:
            Stale: the task is held by somebody else.
        """
        if self._claim is not None:
            await self._claim.renew()

    async def release(self) -> None:
        """Give the task up: what carries this claim is refused from here on, and what is still under way too."""
        self._given_up = True
        try:
            await (await self._granted()).release()
        except Stale:
            return

    async def _granted(self) -> Claim:
        if self._claim is None:
            under = self.under if self.under.task else None
            claimed = await claim(self._batch, self._keys, self.task, self.lease / 1000, under, holder=self.holder)
            if claimed is None:
                raise Stale(f"task {self.task!r} is held by somebody else: stop, another attempt goes on")
            self._claim = claimed
        return self._claim


async def shown(fence: Fence | FirstClaim | None) -> Fence | None:
    """The fence to show where no claim can be granted along the way.

    Raises:
        Stale: the task is run by somebody else now.
    """
    return (await fence.now()).fence if isinstance(fence, FirstClaim) else fence


async def holder_of(connections: Connections, claims: str, task: str) -> Holder | None:
    """Who holds `task`, by the key of the claims; None when nobody does."""
    kept = cast(bytes | None, await command(connections.redis, "HGET", claims, task))
    token, until, holder = (kept or b"0 0 ").decode().split(" ", 2)
    if not holder:
        return None
    return Holder(token=int(token), note=holder.partition(" ")[2], until=datetime.fromtimestamp(int(until) / 1000, UTC))


def stale(fence: Fence, holder: bytes) -> Stale:
    """The error of a fence that no longer holds."""
    now = holder.split(b" ", 2)
    why = "is not claimed on this board"
    if len(now) == 3:
        why = f"was given to token {int(now[0])}" if int(now[0]) != fence.token else "was released"
    return Stale(f"task {fence.task!r} {why}, this is token {fence.token}: stop, another attempt goes on")


def _milliseconds(lease: float) -> int:
    if not 0 < lease <= LONGEST_LEASE:
        raise BadInput(f"a lease of {lease:g} s cannot be held: give seconds above zero, a year at most")
    return max(1, int(lease * 1000))
