"""The pipeline as a LangGraph graph. Its state carries ids, its context is the live run, its data lie on the board.

Each node is one call of the run: the graph says in which order, and where a user's own nodes come in between. The
state is small and harmless (an execution, a round, a word), so a tracer that LangGraph is told to use sees no content.
"""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from .live import Live, State, Turn

Change = dict[str, object]
"""What a node changes of the state."""


async def plan(state: State, runtime: Runtime[Live]) -> Change:
    """The first round's tasks: read back, or asked of the planner."""
    await runtime.context.plan()
    return {"execution": str(runtime.context.execution), "round": 1}


async def work(state: State, runtime: Runtime[Live]) -> Change:
    """Every task of the round to its outcome."""
    await runtime.context.work(state["round"])
    return {}


async def critique(state: State, runtime: Runtime[Live]) -> Change:
    """The verdict on the round: read back, asked of the critic, or what a person's answer made of it."""
    return {"verdict": await runtime.context.critique(state["round"])}


async def revise(state: State, runtime: Runtime[Live]) -> Change:
    """On to the next round."""
    return {"round": state["round"] + 1}


async def accept(state: State, runtime: Runtime[Live]) -> Change:
    """The goal is reached. The decision is written with the run's end, when every node has had its turn."""
    return {}


async def reject(state: State, runtime: Runtime[Live]) -> Change:
    """The same for a run that did not reach its goal."""
    return {}


async def escalate(state: State, runtime: Runtime[Live]) -> Change:
    """Nothing is left to do here until a person answers."""
    return {}


def turn(state: State) -> Turn:
    """Where the verdict leads."""
    return state["verdict"]


def build() -> StateGraph[State, Live, State, State]:
    """The graph, not compiled."""
    graph = StateGraph(State, context_schema=Live)
    for node in (plan, work, critique, revise, accept, reject, escalate):
        graph.add_node(node.__name__, node)  # pyright: ignore[reportUnknownMemberType]  # LangGraph leaves a part open
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "work")
    graph.add_edge("work", "critique")
    graph.add_conditional_edges("critique", turn, {word: word for word in ("accept", "revise", "reject", "escalate")})
    graph.add_edge("revise", "work")
    for ending in ("accept", "reject", "escalate"):
        graph.add_edge(ending, END)
    return graph
