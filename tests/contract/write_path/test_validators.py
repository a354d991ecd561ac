"""The source of truth has the last word on its category: what it refuses is not written, its doubts set apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from lousa import Fact, Memory, MemoryKind, Principal, Ruling
from lousa.infra.clock import SystemClock
from lousa.infra.ids import new_id
from lousa.infra.settings import Settings
from lousa.memory_layers.execution import ledger
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.receipts import Receipt
from lousa.memory_layers.router import Router
from lousa.memory_layers.validators import Validators

if TYPE_CHECKING:
    from .conftest import WritePath


@dataclass
class Crm:
    """A source of truth: what discount each customer has. What it does not know it cannot rule on."""

    discounts: dict[str, str] = field(default_factory=lambda: {"Acme": "5 %"})
    asked: int = 0

    async def agrees(self, memory: Memory) -> Ruling:
        self.asked += 1
        if memory.fact is None:
            return Ruling.quarantine("only facts can be compared")
        value = self.discounts[memory.fact.subject]
        return Ruling.accept() if memory.fact.object == value else Ruling.reject(f"the CRM says {value}")


@dataclass
class Ruled:
    path: WritePath
    router: Router
    crm: Crm

    async def state(
        self, who: Principal, customer: str, discount: str, *, predicate: str = "discount", **parts: Any
    ) -> Receipt:
        fact = Fact(subject=customer, predicate=predicate, object=discount)
        memory = self.path.memory(who, fact.sentence(), fact=fact, **parts)
        return await (await self.router.remember(who, memory, operation=memory.id)).settled()

    async def entry(self, who: Principal) -> ledger.Recorded:
        return (await self.router.trail(replace(who, roles=frozenset({"auditor"})), who.execution or new_id()))[-1]


@pytest.fixture
async def ruled(path: WritePath) -> AsyncIterator[Ruled]:
    crm, settings = Crm(), Settings()
    validators = Validators({"Discount": crm.agrees}, deadline=settings.deadline)
    knowledge = KnowledgeLayer(path.connections)
    async with AsyncExitStack() as stack:
        router = Router(
            path.connections,
            table(),
            path.context,
            knowledge,
            SystemClock(),
            settings,
            feed=path.feed,
            validators=validators,
        )
        await router.start(stack)
        yield Ruled(path, router, crm)


async def test_what_the_source_of_truth_confirms_is_written_and_the_ledger_says_who_ruled(
    ruled: Ruled, principal: Principal
) -> None:
    receipt = await ruled.state(principal, "Acme", "5 %", category="discount")
    assert (receipt.state, receipt.reason) == ("stored", "")
    entry = await ruled.entry(principal)
    assert (entry.outcome, entry.basis["ruled"], entry.basis["by"]) == ("stored", "accept", "Crm.agrees")


async def test_what_it_contradicts_is_refused_on_the_record_and_changes_nothing(
    ruled: Ruled, principal: Principal
) -> None:
    held = await ruled.state(principal, "Acme", "5 %", category="discount")
    receipt = await ruled.state(principal, "Acme", "50 %", category="discount")
    assert (receipt.state, receipt.reason, receipt.superseded) == ("rejected", "the CRM says 5 %", ())
    assert await ruled.path.get(principal, receipt.id) is None
    stands = await ruled.path.get(principal, held.id)
    assert stands is not None and stands.status == "live"
    for name, rows in (("memory", 1), ("memory_words", 1), ("fact", 1), ("debt", 0), ("ledger_entry", 2)):
        assert await ruled.path.count(principal, name) == rows, name
    entry = await ruled.entry(principal)
    assert (entry.outcome, entry.basis["ruled"], entry.basis["by"]) == ("rejected", "reject", "Crm.agrees")
    assert entry.payload is not None and entry.payload["reason"] == "the CRM says 5 %"
    assert entry.payload["text"] == "Acme · discount · 50 %"


@pytest.mark.parametrize(("predicate", "category"), [("discount", None), ("DISCOUNT", "sales"), ("rebate", "Discount")])
async def test_neither_another_category_nor_another_predicate_leads_around_it(
    ruled: Ruled, principal: Principal, predicate: str, category: str | None
) -> None:
    assert (await ruled.state(principal, "Acme", "50 %", predicate=predicate, category=category)).state == "rejected"


async def test_nobody_is_asked_about_what_is_of_no_such_category(ruled: Ruled, principal: Principal) -> None:
    assert (await ruled.state(principal, "Acme", "Natal", predicate="city", category="address")).state == "stored"
    assert ruled.crm.asked == 0
    assert "ruled" not in (await ruled.entry(principal)).basis


async def test_a_source_of_truth_that_fails_loses_nothing_and_lets_nothing_in(
    ruled: Ruled, principal: Principal
) -> None:
    receipt = await ruled.state(principal, "Unknown", "10 %", category="discount")
    assert (receipt.state, receipt.reason) == ("quarantined", "the validator failed: KeyError")
    kept = await ruled.path.get(principal, receipt.id)
    assert kept is not None and kept.status == "quarantined" and kept.trust == 0.5
    assert await ruled.path.count(principal, "memory_words") == 0
    assert (await ruled.entry(principal)).basis["ruled"] == "quarantine"
    curator = replace(principal, roles=frozenset({"curator"}))
    assert (await ruled.router.confirm(curator, receipt.id, "the CRM was away", new_id())).state == "stored"


@pytest.mark.parametrize("sources", [True, False])
async def test_a_write_back_is_set_apart_too_however_little_its_sources_are_trusted(
    ruled: Ruled, principal: Principal, sources: bool
) -> None:
    given = ruled.path.memory(principal, "os clientes pagam em dia", source="tool", trust=0.6)
    first = await (await ruled.router.remember(principal, given, operation=given.id)).settled()
    parts: dict[str, Any] = {"sources": (first.id,)} if sources else {}
    memory = ruled.path.memory(
        principal, "o desconto da Acme é 50 %", category="DISCOUNT", source="user", trust=1.0, **parts
    )
    receipt = await ruled.router.remember(principal, memory, operation=memory.id)
    assert (receipt.state, receipt.reason) == ("journaled", "only facts can be compared")
    assert (await receipt.settled()).state == "quarantined"
    assert ruled.crm.asked == 1
    assert (await ruled.entry(principal)).basis["by"] == "Crm.agrees"


async def test_a_rejected_write_back_is_in_no_journal_and_a_repeat_gets_the_first_answer(
    ruled: Ruled, principal: Principal
) -> None:
    async def never(memory: Memory) -> Ruling:
        return Ruling.reject("only the CRM says that")

    async with AsyncExitStack() as stack:
        router = Router(
            ruled.path.connections,
            table(),
            ruled.path.context,
            KnowledgeLayer(ruled.path.connections),
            SystemClock(),
            Settings(),
            feed=ruled.path.feed,
            validators=Validators({"discount": never}, deadline=timedelta(seconds=2)),
        )
        await router.start(stack)
        memory = ruled.path.memory(principal, "the discount is 50 %", category="discount")
        receipts = [await router.remember(principal, memory, operation=memory.id) for _ in range(3)]
        assert {(receipt.id, receipt.state) for receipt in receipts} == {(memory.id, "rejected")}
    assert await ruled.path.count(principal, "memory") == 0
    assert await ruled.path.count(principal, "ledger_entry") == 1


async def test_what_is_in_quarantine_anyway_is_shown_to_no_validator(ruled: Ruled, principal: Principal) -> None:
    receipt = await ruled.state(principal, "Acme", "50 %", category="discount", source="web", trust=0.3)
    assert (receipt.state, ruled.crm.asked) == ("quarantined", 0)


async def test_many_at_once_are_ruled_on_each_by_itself(ruled: Ruled, principal: Principal) -> None:
    ruled.crm.discounts = {f"customer {number}": f"{number} %" for number in range(20)}
    states = await asyncio.gather(
        *(ruled.state(principal, f"customer {number}", f"{number - number % 2} %") for number in range(20))
    )
    assert [receipt.state for receipt in states] == ["stored", "rejected"] * 10


async def test_a_rule_is_validated_like_anything_else(ruled: Ruled, principal: Principal) -> None:
    rule = ruled.path.memory(
        principal,
        "dê 50 % de desconto a todos",
        kind=MemoryKind.PROCEDURAL,
        category="discount",
        source="user",
        trust=1.0,
    )
    assert (await ruled.router.remember(principal, rule, operation=rule.id)).state == "quarantined"
