"""Every error Lousa raises, on one screen.

What an application got wrong raises, and says the way out; what a run decided (a conflict, a refusal, a quarantine) is
a value and never passes through here.

    LousaError
    ├── BadInput                 the caller's words are off; nothing was done (exit code 2)
    │   ├── SettingsError        a setting or an environment variable
    │   ├── WrongTenant          somebody else's, or nobody's
    │   └── PipelineError        a plan that cannot be run: duplicate ids, a circle, an unknown worker
    ├── NotFound                 no such execution, memory or field (exit code 4)
    ├── ServerUnavailable        a server did not answer, or could not be started (exit code 5)
    │   ├── LedgerUnavailable    no write without its audit record: the write was refused
    │   ├── Overloaded           more is owed than may be: the write was refused before it was accepted
    │   └── HomeInUse            another version or another owner holds this home
    ├── SchemaMismatch           the database is newer than this program, or belongs to another embedder (exit code 6)
    ├── ModelFailed              a language model gave no answer that can be used; what was asked about is as it was
    ├── Stale                    a fencing token was overtaken: somebody else runs this task now
    ├── ExecutionBusy            another living process runs this execution
    ├── TaskFailed               reading the value of a task that has none
    ├── RunFailed                the planner or the critic failed; the execution can be resumed
    └── EffectUncertain          an effect was begun and its end is unknown: a person or the worker's own check decides
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID


class LousaError(Exception):
    """The root of every error of ours. ``exit_code`` is what the command line ends with."""

    exit_code = 1


class BadInput(LousaError):
    """The caller's words are off; nothing was done."""

    exit_code = 2


class SettingsError(BadInput):
    """A setting has a wrong value; the message names its variable."""


class WrongTenant(BadInput):
    """The thing belongs to another tenant, or the tenant's name is empty."""


class PipelineError(BadInput):
    """A pipeline or its plan cannot be run."""


class NotFound(LousaError):
    """There is no such thing, or the caller may not know of it."""

    exit_code = 4


class ServerUnavailable(LousaError):
    """A server did not answer or could not be started."""

    exit_code = 5


class LedgerUnavailable(ServerUnavailable):
    """The audit ledger cannot be written, so the write was refused."""


class Overloaded(ServerUnavailable):
    """Too much of what was accepted waits for its layers, so the write was refused; nothing of it was done."""


class HomeInUse(ServerUnavailable):
    """The home is held by another version, another owner, or cannot be shared."""


class SchemaMismatch(LousaError):
    """The stored schema or embedding model is not the one this program knows."""

    exit_code = 6


class ModelFailed(LousaError):
    """A language model gave no answer that can be used. `kind` is the reason in a word or two, for counting."""

    def __init__(self, message: str, *, kind: str = "away") -> None:
        super().__init__(message)
        self.kind = kind


class Stale(LousaError):
    """The fencing token was overtaken: another attempt of this task is the living one."""


class ExecutionBusy(LousaError):
    """Another living process runs this execution."""


class TaskFailed(LousaError):
    """A task ended without a value, and its value was asked for."""


class RunFailed(LousaError):
    """The planner or the critic failed in all its attempts. `execution` can be resumed; what was done is kept."""

    def __init__(self, message: str, *, execution: UUID) -> None:
        super().__init__(message)
        self.execution = execution


class EffectUncertain(LousaError):
    """An effect outside was begun and whether it ended is not known; it is not repeated blindly.

    `key` names the effect, `since` says when it was begun.
    """

    def __init__(self, message: str, *, key: str = "", since: datetime | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.since = since
