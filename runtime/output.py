"""What goes to standard output: JSON for programs, tables and lines for people.

Text that others wrote is never taken for markup, and control characters in it never reach the terminal: a memory could
otherwise move the cursor and rewrite what is above it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import NoReturn, TextIO, cast
from uuid import UUID

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDTH_OF_A_FILE = 160


class _Output(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


_own: TextIO | None = None
"""Standard output while it is kept for us alone."""


@contextmanager
def set_apart() -> Generator[None]:
    """Keep standard output for what is emitted and shown here; what a user's code prints goes to standard error."""
    global _own
    _own = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _own = None


def _standard_output() -> TextIO:
    return _own or sys.stdout


def console(*, stderr: bool = False) -> Console:
    """A console that takes nothing for markup."""
    stream = sys.stderr if stderr else _standard_output()
    width = None if stream.isatty() else _WIDTH_OF_A_FILE
    return _Output(file=stream, width=width, markup=False, highlight=False, emoji=False)


def emit(value: object) -> None:
    """One JSON value on a line of its own."""
    out = _standard_output()
    out.write(json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n")
    out.flush()


def show(*things: object) -> None:
    """Lines of text, or whatever rich can draw."""
    out = _standard_output()
    drawing = console()
    for thing in things:
        if isinstance(thing, str):
            out.write(clean(thing) + "\n")
        else:
            drawing.print(thing)
    out.flush()


def table(*columns: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table without frames; the last column takes the room that is left."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for place, name in enumerate(columns):
        drawn.add_column(name, overflow="fold", no_wrap=place < len(columns) - 1 and place < 3)
    for row in rows:
        drawn.add_row(*(Text(str(cell)) for cell in row))
    return drawn


def listing(*columns: str, rows: Sequence[Sequence[object]]) -> str:
    """A line a row, which a terminal may wrap: a table would fold each cell, which takes seconds and little room."""
    lines = [columns, *([str(cell).replace("\n", " ") for cell in row] for row in rows)]  # an entry is one line
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)][:-1]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)), line[-1]]).rstrip()
        for line in lines
    )


def clean(text: str) -> str:
    """Without what a terminal would obey."""
    return _CONTROL.sub("�", text)


def short(value: object, most: int = 200) -> str:
    """A value as one line, cut where it gets long."""
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def plain(value: object) -> object:
    """What JSON can carry of it: ids and times as text, values of ours as objects."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case UUID() | Path():
            return str(value)
        case datetime():
            return value.isoformat()
        case Enum():
            return plain(value.value)
        case Mapping():
            return {str(key): plain(item) for key, item in cast("Mapping[object, object]", value).items()}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        case _ if isinstance(value, Iterable):
            return [plain(item) for item in cast("Iterable[object]", value)]
        case _:
            return str(value)
