"""Settings are read once, from the environment alone; a wrong one is refused under the name of its variable."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from lousa.infra.errors import SettingsError
from lousa.infra.settings import Settings, load


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"LOUSA_{name.upper()}", raising=False)


@pytest.mark.parametrize(
    ("told", "meant"), [("2.5", timedelta(seconds=2.5)), ("7", timedelta(seconds=7)), ("PT1M", timedelta(minutes=1))]
)
def test_a_duration_is_seconds_or_iso_8601(monkeypatch: pytest.MonkeyPatch, told: str, meant: timedelta) -> None:
    monkeypatch.setenv("LOUSA_LEASE", told)
    assert load().lease == meant


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("LOUSA_LEASE", "soon", "a number of seconds, e.g. 2.5"),
        ("LOUSA_DEADLINE", "PTabc", "a number of seconds, e.g. 2.5"),
        ("LOUSA_LEASE", "0", "more than 0"),
        ("LOUSA_DEADLINE", "-1", "more than 0"),
        ("LOUSA_TASK_TIMEOUT", "nan", "LOUSA_TASK_TIMEOUT"),
        ("LOUSA_LEASE", "inf", "LOUSA_LEASE"),
        ("LOUSA_POOL_SIZE", "0", "greater than or equal to 1"),
        ("LOUSA_TENANT", "  ", "needs a name"),
        ("LOUSA_REDIS_FSYNC", "no", "'always' or 'everysec'"),
        ("LOUSA_REDIS_URL", "http://x", "redis://"),
        ("LOUSA_POSTGRES_URL", "mysql://x", "postgresql://"),
    ],
)
def test_a_wrong_value_is_refused_under_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=told) as refused:
        load()
    assert variable in str(refused.value)


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUSA_REDIS_URL", "http://:secret@example.org")
    with pytest.raises(SettingsError) as refused:
        load()
    assert "secret" not in str(refused.value)


def test_what_the_caller_says_wins_and_a_misspelt_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUSA_TENANT", "from the environment")
    assert load(tenant="mine").tenant == "mine"
    with pytest.raises(SettingsError, match=r"no setting 'tennant'.*tenant"):
        load(tennant="mine")


def test_an_empty_variable_is_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUSA_REDIS_URL", "")
    assert load().redis_url is None


def test_a_home_is_absolute_and_knows_the_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(home="~/lousa").home == tmp_path / "lousa"
    monkeypatch.chdir(tmp_path)
    assert load(home="here").home == tmp_path / "here"
