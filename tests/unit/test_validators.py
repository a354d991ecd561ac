"""A validator rules or its memory is set apart: it may fail, hang, or answer nonsense; nothing is lost or let in."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lousa import Fact, Memory, MemoryKind, Ruling, Scope
from lousa.infra.errors import SettingsError
from lousa.infra.ids import new_id
from lousa.memory_layers.validators import Validators

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SHORT = timedelta(milliseconds=20)


def memory(category: str | None = "discount", **parts: Any) -> Memory:
    return Memory(
        id=new_id(),
        tenant="acme",
        owner="seller",
        session="s",
        execution=None,
        scope=Scope.parse("shared"),
        kind=MemoryKind.FACT if parts.get("fact") else MemoryKind.SEMANTIC,
        text="the discount is 50 %",
        category=category,
        occurred_at=NOW,
        recorded_at=NOW,
        **parts,
    )


async def fails(_: Memory) -> Ruling:
    raise ConnectionError("secret address")


async def hangs(_: Memory) -> Ruling:
    await asyncio.Event().wait()
    return Ruling.accept()


async def nonsense(_: Memory) -> Any:
    return True


async def other_words(_: Memory) -> Any:
    return Ruling("perhaps")  # pyright: ignore[reportArgumentType]  # what a careless author may write


def not_async(_: Memory) -> Any:
    return Ruling.accept()


async def accepts(_: Memory) -> Ruling:
    return Ruling.accept()


@pytest.mark.parametrize(
    ("validator", "why"),
    [
        (fails, "the validator failed: ConnectionError"),
        (hangs, "the validator failed: TimeoutError"),
        (nonsense, "the validator gave a bool for a ruling"),
        (other_words, "the validator gave a Ruling for a ruling"),
        (not_async, "the validator failed: TypeError"),
    ],
)
async def test_a_validator_that_does_not_rule_sets_apart(validator: Any, why: str) -> None:
    kept, ruling = await Validators({"discount": validator}, deadline=SHORT).ruled(memory())
    assert ruling == Ruling("quarantine", why, validator.__qualname__)
    assert kept.status == "quarantined" and kept.text == "the discount is 50 %"


async def test_whoever_gives_up_waiting_is_not_told_that_the_validator_failed() -> None:
    asking = asyncio.create_task(Validators({"discount": hangs}, deadline=timedelta(minutes=1)).ruled(memory()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("name", ["Preço_Final", "preco-final", " PRECO  FINAL "])
async def test_names_are_compared_without_case_accents_and_hyphens(name: str) -> None:
    validators = Validators({"preço final": accepts}, deadline=SHORT)
    assert (await validators.ruled(memory(name)))[1] == Ruling("accept", by="accepts")
    fact = Fact(subject="Acme", predicate=name, object="5")
    assert (await validators.ruled(memory(None, fact=fact)))[1] is not None


async def test_what_nobody_answers_for_passes_as_it_is() -> None:
    given = memory("price list")
    assert await Validators({"price": fails}, deadline=SHORT).ruled(given) == (given, None)
    assert await Validators(deadline=SHORT).ruled(memory(None)) is not None


async def test_a_reason_is_kept_as_far_as_a_store_can_hold_it() -> None:
    async def rejects(_: Memory) -> Ruling:
        return Ruling.reject("a\x00b\ud800" + "x" * 5_000)

    _, ruling = await Validators({"discount": rejects}, deadline=SHORT).ruled(memory())
    assert ruling is not None and len(ruling.reason) == 1_000
    assert ruling.reason.startswith("a") and "\x00" not in ruling.reason and "\ud800" not in ruling.reason
    assert Ruling.from_json(ruling.to_json()) == ruling


@pytest.mark.parametrize("given", [{"": accepts}, {" - ": accepts}, {"a b": accepts, "A_B": accepts}, {"a": None}])
def test_validators_that_cannot_be_meant_are_refused_when_they_are_given(given: Any) -> None:
    with pytest.raises(SettingsError):
        Validators(given, deadline=SHORT)
