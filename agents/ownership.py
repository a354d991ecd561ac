"""Who runs an execution: one process at a time, known by a claim on its board, and what becomes of it when that dies.

The claim is a lease that the owner renews; everything the run writes carries its token, so that a process which was
paused and overtaken is refused. A process that wants to go on with a run waits for the lease, unless it can know more:
the claim's note names the owner's *life file*, which the owner keeps locked. The kernel lets go of that lock when the
process dies, however it dies. Whoever can lock the file knows that its owner is dead, and takes over at once; whoever
cannot knows that it lives. A file that is not there (another machine, a container) tells nothing: then the lease does.

`Heartbeat` renews all claims of a run, its own and those of the attempts under way. A server that does not answer is
asked again at the next beat: a lease that ran out stops nobody until somebody else has claimed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

from ..infra.embedded.lock import Flock
from ..infra.errors import ExecutionBusy, LousaError, Stale
from ..infra.ids import new_id
from ..infra.tasks import together
from ..memory_layers.conversation.board import Board
from ..memory_layers.conversation.changes import RESERVED
from ..memory_layers.conversation.claims import Claim, Fence, FirstClaim

logger = logging.getLogger(__name__)

RUN = RESERVED + "run"
"""The claim of whoever runs the execution."""


class Life:
    """This process's life file, made when it is first needed. One a runtime."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{new_id()}.life"
        self._lock: Flock | None = None

    async def start(self, stack: AsyncExitStack) -> None:
        """Take part in a life: the file goes when it ends."""
        stack.callback(self._end)

    @property
    def note(self) -> str:
        """Where the file is; '' when none could be made, and only leases tell of this process."""
        if self._lock is None:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = Flock(self._path)
                lock.try_alone()
            except OSError:
                logger.warning(
                    "no life file in %s: who takes over after a crash waits for the lease", self._path.parent
                )
                return ""
            self._lock = lock
        return str(self._path)

    def _end(self) -> None:
        if self._lock is not None:
            self._path.unlink(missing_ok=True)
            self._lock.release()


def lives(note: str) -> bool | None:
    """Whether the process with that life file lives; None when that cannot be known. A dead one's file is removed."""
    if not note or not os.path.exists(note):
        return None
    try:
        lock = Flock(Path(note))
    except OSError:
        return None
    try:
        if not lock.try_alone():
            return True
        with contextlib.suppress(OSError):
            os.unlink(note)
        return False
    finally:
        lock.release()


async def take_run(board: Board, life: Life, lease: float, *, new: bool = False) -> Claim:
    """Claim the execution for this process. `new`: it has just begun, and its board is opened with the claim.

    Raises:
        ExecutionBusy: a living process runs it.
    """
    patience = monotonic() + lease * 1.5 + 0.5
    while True:
        claim = await board.claim(RUN, lease, note=life.note, opening=new)
        if claim is not None:
            return claim
        holder = await board.holder(RUN)
        if holder is None:
            continue
        living = lives(holder.note) if holder.note != life.note else True
        if living is False:
            claim = await board.claim(RUN, lease, over=holder.token, note=life.note)
            if claim is not None:
                return claim
        elif living or monotonic() > patience:
            whose = "this process runs" if holder.note == life.note else "another living process runs"
            raise ExecutionBusy(f"{whose} execution {board.execution}: wait for its end, or stop it and resume again")
        else:
            await asyncio.sleep(min(0.1, lease / 10))


class Held:
    """A claim that a heartbeat renews until it is let go. `lost` is done once it is known to be another's."""

    def __init__(self, claim: Claim | FirstClaim, heartbeat: Heartbeat) -> None:
        self.claim = claim
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heartbeat = heartbeat

    @property
    def shown(self) -> Fence | FirstClaim:
        """What is written under it shows this."""
        return self.claim.fence if isinstance(self.claim, Claim) else self.claim

    async def alive(self) -> None:
        """Raises:
        Stale: it is lost.
        """
        claim = await self.claim.now() if isinstance(self.claim, FirstClaim) else self.claim
        await claim.renew()

    def forget(self) -> None:
        """No longer renew it; its token holds until somebody claims after it."""
        self._heartbeat.held.discard(self)

    async def let_go(self) -> None:
        """Make its token stale; a server that does not hear of it learns it from the next claim."""
        self.forget()
        try:
            await self.claim.release()
        except LousaError as error:
            logger.warning("the claim of %s could not be released, its lease will run out: %s", self.claim.task, error)

    async def renew(self) -> None:
        """One more lease, or the news that it is lost."""
        try:
            await self.claim.renew()
        except Stale:
            self.forget()
            if not self.lost.done():
                self.lost.set_result(None)
        except Exception as error:  # whatever it is, the next beat tries again, and the lease decides
            logger.warning("the claim of %s could not be renewed, will be tried again: %s", self.claim.task, error)


class Heartbeat:
    """Renews what is held, three times a lease."""

    def __init__(self, lease: float) -> None:
        self.held: set[Held] = set()
        self._pause = lease / 3

    def keep(self, claim: Claim | FirstClaim) -> Held:
        """Renew `claim` from now on."""
        held = Held(claim, self)
        self.held.add(held)
        return held

    async def beat(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(self._pause)
            await together(*(held.renew() for held in list(self.held)))
