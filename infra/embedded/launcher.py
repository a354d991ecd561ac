"""Starting a program through `launch.py`, which sees to what must happen between fork and exec."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from .life import Life
from .privileges import RunAs, nobody

REFUSED = 3
"""The launcher's code when it may not make a user namespace."""
HELD = 4
"""The launcher's code when another program holds the life file."""
BROKEN = 5
"""The launcher's code when a step of its own failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command, the folder it starts in, and as whom."""

    command: tuple[str, ...]
    folder: Path
    who: RunAs
    version: str = ""


async def launch(
    what: Launch,
    *,
    log: Path,
    life: Path | None,
    line: Life | None,
    words: str = "",
    detach: bool = True,
) -> tuple[int, str]:
    """Start `what`; the launcher's code (see `launch.py`) and its reason.

    The program holds `life` from before its first instruction, and its pid is put into `line` there.
    """
    spec = {
        "command": what.command,
        "folder": str(what.folder),
        "log": str(log),
        "life": {"path": str(life), "line": asdict(line)} if life and line else None,
        "environment": environment(),
        "detach": detach,
        "words": words,
        "alias": nobody().uid,
        **asdict(what.who),
    }
    script = str(Path(__file__).with_name("launch.py"))
    process = subprocess.Popen(  # noqa: ASYNC220  # asyncio's own needs a child watcher, which not every loop has
        [sys.executable or "python3", "-I", "-S", script, json.dumps(spec)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        start_new_session=True,
    )
    try:
        while process.poll() is None:  # noqa: ASYNC110  # the same reason
            await asyncio.sleep(0.003)
        assert process.stdout is not None
        said = process.stdout.read().decode(errors="replace")
    finally:
        if process.poll() is None:  # cancelled
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
    code, _, why = said.partition(" ")
    return (int(code), why) if code.lstrip("-").isdigit() else (BROKEN, said)


async def run_to_end(what: Launch, *, log: Path, life: Path | None = None, words: str = "") -> int:
    """Run a program to its end, `words` on its input; its code. It holds `life` meanwhile, like a server."""
    line = Life(pid=0, program="initdb", version="", sockets="")
    code, _ = await launch(what, log=log, life=life, line=line, words=words, detach=False)
    return code


async def can_enter_namespace(log: Path) -> bool:
    """Whether this system lets root make a user namespace."""
    return await run_to_end(Launch(command=(), folder=log.parent, who=RunAs(namespace=True)), log=log) == 0


def environment() -> dict[str, str]:
    """Little: variables such as PGDATA or PGPORT of the user's would be obeyed by the server."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}
