"""What a session was told lately is known when an agent of it says the same, and only then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from lousa import Fact, Hit, Memory, MemoryKind, Principal, Scope
from lousa.infra.ids import new_id
from lousa.memory_layers import ranking
from lousa.memory_layers.echoes import Echoes, tells

NOW = datetime(2026, 11, 30, tzinfo=UTC)
WHO = Principal(tenant="acme", agent="writer", session="s")


def memory(text: str = "the client pays late", **parts: Any) -> Memory:
    given: dict[str, Any] = {
        "kind": MemoryKind.SEMANTIC,
        "scope": Scope.parse("shared"),
        "owner": "writer",
        "session": "s",
        "source": "agent",
        **parts,
    }
    return Memory(
        id=new_id(), tenant="acme", execution=None, text=text, occurred_at=NOW, recorded_at=NOW, trust=0.5, **given
    )


def hit(memory: Memory) -> Hit:
    return ranking.hit(ranking.Ranked(1.0, (), memory))


def test_an_echo_is_known_by_what_it_says_in_whatever_dress() -> None:
    echoes, note = Echoes(), memory()
    echoes.heard(WHO, [hit(memory("another thing")), hit(note)])
    for text in ("The client pays late!", "I remember that the client pays late", "“the CLIENT pays late”"):
        assert echoes.repeats(WHO, memory(text)) == note.id
    for text in ("the client pays", "the client never pays late", "the clients of Ana pay late"):
        assert echoes.repeats(WHO, memory(text)) is None


@pytest.mark.parametrize("parts", [{"source": "user"}, {"source": "tool"}, {"kind": MemoryKind.DECISION}])
def test_a_user_a_tool_and_a_decision_never_echo(parts: dict[str, Any]) -> None:
    echoes, note = Echoes(), memory()
    echoes.heard(WHO, [hit(note)])
    assert echoes.repeats(WHO, memory(**parts)) is None


def test_another_session_and_another_tenant_were_told_nothing() -> None:
    echoes, note = Echoes(), memory()
    echoes.heard(WHO, [hit(note)])
    assert echoes.repeats(replace(WHO, agent="second"), memory()) == note.id
    assert echoes.repeats(replace(WHO, session="t"), memory()) is None
    assert echoes.repeats(replace(WHO, tenant="beta"), memory()) is None


def test_a_write_that_is_sent_again_is_no_echo_of_itself() -> None:
    echoes, note = Echoes(), memory()
    echoes.heard(WHO, [hit(note)])
    assert echoes.repeats(WHO, note) is None


def test_only_the_last_hits_of_the_last_sessions_are_kept_in_mind() -> None:
    echoes, first = Echoes(), memory("number first")
    echoes.heard(WHO, [hit(first)])
    echoes.heard(WHO, [hit(memory(f"number {number}")) for number in range(1_000)])
    assert echoes.repeats(WHO, memory("number first")) is None
    assert echoes.repeats(WHO, memory("number 999")) is not None
    for number in range(1_000):
        echoes.heard(replace(WHO, session=f"session {number}"), [])
    assert echoes.repeats(WHO, memory("number 999")) is None


FACT = Fact(subject="Acme", predicate="city", object="Natal")


@pytest.mark.parametrize(
    ("held", "echo", "told"),
    [
        ({}, {}, True),
        ({}, {"kind": MemoryKind.EPISODIC}, True),
        ({}, {"kind": MemoryKind.PROCEDURAL}, False),
        ({"kind": MemoryKind.PROCEDURAL}, {"kind": MemoryKind.PROCEDURAL}, True),
        ({"kind": MemoryKind.PROCEDURAL}, {}, True),
        ({}, {"value": 5}, False),
        ({"value": 5}, {"value": 5}, True),
        ({"metadata": {"a": 1, "b": 2}}, {"metadata": {"a": 1}}, True),
        ({"metadata": {"a": 1}}, {"metadata": {"a": 2}}, False),
        ({}, {"scope": Scope.parse("tenant")}, False),
        ({"scope": Scope.parse("tenant")}, {}, True),
        ({"scope": Scope.parse("private")}, {"scope": Scope.parse("private")}, True),
        ({"scope": Scope.parse("private"), "owner": "another"}, {"scope": Scope.parse("private")}, False),
        ({"scope": Scope.parse("private")}, {}, False),
        ({"session": "t"}, {}, False),
        ({"kind": MemoryKind.FACT, "fact": FACT}, {"kind": MemoryKind.FACT, "fact": FACT}, True),
        ({"kind": MemoryKind.FACT, "fact": FACT}, {}, True),
        (
            {"kind": MemoryKind.FACT, "fact": FACT, "status": "superseded"},
            {"kind": MemoryKind.FACT, "fact": FACT},
            False,
        ),
        (
            {"kind": MemoryKind.FACT, "fact": FACT},
            {"kind": MemoryKind.FACT, "fact": replace(FACT, qualifier="branch")},
            False,
        ),
        (
            {"kind": MemoryKind.FACT, "fact": FACT},
            {"kind": MemoryKind.FACT, "fact": replace(FACT, since=NOW)},
            False,
        ),
    ],
)
def test_whoever_reads_the_echo_is_told_as_much_by_what_it_repeats(
    held: dict[str, Any], echo: dict[str, Any], told: bool
) -> None:
    assert tells(memory(**held), memory(**echo)) is told
