"""The page of a contract review can be read at any width: documents side by side where there is room, else in turn."""

from __future__ import annotations

import io

import pytest
from lousa.examples.contract_review.report import JsonObject, page
from rich.console import Console

NAMES = ["harbour-ledger-subscription.md", "monitoramento-pomares-aditivo.md", "monitoramento-pomares.md", "nda[1].txt"]
QUOTED = "Neither party may assign this Agreement without the written consent of the other"


def drawn(width: int, names: list[str]) -> list[str]:
    review: JsonObject = {
        "documents": [*names],
        "findings": [{"document": name, "clause": "assignment", "text": QUOTED} for name in names],
        "missing": [{"document": names[0], "clause": "payment"}],
        "contradictions": [
            {"documents": [*names[:2]], "clause": "payment", "reason": "two prices", "a": QUOTED, "b": QUOTED}
        ],
        "changed": [],
        "unread": [],
        "recalled": 0,
        "tokens_saved": 0,
    }
    out = Console(file=io.StringIO(), width=width)
    out.print(page(review))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_no_word_is_broken_and_no_line_is_too_long(width: int) -> None:
    lines = drawn(width, NAMES)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).replace("│", " ").split()
    assert set(QUOTED.split()) <= set(words) and "missing" in words
    for name in NAMES:
        assert name in words, name


def test_two_documents_stand_side_by_side_on_a_narrow_terminal() -> None:
    lines = drawn(80, ["a-name-that-is-too-long-for-its-column.md", "b.md"])
    assert any("assignment" in line and line.count("│") == 4 for line in lines)
    said = "\n".join(lines)
    assert "a-name-that-is-too-long-" in said and "for-its-column.md" in said


def test_of_many_documents_the_first_are_shown() -> None:
    assert "and 4 more documents" in " ".join(drawn(80, [f"{number}.md" for number in range(10)]))
