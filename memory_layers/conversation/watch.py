"""Watching: the changes of a board as an asynchronous iterator.

A `Watch` begins when it is entered, or at its first wait. It may be left by ``break``, by cancellation or by closing;
none leaves anything behind. A watcher that fell behind the kept stream gets a `Snapshot` in place of what it missed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self
from uuid import UUID

from ...infra.errors import ServerUnavailable
from ...infra.identity import Principal
from ..records import Json
from .changes import Change, Snapshot, cursor_of
from .feed import Feed, Subscription, Wanted
from .values import GONE, Values


class Watch:
    """The changes of one board after a cursor, in order, each once."""

    def __init__(
        self,
        feed: Feed,
        values: Values,
        principal: Principal,
        wanted: Wanted,
        *,
        since: str | None = None,
        fields: Callable[[str], bool] = lambda field: True,
    ) -> None:
        self._feed = feed
        self._values = values
        self._tenant = principal.tenant
        self._execution: UUID = principal.execution  # pyright: ignore[reportAttributeAccessIssue]  # a board has one
        self._wanted = wanted
        self._since = since
        self._fields = fields
        self._place: Subscription | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change | Snapshot:
        place = await self._begun()
        stored = await place.next()
        if stored is None:
            return await self._behind(place)
        try:
            change = Change(
                cursor=stored.cursor,
                field=stored.field,
                version=stored.after,
                value=await self._values.value(stored.payload),
                action=stored.action,
                agent=stored.agent,
                task=stored.task,
                at=stored.at,
            )
        except ServerUnavailable:
            raise
        except Exception:
            place.step()
            raise
        place.step()
        return change

    async def stir(self) -> None:
        """Return once something happened, whatever it was."""
        place = await self._begun()
        if await place.next() is None:
            place.restart(await self._feed.last(self._tenant, self._execution))
        else:
            place.step()

    async def aclose(self) -> None:
        """Stop watching."""
        self._leave()

    async def __aenter__(self) -> Self:
        await self._begun()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.leave()

    async def _begun(self) -> Subscription:
        if self._place is None:
            self._place = await self._feed.subscribe(self._tenant, self._execution, self._wanted, self._since)
        return self._place

    async def _behind(self, place: Subscription) -> Snapshot:
        number, entries = await self._feed.snapshot(self._tenant, self._execution)
        fields: dict[str, Json] = {}
        for field in sorted(filter(self._fields, entries)):
            payload = entries[field].lstrip(b"0123456789")
            if payload != GONE:
                fields[field] = await self._values.value(payload)
        place.restart(number)
        return Snapshot(cursor=cursor_of(number), fields=fields)
