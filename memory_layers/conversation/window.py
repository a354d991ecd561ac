"""The window: the recent turns of a session, for the next prompt.

A window belongs to tenant and session, over executions. Every turn goes to the transcript of layer 4 before it enters
the window, so what leaves the window (too many, older than a day, an hour of silence) is never lost. A turn has an id,
and one that is there already is not appended again.

What is read is always the newest part, by turns, by tokens or by tool calls, and never splits a tool call from its
result: a result whose call lies outside is left out too. A call that still waits for its result stays in.

A turn is trusted as its source is (user 1.0, tool 0.7, agent 0.5, web 0.3); its role says the source unless `source`
does: what a tool fetched from the web is `source="web"`.

A window outlives executions, so its keys lie elsewhere than their fences: `alive` asks, before a turn is kept, whether
this attempt is still the one that may speak.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

from ...infra.clock import Clock, SystemClock
from ...infra.connections import Connections
from ...infra.errors import BadInput
from ...infra.identity import Principal
from ..records import TRUST, Json, Source
from .keys import checked, window_keys
from .operations import Operations
from .script import Script
from .values import Artifacts, Values, for_the_database

_WINDOW = Script("window.lua")
_EPOCH = datetime.fromtimestamp(0, UTC)
_NOBODY = UUID(int=0)
_SPEAKS: Mapping[str, Source] = {"user": "user", "human": "user", "tool": "tool", "function": "tool", "web": "web"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said: by `role` (user, assistant, tool, …), with `body`.

    `calls` are the ids of the tool calls it makes; `answers` is the id of the call whose result it is. `source` says
    where it comes from, if not from whom the role names. `append` fills in `id`, `agent` and `at`.
    """

    role: str
    body: Json
    calls: tuple[str, ...] = ()
    answers: str | None = None
    source: Source | None = None
    id: UUID = _NOBODY
    agent: str = ""
    at: datetime = _EPOCH

    @property
    def comes_from(self) -> Source:
        """Where it comes from, told or by its role; any role that is not known speaks as an agent."""
        return self.source or _SPEAKS.get(self.role.casefold(), "agent")

    @property
    def trust(self) -> float:
        """How far it is trusted."""
        return TRUST[self.comes_from]

    @property
    def text(self) -> str:
        """What was said, as text; a body that is none as JSON."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)


def about_tokens(turn: Turn) -> int:
    """About how many tokens a turn takes: four characters each, and as many as a role needs."""
    return (len(turn.text) + 3) // 4 + 3


Archive = Callable[[Sequence[Turn]], Awaitable[None]]
"""Takes turns to the transcript. It may see a turn again, under the same id, and then has nothing to do."""


class Window:
    """The window of one session."""

    def __init__(
        self,
        connections: Connections,
        principal: Principal,
        *,
        artifacts: Artifacts,
        archive: Archive,
        operations: Operations,
        clock: Clock | None = None,
        alive: Callable[[], Awaitable[None]] | None = None,
        most: int = 200,
        idle: timedelta = timedelta(hours=1),
        kept: timedelta = timedelta(hours=24),
    ) -> None:
        self._connections = connections
        self._principal = principal
        self._values = Values(principal, artifacts)
        self._archive = archive
        self._operations = operations
        self._clock = clock or SystemClock()
        self._alive = alive
        self._keys = window_keys(principal.tenant, principal.session)
        self._most = most
        self._idle = int(idle.total_seconds() * 1000)
        self._kept = int(kept.total_seconds() * 1000)

    async def append(self, turn: Turn, *, key: str | None = None) -> Turn:
        """Add `turn` at the end, and to the transcript; the turn as it is kept. `key` as on the board.

        Raises:
            BadInput: the role or the body cannot be used.
            Stale: the task is run by somebody else now.
        """
        checked(turn.role, "a role", 64)
        if turn.source is not None and turn.source not in TRUST:
            raise BadInput(f"there is no source {turn.source!r}; the sources are {', '.join(TRUST)}")
        kept = turn
        if turn.id == _NOBODY:
            identifier = self._operations.next(key, of=f"{self._principal.agent} turn")
            kept = replace(turn, id=identifier, agent=self._principal.agent, at=self._clock.now())
        what, written = f"the turn of {kept.role!r}", _written(kept)
        payload = await self._values.payload(what, written)
        for_the_database(written, what)
        if self._alive is not None:
            await self._alive()
        await self._archive([kept])
        await _WINDOW(
            self._connections.redis, self._keys, "append", str(kept.id), payload, self._most, self._kept, self._idle
        )
        await self._values.taken(payload)
        return kept

    async def last(self, turns: int) -> list[Turn]:
        """At most the newest `turns`, oldest first."""
        if turns < 1:
            raise BadInput(f"a window of {turns} turns shows nothing: ask for one or more")
        return whole(await self._read(turns))

    async def last_tokens(self, tokens: int, count: Callable[[Turn], int] = about_tokens) -> list[Turn]:
        """The newest turns that together hold at most `tokens`, as `count` counts them, oldest first."""
        if tokens < 1:
            raise BadInput(f"a window of {tokens} tokens shows nothing: ask for one or more")
        turns = await self._read(self._most)
        start, left = len(turns), tokens
        while start and (cost := count(turns[start - 1])) <= left:
            start, left = start - 1, left - cost
        return whole(turns[start:])

    async def last_calls(self, calls: int) -> list[Turn]:
        """The newest turns, from the one on with which the last `calls` tool calls begin, oldest first.

        All that there is, when fewer calls were made.
        """
        if calls < 1:
            raise BadInput(f"a window of {calls} tool calls shows nothing: ask for one or more")
        turns = await self._read(self._most)
        start, left = len(turns), calls
        while start and left > 0:
            start -= 1
            left -= len(turns[start].calls)
        return whole(turns[start:])

    async def _read(self, turns: int) -> list[Turn]:
        reply = await _WINDOW(self._connections.redis, self._keys, "read", turns, self._kept)
        return [_turn(await self._values.value(payload)) for payload in cast(list[bytes], reply)]


def whole(turns: Sequence[Turn]) -> list[Turn]:
    """`turns` without the results whose call is not among them."""
    called: set[str] = set()
    whole: list[Turn] = []
    for turn in turns:
        if turn.answers is None or turn.answers in called:
            called.update(turn.calls)
            whole.append(turn)
    return whole


def cut(turns: Sequence[Turn], at: int) -> int:
    """Where `turns` can be cut, at most after `at` of them and after one at least, so that no call leaves its result.

    A call that still waits for its result stays behind the cut, unless it is what they begin with. Where they begin
    with an exchange of calls and results that is longer than `at`, it is its end.
    """
    made: dict[str, int] = {}
    reaches = [*range(len(turns))]
    for place, turn in enumerate(turns):
        if turn.answers is not None and (by := made.pop(turn.answers, None)) is not None:
            reaches[by] = max(reaches[by], place)
        made.update(dict.fromkeys(turn.calls, place))
    return _last_end(reaches, at, {*made.values()}) or _last_end(reaches, at) or next(_ends(reaches), 0)


def _last_end(reaches: Sequence[int], at: int, waiting: Collection[int] = ()) -> int:
    reaches = [len(reaches) if place in waiting else reach for place, reach in enumerate(reaches)]
    return max((end for end in _ends(reaches) if end <= at), default=0)


def _ends(reaches: Sequence[int]) -> Iterator[int]:
    """After how many turns all that was begun has ended."""
    reach = -1
    for place, to in enumerate(reaches):
        reach = max(reach, to)
        if reach == place:
            yield place + 1


def _written(turn: Turn) -> Json:
    return {
        "role": turn.role,
        "body": turn.body,
        "calls": list(turn.calls),
        "answers": turn.answers,
        "id": str(turn.id),
        "agent": turn.agent,
        "at": turn.at.isoformat(),
        **({} if turn.source is None else {"source": turn.source}),
    }


def _turn(written: Json) -> Turn:
    told = cast(dict[str, Json], written)
    return Turn(
        role=cast(str, told["role"]),
        body=told["body"],
        calls=tuple(cast(list[str], told["calls"])),
        answers=cast(str | None, told["answers"]),
        id=UUID(cast(str, told["id"])),
        agent=cast(str, told["agent"]),
        at=datetime.fromisoformat(cast(str, told["at"])),
        source=cast("Source | None", told.get("source")),
    )
