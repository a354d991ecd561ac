"""A disk that fills up: a clear refusal, nothing acknowledged lost, and work goes on once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("full_disk_child.py")


def _on_a_small_disk(command: str, folder: Path) -> list[str]:
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    return [
        *alone,
        "sh",
        "-c",
        f'mount -t tmpfs -o size=220m small "$1" && {command}',
        "sh",
        str(folder),
        sys.executable,
        str(CHILD),
    ]


@pytest.mark.timeout(120)
def test_a_full_disk_refuses_loses_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    tried = subprocess.run(_on_a_small_disk("true", tmp_path), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this system lets nobody mount a disk of their own: {tried.stderr.strip()}")
    ran = subprocess.run(_on_a_small_disk('"$2" "$3" "$1"', tmp_path), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert seen["lost"] == []
    assert seen["kept"] > 20
    assert seen["refused"], "the disk never got full"
