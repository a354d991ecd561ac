"""Builds that are broken on purpose, one promise each: the campaign has to find every one of them.

They are made in the child, from the product as it is; one whose place in the product is gone fails the child at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha1
from typing import Any

from lousa.memory_layers import journal, recall, relay
from lousa.memory_layers.conversation import board, feed
from lousa.memory_layers.conversation.script import Script

TENANTS = ("azul", "verde")
LIFE_MS = 300


def _rewritten(script: Any, old: str, new: str) -> None:
    """Another text for a script."""
    assert isinstance(script, Script)
    inside: Any = script
    assert inside._text.count(old) == 1, f"{old!r} is no longer in the script"
    inside._text = inside._text.replace(old, new)
    inside._digest = sha1(inside._text.encode(), usedforsecurity=False).hexdigest().encode()


def forget_operations() -> None:
    """The board's script does not look whether it has answered an operation before."""
    _rewritten(board._BOARD, "if kept[1] then", "if false then")  # pyright: ignore[reportPrivateUsage]


def acknowledge_early() -> None:
    """The relay takes entries out of the journal, and then commits them."""
    inside: Any = relay.Relay
    carry: Any = inside._relay

    async def early(self: Any, batches: dict[str, list[journal.Delivery]]) -> None:
        for tenant, deliveries in batches.items():
            await self._journal.settle(tenant, [delivery.place for delivery in deliveries])
        await carry(self, batches)

    inside._relay = early


def let_streams_lapse() -> None:
    """A change stream has a time to live from its last write on, whether the ledger has it or not."""
    publish = "redis.call('PUBLISH'"
    _rewritten(board._BOARD, publish, f"redis.call('PEXPIRE', changes, {LIFE_MS})\n{publish}")  # pyright: ignore[reportPrivateUsage]


def skip_changes() -> None:
    """Who resumes from a cursor is given what comes after the next change."""
    subscribe: Any = feed.Feed.subscribe

    async def skipping(self: Any, tenant: str, execution: Any, wanted: Any, since: str | None = None) -> Any:
        later = f"0-{int(since[2:]) + 1}" if since not in (None, "0-0") else since
        return await subscribe(self, tenant, execution, wanted, later)

    feed.Feed.subscribe = skipping


def mistake_tenants() -> None:
    """A recall is now and then answered as if another tenant had asked."""
    ask: Any = recall.Recaller.recall

    async def mistaken(self: Any, principal: Any, query: Any) -> Any:
        other = TENANTS[1 - TENANTS.index(principal.tenant)]
        return await ask(self, replace(principal, tenant=other), query)

    recall.Recaller.recall = mistaken


BROKEN: dict[str, tuple[Callable[[], None], str, tuple[str, ...]]] = {
    "operation-id": (forget_operations, "doubled", ("cut-replies", "kill-writer", "change-applied")),
    "ack-before-commit": (acknowledge_early, "lost", ("in-commit", "in-commit/postgres", "kill-runtimes")),
    "ttl-on-unaudited": (let_streams_lapse, "unaudited", ("kill-postgres", "stop-postgres")),
    "skipped-change": (skip_changes, "missed_changes", ("kill-watcher",)),
    "mistaken-tenant": (mistake_tenants, "leaked", ("kill-writer",)),
}
"""Name: what breaks it, which count must show it, and the moments that bring it to light."""
