"""The reference of pipelines works as it stands there, block by block and in order, and leaves no verb out."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Runtime, Task
from lousa.agents.remembering import Remembering
from lousa.memory_layers.conversation.board import Board

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipelines.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def blocks(page: str) -> list[Any]:
    """The code, each block at its own lines, so that a failure names the line of the page."""
    found: list[Any] = []
    for match in re.finditer(r"^```python\n(.*?)^```", page, re.M | re.S):
        start = page.count("\n", 0, match.start(1))
        found.append(compile("\n" * start + match[1], str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    return found


async def run(block: Any, names: dict[str, Any]) -> None:
    waiting = eval(block, names)
    if waiting is not None:
        await waiting


async def test_every_block_runs(runtime: Runtime, page: str) -> None:
    names: dict[str, Any] = {"__name__": "docs", "runtime": runtime}
    of_a_desk = [block for block in blocks(page) if "desk" in block.co_names]
    assert len(of_a_desk) >= 15

    async def planner(desk: Desk, goal: Any) -> list[Task]:
        return [Task("everything", retries=0)]

    async def everything(desk: Desk, task: Any) -> Finding:
        names["desk"] = desk
        for block in of_a_desk:
            await run(block, names)
        return Finding(await names["send"](desk))

    async def critic(desk: Desk, findings: Outcomes) -> Accept:
        return Accept([outcome.value for outcome in findings])

    for block in blocks(page):
        if block not in of_a_desk:
            await run(block, names)
    result = await runtime.run(Pipeline(planner, workers=[everything], critic=critic), None)
    assert result.decision == ["sent"]


def test_every_verb_of_a_desk_and_its_board_is_there(page: str) -> None:
    verbs = [name for kind in (Desk, Remembering) for name in public(vars(kind))]
    verbs += [f"board.{name}" for name in public(vars(Board)) if name != "tell"]  # a desk has its own
    assert [verb for verb in verbs if f"`{verb}(" not in page and f"desk.{verb}(" not in page] == []


def test_every_argument_of_a_pipeline_and_a_task_is_there(page: str) -> None:
    for kind, filled_in in ((Pipeline, set[str]()), (Task, {"needed", "round", "attempt"})):
        arguments = set(inspect.signature(kind).parameters) - filled_in - {"planner", "workers", "critic"}
        assert [name for name in sorted(arguments) if f"| `{name}` |" not in page] == []


def public(names: Mapping[str, Any]) -> list[str]:
    return [name for name, value in names.items() if callable(value) and not name.startswith("_")]
