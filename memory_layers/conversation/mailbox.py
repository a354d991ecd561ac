"""The mailbox: messages between the agents of one execution.

A message goes to an agent by name, to everyone who plays a role (``role:critic``), or to everyone (``*``). It is a
change like any other, so it is audited and has a cursor; besides, it is kept for the board's whole life, so that an
agent that looks late, or again after a crash, finds every message once and in order. Agents of the same name share
their mail, and a sender gets what it tells everyone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime

from ...infra.connections import Connections
from ...infra.errors import BadInput
from ...infra.identity import Principal
from ..records import Json
from .board import Board
from .changes import StoredChange, cursor_of, entries_of, number_of
from .feed import Feed
from .keys import board_keys, checked
from .script import command
from .values import Artifacts, Values
from .watch import Watch

EVERYONE = "*"
_ROLE = "role:"
_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What `sender` told `to`; `cursor` is its place among the changes of the board."""

    cursor: str
    sender: str
    to: str
    body: Json
    task: str | None
    at: datetime


class Mailbox:
    """The mail of one agent."""

    def __init__(
        self, connections: Connections, principal: Principal, *, board: Board, feed: Feed, artifacts: Artifacts
    ) -> None:
        self._connections = connections
        self._principal = principal
        self._board = board
        self._feed = feed
        self._values = Values(principal, artifacts)
        self._key = board_keys(principal.tenant, board.execution).messages
        self._mine = {EVERYONE, principal.agent, *(_ROLE + role for role in principal.roles)}
        self._looked = 0

    async def tell(self, to: str, body: Json, *, key: str | None = None) -> str:
        """Send `body` to an agent, ``role:<role>`` or ``*``; the message's cursor.

        Raises:
            BadInput: nobody can be called `to`, or `body` is not JSON.
            Stale: the task is run by somebody else now.
        """
        if checked(to, "an addressee", 256) == _ROLE:
            raise BadInput(f"{to!r} names no role: write for example {_ROLE + 'critic'!r}")
        return await self._board.tell(to, body, key=key)

    async def inbox(self, since: str | None = None) -> list[Message]:
        """The messages after the cursor `since`, or those that came since this mailbox was last looked into."""
        messages: list[Message] = []
        number = self._looked if since is None else number_of(since)
        while page := await self._page(number):
            messages += [await self._message(told) for told in page if told.field in self._mine]
            number = page[-1].number
        self._looked = max(self._looked, number)
        return messages

    async def listen(self, since: str | None = None) -> AsyncGenerator[Message, None]:
        """The messages after `since`, or all, and then each as it comes, without end."""
        number = 0 if since is None else number_of(since)
        async with Watch(self._feed, self._values, self._principal, self._is_for_me) as changes:
            while True:
                while page := await self._page(number):
                    for told in page:
                        if told.field in self._mine:
                            yield await self._message(told)
                        number = told.number
                await changes.stir()

    def _is_for_me(self, change: StoredChange) -> bool:
        return change.action == "tell" and change.field in self._mine

    async def _page(self, number: int) -> list[StoredChange]:
        reply = await command(
            self._connections.redis, "XRANGE", self._key, f"({cursor_of(number)}", "+", "COUNT", _PAGE
        )
        return entries_of(reply)

    async def _message(self, told: StoredChange) -> Message:
        return Message(
            cursor=told.cursor,
            sender=told.agent,
            to=told.field,
            body=await self._values.value(told.payload),
            task=told.task,
            at=told.at,
        )
