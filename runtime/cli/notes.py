"""Notes: what the library logs while a verb runs, a line each on standard error."""

from __future__ import annotations

import logging

from .frame import say


class Notes(logging.Handler):
    """Writes to standard error as it is now, which a moving picture may have replaced for a while."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")


def take_notes(*, everything: bool) -> None:
    """Show warnings from now on; the pool's own, which the error says better, only with `everything`."""
    logging.basicConfig(handlers=[Notes()], level=logging.WARNING)
    if not everything:
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
