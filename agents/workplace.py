"""Where the work of a run is done: steps are claimed here, desks laid, and results written once.

Everything is done under the run's own claim. It alone may claim the run's steps, and takes each over from whoever had
it, since only an earlier attempt can have. So of two processes that believe to run the same execution, the one that was
overtaken can neither begin a step nor write what came of one.

What came of a step is written where nothing was, or over the very version that a run which had failed does again.

A step that is run again in a later round (a task that is revised, the critic) is given, with its desk, the versions of
the fields it wrote before: it may write over its own words without having read them, and still not over anybody
else's. What came of a step says which fields it ``wrote``, so that another process knows it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast
from uuid import UUID

from ..infra.identity import Principal
from ..memory_layers.conversation.board import ANY, Board, Conflict, RunBoard
from ..memory_layers.conversation.claims import Claim, FirstClaim
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.records import Json
from .attempt import Hold, Step, There
from .contract import Task
from .desk import Desk
from .effects import Outside
from .ownership import Heartbeat, Held
from .services import Services


def own_versions(board: Board) -> dict[str, int]:
    """The fields that a board object wrote, at the versions it knows."""
    return {field: board.seen[field] for field in board.wrote}


class Workplace:
    """The claims, desks and results of one run. `resumed` says that another process may have been at it before.

    `again` has the versions of results that do not stand: those are written over.

    Satisfies `attempt.Workplace`.
    """

    def __init__(
        self, services: Services, principal: Principal, *, run: Held, heartbeat: Heartbeat, resumed: bool
    ) -> None:
        self._services = services
        self._principal = principal
        self._execution = cast(UUID, principal.execution)
        self._run = run
        self._heartbeat = heartbeat
        self._resumed = resumed
        self._lease = services.settings.lease.total_seconds()
        self._outside = Outside(services.effects, self._execution)
        self._principals = {principal.agent: principal}
        self._board = self._own_board(principal.agent, run)
        self._claimed: set[str] = set()
        self._wrote: dict[str, dict[str, int]] = {}
        self.again: dict[str, int] = {}

    async def hold(self, step: Step) -> Hold | There:
        """Claim a step; or what came of it, if the process that was overtaken still got there.

        Raises:
            Stale: this run was overtaken itself.
        """
        claim = await self._claim(step.task)
        if self._resumed:
            there, version = await self._board.read_versioned(step.field)
            if there is not None and version > self.again.get(step.field, 0):
                return There(value=there)
        held = self._heartbeat.keep(claim)
        desk = self.desk(step.agent, step.field, step.round, held=held, work=step.work, seen=self._wrote.get(step.task))
        return Hold(step=step, held=held, desk=desk)

    async def _claim(self, task: str) -> Claim | FirstClaim:
        """The claim of a task; one that nobody can have claimed yet is granted with what is first written under it."""
        if not self._resumed and task not in self._claimed:
            self._claimed.add(task)
            return self._board.first_claim(task, self._lease)
        claim = await self._board.claim(task, self._lease, over=ANY)
        if claim is None:
            raise RuntimeError(f"the claim of {task!r} was refused to the run that may take it over")
        return claim

    async def write(self, hold: Hold, value: Json) -> Json:
        """Write what came of a step, under its claim; what is there already stands, and is returned."""
        self._note(hold)
        board = self._own_board(hold.step.agent, hold.held)
        came = await self._written_once(board, hold.step.field, self._with_wrote(hold.step.task, value))
        hold.held.forget()
        return came

    async def let_go(self, hold: Hold) -> None:
        """Make the token of a failed attempt stale."""
        self._note(hold)
        await hold.held.let_go()

    async def conclude(self, field: str, value: Json, *, of: str = "") -> Json:
        """Write what came of something without an attempt of its own, in the run's name; what is there stands."""
        return await self._written_once(self._board, field, self._with_wrote(of, value))

    def recall(self, of: str, came: Json) -> None:
        """Know again, from what came of a step, which fields it wrote."""
        wrote = cast(dict[str, int], cast(dict[str, Json], came).get("wrote", {}))
        self._wrote.setdefault(of, {}).update(wrote)

    def desk(
        self,
        agent: str,
        of: str,
        round: int,
        *,
        held: Held | None = None,
        work: Task | None = None,
        seen: Mapping[str, int] | None = None,
    ) -> Desk:
        """A desk under a claim, by default the run's; its operation ids derive from `of` and the round."""
        held = held or self._run
        principal = self._as(agent)
        operations = Operations(self._execution, task=of, round=round)
        board = Board(
            self._services.connections,
            principal,
            feed=self._services.feed,
            artifacts=self._services.artifacts,
            operations=operations,
            clock=self._services.clock,
            fence=held.shown,
            seen=seen,
        )
        return Desk(
            self._services,
            principal,
            board=board,
            operations=operations,
            fence=held.shown,
            outside=self._outside,
            alive=held.alive,
            task=work,
        )

    def _own_board(self, agent: str, held: Held) -> RunBoard:
        """A board for the runtime's own fields, under a claim."""
        return RunBoard(
            self._services.connections,
            self._as(agent),
            feed=self._services.feed,
            artifacts=self._services.artifacts,
            operations=Operations(self._execution),
            clock=self._services.clock,
            fence=held.shown,
            reserved=True,
        )

    def _as(self, agent: str) -> Principal:
        """Who `agent` is in this run."""
        if agent not in self._principals:
            self._principals[agent] = replace(self._principal, agent=agent)
        return self._principals[agent]

    def _note(self, hold: Hold) -> None:
        board = hold.desk.board
        if board.wrote:
            self._wrote.setdefault(hold.step.task, {}).update(own_versions(board))

    def _with_wrote(self, of: str, value: Json) -> Json:
        wrote = self._wrote.get(of)
        return {**value, "wrote": {**wrote}} if wrote and isinstance(value, dict) else value

    async def _written_once(self, board: Board, field: str, value: Json) -> Json:
        """Write a field that nobody wrote yet, or that is written again; else what is there stands. What it holds."""
        answer = await board.write(field, value, expect=self.again.get(field, 0))
        return answer.value if isinstance(answer, Conflict) else value
