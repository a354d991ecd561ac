"""Work as it happens, on standard error: a picture that moves on a terminal, one line an event anywhere else.

The picture says what is running now and since when; what stays on the screen when it is over are the lines worth
keeping: a plan, a verdict, whatever went wrong. A listener keeps the run's id, so that whoever is interrupted can be
told how to go on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..agents.progress import Listener, Progress
from .output import console, short

MOST_SHOWN = 12


@contextmanager
def shown(heard: Callable[[Progress], object]) -> Generator[Listener]:
    """A listener that shows what it is told while the block runs; `heard` is told too."""
    out = console(stderr=True)
    picture = Picture(out) if out.is_terminal and sys.stderr.isatty() else None

    def listen(news: Progress) -> None:
        heard(news)
        if picture is not None:
            picture.tell(news)
        elif line := line_of(news):
            out.print(Text(line), soft_wrap=True)

    if picture is None:
        yield listen
        return
    with Live(picture, console=out, refresh_per_second=8, transient=True):
        yield listen


def line_of(news: Progress) -> str:
    """The line that an event is worth, or ''."""
    who = news.task or news.agent
    again = f", attempt {news.attempt}" if news.attempt > 1 else ""
    said = f": {short(news.text)}" if news.text else ""
    match news.event:
        case "began" | "resumed":
            return f"{news.event} {news.execution}"
        case "planned":
            return f"round {news.round}: {news.count} tasks"
        case "started":
            return ""
        case "finished":
            return f"  {who} finished{again}"
        case "retried":
            return f"  {who} will be tried again{said}"
        case "failed":
            return f"  {who} failed{again}{said}"
        case "skipped":
            return f"  {who} skipped{said}"
        case "judged":
            return f"round {news.round}: judged{said}"
        case "waiting":
            return f"waits for a person{said}"
        case "ended":
            return f"ended{said}"


_KEPT = {
    "planned": "bold",
    "retried": "yellow",
    "failed": "red",
    "skipped": "yellow",
    "judged": "bold",
    "waiting": "bold yellow",
}


@dataclass(slots=True)
class _Round:
    """How far one round is."""

    number: int = 0
    planned: int = 0
    ended: int = 0
    running: dict[str, float] = field(default_factory=dict[str, float])


class Picture:
    """What is drawn several times a second: a bar, and who is at work."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._round = _Round()
        self._spinner = Spinner("dots")
        self._planning = Spinner("dots", "planning")

    def tell(self, news: Progress) -> None:
        """Take an event in; keep its line above the picture if it is worth it."""
        if news.event in _KEPT:
            self._out.print(Text(line_of(news), style=_KEPT[news.event]), soft_wrap=True)
        match news.event:
            case "planned":
                self._round = _Round(number=news.round, planned=news.count)
            case "started":
                self._round.running[news.task] = monotonic()
            case "finished" | "failed" | "skipped":
                self._round.running.pop(news.task, None)
                self._round.ended += 1
            case _:
                pass

    def __rich__(self) -> RenderableType:
        """The picture of this moment. It is drawn by another thread, so it looks at copies."""
        now, at_work = self._round, sorted(self._round.running.copy().items(), key=lambda item: item[1])
        if not now.planned:
            return self._planning
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=now.planned, completed=min(now.ended, now.planned), width=30)
        head.add_row(self._spinner, bar, f"{now.ended} of {now.planned} tasks, round {now.number}")
        lines = [Text(f"  {name}  {monotonic() - since:.1f} s", style="dim") for name, since in at_work[:MOST_SHOWN]]
        if len(at_work) > MOST_SHOWN:
            lines.append(Text(f"  and {len(at_work) - MOST_SHOWN} more", style="dim"))
        return Group(head, *lines)
