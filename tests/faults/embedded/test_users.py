"""Embedded servers run for every kind of user: plain ones, root, root without namespaces, root in another's home."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import lousa
import pytest
from lousa.infra.embedded.privileges import RunAs

pytestmark = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux's root to be others")

NOBODY, NAMELESS = 65534, 54321

USE = """
import asyncio, json, os, sys
from contextlib import AsyncExitStack
from pathlib import Path
from lousa.infra.embedded import privileges
from lousa.infra.embedded.life import read
from lousa.infra.embedded.supervisor import EmbeddedServers, status

async def main(home):
    seen = []
    for _ in range(2):
        async with AsyncExitStack() as stack:
            await EmbeddedServers(home).start(stack)
            up = await status(home)
            pid = {server.name: server.pid for server in up.servers}["postgres"]
            line = Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0]
            seen.append([up.running, line, [str(folder) for folder in up.data]])
    print(json.dumps([seen, len((await status(home)).servers)]))

privileges.SYSTEM_FOLDER = Path(sys.argv[2])
asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def open_folder() -> Generator[Path]:
    """A folder that every user may enter, with a road to the package on it."""
    folder = Path(tempfile.mkdtemp(prefix="lousa users ", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "road").mkdir(mode=0o755)
    (folder / "road" / "lousa").symlink_to(Path(str(lousa.__file__)).parent)
    yield folder
    shutil.rmtree(folder)


def python_for(who: RunAs, folder: Path) -> tuple[str, dict[str, str]]:
    """An interpreter of this version that `who` can run, with what it needs to import the package."""
    wheels = Path(pytest.__file__).parent.parent
    if not (who.can_reach(wheels / "x") and who.can_reach(Path(str(lousa.__file__)))):
        pytest.skip("this checkout is closed to other users")
    for name in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if Path(name).exists() and who.can_reach(Path(name)):
            return name, {"PYTHONPATH": f"{folder / 'road'}:{wheels}", "PATH": os.environ["PATH"]}
    pytest.skip("no interpreter of this version is open to other users")


Seen = tuple[list[tuple[bool, str, list[str]]], int]
"""Of two rounds: whether both servers ran, PostgreSQL's user, where the data are; and how many servers were left."""


CONTAINERS = (
    "chown,dac_override,fsetid,fowner,mknod,net_raw,setgid,setuid,setfcap,setpcap,net_bind_service,sys_chroot,kill"
)
"""What root may do in a container by default; not there: to look into other users' processes."""


def use(home: Path, system: Path, uid: int = 0, *before: str, python: str = sys.executable, **environment: str) -> Seen:
    done = subprocess.run(
        [*before, python, "-c", USE, str(home), str(system)],
        env=environment or None,
        user=uid,
        group=uid,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=40,
    )
    assert done.returncode == 0, done.stderr
    seen, left = json.loads(done.stdout)
    return [(running, user, data) for running, user, data in seen], left


@pytest.mark.parametrize("uid", [NOBODY, NAMELESS])
def test_a_plain_user_needs_no_privilege_and_no_name(open_folder: Path, uid: int) -> None:
    who = RunAs(uid=uid, gid=uid)
    home = open_folder / "plain" / "home"
    home.parent.mkdir()
    who.give(home.parent)
    python, environment = python_for(who, open_folder)
    seen, left = use(home, Path("/nowhere"), uid, python=python, **environment)
    assert [(running, user) for running, user, _ in seen] == [(True, str(uid))] * 2 and left == 0


def test_root_serves_its_own_home_and_leaves_only_roots_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    seen, left = use(home, Path("/nowhere"))
    assert [(running, user) for running, user, _ in seen] == [(True, "0")] * 2 and left == 0
    assert {path.lstat().st_uid for path in home.rglob("*")} == {0}


@pytest.mark.parametrize("uid", [NOBODY, NAMELESS])
def test_root_serves_anothers_home_as_its_owner_who_can_go_on(open_folder: Path, uid: int) -> None:
    who = RunAs(uid=uid, gid=uid)
    home = open_folder / "theirs"
    home.mkdir(mode=0o700)
    who.give(home)
    python, environment = python_for(who, open_folder)
    for seen, left in (
        use(home, open_folder / "system"),
        use(home, Path("/nowhere"), uid, python=python, **environment),
        use(home, open_folder / "system"),
    ):
        assert [(running, user) for running, user, _ in seen] == [(True, str(uid))] * 2 and left == 0
        assert {path.lstat().st_uid for path in home.rglob("*")} == {uid}


def without_namespaces(run: Callable[[], None]) -> int:
    """Run it in a fork that is root and may make no user namespace, as in most containers; the exit code."""
    asked, answered = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
            os.write(asked[1], b"x")
            os.read(answered[0], 1)
            Path("/proc/sys/user/max_user_namespaces").write_text("0")
            run()
            code = 0
        finally:
            os._exit(code)
    os.read(asked[0], 1)
    for kind in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{kind}").write_text("0 0 100000")
    os.write(answered[1], b"x")
    _, state = os.waitpid(child, 0)
    for fd in (*asked, *answered):
        os.close(fd)
    return os.waitstatus_to_exitcode(state)


@pytest.mark.parametrize("reachable", [True, False])
def test_root_without_namespaces_serves_postgres_as_nobody(open_folder: Path, tmp_path: Path, reachable: bool) -> None:
    place = open_folder if reachable else tmp_path
    home, system, answer = place / "home", open_folder / "system", tmp_path / "answer"

    def run() -> None:
        few = ",".join(["-all", *(f"+{right}" for right in CONTAINERS.split(","))])
        answer.write_text(json.dumps(use(home, system, 0, "setpriv", f"--bounding-set={few}", f"--inh-caps={few}")))

    assert without_namespaces(run) == 0
    seen, left = json.loads(answer.read_text())
    assert [(running, user) for running, user, _ in seen] == [(True, "65534")] * 2 and left == 0
    expected = home if reachable else system
    assert all(data[0].startswith(str(expected)) for _, _, data in seen)
    assert (home / "postgres" / "PG_VERSION").exists()
