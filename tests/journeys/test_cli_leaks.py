"""What is somebody else's is not told on the command line, neither to a name that looks alike nor after its time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from lousa.infra.embedded.supervisor import Endpoints
from lousa.runtime.cli import main

Lousa = Callable[..., Any]


@pytest.fixture
def lousa(
    servers: Endpoints, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Lousa:
    """What a command line prints as JSON."""
    monkeypatch.setenv("LOUSA_REDIS_URL", servers.redis_url)
    monkeypatch.setenv("LOUSA_POSTGRES_URL", servers.postgres_url)
    monkeypatch.setenv("LOUSA_HOME", str(tmp_path / "home"))

    def call(*words: str) -> Any:
        with pytest.raises(SystemExit) as left:
            main([*words, "--json"])
        assert not left.value.code
        return json.loads(capsys.readouterr().out)

    return call


def texts(found: dict[str, Any]) -> list[str]:
    return [hit["text"] for hit in found["hits"]]


def test_a_tenant_with_a_name_that_looks_alike_is_another_tenant(lousa: Lousa) -> None:
    owner = f"acme_{uuid4().hex[:8]}"
    lousa("remember", "the vault code is 4711", "--tenant", owner, "--scope", "tenant")
    assert texts(lousa("recall", "vault code", "--tenant", owner)) == ["the vault code is 4711"]
    for other in (
        owner[:-1],
        owner + "x",
        owner.replace("_", "%"),
        owner.replace("_", "x"),
        "%",
        owner.upper(),
        f" {owner}",
    ):
        assert texts(lousa("recall", "vault code", "--tenant", other)) == [], other


def test_an_agent_with_a_name_that_looks_alike_is_another_agent(lousa: Lousa) -> None:
    tenant = ("--tenant", f"tenant-{uuid4().hex[:8]}")
    lousa("remember", "my diary key is under the mat", "--agent", "ana_1", "--scope", "private", *tenant)
    assert len(texts(lousa("recall", "diary key", "--agent", "ana_1", *tenant))) == 1
    for other in ("ana", "ana_", "ana_11", "ana%", "anax1", "%", "*", "ANA_1"):
        assert texts(lousa("recall", "diary key", "--agent", other, *tenant)) == [], other


def test_a_session_with_a_name_that_looks_alike_is_another_session(lousa: Lousa) -> None:
    tenant = ("--tenant", f"tenant-{uuid4().hex[:8]}")
    lousa("remember", "we meet at the old pier", "--session", "s_1", "--agent", "ana", *tenant)
    assert len(texts(lousa("recall", "where do we meet", "--session", "s_1", "--agent", "rui", *tenant))) == 1
    for other in ("s_", "s_11", "s%", "sx1", "%"):
        assert texts(lousa("recall", "where do we meet", "--session", other, "--agent", "rui", *tenant)) == [], other


def test_what_no_longer_holds_or_is_not_believed_is_not_told(lousa: Lousa) -> None:
    where = ("--tenant", f"tenant-{uuid4().hex[:8]}", "--scope", "tenant")
    lousa("remember", "Acme | warehouse city | Recife", "--kind", "fact", *where)
    lousa("remember", "Acme | warehouse city | Natal", "--kind", "fact", *where)
    lousa("remember", "the warehouse of Acme burnt down", "--source", "web", *where)
    told = texts(lousa("recall", "warehouse of Acme, which city? Recife?", *where[:2]))
    assert len(told) == 1 and "Natal" in told[0]
