"""What a durable run costs: against the same graph in bare LangGraph, which keeps nothing, and with its Postgres saver.

A planner, ten workers that do nothing, a critic: once as a Lousa pipeline on the embedded servers (every plan, outcome
and verdict on the board, synced to disk; the execution, its decision and their ledger entries in Postgres), once as a
LangGraph graph with `Send` and no checkpointer, and once that graph with `AsyncPostgresSaver`, on the same Postgres, in
a database of its own, with a new thread for every run, its default durability (`async`), and the fastest of its ways to
connect, one pipelined connection (a pool takes a little longer). All have the same nodes. They take turns in one
process; a value is the median of the rounds' ratios of wall time for a run.

The saver keeps the graph's state after every step, for one process to go on from. It has no audit trail, no claims that
keep a second process or a late worker from writing, and with its default a step is saved while the next one runs.

    python benchmarks/pipeline.py [--json] [--rounds 9] [--runs 15]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import operator
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any, TypedDict
from urllib.parse import urlsplit

import lousa
import psycopg
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Task
from lousa.infra.embedded.supervisor import EmbeddedServers

WORKERS = 10
BARE, SAVED = "bare LangGraph", "LangGraph with its Postgres saver"
BARS = {BARE: 3.0, SAVED: 0.5}
SAVER = "langgraph.checkpoint.postgres"
Run = Callable[[], Awaitable[object]]


class State(TypedDict):
    """What the bare graph hands from node to node."""

    goal: int
    findings: Annotated[list[int], operator.add]
    decision: int


class One(TypedDict):
    """What one worker of the bare graph is given."""

    number: int


def graph() -> Any:
    """The graph in LangGraph, not compiled yet."""

    async def plan(state: State) -> dict[str, Any]:
        return {}

    def fan_out(state: State) -> list[Send]:
        return [Send("work", {"number": number}) for number in range(state["goal"])]

    async def work(state: One) -> dict[str, Any]:
        return {"findings": [state["number"]]}

    async def critique(state: State) -> dict[str, Any]:
        return {"decision": len(state["findings"])}

    made: Any = StateGraph(State)  # LangGraph leaves a part of its types open
    made.add_node("plan", plan)
    made.add_node("work", work)
    made.add_node("critique", critique)
    made.add_edge(START, "plan")
    made.add_conditional_edges("plan", fan_out, ["work"])
    made.add_edge("work", "critique")
    made.add_edge("critique", END)
    return made


def bare() -> Run:
    """LangGraph alone."""
    compiled = graph().compile()

    async def run() -> object:
        return (await compiled.ainvoke({"goal": WORKERS, "findings": []}))["decision"]

    return run


async def saved(stack: AsyncExitStack, url: str) -> Run:
    """LangGraph with its Postgres saver."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as plain:
        await plain.execute("CREATE DATABASE saver")
    own = urlsplit(url)._replace(path="/saver").geturl()
    kind: Any = import_module(f"{SAVER}.aio").AsyncPostgresSaver
    async with kind.from_conn_string(own) as first:  # its tables cannot be made in a pipeline
        await first.setup()
    saver = await stack.enter_async_context(kind.from_conn_string(own, pipeline=True))
    compiled = graph().compile(checkpointer=saver)
    threads = count()

    async def run() -> object:
        config = {"configurable": {"thread_id": f"thread-{next(threads)}"}}
        return (await compiled.ainvoke({"goal": WORKERS, "findings": []}, config))["decision"]

    return run


def durable(runtime: lousa.Runtime) -> Run:
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


async def timed(run: Run, runs: int) -> float:
    """Seconds that one run takes, the median of some."""
    times: list[float] = []
    for _ in range(runs):
        began = perf_counter()
        decision = await run()
        times.append(perf_counter() - began)
        assert decision == WORKERS
    return median(times)


async def measure(rounds: int, runs: int) -> list[tuple[float, dict[str, float]]]:
    """For each round, the seconds of a durable run, and of each that it is held against."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-bench-")))
        servers = await EmbeddedServers(home).start(stack)
        ours = durable(await stack.enter_async_context(lousa.open(home=home)))
        theirs = {BARE: bare()}
        if find_spec(SAVER) is not None:
            theirs[SAVED] = await saved(stack, servers.postgres_url)
        for run in (ours, *theirs.values()):
            await timed(run, 3)
        return [
            (await timed(ours, runs), {name: await timed(run, runs) for name, run in theirs.items()})
            for _ in range(rounds)
        ]


def main() -> None:
    """Measure, and say it for people or for programs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object for programs")
    parser.add_argument("--rounds", type=int, default=9, help="how often they take turns (at least 7)")
    parser.add_argument("--runs", type=int, default=15, help="runs of each in a round")
    options = parser.parse_args()
    if find_spec(SAVER) is None:
        print(f'left out: {SAVED}; pip install -c constraints.txt -e ".[bench]" brings it', file=sys.stderr)
    rounds = asyncio.run(measure(max(7, options.rounds), options.runs))
    ours = median(took for took, _ in rounds)
    measures: dict[str, dict[str, Any]] = {}
    for name in rounds[0][1]:
        ratio = median(took / against[name] for took, against in rounds)
        theirs = median(against[name] for _, against in rounds)
        measures[f"durable run / {name}"] = {
            "value": round(ratio, 2),
            "unit": "ratio",
            "against": f"the same graph in {name} ({theirs * 1000:.1f} ms)",
            "bar": BARS[name],
            "holds": ratio <= BARS[name],
        }
    measures["durable run"] = {
        "value": round(ours * 1000, 1),
        "unit": "ms",
        "against": f"{WORKERS} workers that do nothing",
        "bar": None,
        "holds": True,
    }
    if options.json:
        print(json.dumps(measures))
        return
    print(f"planner → {WORKERS} workers → critic, {len(rounds)} rounds of {options.runs} runs in turn")
    for name, told in measures.items():
        bar = "" if told["bar"] is None else f"  (bar ≤ {told['bar']}, {'holds' if told['holds'] else 'missed'})"
        print(f"  {name:<50}{told['value']:>8} {told['unit']:<6} against {told['against']}{bar}")


if __name__ == "__main__":
    main()
