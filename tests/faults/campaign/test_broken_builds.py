"""The campaign finds each build that was broken on purpose: a minute that `make faults` spends, and not `make test`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SHOWN_BY = {
    "operation-id": "doubled",
    "ack-before-commit": "lost",
    "ttl-on-unaudited": "unaudited",
    "skipped-change": "missed_changes",
    "mistaken-tenant": "leaked",
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("broken", SHOWN_BY)
def test_a_build_with_a_broken_promise_is_found(broken: str) -> None:
    arguments = [sys.executable, str(Path(__file__).parent), "--moments", "6", "--seed", "3", "--broken", broken]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)[SHOWN_BY[broken]] > 0, done.stderr
