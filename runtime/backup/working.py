"""Work that blocks, in a thread that is never left behind; and the tools of PostgreSQL that it talks to."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from subprocess import Popen
from typing import BinaryIO, Protocol, TypeVar

from ...infra.embedded import tools
from ...infra.errors import ServerUnavailable
from .archive import CHUNK

T = TypeVar("T")


class Show(Protocol):
    """Is told what is being done and how far it is, from whatever thread."""

    def __call__(self, what: str, more: int = 0, of: int | None = None) -> None:
        """`more` bytes went through, `of` so many in all where that is known."""
        ...


def telling(show: Show, what: str, of: int | None = None) -> Callable[[int], None]:
    """Begin to show one thing; what is to be told how many more bytes went through."""
    show(what, of=of)

    def tell(more: int) -> None:
        show(what, more)

    return tell


def silent(what: str, more: int = 0, of: int | None = None) -> None:
    """Satisfies `Show`, for whoever does not look."""


class Halt(Exception):
    """Whoever asked for the work has gone."""


class Work:
    """One piece of blocking work at a time; whoever is cancelled waits until it has let go of its files."""

    def __init__(self) -> None:
        self._halted = False

    async def do(self, work: Callable[[], T]) -> T:
        """Do it in a thread."""
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._halted = True
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # it was told to end, and how it did is nobody's affair
            raise

    def check(self) -> None:
        """To be called by the work, often.

        Raises:
            Halt: it shall end.
        """
        if self._halted:
            raise Halt

    def through(self, chunks: Iterable[bytes]) -> Generator[bytes]:
        """The same pieces, for as long as somebody waits for them."""
        for chunk in chunks:
            self.check()
            yield chunk


@contextmanager
def running(name: str, *words: str) -> Generator[Popen[bytes]]:
    """A tool, for the block; it has to end well.

    Raises:
        ServerUnavailable: it did not; the message ends with what it said.
    """
    with tempfile.TemporaryFile() as errors:
        process = tools.begin(name, *words, errors=errors)
        try:
            broken = False
            try:
                yield process
            except BrokenPipeError:  # it ended early, and says why
                broken = True
            with suppress(BrokenPipeError):
                if process.stdin is not None:
                    process.stdin.close()
            if process.wait() or broken:
                raise ServerUnavailable(f"{name} failed, and said:\n{_said(errors)}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()


def output(name: str, *words: str) -> Generator[bytes]:
    """What a tool writes, in pieces."""
    with running(name, *words) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read(CHUNK):
            yield chunk


def feed(chunks: Iterable[bytes], name: str, *words: str) -> None:
    """Give a tool its input."""
    with running(name, *words) as process:
        assert process.stdin is not None
        for chunk in chunks:
            process.stdin.write(chunk)


def _said(errors: BinaryIO) -> str:
    errors.seek(0)
    return errors.read()[-2000:].decode(errors="replace").strip() or "nothing"
