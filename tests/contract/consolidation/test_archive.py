"""An episode that is no longer hot leaves layers and recalls, stays on the record, and can be brought back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from lousa.consolidation.contract import Counts
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import MemoryKind
from lousa.memory_layers.router import Router

if TYPE_CHECKING:
    from .conftest import Tended

DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)
EPISODE = MemoryKind.EPISODIC


def router(tended: Tended) -> Router:
    layers = tended.layers
    feed = Feed(tended.connections)
    return Router(tended.connections, table(), layers.context, layers.knowledge, layers.clock, Settings(), feed=feed)


async def test_an_episode_is_hot_for_ninety_days(tended: Tended, principal: Principal) -> None:
    at, before = await tended.keep(
        principal,
        tended.aged(principal, "Ana pediu um desconto", 90 * DAY, kind=EPISODE),
        tended.aged(principal, "Ana asked for a discount", 90 * DAY - MOMENT, kind=EPISODE),
    )
    assert await tended.counts(principal.tenant, "archive") == Counts(changed=1)
    assert await tended.statuses(principal, [at, before]) == ["archived", "live"]


async def test_an_event_of_long_ago_that_was_told_today_is_hot(tended: Tended, principal: Principal) -> None:
    told = tended.layers.memory(principal, "in 1998", kind=EPISODE, occurred_at=tended.now - 9_000 * DAY)
    await tended.keep(principal, told)
    assert await tended.counts(principal.tenant, "archive") == Counts()


async def test_an_archived_episode_is_out_of_recall_and_comes_back_hot(tended: Tended, principal: Principal) -> None:
    episode = tended.aged(principal, "a Ana pediu um desconto de dez por cento", 91 * DAY, kind=EPISODE)
    await tended.keep(principal, episode, embed=True)
    await tended.run(principal.tenant)
    assert await tended.layers.texts(principal, "desconto da Ana") == []
    assert await tended.column(principal.tenant, "text", [episode.id]) == [episode.text]
    await tended.layers.context.put(principal.tenant, [episode])
    assert await tended.layers.texts(principal, "desconto da Ana") == []

    curator = replace(principal, agent="curator", roles=frozenset({"curator"}))
    receipt = await router(tended).confirm(curator, episode.id, "it is asked about again", new_id())
    assert receipt.state == "stored"
    assert await tended.layers.texts(principal, "desconto da Ana") == [episode.text]
    assert await tended.counts(principal.tenant, "archive") == Counts()
    assert await tended.column(principal.tenant, "trust", [episode.id]) == [episode.trust]
    tended.layers.clock.advance(90 * DAY)
    assert await tended.counts(principal.tenant, "archive") == Counts(changed=1)


async def test_an_episode_told_again_since_takes_the_place_of_the_archived_one(
    tended: Tended, principal: Principal
) -> None:
    old = tended.aged(principal, "the server was down", 91 * DAY, kind=EPISODE)
    await tended.keep(principal, old)
    await tended.run(principal.tenant)
    new = tended.layers.memory(principal, "The server was down", kind=EPISODE)
    await tended.keep(principal, new)
    curator = replace(principal, roles=frozenset({"curator"}))
    receipt = await router(tended).confirm(curator, old.id, "again", new_id())
    assert (receipt.state, receipt.id) == ("duplicate", new.id)
    assert await tended.statuses(principal, [old.id, new.id]) == ["superseded", "live"]


async def test_what_expired_is_not_brought_back(tended: Tended, principal: Principal) -> None:
    [old] = await tended.keep(principal, tended.aged(principal, "the price is 10", 91 * DAY))
    await tended.run(principal.tenant)
    curator = replace(principal, roles=frozenset({"curator"}))
    assert (await router(tended).confirm(curator, old, "please", new_id())).state == "expired"
    assert await tended.statuses(principal, [old]) == ["expired"]


async def test_an_archived_episode_can_be_forgotten(tended: Tended, principal: Principal) -> None:
    [old] = await tended.keep(principal, tended.aged(principal, "she was angry", 91 * DAY, kind=EPISODE))
    await tended.run(principal.tenant)
    await router(tended).forget(principal, old, "she asked", new_id())
    assert await tended.statuses(principal, [old]) == ["withdrawn"]
