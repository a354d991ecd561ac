"""The embedded server keeps what it holds in its own memory, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from lousa.infra.embedded import room
from lousa.infra.embedded.room import LEAST, MEGABYTE, MOST, room_for, within


@pytest.mark.parametrize(
    ("held", "memory", "kept"),
    [
        (0, 16_384, LEAST),
        (128, 16_384, LEAST),
        (129, 16_384, 256),
        (3_000, 65_536, 4_096),
        (90_000, 65_536, MOST),
        (90_000, 16_384, 4_096),
        (90_000, 8_192, 2_048),
        (90_000, 8_191, 1_024),
        (90_000, 256, LEAST),
    ],
)
def test_a_server_has_room_for_what_it_holds_up_to_a_quarter_of_the_memory(held: int, memory: int, kept: int) -> None:
    assert within(held, memory) == kept


def test_a_home_that_is_not_there_yet_has_the_least_room(tmp_path: Path) -> None:
    assert room_for(tmp_path / "postgres") == LEAST


def test_what_lies_in_the_databases_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_memory", lambda: 1 << 40)
    for folder in ("1", "2"):
        (tmp_path / "base" / folder).mkdir(parents=True)
        with (tmp_path / "base" / folder / "16384").open("wb") as file:
            file.truncate(80 * MEGABYTE)  # a hole
    assert room_for(tmp_path) == 256
    assert room_for(tmp_path / "base") == LEAST
