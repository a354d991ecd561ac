"""Valkeys as others run them: alone with users, behind Sentinels with a replica, as a Cluster.

The program comes from the same wheel as the embedded one. That build knows no TLS; `tls` speaks it in front of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import valkey_server
from lousa.infra.redis_rights import RULE
from redis import Redis
from redis.exceptions import RedisError

HOST = "127.0.0.1"
PASSWORD = "s3cr3t"
_DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--repl-diskless-sync-delay", "0")
_LIBC = ctypes.CDLL(None)


def free_port(*, bus: bool = False) -> int:
    """A port of the loopback that nobody listens on; with one for the bus of a Cluster 10,000 above."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        if not bus:
            return port
        if port < 55_000:
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.bind((HOST, port + 10_000))
                return port


@dataclass
class Server:
    """One process of Valkey. It dies with the process that started it."""

    folder: Path
    words: tuple[str, ...]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    def start(self) -> Server:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(valkey_server(OURSELVES)), *self.words, "--port", str(self.port), "--bind", HOST, *self._place()],
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: _LIBC.prctl(1, signal.SIGKILL),
            )
        return self

    def _place(self) -> tuple[str, ...]:
        return ("--dir", str(self.folder))

    def kill(self) -> None:
        """As a lost machine: at once, without a word."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def hang(self) -> None:
        """It keeps its connections and answers nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def ask(self, *words: str, user: str | None = None, password: str | None = None) -> Any:
        """One command, over a connection of its own."""
        with Redis(
            host=HOST, port=self.port, decode_responses=True, username=user, password=password, socket_timeout=10
        ) as client:
            return cast(Any, client.execute_command(*words))  # pyright: ignore[reportUnknownMemberType]  # vague stubs

    def ready(self) -> bool:
        try:
            return self.ask("PING") is True
        except RedisError as error:
            return "NOAUTH" in str(error) or "NOPERM" in str(error)


def in_step(master: Server) -> bool:
    """Whether a server has replicas, and each has what it has."""
    told = master.ask("INFO", "replication")
    replicas: list[Any] = [told[name] for name in told if name.startswith("slave") and isinstance(told[name], dict)]
    return bool(replicas) and all(int(each["offset"]) == int(told["master_repl_offset"]) for each in replicas)


class Sentinel(Server):
    """One that watches."""

    def _place(self) -> tuple[str, ...]:
        return ()


def wait_for(what: str, holds: Any, within: float = 30.0) -> None:
    """Wait until a server is as it should be."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        with contextlib.suppress(RedisError, OSError):
            if holds():
                return
        time.sleep(0.02)
    raise TimeoutError(f"waited {within:g} s for {what}")


@contextmanager
def serving(*words: str, started: int = 1, port: Callable[[], int] = free_port) -> Generator[list[Server]]:
    """Servers with these options, each alone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-valkey-")))
        servers = [Server(folder / str(number), (*_DURABLE, *words), port()) for number in range(started)]
        for server in servers:
            stack.callback(server.kill)
            server.start()
        for server in servers:
            wait_for("a Valkey", server.ready)
        yield servers


@dataclass
class Watched:
    """A master with replicas, and Sentinels that watch it."""

    servers: list[Server]
    sentinels: list[Sentinel]
    user: str = ""
    options: str = ""

    @property
    def url(self) -> str:
        nodes = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{self.user}{nodes}/lousa{self.options}"

    def master(self) -> Server:
        _, port = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "lousa")
        return next(server for server in self.servers if server.port == int(port))

    def in_step(self) -> bool:
        """Whether every replica has what its master has."""
        return in_step(self.master())

    def back(self, server: Server) -> None:
        """A killed server comes back, as the replica that it is now."""
        server.start()
        wait_for("it to follow", lambda: server.ask("ROLE")[0] == "slave" and self.in_step())


def least(*more: str) -> tuple[str, ...]:
    """Options of a server with the user `lousa`, who may do what the documented rule says, and `more`."""
    return ("--user", *f"lousa on >{PASSWORD} {RULE}".split(), *(f"+{command}" for command in more))


@contextmanager
def watched(replicas: int = 1, *words: str) -> Generator[Watched]:
    """A master, replicas and three Sentinels that fail over within a second or two."""
    with serving(*words, started=1 + replicas) as servers, ExitStack() as stack:
        for server in servers[1:]:
            server.ask("REPLICAOF", HOST, str(servers[0].port))
        folder = servers[0].folder.parent
        sentinels: list[Sentinel] = []
        for number in range(3):
            conf = folder / f"sentinel-{number}.conf"
            conf.write_text(
                f"sentinel monitor lousa {HOST} {servers[0].port} 2\nsentinel down-after-milliseconds lousa 700\n"
                "sentinel failover-timeout lousa 3000\n"
            )
            sentinels.append(Sentinel(folder / f"s{number}", (str(conf), "--sentinel")))
            stack.callback(sentinels[-1].kill)
            sentinels[-1].start()
        group = Watched(servers, sentinels, _user(words))

        def acquainted() -> bool:
            told = [sentinel.ask("SENTINEL", "MASTER", "lousa") for sentinel in sentinels]
            return all(
                (each["flags"], int(each["num-other-sentinels"]), int(each["num-slaves"])) == ("master", 2, replicas)
                for each in told
            )

        wait_for("three Sentinels that know each other", acquainted)
        wait_for("replicas in step", group.in_step)
        yield group


@dataclass
class Clustered:
    """The nodes of a Cluster: first those that began as primaries, then their replicas."""

    nodes: list[Server]
    primaries: int
    user: str = ""

    @property
    def url(self) -> str:
        return f"redis+cluster://{self.user}{','.join(f'{HOST}:{node.port}' for node in self.nodes)}"

    def holder(self, slot: int) -> Server:
        """Who serves a slot, as the nodes that live say."""
        for node in self.nodes:
            if node.process is None:
                continue
            with contextlib.suppress(RedisError, OSError):
                for first, last, port in self.ranges(node):
                    if first <= slot <= last:
                        return next(each for each in self.nodes if each.port == port)
        raise AssertionError(f"nobody serves slot {slot}")

    def ranges(self, node: Server) -> list[tuple[int, int, int]]:
        """The ranges of slots, each with the port of its primary, as a node sees it."""
        return [(first, last, primary[1]) for first, last, primary, *_ in node.ask("CLUSTER", "SLOTS")]

    def whole(self) -> bool:
        """Whether every living node says that all is well."""
        return all(node.ask("CLUSTER INFO")["cluster_state"] == "ok" for node in self.nodes if node.process is not None)

    def move(self, slot: int, to: Server) -> None:
        """Move a slot with its keys, as an operator does it: the keys one by one."""
        for _ in self.moving(slot, to):
            pass

    def moving(self, slot: int, to: Server) -> Generator[list[str]]:
        """The same in steps: what keys are about to go, until there are none."""
        source = self.holder(slot)
        ids = {node.port: node.ask("CLUSTER", "MYID") for node in (source, to)}
        to.ask("CLUSTER", "SETSLOT", str(slot), "IMPORTING", ids[source.port])
        source.ask("CLUSTER", "SETSLOT", str(slot), "MIGRATING", ids[to.port])
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", str(slot), "1"):
            yield keys
            source.ask("MIGRATE", HOST, str(to.port), "", "0", "5000", "KEYS", *keys)
        for node in (to, source, *(each for each in self.nodes if each not in (to, source) and each.process)):
            with contextlib.suppress(RedisError):  # replicas learn it from their primary
                node.ask("CLUSTER", "SETSLOT", str(slot), "NODE", ids[to.port])


@contextmanager
def clustered(primaries: int = 3, replicas: int = 0, *words: str) -> Generator[Clustered]:
    """A Cluster that serves all slots."""
    options = (*_DURABLE, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", *words)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-cluster-")))
        nodes = [
            Server(folder / str(number), options, free_port(bus=True)) for number in range(primaries * (1 + replicas))
        ]
        for node in nodes:
            stack.callback(node.kill)
            node.start()
        for node in nodes:
            wait_for("a node", node.ready)
        share = 16_384 // primaries
        for number, node in enumerate(nodes[:primaries]):
            last = 16_383 if number == primaries - 1 else (number + 1) * share - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for node in nodes[1:]:
            node.ask("CLUSTER", "MEET", HOST, str(nodes[0].port))
        wait_for("nodes that know each other", lambda: _acquainted(nodes))
        for number, node in enumerate(nodes[primaries:]):
            node.ask("CLUSTER", "REPLICATE", nodes[number % primaries].ask("CLUSTER", "MYID"))
        group = Clustered(nodes, primaries, _user(words))
        wait_for("a Cluster that serves all slots", group.whole)
        for node in nodes[primaries:]:
            wait_for("replicas in step", lambda node=node: node.ask("ROLE")[3] == "connected")
        yield group


def _user(words: Sequence[str]) -> str:
    return f"lousa:{PASSWORD}@" if "--user" in words else ""


def _acquainted(nodes: Sequence[Server]) -> bool:
    return all(int(node.ask("CLUSTER INFO")["cluster_known_nodes"]) == len(nodes) for node in nodes)
