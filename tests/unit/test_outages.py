"""What Postgres says: an outage, which passes, or a flaw of what was written, which does not."""

from __future__ import annotations

import pytest
from lousa.infra.connections import is_flaw, is_outage
from lousa.infra.errors import ServerUnavailable
from psycopg import OperationalError, errors

OUTAGES = [
    OperationalError("the connection is closed"),
    errors.AdminShutdown(),
    errors.QueryCanceled(),
    errors.LockNotAvailable(),
    errors.DiskFull(),
    errors.TooManyConnections(),
    errors.OutOfMemory(),
    errors.DeadlockDetected(),
    errors.ReadOnlySqlTransaction(),
    errors.IdleInTransactionSessionTimeout(),
    errors.InsufficientPrivilege(),
    ServerUnavailable("no answer"),
]
FLAWS = [
    errors.NotNullViolation(),
    errors.CheckViolation(),
    errors.UniqueViolation(),
    errors.UntranslatableCharacter(),
    errors.NumericValueOutOfRange(),
    errors.InvalidTextRepresentation(),
    errors.ProgramLimitExceeded(),
]


@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: type(error).__name__)
def test_a_server_that_can_take_nothing_is_an_outage(error: Exception) -> None:
    assert is_outage(error) and not is_flaw(error)


@pytest.mark.parametrize("error", FLAWS, ids=lambda error: type(error).__name__)
def test_what_no_waiting_makes_fit_is_a_flaw_also_behind_an_error_of_ours(error: Exception) -> None:
    behind = ServerUnavailable("failed")
    behind.__cause__ = error
    for each in (error, behind):
        assert is_flaw(each) and not is_outage(each)


def test_a_fault_of_the_program_is_neither() -> None:
    assert not is_flaw(errors.UndefinedColumn()) and not is_outage(errors.UndefinedColumn())
