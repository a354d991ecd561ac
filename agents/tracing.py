"""Tasks as runs of their own, for whoever listens by LangChain's callbacks: a tracer, a debugger, a test.

A traced run shows a name, a task's id, its round and its attempt, never content. Without a listener nothing is done,
and nothing leaves the machine unless the environment or the pipeline names a tracer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")


async def traced(name: str, task: str, round: int, attempt: int, call: Callable[[], Awaitable[T]]) -> T:
    """What `call` returns; as a run under the graph's node, where somebody listens."""
    from langchain_core.runnables import RunnableLambda, ensure_config

    if not _heard(ensure_config().get("callbacks")):
        return await call()
    kept: list[T] = []

    async def run(_: object) -> None:
        kept.append(await call())

    inputs = {"task": task, "round": round, "attempt": attempt}
    await RunnableLambda(run, name=name).ainvoke(cast(object, inputs))
    return kept[0]


def _heard(callbacks: object) -> bool:
    """Callbacks are a list of handlers, or a manager that has one."""
    return bool(cast(object, callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", None)))
