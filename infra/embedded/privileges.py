"""As whom the servers run.

An ordinary user's servers run as that user. Only root needs thought, because PostgreSQL refuses root, and because
files that root leaves in somebody's home lock that somebody out:

- a home that belongs to another user is served as that user;
- root's own home is served from inside a user namespace in which root is called `nobody`: nothing on the system
  changes, the files stay root's;
- where namespaces are refused (most containers), PostgreSQL runs as the real `nobody`. It keeps its data in the home
  if `nobody` can get there, and in `/var/lib/lousa` if not (`/root` is closed to it); the home then holds a link.

Data that exist decide for themselves: whoever owns them runs their server.
"""

from __future__ import annotations

import os
import pwd
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import HomeInUse, SettingsError

SYSTEM_FOLDER = Path("/var/lib/lousa")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAs:
    """Another user's ids, or None for ourselves; `namespace` if root hides behind one."""

    uid: int | None = None
    gid: int | None = None
    namespace: bool = False

    def can_reach(self, path: Path) -> bool:
        """Whether every folder above `path` lets this user through. Judged by mode bits, without access lists."""
        if self.uid is None:
            return True
        return all(self._passes(parent) for parent in path.resolve().parents)

    def _passes(self, folder: Path) -> bool:
        stat = folder.stat()
        bit = 0o100 if stat.st_uid == self.uid else 0o010 if stat.st_gid == self.gid else 0o001
        return bool(stat.st_mode & bit)

    def give(self, path: Path) -> None:
        """Make `path` theirs."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


OURSELVES = RunAs()
HIDDEN_ROOT = RunAs(namespace=True)


def nobody() -> RunAs:
    """The user with the fewest rights, by this system's numbers."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return RunAs(uid=65534, gid=65534)
    return RunAs(uid=entry.pw_uid, gid=entry.pw_gid)


def with_a_name(who: RunAs) -> RunAs:
    """As `who`, but under another's name if the system has none for them (as with `docker run --user 1234`)."""
    try:
        pwd.getpwuid(os.geteuid() if who.uid is None else who.uid)
    except KeyError:
        return replace(who, namespace=True)
    return who


def owner_of(home: Path) -> RunAs:
    """Who serves this home when nothing else is known: ourselves, or for root the user to whom it belongs.

    Raises:
        SettingsError: the home belongs to another user and we are not root.
    """
    stat, me = home.stat(), os.geteuid()
    if stat.st_uid == me:
        return OURSELVES
    if me == 0:
        return RunAs(uid=stat.st_uid, gid=stat.st_gid)
    if os.access(home, os.W_OK | os.X_OK):
        return OURSELVES
    raise SettingsError(
        f"the home {str(home)!r} belongs to user {stat.st_uid} and is closed to user {me}; "
        "run as its owner or point LOUSA_HOME at a folder of yours"
    )


def server_of(data: Path) -> RunAs:
    """Who serves data that exist already: their owner.

    Raises:
        HomeInUse: they belong to another user and we are not root.
    """
    owner, me = data.stat(), os.geteuid()
    if me != 0:
        if owner.st_uid != me:
            raise HomeInUse(
                f"the data in {str(data)!r} belong to user {owner.st_uid} and this is user {me}; "
                "run as their owner or point LOUSA_HOME elsewhere"
            )
        return OURSELVES
    return HIDDEN_ROOT if owner.st_uid == 0 else RunAs(uid=owner.st_uid, gid=owner.st_gid)


def system_folder_for(home: Path) -> Path:
    """Where `nobody` keeps what it cannot keep in this home."""
    return SYSTEM_FOLDER / f"home-{zlib.crc32(os.fsencode(home.resolve())):08x}"


def open_system_folder() -> None:
    """Make the folder under `/var/lib` that every user may pass through and only root may change."""
    SYSTEM_FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    SYSTEM_FOLDER.chmod(0o755)
