"""Our SQL is that of PostgreSQL 15, the oldest we promise, which no wheel brings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NEWER = re.compile(
    r"\b0[xob][0-9a-f]+|\b\d+_\d+\b"  # numbers in other bases, or with gaps
    r"|\b(?:any_value|array_reverse|array_sample|array_shuffle|array_sort|casefold|gamma|json_scalar|json_serialize"
    r"|json_table|merge_action|pg_input_is_valid|random_normal|system_user|to_bin|to_oct|uuid_extract_timestamp|uuidv4"
    r"|uuidv7)\b"
    r"|\bIS\s+(?:NOT\s+)?JSON\b|\bRETURNING\s+(?:OLD|NEW)\b|\bVIRTUAL\b",
    re.I,
)
QUOTED_OR_SAID = re.compile(r"--[^\n]*|'(?:[^']|'')*'")


def packaged_sql(root: Path) -> list[Path]:
    folders = ("infra", "memory_layers", "agents", "consolidation", "runtime")
    return [path for folder in folders for path in (root / folder).rglob("*.sql")]


def test_no_query_needs_a_newer_postgres(root: Path) -> None:
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for path in packaged_sql(root)
        for match in NEWER.finditer(QUOTED_OR_SAID.sub("", path.read_text(encoding="utf-8")))
    ]
    assert len(packaged_sql(root)) > 8 and found == []


@pytest.mark.parametrize(
    "query",
    ["SELECT pg_advisory_xact_lock(0x6C6F)", "LIMIT 10_000", "SELECT uuidv7()", "DELETE FROM x RETURNING old.a"],
)
def test_what_is_newer_is_recognised(query: str) -> None:
    assert NEWER.search(query)
