"""What people and programs are shown: lines worth their place, JSON that is JSON, nothing a terminal would obey."""

from __future__ import annotations

import io
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from lousa.agents.progress import Event, Progress
from lousa.memory_layers.records import Hit, MemoryKind
from lousa.runtime.output import clean, emit, listing, plain, short, show, table
from lousa.runtime.progress import Picture, line_of, shown
from rich.console import Console

RUN = UUID("019a0000-0000-7000-8000-000000000001")


def news(event: Event, task: str = "", **more: object) -> Progress:
    return Progress(event=event, execution=RUN, task=task, **more)  # pyright: ignore[reportArgumentType]  # the fields


def test_a_value_of_ours_is_json_that_others_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    hit = Hit(
        id=RUN, text="ação", kind=MemoryKind.FACT, score=0.5, owner="a", session=None, execution=None, source="user",
        trust=1.0, status="live", occurred_at=datetime(2026, 11, 30, tzinfo=UTC), value={"a": [1, 2]},
    )  # fmt: skip
    emit({"hit": hit, "path": Path("/x"), "ids": (RUN,)})
    said = capsys.readouterr().out
    assert "ação" in said and said.count("\n") == 1
    told = json.loads(said)
    assert told["hit"]["id"] == str(RUN) and told["hit"]["kind"] == "fact" and told["hit"]["value"] == {"a": [1, 2]}
    assert told["hit"]["occurred_at"] == "2026-11-30T00:00:00+00:00" and told["path"] == "/x"


def test_what_others_wrote_is_neither_markup_nor_a_command_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show("[bold]as it is[/bold] :smile: \x1b[2Jgone\x9b", table("a", "b", rows=[("[red]x", "\x1b]0;title\x07")]))
    said = capsys.readouterr().out
    assert "[bold]as it is[/bold] :smile:" in said and "[red]x" in said
    assert not {"\x1b", "\x07", "\x9b"} & set(said)
    assert clean("a\tb\nc\x00") == "a\tb\nc�"


def test_a_value_is_one_line_and_says_that_it_was_cut() -> None:
    assert short({"a": "b\n c"}) == '{"a": "b\\n c"}'
    assert short("a\n  b") == "a b"
    assert short("x" * 300, 10) == "x" * 9 + "…"
    assert plain({1: None}) == {"1": None}


def test_many_rows_are_a_line_each_and_cost_little(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(n, "who\nsaid", f"{'x' * 500} {n}") for n in range(5_000)]
    begin = time.process_time()
    show(listing("", "agent", "what", rows=rows))
    assert time.process_time() - begin < 1
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "      agent     what" and lines[7] == f"7     who said  {'x' * 500} 7" and len(lines) == 5_000


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (news("planned", round=2, count=7), "round 2: 7 tasks"),
        (news("started", "count-1"), ""),
        (news("finished", "count-1", attempt=2), "  count-1 finished, attempt 2"),
        (news("failed", "count-1", text="ValueError: it\nbroke"), "  count-1 failed: ValueError: it broke"),
        (news("skipped", "count-2", text="count-1"), "  count-2 skipped: count-1"),
        (news("waiting", text="is it?"), "waits for a person: is it?"),
    ],
)
def test_an_event_is_a_line_when_it_is_worth_one(told: Progress, line: str) -> None:
    assert line_of(told) == line


def test_without_a_terminal_progress_is_lines_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    with shown(lambda one: heard.append(one.event)) as listener:
        for one in (news("began"), news("planned", round=1, count=1), news("started", "t"), news("finished", "t")):
            listener(one)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"began {RUN}", "round 1: 1 tasks", "  t finished"]
    assert heard == ["began", "planned", "started", "finished"]


def test_the_picture_says_how_far_it_is_and_who_is_at_work() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    picture = Picture(out)
    picture.tell(news("planned", round=1, count=30))
    for number in range(20):
        picture.tell(news("started", f"[task]-{number}"))
    picture.tell(news("finished", "[task]-0"))
    picture.tell(news("failed", "[task]-1", text="no"))
    drawn = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    drawn.print(picture)
    assert isinstance(drawn.file, io.StringIO)
    said = drawn.file.getvalue()
    assert "2 of 30 tasks, round 1" in said
    assert "[task]-2" in said and "[task]-0" not in said and "and 6 more" in said
    assert isinstance(out.file, io.StringIO) and "[task]-1 failed: no" in out.file.getvalue()
