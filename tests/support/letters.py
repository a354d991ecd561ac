"""Writing as an older version did it: what differs by a full stop stands side by side, and is not folded.

Consolidation folds what such a version left. A test asks for `to_the_letter`, as a fixture, to leave something so.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from lousa.memory_layers.execution import memories
from lousa.memory_layers.execution.sameness import folded
from lousa.memory_layers.records import Memory

_KEYED = memories.content_key


@pytest.fixture
def to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this process writes is equal to another only if its letters and signs are, case and accents apart."""

    def former(memory: Memory) -> bytes:
        return _KEYED(replace(memory, metadata={**memory.metadata, "to the letter": folded(memory.text)}))

    monkeypatch.setattr(memories, "content_key", former)
