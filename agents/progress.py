"""What happens in a run, told as it happens: for a progress bar, a log, a dashboard.

Telling is not recording: the board and the ledger record. So a listener that raises harms nobody (it is mentioned once
in the log), and what it misses is lost to it alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

logger = logging.getLogger(__name__)

Event = Literal[
    "began", "resumed", "planned", "started", "retried", "finished", "failed", "skipped", "judged", "waiting", "ended"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One event of a run. `text` is for people (an error, a status); `count` is how many tasks were planned."""

    event: Event
    execution: UUID
    round: int = 0
    task: str = ""
    agent: str = ""
    attempt: int = 0
    text: str = ""
    count: int = 0


Listener = Callable[[Progress], object]


class Teller:
    """Tells one listener, or nobody."""

    def __init__(self, execution: UUID, listener: Listener | None) -> None:
        self._execution = execution
        self._listener = listener
        self._complained = False

    def __call__(
        self,
        event: Event,
        *,
        round: int = 0,
        task: str = "",
        agent: str = "",
        attempt: int = 0,
        text: str = "",
        count: int = 0,
    ) -> None:
        """Tell it."""
        if self._listener is None:
            return
        news = Progress(
            event=event,
            execution=self._execution,
            round=round,
            task=task,
            agent=agent,
            attempt=attempt,
            text=text,
            count=count,
        )
        try:
            self._listener(news)
        except Exception:  # a listener of any make must not harm the run
            if not self._complained:
                logger.warning(
                    "the progress listener of execution %s raises; the run goes on", self._execution, exc_info=True
                )
            self._complained = True
