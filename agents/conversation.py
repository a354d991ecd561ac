"""The conversation of a session at a desk: its window, what it said before, its summary and its topics.

    ``append``                                  one turn more, to the transcript and the window
    ``last`` · ``last_tokens`` · ``last_calls`` the newest turns, from the window
    ``earlier``                                 any turns, from the transcript, page by page
    ``summary`` · ``after``                     what was said before, told shortly; and the turns that it does not tell
    ``topics``                                  what was talked about, and when last

`summary` and `topics` first tell what is due, which may ask the model that is set; `update=False` only reads. No append
ever does. Both are made from the transcript, so neither an idle window nor a lost server loses anything of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput, Stale
from ..infra.identity import Principal
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.conversation.summaries import TOPIC_KEPT, State, Summaries, Summary, Topic
from ..memory_layers.conversation.window import Turn, Window, whole
from ..memory_layers.execution.transcript import TranscriptTurn
from .summarise import Kept, Plan, Summariser

if TYPE_CHECKING:
    from .services import Services

MOST_TURNS = 1_000


class Conversation(Window):
    """The conversation of one session, as one agent sees it."""

    def __init__(
        self,
        services: Services,
        principal: Principal,
        *,
        operations: Operations,
        alive: Callable[[], Awaitable[None]] | None = None,
        plan: Plan | None = None,
    ) -> None:
        super().__init__(
            services.connections,
            principal,
            artifacts=services.artifacts,
            archive=self._keep,
            operations=operations,
            clock=services.clock,
            alive=alive,
        )
        self._who = principal
        self._now = services.clock.now
        self._transcript = services.transcript
        self._summaries = Summaries(services.connections, principal)
        self._summariser = Summariser(self._summaries, self._uncovered, services.model, alive=alive, plan=plan)

    async def earlier(self, turns: int = 50, *, before: Turn | UUID | str | None = None) -> list[Turn]:
        """A page of the session's whole transcript, oldest first: its newest turns, or those before one.

        A page ends where it ends, between a call and its result too: the page before has the rest.
        """
        if not 1 <= shape.whole("turns", turns) <= MOST_TURNS:
            raise BadInput(f"a page of a transcript has 1 to {MOST_TURNS:,} turns, not {turns:,}")
        place = before.id if isinstance(before, Turn) else before
        at = None if place is None else shape.identifier("before", place)
        return [_turn(kept) for kept in await self._transcript.last(self._who, turns, before=at)]

    async def summary(self, *, update: bool = True) -> Summary:
        """What the older turns said, shortly; empty while the session is short.

        What fails at telling them leaves the last summary, which counts it; `after` has the turns that are not told. An
        attempt that was overtaken only reads.
        """
        return (await self._state(update)).summary

    async def topics(self, *, update: bool = True) -> list[Topic]:
        """What was talked about in the older turns, the last touched first; not what nobody touched for a week."""
        oldest = self._now() - TOPIC_KEPT
        return [topic for topic in (await self._state(update)).topics if topic.touched > oldest]

    async def after(self, summary: Summary, *, most: int = 200) -> list[Turn]:
        """The turns that `summary` does not tell, oldest first: together they are the whole session.

        The newest of them, where there are more than `most`.
        """
        if not 1 <= shape.whole("most", most) <= MOST_TURNS:
            raise BadInput(f"at most {MOST_TURNS:,} turns are read at once, and one at least, not {most:,}")
        kept = await self._transcript.after(self._who, summary.through, most, known=summary.turns, newest=True)
        return whole([_turn(each) for each in kept])

    async def _state(self, update: bool) -> State:
        if shape.flag("update", update):
            # An attempt that was overtaken writes nothing any more, and may still read.
            with suppress(Stale):
                return await self._summariser.update()
        return await self._summaries.read()

    async def _uncovered(self, summary: Summary, most: int) -> list[Kept]:
        kept = await self._transcript.after(self._who, summary.through, most, known=summary.turns)
        return [Kept(**_parts(each), arrived=cast(datetime, each.recorded_at)) for each in kept]

    async def _keep(self, turns: Sequence[Turn]) -> None:
        kept = [
            TranscriptTurn(
                id=turn.id,
                agent=turn.agent,
                role=turn.role,
                body=turn.body,
                occurred_at=turn.at,
                execution=self._who.execution,
                calls=turn.calls,
                answers=turn.answers,
                source=turn.source,
            )
            for turn in turns
        ]
        await self._transcript.append(self._who, kept)


def _turn(kept: TranscriptTurn) -> Turn:
    return Turn(**_parts(kept))


def _parts(kept: TranscriptTurn) -> dict[str, Any]:
    return {
        "role": kept.role,
        "body": kept.body,
        "calls": kept.calls,
        "answers": kept.answers,
        "source": kept.source,
        "id": kept.id,
        "agent": kept.agent,
        "at": kept.occurred_at,
    }
