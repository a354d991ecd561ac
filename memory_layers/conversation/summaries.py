"""The summary of a session and its topics: told shortly what was said, on two levels, and from which turns.

A *part* is the summary of some ten turns. Parts that grow old are told once more, together, in the *story*; so the
whole stays short however long a session is: the story first, then the newer parts, and what is newer still is read as
it was said. A *topic* is a name, what was said about it, when it was touched last, and the turns it came from.

All of it is derived: the truth is the transcript, from which it is made anew when it is gone. It is trusted no more
than the least of the turns that it tells. It belongs to the session, under keys in the slot of its window, goes when
nobody has made it longer for a month, and can be dropped.

It is replaced as a whole by whoever says what it replaces: of two who summarise at once one is refused, so no turn is
told twice and none is lost. A lease keeps two from asking a model at once; that is thrift, not safety. A failure keeps
what there is, is counted, and makes the next try wait.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from ...infra.connections import Connections
from ...infra.identity import Principal
from ..records import Json
from .keys import summary_keys
from .language import Language
from .script import Script
from .values import decode, encode

KEPT = timedelta(days=30)
"""How long a summary stays that nobody makes longer."""
TOPIC_KEPT = timedelta(days=7)
"""How long a topic stays that nobody touches."""
BARRED = timedelta(hours=1)
"""How long after a drop nobody may bring back what they had read before."""
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
_FORM = 1
_SUMMARIES = Script("summaries.lua")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some turns, told shortly. `by` is the model that told them, or ``extract``.

    `turns` are all that it covers, in the order in which they arrived, the last of them at `arrived`. Of these `apart`
    were not read: not trusted enough, or instructions in disguise.
    """

    text: str
    turns: tuple[UUID, ...]
    since: datetime
    until: datetime
    arrived: datetime
    trust: float
    by: str
    apart: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What was before the parts, told together: `count` turns from `first` to `last`, which arrived at `arrived`."""

    text: str
    first: UUID
    last: UUID
    count: int
    since: datetime
    until: datetime
    arrived: datetime
    trust: float
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What was talked about: its name, what was said, when last, and the newest turns that it came from."""

    name: str
    text: str
    turns: tuple[UUID, ...]
    touched: datetime
    trust: float
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a session's older turns said, shortly; empty while it is short.

    `failures` counts the tries that came to nothing, `failed` says why the last one did.
    """

    story: Story | None = None
    parts: tuple[Part, ...] = ()
    language: Language = "en"
    failures: int = 0
    failed: str = ""

    @property
    def text(self) -> str:
        """The story and the parts, oldest first."""
        told = [self.story.text if self.story else "", *(part.text for part in self.parts)]
        return "\n".join(filter(None, told))

    @property
    def count(self) -> int:
        """How many turns it covers."""
        return (self.story.count if self.story else 0) + sum(len(part.turns) for part in self.parts)

    @property
    def trust(self) -> float:
        """The lowest trust of the turns that it tells; 1 while it tells none."""
        told = [part.trust for part in self.parts if part.text]
        if self.story is not None and self.story.text:
            told.append(self.story.trust)
        return min(told, default=1.0)

    @property
    def turns(self) -> tuple[UUID, ...]:
        """The turns that its parts cover; those of the story are the ones before."""
        return tuple(turn for part in self.parts for turn in part.turns)

    @property
    def until(self) -> datetime | None:
        """When the last turn that it covers was said."""
        return self.parts[-1].until if self.parts else None

    @property
    def through(self) -> tuple[datetime, UUID] | None:
        """When the last turn of the story arrived, and its id; what came after is in `turns`, or not covered."""
        return None if self.story is None else (self.story.arrived, self.story.last)

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is kept of a session, and how it stands: `bad` answers of a model since the last one that was good.

    `may` says whether it is time to try again, `leased` whether the caller is the one to do it.
    """

    version: str
    summary: Summary
    topics: tuple[Topic, ...]
    bad: int
    may: bool
    leased: bool


class Summaries:
    """The summary of one session, as it is kept."""

    def __init__(self, connections: Connections, principal: Principal) -> None:
        self._connections = connections
        self._keys = summary_keys(principal.tenant, principal.session)

    async def read(self) -> State:
        """What is kept."""
        return _state(await self._ask("read"))

    async def lease(self, holder: str, lease: timedelta) -> State:
        """What is kept; and the right to replace it for a while, unless somebody else has that."""
        return _state(await self._ask("lease", holder, _ms(lease), _ms(KEPT)))

    async def release(self, holder: str) -> None:
        """Let go of that right."""
        await self._ask("release", holder)

    async def replace(self, state: State, holder: str, summary: Summary, topics: Sequence[Topic]) -> bool:
        """Put these in the place of what `state` says there is; False when there is something else by now."""
        told = encode(_written(summary), "the summary"), encode([_topic_written(each) for each in topics], "topics")
        return await self._ask("replace", state.version, holder, *told, _ms(KEPT), _ms(TOPIC_KEPT)) == 1

    async def failed(self, state: State, holder: str, kind: str, *, bad: bool, pause: timedelta = FIRST_PAUSE) -> None:
        """Count a try that came to nothing, `bad` if it had an answer; each in a row makes the next wait longer."""
        await self._ask("failed", state.version, holder, kind, int(bad), _ms(pause), _ms(LONGEST_PAUSE), _ms(KEPT))

    async def drop(self) -> None:
        """Forget summary and topics; whoever is at it brings nothing back."""
        await self._ask("drop", _ms(BARRED))

    async def _ask(self, *words: str | bytes | int) -> object:
        return await _SUMMARIES(self._connections.redis, self._keys, *words)


def _ms(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)


def _state(reply: object) -> State:
    version, summary, topics, failures, last, bad, may, mine = cast(
        tuple[bytes, bytes, bytes, int, bytes, int, int, int], reply
    )
    return State(
        version=version.decode(),
        summary=_summary(decode(summary) if summary else None, failures, last.decode()),
        topics=tuple(_topics(decode(topics) if topics else [])),
        bad=bad,
        may=bool(may),
        leased=bool(mine),
    )


def _short(identifier: UUID) -> str:
    return urlsafe_b64encode(identifier.bytes)[:22].decode()


def _long(short: str) -> UUID:
    return UUID(bytes=urlsafe_b64decode(short + "=="))


def _written(summary: Summary) -> Json:
    story = summary.story
    return {
        "form": _FORM,
        "language": summary.language,
        "story": None
        if story is None
        else {
            "text": story.text,
            "first": _short(story.first),
            "last": _short(story.last),
            "count": story.count,
            "since": story.since.isoformat(),
            "until": story.until.isoformat(),
            "arrived": story.arrived.isoformat(),
            "trust": story.trust,
            "by": story.by,
        },
        "parts": [
            {
                "text": part.text,
                "turns": [_short(turn) for turn in part.turns],
                "apart": [_short(turn) for turn in part.apart],
                "since": part.since.isoformat(),
                "until": part.until.isoformat(),
                "arrived": part.arrived.isoformat(),
                "trust": part.trust,
                "by": part.by,
            }
            for part in summary.parts
        ],
    }


def _summary(written: Json, failures: int, last: str) -> Summary:
    """The summary that was written; none where it was written by a program that knew another form."""
    told = cast("dict[str, Json] | None", written)
    if told is None or told["form"] != _FORM:
        return Summary(failures=failures, failed=last)
    story = cast("Mapping[str, str] | None", told["story"])
    return Summary(
        language=cast(Language, told["language"]),
        story=None
        if story is None
        else Story(
            text=story["text"],
            first=_long(story["first"]),
            last=_long(story["last"]),
            count=int(story["count"]),
            since=datetime.fromisoformat(story["since"]),
            until=datetime.fromisoformat(story["until"]),
            arrived=datetime.fromisoformat(story["arrived"]),
            trust=float(story["trust"]),
            by=story["by"],
        ),
        parts=tuple(_part(part) for part in cast("list[dict[str, Json]]", told["parts"])),
        failures=failures,
        failed=last,
    )


def _part(told: Mapping[str, Json]) -> Part:
    return Part(
        text=cast(str, told["text"]),
        turns=tuple(map(_long, cast("list[str]", told["turns"]))),
        apart=tuple(map(_long, cast("list[str]", told["apart"]))),
        since=datetime.fromisoformat(cast(str, told["since"])),
        until=datetime.fromisoformat(cast(str, told["until"])),
        arrived=datetime.fromisoformat(cast(str, told["arrived"])),
        trust=cast(float, told["trust"]),
        by=cast(str, told["by"]),
    )


def _topic_written(topic: Topic) -> Json:
    return {
        "name": topic.name,
        "text": topic.text,
        "turns": [_short(turn) for turn in topic.turns],
        "touched": topic.touched.isoformat(),
        "trust": topic.trust,
        "by": topic.by,
    }


def _topics(written: Json) -> list[Topic]:
    return [
        Topic(
            name=cast(str, told["name"]),
            text=cast(str, told["text"]),
            turns=tuple(map(_long, cast("list[str]", told["turns"]))),
            touched=datetime.fromisoformat(cast(str, told["touched"])),
            trust=cast(float, told["trust"]),
            by=cast(str, told["by"]),
        )
        for told in cast("list[dict[str, Json]]", written)
    ]
