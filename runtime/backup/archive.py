"""The file of a backup: a zip of its parts with a manifest, and under it all a seal.

    postgres.dump  roles.sql  valkey/…  manifest.json   and as the zip's comment: lousa-backup sha256 <of all before it>

Any zip tool can look into it. The seal says whether the file is whole and unchanged before a byte of it is used; each
part has its own digest besides. It keeps out accidents, not forgers: who can write the file can write a new seal, so
whoever must exclude that keeps the seal, which `lousa backup` prints, somewhere else.

The file is written under another name beside its own, with rights for its owner alone, synced, and named at the end: a
full disk or a kill leaves no file of that name, and one that was there is never half overwritten.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from ...infra.errors import BadInput, LousaError, SchemaMismatch

FORMAT = 1
CHUNK = 1 << 20
_MANIFEST = "manifest.json"
_SEAL = b"lousa-backup sha256 "
_COMMENT = len(_SEAL) + 64
Told = Callable[[int], object]
"""Is told how many more bytes went through."""


class Part(BaseModel):
    """One part, as it is when it is taken out."""

    model_config = ConfigDict(frozen=True)

    name: str
    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What a backup says of itself. `counts` are those of the moment `taken_at`."""

    model_config = ConfigDict(frozen=True)

    format: int
    lousa: str
    taken_at: datetime
    schema_number: int
    postgres: str
    valkey: str
    counts: dict[str, int]
    parts: tuple[Part, ...]


class Writer:
    """A backup that is being written."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)
        self.parts: list[Part] = []

    def add(self, name: str, chunks: Iterable[bytes], *, compress: bool, told: Told) -> None:
        """One part, as long as it turns out to be."""
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        entry.external_attr = 0o600 << 16
        length, digest = 0, hashlib.sha256()
        with self._zip.open(entry, "w", force_zip64=True) as part:
            for chunk in chunks:
                part.write(chunk)
                digest.update(chunk)
                length += len(chunk)
                told(len(chunk))
        self.parts.append(Part(name=name, bytes=length, sha256=digest.hexdigest()))

    def abandon(self) -> None:
        """It will not be read, so nothing more is written, not even at its end."""
        self._zip.fp = None

    def close(self, manifest: Manifest) -> None:
        """The manifest last, since it names every part."""
        entry = zipfile.ZipInfo(_MANIFEST)
        entry.external_attr = 0o600 << 16
        self._zip.writestr(entry, manifest.model_dump_json(indent=2))
        self._zip.comment = _SEAL + b"0" * 64
        self._zip.close()


@contextmanager
def written(path: Path, *, force: bool) -> Generator[tuple[Writer, Callable[[Manifest], str]]]:
    """A writer, and what names the file once all parts are in it and returns its seal; else nothing is left.

    Raises:
        BadInput: it cannot be written there, or there is one, and `force` is not set.
        LousaError: no space is left.
    """
    _refuse_place(path, force)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".partial", dir=path.parent)
    except OSError as error:
        raise _in_words(path, error) from error
    try:
        with os.fdopen(descriptor, "w+b") as file:
            writer = Writer(file)

            def close(manifest: Manifest) -> str:
                writer.close(manifest)
                seal = _seal(file)
                file.flush()
                os.fsync(file.fileno())
                _name(Path(name), path, force)
                return seal

            try:
                yield writer, close
            except BaseException:
                writer.abandon()
                raise
    except OSError as error:
        raise _in_words(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


class Backup:
    """A backup that was found whole. `seal` is the digest of the file."""

    def __init__(self, path: Path, manifest: Manifest, seal: str) -> None:
        self.path = path
        self.manifest = manifest
        self.seal = seal

    def chunks(self, part: Part, told: Told) -> Generator[bytes]:
        """A part, in pieces.

        Raises:
            BadInput: it is not what the manifest says.
        """
        digest = hashlib.sha256()
        with _readable(self.path), zipfile.ZipFile(self.path) as archive, archive.open(part.name) as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                yield chunk
                told(len(chunk))
        if digest.hexdigest() != part.sha256:
            raise _broken(self.path, f"its part {part.name!r} is not what its manifest says")


def opened(path: Path, told: Told) -> Backup:
    """A backup, read once from end to end to see that it is whole.

    Raises:
        BadInput: it is none, or not whole, or was changed.
        SchemaMismatch: a newer Lousa wrote it.
    """
    with _readable(path):
        with path.open("rb") as file:
            seal = _checked(path, file, told)
        with zipfile.ZipFile(path) as archive:
            text = archive.read(_MANIFEST)
            names = {*archive.namelist()}
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise _broken(path, "its manifest cannot be read") from error
    if manifest.format > FORMAT:
        raise SchemaMismatch(
            f"{str(path)!r} was written by Lousa {manifest.lousa}, in a format that this version does not know:"
            " upgrade Lousa (pip install -U lousa) and restore it with that"
        )
    if names != {_MANIFEST, *(part.name for part in manifest.parts)}:
        raise _broken(path, "its parts are not those of its manifest")
    return Backup(path, manifest, seal)


def size(path: Path) -> int | None:
    """How long a file is; None where there is none to be read."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def _seal(file: BinaryIO) -> str:
    """Write the digest of all that is before it over the end of the file."""
    end = file.seek(0, os.SEEK_END) - _COMMENT
    seal = _digest(file, end, lambda _: None)
    file.seek(end + len(_SEAL))
    file.write(seal.encode())
    return seal


def _checked(path: Path, file: BinaryIO, told: Told) -> str:
    end = max(0, file.seek(0, os.SEEK_END) - _COMMENT)
    file.seek(end)
    comment = file.read(_COMMENT)
    if not comment.startswith(_SEAL):
        file.seek(0)
        if file.read(2) == b"PK":
            raise _broken(path, "its end is missing or was changed")
        raise BadInput(f"{str(path)!r} is no backup that `lousa backup` wrote")
    seal = _digest(file, end, told)
    if comment != _SEAL + seal.encode():
        raise _broken(path, "what is in it is not what was written")
    return seal


def _digest(file: BinaryIO, end: int, told: Told) -> str:
    digest, left = hashlib.sha256(), end
    file.seek(0)
    while left:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            break
        digest.update(chunk)
        left -= len(chunk)
        told(len(chunk))
    return digest.hexdigest()


@contextmanager
def _readable(path: Path) -> Generator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(f"there is no file {str(path)!r}") from error
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read ({error.strerror or error})") from error
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError) as error:
        raise _broken(path, "it cannot be taken apart") from error


def _broken(path: Path, why: str) -> BadInput:
    return BadInput(f"the backup {str(path)!r} is damaged: {why}; nothing was restored, take another copy of it")


def _refuse_place(path: Path, force: bool) -> None:
    if path.is_dir():
        raise BadInput(f"{str(path)!r} is a folder: name a file")
    if os.path.lexists(path) and not force:
        raise BadInput(f"{str(path)!r} is there already: name another file, or --force to replace it")


def _name(temporary: Path, path: Path, force: bool) -> None:
    if not force:
        try:
            os.link(temporary, path)  # unlike a rename, it never replaces one that somebody made meanwhile
        except FileExistsError:
            _refuse_place(path, force)
            raise
        except OSError:  # a file system without links
            _refuse_place(path, force)
            temporary.rename(path)
    else:
        temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _in_words(path: Path, error: OSError) -> LousaError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return LousaError(f"no space is left for {str(path)!r} ({error.strerror}): nothing was kept of it, free some")
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return BadInput(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}")
    return BadInput(f"{str(path)!r} cannot be written ({cast(str, error.strerror) or error})")
