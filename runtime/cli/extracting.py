"""`extract`: have the model read what was said, and say what came of it.

Nothing of what was said is printed: how many sources were read, what was written by kind, what was dropped and what
failed by why. A dry run only counts what would be read, and needs no model.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...agents.extracting import Extracted, Standing
from ..output import emit, show, table
from .frame import FAILED, Frame, say


async def extract(
    frame: Frame, *, retry_failed: bool, limit: int | None, session: str | None, dry_run: bool, json: bool
) -> int:
    """The verb."""
    async with frame.open() as runtime:
        if dry_run:
            return _counted(await runtime.extraction(retry_failed=retry_failed, session=session), json=json)
        done = await runtime.extract(retry_failed=retry_failed, limit=limit, session=session)
        after = await runtime.extraction(session=session)
    code = FAILED if done.gave_up else 0
    if json:
        emit({"run": done, "standing": after})
        return code
    rows = [
        ("read", done.read, _told(done.written) or "nothing in it"),
        ("passed over", done.passed_over, "not trusted, or too short to say something"),
        ("dropped", sum(done.dropped.values()), _told(done.dropped)),
        ("failed", sum(done.failed.values()), _told(done.failed)),
    ]
    show(table("", "", "", rows=[row for row in rows if row[1]] or rows[:1]))
    _hint(frame, done, after)
    return code


def _counted(standing: Standing, *, json: bool) -> int:
    if json:
        emit({"dry_run": True, "standing": standing})
    else:
        show(f"{standing.unread:,} to read, {standing.extracted:,} read, {standing.failed:,} failed")
        say("nothing was read: this was a dry run")
    return 0


def _hint(frame: Frame, done: Extracted, after: Standing) -> None:
    if done.gave_up:
        say("the model did not answer: the rest waits, run it again later")
    if after.failed:
        again = frame.command("extract", "--retry-failed")
        say(f"{after.failed:,} have failed so far and are kept as they were: {again}")


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
