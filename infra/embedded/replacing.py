"""Other data in the place of a home's: made ready in a folder of the home, and moved in at the end.

A note says what is to be moved before anything is. Each move is one rename on one disk, and doing what is left of a
note's moves is all there is to finishing it, so it does not matter who does: whoever began, or, after a crash, whoever
takes the home's gate next. The data that were there are set aside and never deleted. All of it happens under the gate,
while nobody uses the home and no server runs in it.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from .privileges import owner_of

NOTE = "replacing.json"
DATA = ("postgres", "valkey")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Folders of the home: where the new data wait, and where those go that are there. `source` is theirs to know."""

    stage: str
    aside: str
    source: str


def begin(home: Path, replacement: Replacement) -> None:
    """From now on it will happen, whatever happens."""
    new = home / f"{NOTE}.new"
    with new.open("w", encoding="utf-8") as file:
        json.dump(asdict(replacement), file)
        file.flush()
        os.fsync(file.fileno())
    new.rename(home / NOTE)
    _sync(home)


def finish(home: Path) -> Replacement | None:
    """Do what is left of a replacement; the replacement, or None when there was none."""
    try:
        replacement = Replacement(**json.loads((home / NOTE).read_bytes()))
    except FileNotFoundError:
        return None
    for name in DATA:
        new, old, aside = home / replacement.stage / name, home / name, home / replacement.aside
        if not os.path.lexists(new):
            continue
        if os.path.lexists(old):
            aside.mkdir(mode=0o700, exist_ok=True)
            owner_of(home).give(aside)
            old.rename(aside / name)
        new.rename(old)
    _sync(home)
    shutil.rmtree(home / replacement.stage, ignore_errors=True)
    (home / NOTE).unlink()
    return replacement


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
