"""A task's memories are written by its living attempt alone, and what it wrote while it lived stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from lousa.infra.errors import BadInput, Stale
from lousa.infra.identity import Principal
from lousa.memory_layers import fencing
from lousa.memory_layers.conversation.board import Board
from lousa.memory_layers.conversation.claims import Claim
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.execution.artifacts import Artifacts
from lousa.memory_layers.journal import Journal, Journaled
from lousa.memory_layers.records import MemoryKind
from redis_kinds import connections, redis_url

__all__ = ["connections", "redis_url"]
# A journal behind Sentinels is one server's, and `contract/redis` fails it over.
pytestmark = pytest.mark.parametrize("redis_url", ["alone", "cluster"], indirect=True)

if TYPE_CHECKING:
    from .conftest import WritePath

KINDS = pytest.mark.parametrize("kind", [MemoryKind.PROCEDURAL, MemoryKind.SEMANTIC])


@pytest.fixture
async def board(path: WritePath, principal: Principal) -> AsyncIterator[Board]:
    assert principal.execution is not None
    yield Board(
        path.connections,
        principal,
        feed=path.feed,
        artifacts=Artifacts(path.connections),
        operations=Operations(principal.execution),
    )


@KINDS
async def test_the_attempt_that_holds_the_task_writes(
    path: WritePath, principal: Principal, board: Board, kind: MemoryKind
) -> None:
    claim = await board.claim("t", 5)
    assert claim is not None
    memory = path.memory(principal, "in good order", kind=kind)
    receipt = await path.router.remember(principal, memory, operation=memory.id, fence=claim.fence)
    assert (await receipt.settled()).state == "stored"


@KINDS
async def test_an_attempt_that_was_overtaken_is_refused(
    path: WritePath, principal: Principal, board: Board, kind: MemoryKind
) -> None:
    zombie = await board.claim("t", 0.01)
    assert zombie is not None
    await asyncio.sleep(0.05)
    assert await board.claim("t", 5) is not None
    memory = path.memory(principal, "from the grave", kind=kind)
    with pytest.raises(Stale):
        await path.router.remember(principal, memory, operation=memory.id, fence=zombie.fence)
    assert await path.trail(principal) == []
    with pytest.raises(BadInput, match="is in none"):
        outside = replace(principal, execution=None)
        await path.router.remember(outside, memory, operation=memory.id, fence=zombie.fence)


async def test_a_zombie_that_slips_past_the_router_is_refused_by_the_relay_and_the_living_attempt_is_not(
    path: WritePath, principal: Principal, board: Board
) -> None:
    zombie = await board.claim("t", 0.01)
    await asyncio.sleep(0.05)
    living = await board.claim("t", 5)
    assert zombie is not None and living is not None
    await asyncio.sleep(0.01)
    late, right = path.memory(principal, "late"), path.memory(principal, "right")
    journal = Journal(path.connections)
    await journal.append(principal.tenant, Journaled(operation=late.id, memory=late, fence=zombie.fence))
    same = replace(right, id=late.id)  # the living attempt makes the same call
    receipt = await path.router.remember(principal, same, operation=late.id, fence=living.fence)
    assert (await receipt.settled()).state == "stored"
    stored = await path.get(principal, late.id)
    assert stored is not None and stored.text == "right"
    assert await path.router.caught_up(principal, timedelta(seconds=5))
    assert sorted(entry.outcome for entry in await path.trail(principal)) == ["stale", "stored"]


async def test_what_an_attempt_wrote_before_it_died_stands(path: WritePath, principal: Principal, board: Board) -> None:
    claim = await board.claim("t", 0.01)
    assert claim is not None
    journal = Journal(path.connections)
    await journal.adopt([principal.tenant])
    await journal.renew("dying")
    memory = path.memory(principal, "acknowledged")

    async def write() -> None:
        await asyncio.sleep(0.1)
        await path.router.remember(principal, memory, operation=memory.id, fence=claim.fence)

    await asyncio.gather(journal.take([principal.tenant], "dying", 1, timedelta(seconds=1)), write())
    await asyncio.sleep(0.01)
    assert await board.claim("t", 5) is not None  # another attempt has taken over before any relay commits
    await journal.resign("dying")
    assert await path.router.caught_up(principal, timedelta(seconds=10))
    stored = await path.get(principal, memory.id)
    assert stored is not None and stored.status == "live"


async def test_what_a_task_wrote_before_it_ended_stands(path: WritePath, principal: Principal, board: Board) -> None:
    claim = await board.claim("t", 5)
    assert claim is not None
    memory = path.memory(principal, "the last word")
    receipt = await path.router.remember(principal, memory, operation=memory.id, fence=claim.fence)
    await claim.release()
    assert (await receipt.settled()).state == "stored"


async def test_the_last_grants_of_a_much_claimed_task_are_remembered(path: WritePath, board: Board) -> None:
    assert board.execution is not None
    claims: list[Claim] = []
    for _ in range(20):
        claim = await board.claim("t", 5)
        assert claim is not None
        claims.append(claim)
        await claim.release()
    tenant = board._principal.tenant  # pyright: ignore[reportPrivateUsage]
    far = 10**15
    for claim in claims[:-1]:
        assert await fencing.overtaken(path.connections, tenant, board.execution, claim.fence, far)
    assert not await fencing.overtaken(path.connections, tenant, board.execution, claims[-1].fence, far)
    assert not await fencing.overtaken(path.connections, tenant, board.execution, claims[0].fence, 0)
