"""What a user said is not lost to its age: it is marked as to be confirmed, while what nobody needed goes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from lousa.consolidation.contract import Counts
from lousa.infra.identity import Principal
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import Memory, MemoryKind

if TYPE_CHECKING:
    from .conftest import Tended

DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)
DOUBTED = "doubted IS NOT DISTINCT FROM confirmed_at"


def told(tended: Tended, who: Principal, text: str, age: timedelta, **parts: Any) -> Memory:
    return tended.aged(who, text, age, **{"source": "user", "trust": 1.0, **parts})


async def test_what_a_user_said_once_is_found_years_later_and_is_to_be_confirmed(
    tended: Tended, principal: Principal
) -> None:
    rule = told(tended, principal, "regra do time: ninguém mexe em produção às sextas", 0 * DAY)
    noted = tended.aged(principal, "the deploy of production took 14 minutes", 0 * DAY)
    await tended.keep(principal, rule, noted, embed=True)
    for days, flagged, left in ((89, 0, 2), (1, 1, 1), (275, 0, 1), (365, 0, 1)):
        tended.layers.clock.advance(days * DAY)
        assert (await tended.run(principal.tenant)).steps["expire"].flagged == flagged
        hits = await tended.layers.recall(principal, "o que vale para produção nas sextas?")
        assert len(hits) == left
        assert {hit.id: hit.to_confirm for hit in hits}[rule.id] == (left == 1)


async def test_it_is_marked_at_the_limit_and_what_others_noted_goes(tended: Tended, principal: Principal) -> None:
    ids = await tended.keep(
        principal,
        told(tended, principal, "Ana mudou de ideia", 90 * DAY),
        told(tended, principal, "Ana changed her mind", 90 * DAY - MOMENT),
        tended.aged(principal, "an agent says so", 90 * DAY),
        tended.aged(principal, "uma ferramenta diz", 90 * DAY, source="tool", trust=0.7),
    )
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=2, flagged=1)
    assert await tended.counts(principal.tenant, "expire") == Counts()
    assert await tended.statuses(principal, ids) == ["live", "live", "expired", "expired"]
    assert await tended.column(principal.tenant, DOUBTED, ids[:2]) == [True, False]


@pytest.mark.parametrize("category", ["Preferência", "project_state", "technical"])
async def test_a_category_s_own_limit_holds_whoever_said_it(
    tended: Tended, principal: Principal, category: str
) -> None:
    [said] = await tended.keep(principal, told(tended, principal, "chá de manhã", 366 * DAY, category=category))
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=1)
    assert await tended.statuses(principal, [said]) == ["expired"]


async def test_a_date_of_its_own_holds_whoever_said_it(tended: Tended, principal: Principal) -> None:
    ids = await tended.keep(
        principal,
        told(tended, principal, "until today", 400 * DAY, expires_at=tended.now),
        told(tended, principal, "até amanhã", 400 * DAY, expires_at=tended.now + DAY),
    )
    assert await tended.counts(principal.tenant, "expire") == Counts(changed=1)
    assert await tended.statuses(principal, ids) == ["expired", "live"]
    assert await tended.column(principal.tenant, DOUBTED, ids) == [False, False]


async def test_saying_it_again_ends_the_doubt_and_using_it_only_puts_it_off(
    tended: Tended, principal: Principal
) -> None:
    said, used, doubted = await tended.keep(
        principal,
        told(tended, principal, "the office closes at six", 91 * DAY),
        told(tended, principal, "o almoço é ao meio-dia", 80 * DAY),
        told(tended, principal, "parking is behind the house", 91 * DAY),
        embed=True,
    )
    await tended.layers.recall(principal, "almoço meio-dia", k=1, touch=True)
    await tended.run(principal.tenant)
    tended.layers.clock.advance(20 * DAY)
    await tended.layers.recall(principal, "parking behind the house", k=1, touch=True)
    again = told(tended, principal, "The office closes  at SIX", 0 * DAY)
    async with tended.connections.transaction(principal) as connection:
        assert (await memories.insert(connection, [again]))[again.id] == said
    await tended.run(principal.tenant)
    assert await tended.column(principal.tenant, DOUBTED, [said, used, doubted]) == [False, False, True]


async def test_what_an_agent_noted_and_a_user_then_said_is_the_user_s(tended: Tended, principal: Principal) -> None:
    noted = tended.aged(principal, "the client pays in euros", 91 * DAY)
    async with tended.connections.transaction(principal) as connection:
        await memories.insert(connection, [noted])
        await memories.insert(connection, [told(tended, principal, "The client pays in euros", 91 * DAY)])
    assert await tended.counts(principal.tenant, "expire") == Counts(flagged=1)
    assert await tended.statuses(principal, [noted.id]) == ["live"]


async def test_an_episode_that_a_user_told_stays_hot(tended: Tended, principal: Principal) -> None:
    hers, its = await tended.keep(
        principal,
        told(tended, principal, "fui ao médico em março", 800 * DAY, kind=MemoryKind.EPISODIC),
        tended.aged(principal, "the build failed in March", 800 * DAY, kind=MemoryKind.EPISODIC),
        embed=True,
    )
    assert await tended.counts(principal.tenant, "archive") == Counts(changed=1)
    assert await tended.statuses(principal, [hers, its]) == ["live", "archived"]
    assert [hit.to_confirm for hit in await tended.layers.recall(principal, "médico em março")] == [False]


async def test_a_dry_run_counts_what_a_run_marks_and_takes(tended: Tended, principal: Principal) -> None:
    await tended.keep(
        principal,
        *(told(tended, principal, f"a user said {number}", 91 * DAY) for number in range(13)),
        *(tended.aged(principal, f"an agent noted {number}", 91 * DAY) for number in range(12)),
        *(told(tended, principal, f"dito {number}", 91 * DAY, expires_at=tended.now + DAY) for number in range(2)),
    )
    dry = await tended.consolidation.examine(principal.tenant, ["expire", "archive", "deduplicate"])
    done = await tended.run(principal.tenant, "expire", "archive", "deduplicate")
    assert dry.steps == done.steps
    assert (done.steps["expire"].changed, done.steps["expire"].flagged) == (12, 13)
