"""Real Neo4j servers for tests: libraries from Maven, a launcher of ours, one server a run and version.

A server belongs to the process that needed it first; others of the same run (xdist) share it, and the owner stops it
once all have left. It dies with its owner, because it ends when its input does. What is missing (Java, Maven, the
libraries) makes the tests that need it skipped, with the reason, or fail where `LOUSA_TEST_REQUIRE` names neo4j.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

_HERE = Path(__file__).parent.parent / "servers/neo4j"
_KEPT = Path(platformdirs.user_cache_dir("lousa")) / "test-servers"
_FETCHING = 600
_STARTING = 50


@dataclass(frozen=True, slots=True)
class Line:
    """A line of releases: its name, the version that is tried, and the oldest Java that runs it."""

    name: str
    version: str
    java: int


LTS = Line("5.26", "5.26.30", 17)
CURRENT = Line("2026.09", "2026.09.0", 21)


class Missing(Exception):
    """What a server needs and this machine has not."""


@pytest.fixture(scope="session")
def neo4j_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Neo4j of the long-term line, or the one that `LOUSA_TEST_NEO4J_URL` names."""
    if given := os.environ.get("LOUSA_TEST_NEO4J_URL"):
        yield given
    else:
        yield from _lent(LTS, tmp_path_factory, required="neo4j" in os.environ.get("LOUSA_TEST_REQUIRE", ""))


@pytest.fixture(scope="session")
def neo4j_current_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Neo4j of the current line, where there is a Java for it."""
    if "LOUSA_TEST_NEO4J_URL" in os.environ:
        pytest.skip("LOUSA_TEST_NEO4J_URL names the Neo4j to try, so no other is started")
    yield from _lent(CURRENT, tmp_path_factory, required=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that needs a server waits for its libraries, which takes minutes once."""
    for item in items:
        asked = [*getattr(item, "fixturenames", ()), *getattr(getattr(item, "callspec", None), "params", {}).values()]
        if any(isinstance(name, str) and name.startswith("neo4j") for name in asked):
            item.add_marker(pytest.mark.timeout(_FETCHING + _STARTING))


def _lent(line: Line, factory: pytest.TempPathFactory, *, required: bool) -> Generator[str]:
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    try:
        with shared_server(line, shared / f"neo4j-{line.name}") as url:
            yield url
    except Missing as missing:
        if required:
            pytest.fail(f"Neo4j {line.name} is required here: {missing}", pytrace=False)
        pytest.skip(f"Neo4j {line.name} was not tried: {missing}")


@contextmanager
def shared_server(line: Line, folder: Path) -> Generator[str]:
    """The server of this folder; whoever comes first starts it, and stops it when all others have left."""
    folder.mkdir(exist_ok=True)
    told = folder / "url"
    with (folder / "gate").open("w") as gate, (folder / "users").open("w") as users:
        with _held(gate):
            fcntl.flock(users, fcntl.LOCK_SH)
            if told.exists():
                url, owned = told.read_text(), None
            else:
                owned = _Server(line, folder / "server")
                url = owned.url
                told.write_text(url)
        try:
            yield url
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            if owned is not None:
                with _held(gate):  # nobody comes in any more
                    fcntl.flock(users, fcntl.LOCK_EX)
                    told.unlink()
                    owned.stop()


@contextmanager
def server(line: Line, folder: Path, *flags: str) -> Generator[str]:
    """A server of one's own, with these flags of the Java machine."""
    own = _Server(line, folder, *flags)
    try:
        yield own.url
    finally:
        own.stop()


class _Server:
    """A running server; ready when it has been made."""

    def __init__(self, line: Line, folder: Path, *flags: str) -> None:
        java, libraries = _java(line.java), _libraries(line)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"neo4j://127.0.0.1:{port}"
        self._folder = folder
        # Tests are short: what the second compiler would gain, it costs.
        flags = flags or ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        words = [java, *flags, "-cp", f"{libraries}/*", _HERE / "Neo4jServer.java", folder / "data", str(port)]
        with (folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + _STARTING
        while "ready" not in (said := (self._folder / "output").read_text(errors="replace")).split():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Neo4j did not start:\n{said[-2_000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Let it end, and make it."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def _held(gate: object) -> Generator[None]:
    fcntl.flock(gate, fcntl.LOCK_EX)  # pyright: ignore[reportArgumentType]  # an open file
    try:
        yield
    finally:
        fcntl.flock(gate, fcntl.LOCK_UN)  # pyright: ignore[reportArgumentType]  # likewise


def _java(oldest: int) -> Path:
    """The oldest Java on this machine that is new enough and can run a program from its source."""
    homes = [Path(home) for home in (os.environ.get("JAVA_HOME"),) if home]
    if found := shutil.which("java"):
        homes.append(Path(found).resolve().parent.parent)
    for folder in map(Path, ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines", "/opt")):
        homes += [*folder.glob("*"), *folder.glob("*/Contents/Home")]
    fit = [(_release(home), home) for home in homes if (home / "bin/javac").exists()]
    if not (fit := [one for one in fit if one[0] >= oldest]):
        raise Missing(f"it needs a JDK of Java {oldest} or newer")
    return min(fit)[1] / "bin/java"


def _release(home: Path) -> int:
    with suppress(OSError):
        if told := re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE):
            return int(told[1])
    return 0


def _libraries(line: Line) -> Path:
    """The jars of a line, fetched once and kept for the user."""
    kept = _KEPT / f"neo4j-{line.version}"
    _KEPT.mkdir(parents=True, exist_ok=True)
    with (_KEPT / "fetching").open("w") as gate, _held(gate):
        if not kept.exists():
            maven = shutil.which("mvn")
            if maven is None:
                raise Missing("fetching its libraries needs Maven (mvn)")
            partly = _KEPT / f"partly-{line.version}"
            shutil.rmtree(partly, ignore_errors=True)
            words = [maven, "--batch-mode", "--quiet", "--file", _HERE / "pom.xml", "dependency:copy-dependencies"]
            words += [f"-Dneo4j.version={line.version}", f"-DoutputDirectory={partly}"]
            try:
                subprocess.run(words, check=True, capture_output=True, timeout=_FETCHING)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                raise Missing(f"Maven could not fetch its libraries: {(error.stdout or b'')[-300:]!r}") from error
            partly.rename(kept)
    return kept
