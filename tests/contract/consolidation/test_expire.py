"""What is past its time leaves every recall for good; what is used, a rule, a fact or a decision stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from lousa.consolidation.contract import Counts
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import Fact, Memory, MemoryKind

if TYPE_CHECKING:
    from .conftest import Tended

DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("category", "days"),
    [
        (None, 90),
        ("gossip", 90),
        ("preference", 365),
        ("Preferência", 365),
        ("technical", 183),
        ("Técnica", 183),
        ("project state", 92),
        ("Project_State", 92),
        ("estado-do-projeto", 92),
    ],
)
async def test_a_memory_expires_at_its_limit_and_not_a_moment_before(
    tended: Tended, principal: Principal, category: str | None, days: int
) -> None:
    at, before = await tended.keep(
        principal,
        tended.aged(principal, "a Ana mudou de ideia", days * DAY, category=category),
        tended.aged(principal, "Ana changed her mind", days * DAY - MOMENT, category=category),
    )
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=1)
    assert await tended.statuses(principal, [at, before]) == ["expired", "live"]


async def test_what_expired_is_in_no_recall_and_nowhere_but_on_the_record(tended: Tended, principal: Principal) -> None:
    old = tended.aged(principal, "o prazo do contrato da Acme é de 24 meses", 91 * DAY)
    new = tended.aged(principal, "o prazo do contrato da Beta é de 12 meses", 1 * DAY)
    await tended.keep(principal, old, new, embed=True)
    await tended.rows(
        principal.tenant,
        "INSERT INTO debt (tenant, memory, layer) VALUES (current_tenant(), %s, 'context') RETURNING memory",
        old.id,
    )
    report = await tended.run(principal.tenant, "expire")
    assert await tended.layers.texts(principal, "prazo do contrato") == [new.text]
    past = await tended.layers.recall(principal, "prazo do contrato", as_of=tended.now - 30 * DAY)
    assert [hit.id for hit in past] == []
    vectors = f"memory_vector_{tended.layers.context.embedder.fingerprint}"
    for name in ("memory_words", vectors):
        assert await tended.rows(principal.tenant, f"SELECT id FROM {name} WHERE tenant = current_tenant()") == [
            (new.id,)
        ]
    assert await tended.rows(principal.tenant, "SELECT memory FROM debt WHERE tenant = current_tenant()") == []
    assert await tended.column(principal.tenant, "text", [old.id]) == [old.text]
    assert await tended.column(principal.tenant, "consolidated_by", [old.id, new.id]) == [report.entry, None]


async def test_a_late_relay_brings_nothing_back(tended: Tended, principal: Principal) -> None:
    old = tended.aged(principal, "the office is closed on Mondays", 91 * DAY)
    await tended.keep(principal, old)
    await tended.run(principal.tenant, "expire")
    await tended.layers.context.put(principal.tenant, [old])
    assert await tended.layers.texts(principal, "closed on Mondays") == []


async def test_what_was_used_or_said_again_stays_and_what_was_only_found_does_not(
    tended: Tended, principal: Principal
) -> None:
    used = tended.aged(principal, "Ana prefers tea in the morning", 91 * DAY)
    found = tended.aged(principal, "Bruno prefers coffee at night", 91 * DAY)
    said = tended.aged(principal, "Carla prefers water", 91 * DAY)
    await tended.keep(principal, used, found, said, embed=True)
    assert used.id in {hit.id for hit in await tended.layers.recall(principal, "Ana tea", k=1, touch=True)}
    assert found.id in {hit.id for hit in await tended.layers.recall(principal, "Bruno coffee", k=1)}
    again = tended.layers.memory(principal, "CARLA prefers  water")
    async with tended.connections.transaction(principal) as connection:
        assert (await memories.insert(connection, [again]))[again.id] == said.id
    await tended.run(principal.tenant)
    assert await tended.statuses(principal, [used.id, found.id, said.id]) == ["live", "expired", "live"]
    tended.layers.clock.advance(90 * DAY)
    await tended.run(principal.tenant)
    assert await tended.statuses(principal, [used.id, said.id]) == ["expired", "expired"]


async def test_a_date_of_its_own_goes_before_every_limit(tended: Tended, principal: Principal) -> None:
    def dated(text: str, days: int, moments: int = 0, **parts: object) -> Memory:
        return tended.aged(principal, text, 400 * DAY, expires_at=tended.now + days * DAY + moments * MOMENT, **parts)

    ids = await tended.keep(
        principal,
        *(
            dated("now", 0),
            dated("in a moment", 0, 1),
            dated("next year", 365),
            dated("an episode of yesterday", -1, kind=MemoryKind.EPISODIC),
            dated("an episode of next year", 365, kind=MemoryKind.EPISODIC),
            dated("a rule of yesterday", -1, kind=MemoryKind.PROCEDURAL),
            dated("a block of yesterday", -1, kind=MemoryKind.BLOCK),
        ),
    )
    report = await tended.run(principal.tenant)
    assert await tended.statuses(principal, ids) == ["expired", "live", "live", "expired", "live", "live", "live"]
    assert [report.steps[name].changed for name in ("expire", "archive", "deduplicate")] == [2, 0, 0]


async def test_rules_blocks_decisions_and_facts_never_go_by_their_age(tended: Tended, principal: Principal) -> None:
    kept = [
        tended.aged(principal, f"it is a {kind}", 4_000 * DAY, kind=kind, category="project state")
        for kind in (MemoryKind.PROCEDURAL, MemoryKind.BLOCK, MemoryKind.DECISION)
    ]
    fact = Fact(subject="Ana", predicate="city", object="Natal")
    kept.append(tended.aged(principal, fact.sentence(), 4_000 * DAY, fact=fact))
    before = await tended.keep(principal, *kept)
    report = await tended.run(principal.tenant)
    assert await tended.statuses(principal, before) == ["live"] * 4
    assert report.steps["expire"] == Counts()


async def test_a_fact_past_its_category_is_to_be_confirmed_until_it_is(tended: Tended, principal: Principal) -> None:
    def stated(object: str, age: timedelta, category: str | None = "project_state") -> Memory:
        fact = Fact(subject="Projeto Ipê", predicate=f"phase {object}", object=object)
        return tended.aged(principal, fact.sentence(), age, fact=fact, category=category)

    facts = [stated("planning", 92 * DAY), stated("building", 92 * DAY - MOMENT), stated("closed", 900 * DAY, None)]
    at, before, without = await tended.keep(principal, *facts)
    assert await tended.counts(principal.tenant, "expire") == Counts(flagged=1)
    assert await tended.counts(principal.tenant, "expire") == Counts()
    doubted = "doubted = confirmed_at"
    assert await tended.column(principal.tenant, doubted, [at, before, without]) == [True, None, None]
    hits = await tended.layers.recall(principal, "Projeto Ipê", kinds=[MemoryKind.FACT])
    assert {hit.id: hit.to_confirm for hit in hits} == {at: True, before: False, without: False}
    assert await tended.statuses(principal, [at, before, without]) == ["live"] * 3

    fact = Fact(subject="projeto ipe", predicate="phase planning", object="Planning")
    await tended.keep(principal, tended.layers.memory(principal, fact.sentence(), fact=fact))
    assert await tended.column(principal.tenant, doubted, [at]) == [False]
    assert not any(hit.to_confirm for hit in await tended.layers.recall(principal, "Projeto Ipê"))
    tended.layers.clock.advance(92 * DAY)
    assert (await tended.counts(principal.tenant, "expire")).flagged == 2


async def test_what_is_in_quarantine_waits_for_its_curator(tended: Tended, principal: Principal) -> None:
    ids = await tended.keep(
        principal,
        *(
            tended.aged(principal, "the moon is made of cheese", 900 * DAY, kind=kind, status="quarantined", trust=0.3)
            for kind in (MemoryKind.SEMANTIC, MemoryKind.EPISODIC)
        ),
    )
    await tended.run(principal.tenant)
    assert await tended.statuses(principal, ids) == ["quarantined", "quarantined"]


async def test_a_row_that_somebody_holds_is_left_and_done_the_next_time(tended: Tended, principal: Principal) -> None:
    held, free = await tended.keep(
        principal, tended.aged(principal, "held", 91 * DAY), tended.aged(principal, "free", 91 * DAY)
    )
    async with tended.connections.transaction(principal) as connection:
        await connection.execute("SELECT FROM memory WHERE id = %s FOR UPDATE", (held,))
        assert await tended.counts(principal.tenant, "expire") == Counts(changed=1, skipped=1)
    assert await tended.statuses(principal, [held, free]) == ["live", "expired"]
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=1)


async def test_more_than_a_batch_goes_and_what_stays_in_between_is_passed(tended: Tended, principal: Principal) -> None:
    many = [
        tended.aged(
            principal, f"the number is {number}", (95 + number % 7) * DAY, category="preference" if number % 3 else None
        )
        for number in range(100)
    ]
    await tended.keep(principal, *many)
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=34)
    assert await tended.counts(principal.tenant, "expire") == Counts()


async def test_one_tenant_s_run_leaves_the_other_s_memories_alone(tended: Tended, principal: Principal) -> None:
    other = replace(principal, tenant=f"{principal.tenant}-other", execution=new_id())
    [mine] = await tended.keep(principal, tended.aged(principal, "the same words", 91 * DAY))
    [theirs] = await tended.keep(other, tended.aged(other, "the same words", 91 * DAY))
    await tended.run(principal.tenant)
    assert await tended.statuses(principal, [mine]) == ["expired"]
    assert await tended.statuses(other, [theirs]) == ["live"]
    assert await tended.entries(other.tenant) == []
    assert set(await tended.consolidation.tenants()) >= {principal.tenant, other.tenant}
