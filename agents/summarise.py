"""Summaries of a session: what is due is told, by a model or in the turns' own words, and put in the place of what was.

The newest turns are left as they were said; of those before, some ten at a time make a part, never so that a call
leaves its result, and when there are many parts the oldest are told once more in the story. A call does a bounded
amount, the oldest first; what is left is done by the next.

A turn that is not trusted enough to be in a context (the web's) is not read, nor is one that commands an assistant when
no user said it. Such turns are covered and named, so they do not come again.

Without a model the best sentences are taken as they are. With one, whatever it does wrong (it is away, refuses, says
nothing, too much, in another language, something else or a command) changes nothing: the last summary and the raw turns
stay, the failure is counted, and the next try waits. What it cannot answer well three times is taken in its own words
instead, so that one part never holds up all that follow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from ..infra import telemetry
from ..infra.errors import ModelFailed, ServerUnavailable
from ..infra.ids import new_id
from ..memory_layers.conversation import extract
from ..memory_layers.conversation.extract import Said
from ..memory_layers.conversation.language import Language, language_of
from ..memory_layers.conversation.summaries import FIRST_PAUSE, Part, State, Story, Summaries, Summary, Topic
from ..memory_layers.conversation.window import Turn, cut
from ..memory_layers.instructions import commands
from ..memory_layers.records import QUARANTINE_BELOW, Json
from . import minutes
from .llm import PATIENCE, Model
from .minutes import Told

BY_EXTRACT = "extract"
TRIES = 3
"""Bad answers about the same after which it is taken in its own words."""
_LEASE = PATIENCE * 1.5
_AWAY = frozenset({"away", "late"})
_LONGEST_TOPIC = 450


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Turn):
    """A turn as the transcript has it: when it arrived there."""

    arrived: datetime


Reading = Callable[[Summary, int], Awaitable[list[Kept]]]
"""The first turns to arrive that a summary does not cover, at most so many, in that order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is told in how much: turns and characters of what was said, characters of what is made of it.

    `keep` are the newest turns, which are left; `turns` make a part, and fewer where they hold `size` characters; above
    `parts` of them the oldest `fold` go into the story. A model is asked at most `steps` times in one call; without one
    ten times as much is done.
    """

    keep: int = 10
    turns: int = 10
    size: int = 12_000
    parts: int = 6
    fold: int = 3
    part_text: int = 600
    story_text: int = 2_000
    topics: int = 12
    topic_turns: int = 15
    steps: int = 6

    @property
    def ahead(self) -> int:
        """How many turns are looked at."""
        return self.keep + 2 * self.turns

    def due(self, turns: Sequence[Kept]) -> Sequence[Kept]:
        """Those of the uncovered turns that make the next part; none while that is too early."""
        kept = self._within(turns[::-1], self.keep)
        older = turns[: len(turns) - kept]
        if len(older) < self.turns and sum(map(_size, older)) < self.size:
            return ()
        end = cut(turns, self._within(older, self.turns))
        return turns[:end] if end <= len(older) or len(turns) >= self.ahead else ()

    def _within(self, turns: Sequence[Turn], most: int) -> int:
        """How many of the first turns are not too long together; one at least."""
        room = self.size
        for place, turn in enumerate(turns[:most]):
            room -= _size(turn)
            if room < 0 and place:
                return place
        return min(len(turns), most)


class Summariser:
    """Brings the summary of one session up to date. `alive` raises where this attempt may not write any more."""

    def __init__(
        self,
        summaries: Summaries,
        reading: Reading,
        model: Model | None,
        *,
        alive: Callable[[], Awaitable[None]] | None = None,
        plan: Plan | None = None,
        pause: timedelta = FIRST_PAUSE,
    ) -> None:
        self._summaries = summaries
        self._reading = reading
        self._model = model
        self._alive = alive
        self._plan = plan or Plan()
        self._pause = pause

    async def update(self) -> State:
        """What there is, after what was due has been told; a failure leaves what there was."""
        holder = new_id().hex
        state = await self._summaries.read()
        try:
            for _ in range(self._plan.steps if self._model else 10 * self._plan.steps):
                turns: Sequence[Kept] = ()
                if len(state.summary.parts) <= self._plan.parts:
                    turns = self._plan.due(await self._reading(state.summary, self._plan.ahead))
                    if not turns:
                        break
                model = self._model if state.bad < TRIES else None
                if model is not None:
                    if not state.may:
                        break
                    now = await self._summaries.lease(holder, _LEASE)
                    if not now.leased:
                        break
                    if now.version != state.version:
                        state = now
                        continue
                done = await self._step(state, turns, model, holder)
                state = await self._summaries.read()
                if not done:
                    break
        finally:
            if self._model is not None:
                with suppress(ServerUnavailable):  # it ends by itself
                    await self._summaries.release(holder)
        return state

    async def _step(self, state: State, turns: Sequence[Kept], model: Model | None, holder: str) -> bool:
        """Tell one part, or the story; False when that failed."""
        try:
            if turns:
                summary, topics = await self._part(state, turns, model)
            else:
                summary, topics = await self._story(state, model), state.topics
        except ModelFailed as failed:
            telemetry.count("lousa.summary.failed", {"lousa.why": failed.kind})
            bad = failed.kind not in _AWAY
            await self._summaries.failed(state, holder, failed.kind, bad=bad, pause=self._pause)
            return False
        if self._alive is not None:
            await self._alive()
        if await self._summaries.replace(state, holder, summary, topics):
            telemetry.count("lousa.summary.made", {"lousa.by": "model" if model else BY_EXTRACT})
        return True

    async def _part(self, state: State, turns: Sequence[Kept], model: Model | None) -> tuple[Summary, Sequence[Topic]]:
        read = [turn for turn in turns if may_be_read(turn)]
        language = language_of_turns(read, state.summary.language)
        known = [topic.name for topic in state.topics]
        told = Told("")
        if read and model is not None:
            told = await self._asked(model, read, known, language)
        elif read:
            told = extracted(read, state.topics, self._plan.part_text)
        by = model.name if model else BY_EXTRACT
        part = Part(
            text=told.summary,
            turns=tuple(turn.id for turn in turns),
            since=min(turn.at for turn in turns),
            until=max(turn.at for turn in turns),
            arrived=turns[-1].arrived,
            trust=min((turn.trust for turn in read), default=1.0),
            by=by,
            apart=tuple(turn.id for turn in turns if turn.id not in {each.id for each in read}),
        )
        topics = [_topic(name, text, [read[place] for place in places], by) for name, text, places in told.topics]
        summary = replace(state.summary, parts=(*state.summary.parts, part), language=language)
        return summary, merged(state.topics, topics, self._plan)

    async def _asked(self, model: Model, read: Sequence[Turn], known: Sequence[str], language: Language) -> Told:
        longest = self._plan.part_text
        system, said = minutes.part_prompt(read, known, language, longest)
        answer = await model.fill(system, said, minutes.part_form())
        lines = [minutes.line_of(turn) for turn in read]
        commanded = any(_commands(turn) for turn in read)
        return minutes.read(answer, lines, language, longest, commanded=commanded)

    async def _story(self, state: State, model: Model | None) -> Summary:
        old, parts = state.summary.story, state.summary.parts[: self._plan.fold]
        texts = [text for text in (old.text if old else "", *(part.text for part in parts)) if text]
        lines = [line for text in texts for line in text.splitlines()]
        longest, language = self._plan.story_text, state.summary.language
        if texts and model is not None:
            system, said = minutes.story_prompt(texts, language, longest)
            answer = await model.fill(system, said, minutes.story_form())
            commanded = any(map(commands, lines))
            text = minutes.read(answer, lines, language, longest, commanded=commanded).summary
        else:
            text = extract.condense(lines, longest) if lines else ""
        trusts = [part.trust for part in parts if part.text]
        arrived, last = max((part.arrived, part.turns[-1]) for part in parts)
        if old is not None:
            arrived, last = max((arrived, last), (old.arrived, old.last))
        story = Story(
            text=text,
            first=old.first if old else parts[0].turns[0],
            last=last,
            count=(old.count if old else 0) + sum(len(part.turns) for part in parts),
            since=min([part.since for part in parts] + ([old.since] if old else [])),
            until=max([part.until for part in parts] + ([old.until] if old else [])),
            arrived=arrived,
            trust=min(trusts + ([old.trust] if old and old.text else []), default=1.0),
            by=model.name if model else BY_EXTRACT,
        )
        return replace(state.summary, story=story, parts=state.summary.parts[self._plan.fold :])


def may_be_read(turn: Turn) -> bool:
    """Whether a summary may tell what a turn says."""
    return turn.trust >= QUARANTINE_BELOW and (turn.comes_from == "user" or not _commands(turn))


def language_of_turns(turns: Sequence[Turn], before: Language) -> Language:
    """The language that the users speak, or else all; as before where that does not show."""
    users = " ".join(spoken(turn)[:500] for turn in turns if turn.comes_from == "user")
    return language_of(users) or language_of(" ".join(spoken(turn)[:500] for turn in turns)) or before


def extracted(turns: Sequence[Turn], topics: Sequence[Topic], longest: int) -> Told:
    """Turns told in their own words: the best sentences, what they have in common, and what was a topic before."""
    said = [Said(" ".join(turn.role.split()), spoken(turn), place) for place, turn in enumerate(turns)]
    found = [(each.name, each.text, each.places) for each in extract.topics(said)]
    there = {extract.name_key(name) for name, _, _ in found}
    for topic in topics:
        key = extract.name_key(topic.name)
        words = set(key.split())
        places = tuple(each.place for each in said if words and words <= {*extract.content(each.text)})
        if key not in there and places:
            found.append((topic.name, extract.about(key, said, 200), places))
    return Told(extract.summarise(said, longest), tuple(found))


def merged(old: Sequence[Topic], new: Sequence[Topic], plan: Plan) -> list[Topic]:
    """Topics and what was said of them since, the last touched first; those beyond the most are let go."""
    topics = {extract.name_key(topic.name): topic for topic in old}
    for topic in new:
        key = extract.name_key(topic.name)
        if (known := topics.get(key)) is not None:
            topic = _joined(known, topic)
        topics[key] = replace(topic, turns=topic.turns[-plan.topic_turns :])
    return sorted(topics.values(), key=lambda topic: topic.touched, reverse=True)[: plan.topics]


def spoken(turn: Turn) -> str:
    """What was said in a turn, as far as it is read and is words: of a body that is no text, the texts in it."""
    return "\n".join(_begin(_texts(turn.body)))[: minutes.LONGEST_READ]


def _joined(old: Topic, new: Topic) -> Topic:
    lines = list(dict.fromkeys([*old.text.splitlines(), *new.text.splitlines()]))
    while len(lines) > 1 and sum(map(len, lines)) > _LONGEST_TOPIC:
        del lines[0]
    return replace(
        new,
        name=old.name,
        text="\n".join(lines),
        turns=tuple(dict.fromkeys([*old.turns, *new.turns])),
        touched=max(old.touched, new.touched),
        trust=min(old.trust, new.trust),
    )


def _topic(name: str, text: str, turns: Sequence[Turn], by: str) -> Topic:
    return Topic(
        name=name,
        text=text,
        turns=tuple(turn.id for turn in turns),
        touched=max(turn.at for turn in turns),
        trust=min(turn.trust for turn in turns),
        by=by,
    )


def _commands(turn: Turn) -> bool:
    """Whether something in what is read of it reads as an instruction: all of it, and each text and name in it."""
    if isinstance(turn.body, str):
        return commands(turn.body[: minutes.LONGEST_READ])
    parts = {spoken(turn), *(text[: minutes.LONGEST_READ] for text in _begin(_texts(turn.body, names=True)))}
    return any(map(commands, parts))


def _begin(texts: Iterable[str]) -> Iterator[str]:
    """The first texts, as far as they can be among what is read."""
    room = minutes.LONGEST_READ
    for text in texts:
        if room <= 0:
            return
        room -= len(text)
        yield text


def _texts(body: Json, *, names: bool = False) -> Iterator[str]:
    """The texts in a body, in their order; the names of its parts too."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for name, each in body.items():
            if names:
                yield name
            yield from _texts(each, names=names)
    elif isinstance(body, list):
        for each in body:
            yield from _texts(each, names=names)


def _size(turn: Turn) -> int:
    """About how many characters of it are read, without writing out what is large."""
    return minutes.LONGEST_READ - max(0, _left(turn.body, minutes.LONGEST_READ))


def _left(body: Json, room: int) -> int:
    """What a body leaves of so many characters."""
    if isinstance(body, str):
        return room - len(body)
    inner = chain.from_iterable(body.items()) if isinstance(body, dict) else body if isinstance(body, list) else ()
    room -= 4
    for each in inner:
        if room <= 0:
            break
        room = _left(each, room)
    return room
