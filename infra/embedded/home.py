"""The home: the folder with the data, the locks and the logs; and the short folder where its sockets are.

A socket's path holds some 100 bytes and a home's may be longer, have spaces and accents, and be shared under several
names. So sockets live in a folder under `/tmp` that is named after the home's inode, the same for all its sharers, and
closed to everybody else. The server that listens there writes the place into its life file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from ..errors import LousaError, ServerUnavailable, SettingsError
from .privileges import RunAs, owner_of

GATE, SHARERS, LOGS = "gate.lock", "sharers.lock", "logs"


def make(home: Path) -> None:
    """Make the home and what every sharer expects in it.

    Raises:
        SettingsError: the home cannot be used; the message says what LOUSA_HOME should be.
        ServerUnavailable: no space.
    """
    try:
        if (home / LOGS).is_dir() and (home / GATE).exists() and (home / SHARERS).exists():
            if not os.access(home, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "closed to this user")
            return
        _make_folder(home)
        who = owner_of(home)
        for name in (GATE, SHARERS):
            (home / name).touch(mode=0o600)
            who.give(home / name)
        (home / LOGS).mkdir(mode=0o700, exist_ok=True)
        who.give(home / LOGS)
    except OSError as error:
        raise in_words(home, error) from error


def _make_folder(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileNotFoundError as error:  # with its parents made, only a file system without folders of ours says so
        raise SettingsError(
            f"the home {str(home)!r} cannot be made there ({error.strerror}); point LOUSA_HOME at a folder of yours"
        ) from error


def exists(home: Path) -> bool:
    """Whether anybody ever opened this home."""
    return os.path.exists(home / GATE)  # False for every name that no file can have, where Path.exists raises


def data_of(home: Path, names: list[str]) -> tuple[Path, ...]:
    """The folders with data, where they really are."""
    return tuple((home / name).resolve() for name in names if os.path.exists(home / name))


def in_words(home: Path, error: OSError) -> LousaError:
    """What the system refused, in words that name the way out."""
    match error.errno:
        case errno.EEXIST | errno.ENOTDIR:
            return SettingsError(f"the home {str(home)!r} is or lies under a file; point LOUSA_HOME at a folder")
        case errno.ENAMETOOLONG:
            return SettingsError(f"the home {str(home)!r} has too long a name; point LOUSA_HOME at a shorter one")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return SettingsError(
                f"the home {str(home)!r} cannot be written ({error}); point LOUSA_HOME at a folder of yours"
            )
        case errno.ENOSPC | errno.EDQUOT:
            return ServerUnavailable(
                f"no space is left for {str(home)!r} ({error}); free some, or point LOUSA_HOME elsewhere"
            )
        case errno.ENOENT:
            return ServerUnavailable(f"the home {str(home)!r} is gone ({error}); open it again to begin a new one")
        case errno.ENOLCK | errno.ENOTSUP:
            return SettingsError(
                f"the home {str(home)!r} is on a file system without locks ({error}); point LOUSA_HOME at a local one"
            )
        case _:
            return ServerUnavailable(f"the home {str(home)!r} cannot be used: {error}")


def sockets_for(home: Path, who: RunAs) -> Path:
    """The folder for the sockets of a server that runs as `who`, made if it is missing.

    Raises:
        ServerUnavailable: others hold every name that could be used.
    """
    seen = home.stat()
    uid = os.geteuid() if who.uid is None else who.uid
    for attempt in range(8):
        folder = Path(f"/tmp/lousa-{uid}-{seen.st_dev:x}-{seen.st_ino:x}{f'-{attempt}' if attempt else ''}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            who.give(folder)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077:
            return folder
    raise ServerUnavailable("every folder under '/tmp' that could hold the sockets belongs to somebody else")


def tidy(sockets: Path) -> None:
    """Remove a socket folder that no server uses any more."""
    with contextlib.suppress(OSError):  # not empty, or gone already
        sockets.rmdir()


def sharers_of(home: Path) -> tuple[int, ...]:
    """The pids of the processes that use the servers, as the kernel lists locks; empty where it does not (macOS)."""
    try:
        seen = (home / SHARERS).stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return ()
    where = f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"
    fields = (line.split() for line in lines if "FLOCK" in line)
    return tuple(sorted({int(field[4]) for field in fields if len(field) > 5 and field[5] == where}))
