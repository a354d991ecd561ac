"""`backup` and `restore`: the embedded servers of the home into one file, and back; other servers have their own tools.

On a terminal a bar says how far it is. What a restore brought back says which executions can be gone on with.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskID, TextColumn

from ...infra.errors import BadInput
from ...infra.settings import Settings
from ..backup.restoring import restore as restore_file
from ..backup.taking import take
from ..backup.working import Show, silent
from ..output import console, emit, show
from .frame import Frame, say

_SHOWN = 5


async def backup(frame: Frame, file: Path, *, force: bool, json: bool) -> int:
    """The verb."""
    settings = _embedded(frame, "backup")
    with _progress() as bar:
        taken = await take(settings.home, file, force=force, fsync=settings.redis_fsync, show=bar)
    if json:
        emit({"counts": taken.counts, "file": taken.file, "bytes": taken.bytes, "sha256": taken.sha256,
              "taken_at": taken.taken_at, "paused_ms": round(taken.paused.total_seconds() * 1000, 1)})  # fmt: skip
        return 0
    show(f"{taken.file}: {taken.bytes:,} bytes, as of {taken.taken_at:%Y-%m-%d %H:%M:%S} UTC", _counted(taken.counts))
    show(f"sha256 {taken.sha256}")
    say(f"writers waited {taken.paused.total_seconds() * 1000:.0f} ms; the file is as secret as the data are")
    return 0


async def restore(frame: Frame, file: Path, *, force: bool, json: bool) -> int:
    """The verb."""
    home = _embedded(frame, "restore").home
    with _progress() as bar:
        restored = await restore_file(file, home, force=force, show=bar)
    if json:
        running = [{"tenant": tenant, "execution": execution} for tenant, execution in restored.running]
        emit({"counts": restored.counts, "file": restored.file, "home": restored.home, "sha256": restored.sha256,
              "taken_at": restored.taken_at, "aside": restored.aside, "running": running})  # fmt: skip
        return 0
    show(f"{restored.home}: as of {restored.taken_at:%Y-%m-%d %H:%M:%S} UTC", _counted(restored.counts))
    if restored.aside is not None:
        say(f"what was there is in {str(restored.aside)!r} now; remove it when you are sure")
    if restored.running:
        say("executions that did not end:")
    for tenant, execution in restored.running[:_SHOWN]:
        theirs = frame if tenant == frame.settings().tenant else replace(frame, tenant=tenant)
        say(f"  {theirs.command('resume', str(execution))}")
    if (more := len(restored.running) - _SHOWN) > 0:
        say(f"  and {more:,} more: {frame.command('board')} lists those of a tenant")
    return 0


def _embedded(frame: Frame, verb: str) -> Settings:
    settings = frame.settings()
    theirs = [
        name
        for name, url in (("LOUSA_REDIS_URL", settings.redis_url), ("LOUSA_POSTGRES_URL", settings.postgres_url))
        if url is not None
    ]
    if theirs:
        raise BadInput(
            f"`lousa {verb}` is for the embedded servers, and {' and '.join(theirs)} name others: use the tools of"
            " those, in the order that docs/backup.md says"
        )
    return settings


def _counted(counts: dict[str, int]) -> str:
    return (
        f"{counts['executions']:,} executions, {counts['memories']:,} memories, {counts['ledger_entries']:,} entries of"
        " the ledger"
    )


@contextmanager
def _progress() -> Generator[Show]:
    out = console(stderr=True)
    if not (out.is_terminal and sys.stderr.isatty()):
        yield silent
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=out, transient=True) as progress:
        task: TaskID = progress.add_task("")
        shown = ""

        def tell(what: str, more: int = 0, of: int | None = None) -> None:
            nonlocal shown
            if what != shown:
                shown = what
                progress.reset(task, total=of, description=what)
            progress.advance(task, more)

        yield tell
