"""The pipeline that journeys run: numbers are doubled in parallel and summed."""

from __future__ import annotations

from typing import Any

from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Task


async def numbers(desk: Desk, goal: Any) -> list[Task]:
    return [Task("double", n) for n in goal]


async def double(desk: Desk, task: Any) -> Finding:
    await desk.board.write(f"doubled/{task.id}", task.input * 2)
    return Finding(task.input * 2)


async def total(desk: Desk, findings: Outcomes) -> Accept:
    values: list[Any] = [found.value for found in findings.found]
    return Accept(sum(values))


def doubling(**options: Any) -> Pipeline:
    return Pipeline(numbers, workers=[double], critic=total, **options)


async def passing(desk: Desk, findings: Outcomes) -> Accept:
    return Accept([outcome.ok for outcome in findings])
