"""What the tests of a layer share: boards by the dozen, and a place for large values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256

import pytest
from lousa.infra.connections import Connections
from lousa.infra.errors import NotFound
from lousa.infra.identity import Principal
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.claims import Fence
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.conversation.mailbox import Mailbox
from lousa.memory_layers.conversation.operations import Operations
from redis_kinds import connections, once_a_kind, redis_url

__all__ = ["connections", "redis_url"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    once_a_kind(config, items)


@dataclass
class MemoryArtifacts:
    """Artifacts in memory. Satisfies `Artifacts`: bodies by tenant, subject and digest; an erased one is `NotFound`."""

    bodies: dict[tuple[str, str, bytes], bytes] = field(default_factory=dict[tuple[str, str, bytes], bytes])
    taken: set[bytes] = field(default_factory=set[bytes])

    async def put(self, principal: Principal, body: bytes, subject: str = "") -> bytes:
        digest = sha256(body).digest()
        self.bodies[principal.tenant, subject, digest] = body
        return digest

    async def take(self, principal: Principal, digest: bytes, subject: str = "") -> None:
        assert (principal.tenant, subject, digest) in self.bodies
        self.taken.add(digest)

    async def get(self, principal: Principal, digest: bytes, subject: str = "") -> bytes:
        try:
            return self.bodies[principal.tenant, subject, digest]
        except KeyError:
            raise NotFound(f"artifact {digest.hex()} is not there") from None


@dataclass
class Room:
    """One execution, as seen by one process."""

    connections: Connections
    principal: Principal
    feed: Feed
    artifacts: MemoryArtifacts

    def who(self, agent: str, *roles: str) -> Principal:
        return replace(self.principal, agent=agent, roles=frozenset(roles))

    def board(
        self, agent: str = "tester", *, task: str | None = None, round: int = 0, fence: Fence | None = None
    ) -> Board:
        return Board(
            self.connections,
            self.who(agent),
            feed=self.feed,
            artifacts=self.artifacts,
            operations=Operations(self.principal.execution, task=task, round=round),
            fence=fence,
        )

    def mailbox(self, agent: str, *roles: str, fence: Fence | None = None) -> Mailbox:
        return Mailbox(
            self.connections,
            self.who(agent, *roles),
            board=self.board(agent, fence=fence),
            feed=self.feed,
            artifacts=self.artifacts,
        )


@pytest.fixture
async def new_room(connections: Connections, principal: Principal) -> AsyncIterator[Callable[[], Room]]:
    """Enters the execution anew: each room has a feed of its own, as another process would."""
    async with AsyncExitStack() as stack:
        feeds: list[Feed] = []
        artifacts = MemoryArtifacts()

        def enter() -> Room:
            feeds.append(Feed(connections))
            return Room(connections, principal, feeds[-1], artifacts)

        yield enter
        for feed in feeds:
            await feed.start(stack)


@pytest.fixture
def room(new_room: Callable[[], Room]) -> Room:
    return new_room()
