"""The desk: what one agent may see and touch while it works. Everything it does carries its name, and its fence.

    ``board``      fields shared by all agents of the execution, with versions
    ``notes``      what this agent keeps to itself while the execution runs
    ``window``     the session's conversation: recent turns, the transcript, its summary and topics
    ``tell`` · ``inbox``   messages to an agent, a role or everyone
    ``remember`` · ``state_fact`` · ``decide`` · ``forget``   what outlives the execution
    ``recall`` · ``context``   what is known, as hits or as a packed prompt
    ``effect``     a deed outside, done once

A task that runs again after a crash or a failed attempt does the same things again; each is known by what it is about
and its place among the calls about the same, and is answered as the first time. Calls about the *same* thing that one
task makes in parallel have no such place: name them with ``key=``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from ..infra.errors import BadInput, EffectUncertain
from ..infra.identity import Principal
from ..infra.tasks import together
from ..memory_layers import fencing
from ..memory_layers.context_lines import Cite, Language
from ..memory_layers.context_pack import ALWAYS, FOUND, Context, check_frame, count_tokens, pack
from ..memory_layers.conversation.board import Board
from ..memory_layers.conversation.claims import Fence, FirstClaim, shown
from ..memory_layers.conversation.mailbox import Mailbox, Message
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.conversation.scratchpad import Scratchpad
from ..memory_layers.receipts import Receipt
from ..memory_layers.records import Json
from .contract import Task
from .conversation import MOST_TURNS, Conversation
from .effects import Deed, Outside
from .remembering import Remembering

if TYPE_CHECKING:
    from .services import Services


class Desk(Remembering):
    """One agent's desk. `task` is the task it was laid for, None for a planner, a critic or a node of the graph."""

    def __init__(
        self,
        services: Services,
        principal: Principal,
        *,
        board: Board,
        operations: Operations,
        fence: Fence | FirstClaim | None,
        outside: Outside,
        alive: Callable[[], Awaitable[None]],
        task: Task | None = None,
    ) -> None:
        if principal.execution is None:
            raise BadInput(f"agent {principal.agent!r} is in no execution, and a desk belongs to one")
        super().__init__(services, principal, operations, fence=fence)
        self.execution: UUID = principal.execution
        self.board = board
        self.task = task
        self._outside = outside
        self._alive = alive

    # Within the execution

    @cached_property
    def notes(self) -> Scratchpad:
        """What this agent keeps to itself while the execution runs."""
        services = self._services
        return Scratchpad(services.connections, self.principal, artifacts=services.artifacts, fence=self._fence)

    @cached_property
    def window(self) -> Conversation:
        """What is said in the session: the newest turns, what was before, its summary and its topics."""
        return Conversation(self._services, self.principal, operations=self._operations, alive=self._fenced)

    @cached_property
    def _mailbox(self) -> Mailbox:
        services = self._services
        return Mailbox(
            services.connections, self.principal, board=self.board, feed=services.feed, artifacts=services.artifacts
        )

    async def tell(self, to: str, body: Json, *, key: str | None = None) -> str:
        """Send `body` to an agent, to ``role:<role>`` or to ``*``; the message's cursor."""
        return await self._mailbox.tell(to, body, key=key)

    async def inbox(self, since: str | None = None) -> list[Message]:
        """The messages after the cursor `since`, or those that came since this desk last looked."""
        return await self._mailbox.inbox(since)

    # What is known

    async def forget(self, memory: UUID | str, reason: str, *, key: str | None = None) -> Receipt:
        """Withdraw a memory that this agent may change: no recall brings it back.

        Raises:
            Stale: the task is run by somebody else now.
        """
        await self._fenced()
        return await super().forget(memory, reason, key=key)

    async def context(
        self,
        query: str,
        budget: int = 2_000,
        *,
        language: Language = "en",
        counter: Callable[[str], int] = count_tokens,
        turns: int = 20,
        cite: Cite = "full",
    ) -> Context:
        """A prompt of at most `budget` tokens, as `counter` counts it, in English (``en``) or Portuguese (``pt``).

        Every rule and block in scope is in it, whatever the query; `Context.rules_left_out` names those for which the
        budget is too small. The session's summary is in it as it stands, without a model brought up to date.
        `cite` says whether lines end with whole ids or with ``short`` ones, which `Context.named` resolves.
        """
        check_frame(budget, language, cite)
        rules, known, said, before = await together(
            self._services.recaller.always(self.principal, ALWAYS),
            self.recall(query, k=50, kinds=FOUND),
            self.window.last(turns),
            self.window.summary(update=self._services.model is None),
        )
        # After an hour of silence the window is empty, and the conversation goes on where it ended all the same.
        said = said or await self.window.after(before, most=min(turns, MOST_TURNS))
        self._services.router.echoes.heard(self.principal, rules)
        return pack(
            [*rules, *known], said, budget=budget, language=language, counter=counter, summary=before.text, cite=cite
        )

    # Outside

    async def effect(
        self,
        name: str,
        fn: Deed,
        *,
        key: str | None = None,
        again: EffectUncertain | None = None,
    ) -> Json:
        """Do something outside once: intent first, then `fn`, then its result; the result that was recorded later on.

        `key` names the effect within the execution, whichever task asks for it; without one it is this call of this
        task in this round. A `fn` that is not async runs in a thread. What it raises passes through, and whether it did
        its deed before is then as unknown as after a crash. Who has found out that it certainly did not passes the
        error as `again`; who has found out that it did says so by `effect_settle`.

        Raises:
            EffectUncertain: it was begun before and its end is unknown; `fn` was not called.
            Stale: this attempt was overtaken; `fn` was not called.
        """
        named = again.key if again is not None else key
        if named is None:
            named = str(self._operations.next(of=f"{self.principal.agent} effect {name}"))
        task = self.task.id if self.task else ""
        return await self._outside.do(self.principal, task, name, named, fn, alive=self._alive, again=again)

    async def effect_settle(self, key: str, result: Json = None) -> None:
        """It was found out that the effect `key` did happen, with this result: record it.

        Raises:
            Stale: this attempt was overtaken.
        """
        await self._outside.settle(self.principal, key, result, alive=self._alive)

    # Within

    async def _fenced(self) -> None:
        """Raises:
        Stale: the task is run by somebody else now.
        """
        if (fence := await shown(self._fence)) is not None:
            await fencing.check(self._services.connections, self.principal.tenant, self.execution, fence)
