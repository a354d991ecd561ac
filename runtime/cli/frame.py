"""What every verb stands in: who owns the data, how errors look, and how the process ends.

An error is one line that says what to do; the traceback is for `--debug`. Exit codes come from the error itself.
A reader that goes away (`| head`) ends the program without a word; Ctrl-C says how to go on.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import traceback
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

import typer

from ...infra.errors import BadInput, ExecutionBusy, LousaError

if TYPE_CHECKING:
    from ...infra.clock import Clock
    from ...infra.settings import Settings
    from ..app import Runtime

FAILED, WAITING, CONFLICT, UNWELL, REJECTED, INTERRUPTED, ENDED, PIPE_CLOSED = 1, 3, 7, 8, 10, 130, 143, 141


@dataclass(slots=True)
class Frame:
    """The options that hold for every verb. `on_interrupt`, a list that copies share, is what to say then.

    `json`: the verb answers a program, so standard output is the answer's alone, whatever a user's code prints.
    """

    home: Path | None = None
    tenant: str | None = None
    debug: bool = False
    json: bool = False
    on_interrupt: list[str] = field(default_factory=list[str])

    def settings(self, **more: object) -> Settings:
        """The settings in force: the environment, with what the command line says."""
        from ...infra import settings

        given = {"home": self.home, "tenant": self.tenant, **more}
        return settings.load(**{name: value for name, value in given.items() if value is not None})

    @asynccontextmanager
    async def open(self, *, clock: Clock | None = None, **more: object) -> AsyncGenerator[Runtime]:
        """A runtime under those settings, for as long as nobody stops its servers."""
        from ..app import open
        from .served import while_served

        settings = self.settings(**more)
        async with open(settings, clock=clock) as runtime, while_served(settings, runtime.services.connections):
            yield runtime

    def command(self, *words: str) -> str:
        """A command line that a person may type here to the same effect: as `lousa` is reached, on the same data."""
        home = () if self.home is None else ("--home", str(self.home))
        tenant = () if self.tenant is None else ("--tenant", self.tenant)
        return shlex.join([*_reached(), *words, *home, *tenant])

    def perform(self, verb: Coroutine[object, object, int]) -> NoReturn:
        """Run a verb to its end and leave with its exit code."""
        import asyncio  # here, because `--help` needs none of it

        from ..output import set_apart
        from .notes import take_notes

        take_notes(everything=self.debug)
        try:
            with set_apart() if self.json else nullcontext():
                code = asyncio.run(_ended_politely(verb))
            sys.stdout.flush()
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            say("interrupted", *self.on_interrupt)
            code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else ENDED
        except BrokenPipeError:
            code = _leave_the_pipe()
        except LousaError as error:
            code = self._explain(error, str(error), error.exit_code)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            code = self._explain(error, f"{what} (not foreseen; --debug shows where)", FAILED)
        raise typer.Exit(code)

    def _explain(self, error: BaseException, words: str, code: int) -> int:
        if self.debug:
            traceback.print_exception(error)
        helps = not isinstance(error, (BadInput, ExecutionBusy))  # else going on would meet the same, or is under way
        say(f"error: {words}", *(self.on_interrupt if helps else ()))
        return code


def of(context: typer.Context) -> Frame:
    """The frame that `everywhere` made, for this verb."""
    frame = cast(Frame, context.obj)
    frame.json = bool(context.params.get("json"))
    return frame


def run(app: typer.Typer, words: Sequence[str]) -> int:
    """The exit code of a command line; wrong usage is an error like any other."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        ended: object = app(list(words), prog_name="lousa", standalone_mode=False)
    except typer.TyperException as error:
        context: object = getattr(error, "ctx", None)
        path = getattr(context, "command_path", "lousa")
        if message := error.format_message():
            say(f"error: {message.rstrip('.')}; `{path} --help` says more")
        return error.exit_code
    except BrokenPipeError:
        return _leave_the_pipe()
    except typer.Abort:
        return INTERRUPTED
    return ended if isinstance(ended, int) else 0


def say(*lines: str) -> None:
    """To people, on standard error."""
    try:
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _reached() -> tuple[str, ...]:
    """How this program is called from here: by its name if that finds it, else by its path."""
    script = Path(sys.executable).with_name("lousa")
    found = shutil.which("lousa")
    if found is not None and Path(found).parent == script.parent:
        return ("lousa",)
    return (from_here(script),) if script.exists() else (sys.executable, "-m", "lousa")


def from_here(path: Path) -> str:
    """A path as a person would type it in this folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


async def _ended_politely(verb: Coroutine[object, object, int]) -> int:
    """SIGTERM lets the verb close what it opened, as Ctrl-C does."""
    import asyncio

    task = asyncio.ensure_future(verb)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _leave_the_pipe() -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains while it ends
    return PIPE_CLOSED
