"""A pipeline: a planner, its workers and a critic, as one value that can be run any number of times.

    plan → work → critique → accept
              ↑        ├───→ reject
              │        ├───→ escalate   (a person is asked; the answer goes on from there)
              └ revise ┘                (at most `max_rounds` rounds)

It is a LangGraph graph (see `graph`): take it with `Pipeline.graph`, add nodes of your own, give it back with
``graph=``. A node gets the state, which holds ids only, and LangGraph's runtime, whose ``context`` is the live run with
its desk and board. There is no checkpointer: what is done lies on the board, and a run that starts again reads it back.
So nodes that you add may be run again, and must bear it.

When `max_rounds` are used up and the critic still asks for another, the run ends rejected, with a reason that says so:
nobody has approved what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from ..infra.errors import PipelineError
from ..infra.text import flaw
from .contract import Arbiter, Critic, Planner, Worker
from .parts import Call, Part, part_of, workers_of
from .plan import seconds

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler
    from langgraph.graph.state import CompiledStateGraph, StateGraph

    from .live import Live, State

GivenWorker = Worker | type[Worker] | Call


class Pipeline:
    """A planner, workers and a critic. `retries` and `timeout` (of one attempt) apply to all of them.

    Args:
        planner: turns the goal into tasks.
        workers: what tasks may name; a mapping gives them other names.
        critic: judges each round.
        name: shown in lists of executions, and checked when one is resumed.
        max_rounds: how many rounds there are at most, the first included.
        retries: how often a failed attempt is repeated, after a growing pause.
        timeout: of one attempt; default `Settings.task_timeout`.
        parallel: how many tasks run at a time, at most.
        graph: the graph to run, made from `Pipeline.graph`.
        callbacks: LangChain callback handlers; they see each node and each attempt of a task as a run, by ids only.

    Raises:
        PipelineError: a part cannot be used.
    """

    def __init__(
        self,
        planner: Planner | type[Planner] | Call,
        workers: Iterable[GivenWorker] | Mapping[str, GivenWorker],
        critic: Critic | type[Critic] | Call,
        *,
        name: str = "pipeline",
        max_rounds: int = 3,
        retries: int = 2,
        timeout: timedelta | float | None = None,
        parallel: int = 16,
        graph: StateGraph[State, Live, State, State] | None = None,
        callbacks: Sequence[BaseCallbackHandler] = (),
    ) -> None:
        if max_rounds < 1 or retries < 0 or parallel < 1 or (timeout is not None and seconds(timeout) <= 0):
            raise PipelineError(
                f"max_rounds={max_rounds}, retries={retries}, parallel={parallel}, timeout={timeout} cannot be used:"
                " at least one round, no fewer than 0 retries, one task at a time, more than 0 seconds"
            )
        if (wrong := flaw(name)) is not None:
            raise PipelineError(f"the pipeline's name {name[:60]!r} {wrong}")
        self.name = name
        self.planner: Part = part_of(planner, "plan", "planner")
        self.workers: Mapping[str, Part] = workers_of(workers)
        self.critic: Part = part_of(critic, "judge", "critic")
        self.arbiter: Part | None = _arbiter(critic)
        self.max_rounds = max_rounds
        self.retries = retries
        self.timeout = timeout
        self.parallel = parallel
        self.callbacks = tuple(callbacks)
        self._graph = graph
        self._compiled: CompiledStateGraph[State, Live, State, State] | None = None

    def graph(self) -> StateGraph[State, Live, State, State]:
        """A new copy of the graph, not compiled, to be extended and given back with ``Pipeline(…, graph=…)``."""
        from .graph import build  # LangGraph takes longer to import than everything else together

        return build()

    def compiled(self) -> CompiledStateGraph[State, Live, State, State]:
        """The graph as it runs, compiled once."""
        if self._compiled is None:
            graph = self._graph or self.graph()
            self._compiled = graph.compile(name=self.name)  # pyright: ignore[reportUnknownMemberType]  # LangGraph's
        return self._compiled

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}: {self.planner.name} → {', '.join(self.workers)} → {self.critic.name})"


def _arbiter(critic: object) -> Part | None:
    """The critic's power to say what an answer means, if it declares it by having `Arbiter`'s method."""
    has_it = issubclass(critic, Arbiter) if isinstance(critic, type) else isinstance(critic, Arbiter)
    return part_of(critic, "answered", "critic") if has_it else None
