"""The front door lists its guests, and nobody else is let in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import lousa

GUESTS = {
    "Accept", "Conflict", "Critic", "Desk", "EffectUncertain", "Escalate", "Fact", "Failure", "Finding", "Hit",
    "LousaError", "Memory", "MemoryKind", "Outcome", "Outcomes", "Pipeline", "Planner", "Principal", "Recall",
    "Reject", "Result", "Revise", "Ruling", "Runtime", "Scope", "Skipped", "Stale", "Summary", "Task", "Topic", "Turn",
    "Worker", "Written", "open",
}  # fmt: skip


def test_the_front_door_lists_exactly_its_guests() -> None:
    assert set(lousa.__all__) == GUESTS


def test_every_guest_can_be_fetched() -> None:
    assert all(getattr(lousa, name) is not None for name in lousa.__all__)


def test_the_version_is_that_of_the_wheel(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert lousa.__version__ == project["version"]
