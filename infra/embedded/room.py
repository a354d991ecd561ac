"""How much of what lies on the disk the embedded PostgreSQL keeps in its own memory: what there is, within bounds.

A walk of a large vector index touches pages all over it. A page that lies in the system's cache and not in the server's
own is copied at each visit, which takes longer than reading it: at a million vectors three times as long. A server that
holds little shall cost little, so the room is measured when it starts, by what is there; pages are taken as they are
used.
"""

from __future__ import annotations

import os
from pathlib import Path

MEGABYTE = 1 << 20
LEAST, MOST = 128, 4096
"""Megabytes."""
_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")


def room_for(data: Path) -> int:
    """Megabytes of shared buffers for a data folder: its tables and indexes, up to a quarter of the memory there is."""
    held = sum(file.stat().st_size for file in (data / "base").glob("*/*")) if data.exists() else 0
    return within(held // MEGABYTE, _memory() // MEGABYTE)


def within(held: int, memory: int) -> int:
    """The same, by megabytes; in steps, so that a server is the same after every start."""
    room = LEAST
    while room < held and room * 2 <= min(MOST, memory // 4):
        room *= 2
    return room


def _memory() -> int:
    """The machine's, or what a container may have of it."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _LIMITS:
        try:
            found.append(int(file.read_text()))
        except (OSError, ValueError):  # not there, or 'max'
            continue
    return min(found)
