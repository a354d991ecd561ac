"""The campaign itself: it finds nothing in the product as it is, and each build that was broken on purpose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KINDS = ("lost", "doubled", "unaudited", "missed_changes", "leaked")
SHOWN_BY = {
    "operation-id": "doubled",
    "ack-before-commit": "lost",
    "ttl-on-unaudited": "unaudited",
    "skipped-change": "missed_changes",
    "mistaken-tenant": "leaked",
}


def campaign(*arguments: str) -> tuple[int, dict[str, Any], str]:
    """Its exit code, its figures, and what it told people."""
    folder = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, folder, *arguments], capture_output=True, text=True, timeout=200)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stderr
    return done.returncode, json.loads(lines[0]), done.stderr


@pytest.mark.timeout(240)
def test_nothing_is_lost_doubled_unaudited_missed_or_leaked() -> None:
    _, figures, told = campaign("--moments", "10", "--seed", "11")
    assert {kind: figures[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0), told
    assert figures["moments"] == 10
    assert figures["acknowledged"] > 0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("broken", SHOWN_BY)
def test_a_build_with_a_broken_promise_is_found(broken: str) -> None:
    code, figures, told = campaign("--moments", "6", "--seed", "3", "--broken", broken)
    assert code == 1, told
    assert figures[SHOWN_BY[broken]] > 0, told
