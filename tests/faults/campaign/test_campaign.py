"""The campaign, a short one: it finds nothing in the product as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("lost", "doubled", "unaudited", "missed_changes", "leaked")


@pytest.mark.timeout(240)
def test_nothing_is_lost_doubled_unaudited_missed_or_leaked() -> None:
    arguments = [sys.executable, str(Path(__file__).parent), "--moments", "12", "--seed", "11"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=200)
    (line,) = done.stdout.splitlines()
    figures = json.loads(line)
    assert {kind: figures[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0), done.stderr
    assert figures["moments"] == 12
    assert figures["acknowledged"] > 0
