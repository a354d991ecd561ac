"""An agreement is read exactly as it stands, or refused by name."""

from pathlib import Path

import pytest
from lousa.examples.contract_review.documents import LARGEST, DocumentError, document, read_document


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\t\r\n ", "is empty"),
        (b"\xef\xbb\xbf\n", "is empty"),
        (b"AGREEMENT\0between", "is binary"),
        ("CESSÃO".encode("latin-1"), "is not UTF-8"),
        ("AGREEMENT".encode("utf-16"), "is binary|is not UTF-8"),
    ],
)
def test_what_cannot_be_read_honestly_is_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "acordo número 1.txt"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=says) as refusal:
        read_document(path)
    assert "acordo número 1.txt" in str(refusal.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="does not exist"):
        read_document(tmp_path / "none.txt")
    with pytest.raises(DocumentError, match="is not a file"):
        read_document(tmp_path)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(DocumentError, match="split it"):
        read_document(path)


@pytest.mark.parametrize(
    "content", [b"one\r\ntwo\r\n", b"one\rtwo\n", b"\xef\xbb\xbfone\ntwo", "um\u2028só\x0c".encode()]
)
def test_the_text_is_what_opening_the_file_gives(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert read_document(path).text == path.read_text(encoding="utf-8")


def test_the_same_characters_have_the_same_digest_under_any_name() -> None:
    assert document("a", "O contrato.").digest == document("b", "O contrato.").digest
    assert document("a", "O contrato.").digest != document("a", "O contrato").digest


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("As partes não respondem pelo que a outra fizer.", "pt"),
        ("Neither party shall be liable for the other.", "en"),
        ("1234", "en"),
        ('O sistema "Software as a Service" da CONTRATADA fica no ar em todos os dias do ano.', "pt"),
    ],
)
def test_the_language_is_that_of_the_small_words(text: str, language: str) -> None:
    assert document("a", text).language == language
