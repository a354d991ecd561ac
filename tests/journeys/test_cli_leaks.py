"""What is somebody else's is not told on the command line, neither to a name that looks alike nor after its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from .conftest import Lousa

Told = Callable[..., Any]


@pytest.fixture
def told(lousa: Lousa) -> Told:
    """What a command line prints as JSON."""

    def call(*words: str) -> Any:
        ended = lousa(*words, "--json")
        assert ended.code == 0, ended.err
        return ended.json

    return call


def texts(found: dict[str, Any]) -> list[str]:
    return [hit["text"] for hit in found["hits"]]


def test_a_tenant_with_a_name_that_looks_alike_is_another_tenant(told: Told) -> None:
    owner = f"acme_{uuid4().hex[:8]}"
    told("remember", "the vault code is 4711", "--tenant", owner, "--scope", "tenant")
    assert texts(told("recall", "vault code", "--tenant", owner)) == ["the vault code is 4711"]
    for other in (
        owner[:-1],
        owner + "x",
        owner.replace("_", "%"),
        owner.replace("_", "x"),
        "%",
        owner.upper(),
        f" {owner}",
    ):
        assert texts(told("recall", "vault code", "--tenant", other)) == [], other


def test_an_agent_with_a_name_that_looks_alike_is_another_agent(told: Told) -> None:
    tenant = ("--tenant", f"tenant-{uuid4().hex[:8]}")
    told("remember", "my diary key is under the mat", "--agent", "ana_1", "--scope", "private", *tenant)
    assert len(texts(told("recall", "diary key", "--agent", "ana_1", *tenant))) == 1
    for other in ("ana", "ana_", "ana_11", "ana%", "anax1", "%", "*", "ANA_1"):
        assert texts(told("recall", "diary key", "--agent", other, *tenant)) == [], other


def test_a_session_with_a_name_that_looks_alike_is_another_session(told: Told) -> None:
    tenant = ("--tenant", f"tenant-{uuid4().hex[:8]}")
    told("remember", "we meet at the old pier", "--session", "s_1", "--agent", "ana", *tenant)
    assert len(texts(told("recall", "where do we meet", "--session", "s_1", "--agent", "rui", *tenant))) == 1
    for other in ("s_", "s_11", "s%", "sx1", "%"):
        assert texts(told("recall", "where do we meet", "--session", other, "--agent", "rui", *tenant)) == [], other


def test_what_no_longer_holds_or_is_not_believed_is_not_told(told: Told) -> None:
    where = ("--tenant", f"tenant-{uuid4().hex[:8]}", "--scope", "tenant")
    told("remember", "Acme | warehouse city | Recife", "--kind", "fact", *where)
    told("remember", "Acme | warehouse city | Natal", "--kind", "fact", *where)
    told("remember", "the warehouse of Acme burnt down", "--source", "web", *where)
    hits = texts(told("recall", "warehouse of Acme, which city? Recife?", *where[:2]))
    assert len(hits) == 1 and "Natal" in hits[0]
