"""`load_queries`: queries are prose beside the module that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lousa.infra.sql import load_queries


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"prose_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # pytest leaves it open
    return name


def written(tmp_path: Path, package: str, text: str) -> dict[str, str]:
    (tmp_path / package / "queries.sql").write_text(text, encoding="utf-8")
    return {**load_queries(package)}


def test_a_block_ends_where_the_next_begins_and_keeps_its_own_comments(tmp_path: Path, package: str) -> None:
    queries = written(tmp_path, package, "-- one: first.\nSELECT 1\n-- note: inside\n\n-- two: second.\n\nSELECT 2\n")
    assert queries == {"one": "SELECT 1\n-- note: inside", "two": "SELECT 2"}


def test_a_name_used_twice_is_refused(tmp_path: Path, package: str) -> None:
    with pytest.raises(ValueError, match="'one' is there twice"):
        written(tmp_path, package, "-- one: first.\nSELECT 1\n\n-- one: again.\nSELECT 2\n")


def test_a_block_without_sql_is_refused(tmp_path: Path, package: str) -> None:
    with pytest.raises(ValueError, match="'one' is empty"):
        written(tmp_path, package, "-- one: nothing follows.\n\n-- two: second.\nSELECT 2\n")
