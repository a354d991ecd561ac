"""Notes: what the library logs while a verb runs, a line each on standard error."""

from __future__ import annotations

import logging
import traceback

from .frame import say


class Notes(logging.Handler):
    """Writes to standard error as it is now, which a moving picture may have replaced for a while."""

    def __init__(self, *, everything: bool) -> None:
        super().__init__()
        self._everything = everything

    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")
        if self._everything and record.exc_info:
            say("".join(traceback.format_exception(record.exc_info[1])).rstrip())


def take_notes(*, everything: bool) -> None:
    """Show warnings from now on; with `everything` tracebacks too, those of workers, and what the pool says, which an
    error says better.
    """
    logging.basicConfig(handlers=[Notes(everything=everything)], level=logging.WARNING)
    if everything:
        logging.getLogger("lousa.agents").setLevel(logging.DEBUG)
    else:
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)


def hush() -> None:
    """Say no more: what is about to be noted is known better already."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Notes):
            handler.setLevel(logging.CRITICAL)
