"""One pair of servers a home, shared by every process that needs it, and never in anyone's way.

Three locks make it so. Whoever uses the servers shares `sharers.lock`; whoever changes their state holds `gate.lock`
alone; each server holds its own life file (see `life`). To enter: share, and if both servers answer that is all, with
no process started and nothing waited for; if not, take the gate and start what is missing. To leave: take the gate,
let go, and try to hold `sharers.lock` alone; who succeeds was the last one out and stops the servers. Since a newcomer
who shares makes that attempt fail, and one who comes later waits at the gate, nobody is left with a stopping server.
Nobody holds `sharers.lock` alone without holding the gate.

A server belongs to no process: it is in a session of its own, its parent's death does not reach it, and the next
process to come adopts it. While servers are in use each sharer watches them, and the first to notice that one died
starts it again on the same data and at the same address.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import HomeInUse, LousaError, ServerUnavailable
from ..tasks import end
from . import home as homes
from . import life as lives
from . import replacing
from .life import Life, Watch
from .lock import Flock, alone
from .postgres import DATABASE, ROLE, Postgres
from .replacing import Replacement
from .server import Server
from .valkey import SOCKET, Valkey, sync_strictly

logger = logging.getLogger(__name__)

Fsync = Literal["always", "everysec"]
BOTH = frozenset({"valkey", "postgres"})

GATE_PATIENCE = 330.0
"""Longer than the longest thing done under the gate: a start that loads or recovers a large store."""
LEAVE_PATIENCE = 10.0
"""Whoever holds the gate for longer while we share is starting servers, so shares them too and will leave after us."""
WATCH_EVERY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the servers of a home listen; empty for one that was not needed."""

    redis_url: str
    postgres_url: str
    started: bool
    """True when this call started a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One server that lives. `version` is that of the wheel it came from."""

    name: str
    pid: int
    version: str
    answers: bool
    sockets: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is up in a home. `sharers` are the pids of the processes that use it, where the system tells (Linux)."""

    home: Path
    running: bool
    servers: tuple[ServerStatus, ...]
    data: tuple[Path, ...]
    in_use: bool
    sharers: tuple[int, ...]


class EmbeddedServers:
    """The servers of `home`, from the point of view of one user of them."""

    def __init__(self, home: Path, *, fsync: Fsync = "always", need: frozenset[str] = BOTH) -> None:
        self.home = home
        self.fsync: Fsync = fsync
        self._servers = {name: server for name, server in _servers(home).items() if name in need}
        self._seen: dict[str, Life] = {}

    async def start(self, stack: AsyncExitStack) -> Endpoints:
        """Use the servers until `stack` closes, starting what does not run. May be called again, on other stacks.

        Raises:
            SettingsError: the home cannot be used.
            ServerUnavailable: a server does not start; the message ends with what it said.
            HomeInUse: the home is held by another user, version or container.
        """
        homes.make(self.home)
        try:
            sharing = Flock(self.home / homes.SHARERS)
            stack.push_async_callback(self._leave, sharing, os.getpid())
            at_once = sharing.try_shared()
        except OSError as error:
            raise homes.in_words(self.home, error) from error
        started = False
        if not (at_once and await self._all_answer()):
            async with _gate(self.home):
                sharing.try_shared()  # nobody holds it alone without the gate
                started = await self._ensure()
        stack.push_async_callback(end, asyncio.create_task(self._watch(), name=f"watch over {self.home}"))
        return self._endpoints(started)

    async def revive(self) -> None:
        """Return when every server answers, having started again what did not. Call it upon a connection failure.

        Raises:
            ServerUnavailable: a server does not start, or somebody stopped it on purpose.
        """
        if await self._all_answer():
            return
        async with _gate(self.home):
            if self._asked_to_stop():
                raise ServerUnavailable(
                    f"the servers of {str(self.home)!r} were stopped on purpose; open the home again to start them"
                )
            await self._ensure(reviving=True)

    async def _all_answer(self) -> bool:
        for name, server in self._servers.items():
            life = await server.running()
            if life is None or self._too_lax(life):
                return False
            self._seen[name] = life
        return True

    def _too_lax(self, life: Life) -> bool:
        return self.fsync == "always" and life.fsync == "everysec"

    async def _ensure(self, *, reviving: bool = False) -> bool:
        await asyncio.to_thread(replacing.finish, self.home)  # whoever began it was killed
        before = lives.read(self._servers["valkey"].life) if "valkey" in self._servers else None
        # a server that others count on to sync before each answer does not come back as one that does not
        fsync = "always" if reviving and before is not None and before.fsync == "always" else self.fsync
        names = list(self._servers)
        outcomes = await asyncio.gather(
            *(self._servers[name].ensure(fsync if name == "valkey" else "") for name in names), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, OSError):
                raise homes.in_words(self.home, outcome) from outcome
            if isinstance(outcome, BaseException):
                raise outcome
        done = dict(
            zip(names, (outcome for outcome in outcomes if not isinstance(outcome, BaseException)), strict=True)
        )
        self._seen = {name: life for name, (life, _) in done.items()}
        valkey = self._seen.get("valkey")
        if valkey is not None and self._too_lax(valkey):
            server = self._servers["valkey"]
            await sync_strictly(server.program.socket_file(valkey))
            self._seen["valkey"] = lives.mark(server.life, valkey, fsync="always")
        return any(new for _, new in done.values())

    def _asked_to_stop(self) -> bool:
        return _marked(self._servers.values())

    async def _watch(self) -> None:
        pause = WATCH_EVERY
        while True:
            with contextlib.ExitStack() as held:
                watches = [
                    held.enter_context(Watch(life, server.life, server.program.socket_file(life)))
                    for name, server in self._servers.items()
                    if (life := self._seen.get(name)) is not None
                ]
                await asyncio.sleep(pause)
                while all(watch.alive() for watch in watches):  # noqa: ASYNC110  # a death sets no event of ours
                    await asyncio.sleep(WATCH_EVERY)
            if self._asked_to_stop():
                continue
            try:
                await self.revive()
                pause = WATCH_EVERY
            except (LousaError, OSError) as error:
                pause = min(pause * 2, 5.0)
                logger.warning("a server of %s died and is not back yet: %s", self.home, error)

    async def _leave(self, sharing: Flock, pid: int) -> None:
        if pid != os.getpid():
            return
        try:
            async with alone(self.home / homes.GATE, patience=LEAVE_PATIENCE):
                sharing.release()
                async with _held_alone(self.home) as last:
                    if last:
                        await _dismiss_all(self.home)
        except TimeoutError:
            logger.info("left %s while another process starts its servers, which will also stop them", self.home)
        except FileNotFoundError:
            for name, life in self._seen.items():
                await self._servers[name].send_away(life)
        finally:
            sharing.release()

    def _endpoints(self, started: bool) -> Endpoints:
        valkey, postgres = self._seen.get("valkey"), self._seen.get("postgres")
        return Endpoints(
            redis_url=f"unix://{valkey.sockets}/{SOCKET}" if valkey else "",
            postgres_url=f"postgresql://{ROLE}@/{DATABASE}?host={postgres.sockets}" if postgres else "",
            started=started,
        )


async def stop(home: Path, *, force: bool = False) -> list[str]:
    """Stop the servers of a home; the names of those that ran.

    Raises:
        HomeInUse: somebody uses them, and `force` is not set.
    """
    if not homes.exists(home):
        return []
    async with _gate(home), _held_alone(home) as unused:
        if not (unused or force):
            pids = homes.sharers_of(home)
            who = f" by {', '.join(map(str, pids))}" if pids else ""
            raise HomeInUse(
                f"the servers of {str(home)!r} are in use{who}; end those processes, or stop the servers"
                " all the same with --force: what runs on them is interrupted, and can be resumed"
            )
        return await _dismiss_all(home, "last" if unused else "asked")


@contextlib.asynccontextmanager
async def at_rest(home: Path) -> AsyncGenerator[Replacement | None]:
    """Hold a home that nobody uses, made if it is missing, its servers stopped; what a killed process left to be
    replaced is replaced, and handed over.

    Raises:
        HomeInUse: somebody uses it.
    """
    homes.make(home)
    async with _gate(home), _held_alone(home) as unused:
        if not unused:
            pids = homes.sharers_of(home)
            who = f" by {', '.join(map(str, pids))}" if pids else ""
            raise HomeInUse(f"the home {str(home)!r} is in use{who}; end those processes first")
        await _dismiss_all(home)
        yield await asyncio.to_thread(replacing.finish, home)


async def status(home: Path) -> Status:
    """What is up in a home. Starts, stops and creates nothing."""
    seen: list[ServerStatus] = []
    for name, server in _servers(home).items():
        life = lives.read(server.life)
        if life is not None and lives.held(server.life):
            answers = await server.program.state(life) == "ready"
            sockets = Path(life.sockets)
            seen.append(ServerStatus(name=name, pid=life.pid, version=life.version, answers=answers, sockets=sockets))
    return Status(
        home=home,
        running=len(seen) == len(BOTH) and all(server.answers for server in seen),
        servers=tuple(seen),
        data=homes.data_of(home, sorted(BOTH)),
        in_use=await _in_use(home),
        sharers=homes.sharers_of(home),
    )


def stopped_on_purpose(home: Path, need: Collection[str] = BOTH) -> bool:
    """Whether somebody stopped servers of a home while they were in use, and nobody has started them since."""
    return _marked(server for name, server in _servers(home).items() if name in need)


def _marked(servers: Iterable[Server]) -> bool:
    return any((life := lives.read(server.life)) is not None and life.stopping == "asked" for server in servers)


def _servers(home: Path) -> dict[str, Server]:
    programs = (Valkey(home=home), Postgres(home=home))
    return {program.name: Server(program, home) for program in programs}


async def _dismiss_all(home: Path, why: lives.Stopping = "last") -> list[str]:
    servers = _servers(home)
    before = [life for server in servers.values() if (life := lives.read(server.life)) is not None]
    ended = await asyncio.gather(*(server.dismiss(why) for server in servers.values()), return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    for life in before:
        homes.tidy(Path(life.sockets))
    return [name for name, outcome in zip(servers, ended, strict=True) if outcome]


@contextlib.asynccontextmanager
async def _gate(home: Path) -> AsyncGenerator[None]:
    try:
        async with alone(home / homes.GATE, patience=GATE_PATIENCE):
            yield
    except TimeoutError as error:
        raise HomeInUse(f"another process has been starting or stopping the servers for too long: {error}") from error
    except OSError as error:
        raise homes.in_words(home, error) from error


@contextlib.asynccontextmanager
async def _held_alone(home: Path) -> AsyncGenerator[bool]:
    last = Flock(home / homes.SHARERS)
    try:
        yield last.try_alone()
    finally:
        last.release()


async def _in_use(home: Path) -> bool:
    if not homes.exists(home):
        return False
    try:
        async with alone(home / homes.GATE, patience=0.5), _held_alone(home) as unused:
            return not unused
    except TimeoutError:
        return True
