"""What a durable run costs over the same graph in bare LangGraph, which keeps nothing.

A planner, ten workers that do nothing, a critic: once as a Lousa pipeline on the embedded servers (every plan, outcome
and verdict on the board, synced to disk; the execution, its decision and their ledger entries in Postgres), once as a
LangGraph graph with `Send` and no checkpointer. They take turns in one process; the value is the median of the rounds'
ratios of wall time for a run.

    python benchmarks/pipeline.py [--json] [--rounds 9] [--runs 15]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import operator
import tempfile
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter
from typing import Annotated, Any, TypedDict

import lousa
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Task

WORKERS = 10
BAR = 3.0


class State(TypedDict):
    """What the bare graph hands from node to node."""

    goal: int
    findings: Annotated[list[int], operator.add]
    decision: int


class One(TypedDict):
    """What one worker of the bare graph is given."""

    number: int


def bare() -> Callable[[], Awaitable[int]]:
    """The graph in LangGraph alone."""

    async def plan(state: State) -> dict[str, Any]:
        return {}

    def fan_out(state: State) -> list[Send]:
        return [Send("work", {"number": number}) for number in range(state["goal"])]

    async def work(state: One) -> dict[str, Any]:
        return {"findings": [state["number"]]}

    async def critique(state: State) -> dict[str, Any]:
        return {"decision": len(state["findings"])}

    graph: Any = StateGraph(State)  # LangGraph leaves a part of its types open
    graph.add_node("plan", plan)
    graph.add_node("work", work)
    graph.add_node("critique", critique)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", fan_out, ["work"])
    graph.add_edge("work", "critique")
    graph.add_edge("critique", END)
    compiled = graph.compile()

    async def run() -> int:
        return (await compiled.ainvoke({"goal": WORKERS, "findings": []}))["decision"]

    return run


def durable(runtime: lousa.Runtime) -> Callable[[], Awaitable[object]]:
    """The same as a pipeline."""

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("work", number) for number in range(goal)]

    async def work(desk: Desk, task: Task) -> Finding:
        return Finding(task.input)

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept(len(findings.found))

    pipeline = Pipeline(planner, workers=[work], critic=critic)

    async def run() -> object:
        return (await runtime.run(pipeline, WORKERS)).decision

    return run


async def timed(run: Callable[[], Awaitable[object]], runs: int) -> float:
    """Seconds that one run takes, the median of some."""
    times: list[float] = []
    for _ in range(runs):
        began = perf_counter()
        decision = await run()
        times.append(perf_counter() - began)
        assert decision == WORKERS
    return median(times)


async def measure(rounds: int, runs: int) -> list[tuple[float, float]]:
    """For each round, the seconds of a durable and of a bare run."""
    with tempfile.TemporaryDirectory(prefix="lousa-bench-") as home:
        async with lousa.open(home=home) as runtime:
            ours, theirs = durable(runtime), bare()
            await timed(ours, 3)
            await timed(theirs, 3)
            return [(await timed(ours, runs), await timed(theirs, runs)) for _ in range(rounds)]


def main() -> None:
    """Measure, and say it for people or for programs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object for programs")
    parser.add_argument("--rounds", type=int, default=9, help="how often the two take turns (at least 7)")
    parser.add_argument("--runs", type=int, default=15, help="runs of each in a round")
    options = parser.parse_args()
    pairs = asyncio.run(measure(max(7, options.rounds), options.runs))
    ours, theirs = (median(pair[which] for pair in pairs) for which in (0, 1))
    ratio = median(ours / theirs for ours, theirs in pairs)
    measures = {
        "durable run / bare LangGraph": {
            "value": round(ratio, 2),
            "unit": "ratio",
            "against": f"the same graph in LangGraph without a checkpointer ({theirs * 1000:.1f} ms)",
            "bar": BAR,
            "holds": ratio <= BAR,
        },
        "durable run": {
            "value": round(ours * 1000, 1),
            "unit": "ms",
            "against": f"{WORKERS} workers that do nothing",
            "bar": None,
            "holds": True,
        },
    }
    if options.json:
        print(json.dumps(measures))
        return
    print(f"planner → {WORKERS} workers → critic, {len(pairs)} rounds of {options.runs} runs in turn")
    for name, told in measures.items():
        bar = "" if told["bar"] is None else f"  (bar ≤ {told['bar']}, {'holds' if told['holds'] else 'missed'})"
        print(f"  {name:<32}{told['value']:>8} {told['unit']:<6} against {told['against']}{bar}")


if __name__ == "__main__":
    main()
