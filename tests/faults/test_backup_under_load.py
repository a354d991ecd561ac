"""A backup while agents work, and what a restore of it brings back: all that was acknowledged before, once, agreeing.

The load, the witness and the comparison are the campaign's. What was acknowledged after a backup began may be in it or
not; so after the restore its workers send it again, as workers do whose answer was lost, and go on.
"""

from __future__ import annotations

import asyncio
import copy
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from campaign import household
from campaign.broken import TENANTS
from campaign.campaign import WRITERS, Campaign
from campaign.checks import Stores
from campaign.witness import Watched, Witness
from lousa.runtime.backup.restoring import restore
from lousa.runtime.backup.taking import take
from redis.exceptions import ResponseError

pytestmark = pytest.mark.timeout(240)
BEYOND = 10_000_000
"""How far a board's numbers go ahead (feed.lua)."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short name, as a socket's has to be."""
    made = household.folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


async def test_what_was_acknowledged_before_a_backup_under_load_is_there_once_and_all_agree(folder: Path) -> None:
    first = Campaign(folder, 7, "")
    file = folder / "backup"
    try:
        await first.begin()
        await first.load(1.0)
        await first.rotate(TENANTS[0])
        rewriting = asyncio.create_task(_rewriting(first.urls))
        for number in range(2):
            await first.load(0.3)
            await take(first.household.home, folder / f"other-{number}")
        await first.load(0.3)
        acknowledged = {key for key, told in first.witness.told.items() if told.answer is not None}
        watched = copy.deepcopy(first.witness.watched)
        taken = await take(first.household.home, file)
        rewriting.cancel()
        await first.load(0.5)
        assert len(first.witness.told) > len(acknowledged) + 100, "the load stood still"
        assert taken.paused.total_seconds() < 2
        assert not first.failures and not first.witness.found, first.witness.examples
    finally:
        await first.close()
    second_folder = household.folder()
    second = Campaign(second_folder, 8, "")
    try:
        second.witness, second.boards, second.begun = first.witness, first.boards, first.begun
        _remember_only(second.witness, acknowledged, watched)
        restored = await restore(file, second.household.home)
        assert {str(execution) for _, execution in restored.running} >= {*first.boards.values()}
        await second.household.start()
        for name in ("relay", *(f"writer-{number}" for number in range(WRITERS)), "watcher"):
            await second._again(name)  # pyright: ignore[reportPrivateUsage]  # it begins where another one stopped
            if name == "relay":
                await second.household.children[name].ready.wait()
                await _boards_went_ahead(second)
        await second.all_ready()
        await second.load(1.0)
        await second.settle(60.0)
    finally:
        await second.close()
        shutil.rmtree(second_folder, ignore_errors=True)
    assert not second.failures, second.failures
    assert not second.witness.found, second.witness.examples


def _remember_only(witness: Witness, acknowledged: set[str], watched: dict[str, Watched]) -> None:
    """As if the workers had died when the backup began: of what came later they have no answer, and send it again."""
    for agent in witness.agents.values():
        for told in agent.told:
            if told.key not in acknowledged:
                told.answer = None
        agent.unanswered = {told.key: told for told in agent.told if told.answer is None}
    witness.watched.clear()
    witness.watched.update(watched)


async def _boards_went_ahead(campaign: Campaign) -> None:
    async with Stores(*campaign.urls) as stores:
        for execution, through in await stores.rows("SELECT id, audited_through FROM lousa.execution"):
            again = int(through.removeprefix("0-"))
            if again > BEYOND:
                campaign.witness.restored[str(execution)] = (again - BEYOND, again)


async def _rewriting(urls: tuple[str, str]) -> None:
    """Have Valkey rewrite its file all the time, so that files come and go while they are read."""
    async with Stores(*urls) as stores:
        while True:
            with suppress(ResponseError):  # it is at it
                await stores.ask("BGREWRITEAOF")
            await asyncio.sleep(0.05)
