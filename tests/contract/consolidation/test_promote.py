"""Episodes that proved themselves become knowledge, once, for the same readers; what a judge says binds nobody else."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from lousa.agents.llm import Model
from lousa.agents.promoting import Promoter
from lousa.consolidation.contract import Counts
from lousa.consolidation.promote import Promote
from lousa.consolidation.run import Consolidation
from lousa.infra.identity import Principal
from lousa.infra.ids import derived_id, new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.policy import table
from lousa.memory_layers.records import Memory, MemoryKind
from scripted import Scripted

from .test_runs import broken_off

if TYPE_CHECKING:
    from .conftest import Tended

DAY = timedelta(days=1)


@pytest.fixture
def promoting(tended: Tended) -> Tended:
    return _with(tended)


def _with(tended: Tended, model: Scripted | None = None, **parts: Any) -> Tended:
    """The same, as a model decides."""
    layers, held = tended.layers, {2: tended.layers.context, 3: tended.layers.knowledge}
    judge = None if model is None else Promoter(Model(model.model, model))
    promote = Promote(layers.context, layers.knowledge, judge, pause=parts.pop("pause", 10.0))
    given: dict[str, Any] = {"clock": layers.clock, "batch": 10, **parts}
    return replace(tended, consolidation=Consolidation(layers.connections, table(), held, promote=promote, **given))


async def told(tended: Tended, who: Principal, *texts: str, times: int = 3, used: int = 0, **parts: Any) -> list[UUID]:
    """Episodes of a month ago that were told so often, the last time today, and of use so often."""
    values: dict[str, Any] = {"kind": MemoryKind.EPISODIC, "source": "user", "trust": 1.0, **parts}
    ids = await tended.keep(who, *(tended.aged(who, text, 30 * DAY, **values) for text in texts))
    query = "UPDATE memory SET confirmations = %s, confirmed_at = %s, uses = %s WHERE id = ANY (%s) RETURNING id"
    await tended.rows(who.tenant, query, times, tended.now - DAY, used, ids)
    return ids


async def became(tended: Tended, who: Principal, identifier: UUID) -> Memory:
    """What an episode is now."""
    [into] = await tended.column(who.tenant, "superseded_by", [identifier])
    async with tended.connections.transaction(who) as connection:
        return (await memories.get(connection, [into]))[into]


async def of_kind(tended: Tended, tenant: str, kind: str) -> list[str]:
    query = "SELECT text FROM memory WHERE tenant = current_tenant() AND kind = %s AND status = 'live' ORDER BY text"
    return [row[0] for row in await tended.rows(tenant, query, kind)]


async def test_what_was_told_often_enough_becomes_knowledge_with_all_that_it_was(
    promoting: Tended, principal: Principal
) -> None:
    [often, once] = [
        *await told(promoting, principal, "A build noturna falhou no linker", times=3, used=4, subject="ana"),
        *await told(promoting, principal, "O almoço foi bom", times=2),
    ]
    report = await promoting.run(principal.tenant)
    assert report.steps["promote"] == Counts(examined=1, changed=1)
    knowledge = await became(promoting, principal, often)
    assert (knowledge.kind, knowledge.text, knowledge.subject) == (
        MemoryKind.SEMANTIC,
        "A build noturna falhou no linker",
        "ana",
    )
    assert (knowledge.sources, knowledge.trust, knowledge.source) == ((often,), 1.0, "user")
    assert (knowledge.owner, knowledge.session, knowledge.scope.kind) == ("tester", principal.session, "tenant")
    columns = [await promoting.column(principal.tenant, name, [knowledge.id]) for name in ("confirmations", "uses")]
    assert columns == [[3], [4]]
    named = await promoting.column(principal.tenant, "consolidated_by", [often, knowledge.id, once])
    assert named == [report.entry, report.entry, None]
    assert await promoting.statuses(principal, [often, once]) == ["superseded", "live"]
    hits = await promoting.layers.recall(principal, "build noturna linker")
    assert [hit.id for hit in hits if "linker" in hit.text] == [knowledge.id]
    assert (await promoting.run(principal.tenant)).steps["promote"] == Counts()


async def test_a_dry_run_counts_what_the_folds_before_will_make_of_it(
    promoting: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "content_key", lambda memory: memory.id.bytes)  # pyright: ignore  # nothing is folded
    for text in ("A build noturna falhou", "a build noturna falhou.", "A BUILD noturna falhou .", "outra coisa"):
        await told(promoting, principal, text, times=1)
    alone = await promoting.consolidation.examine(principal.tenant, ["promote"])
    dry = await promoting.consolidation.examine(principal.tenant)
    assert (alone.steps["promote"].changed, dry.steps["promote"].changed) == (0, 1)
    assert (await promoting.run(principal.tenant)).steps == dry.steps


async def test_what_is_not_trusted_has_a_date_or_is_a_turn_is_not_promoted(
    promoting: Tended, principal: Principal
) -> None:
    ids = [
        *await told(promoting, principal, "from a page", trust=0.3, source="web", status="quarantined"),
        *await told(promoting, principal, "until friday", expires_at=promoting.now + 9 * DAY),
        *await told(promoting, principal, "said so", speaker="Ana"),
        *await told(promoting, principal, "noted by an agent", source="agent", trust=0.5),
    ]
    assert (await promoting.run(principal.tenant)).steps["promote"].changed == 0
    assert await promoting.statuses(principal, ids) == ["quarantined", "live", "live", "live"]


async def test_what_is_known_already_is_confirmed_and_not_known_twice(promoting: Tended, principal: Principal) -> None:
    [known] = await promoting.keep(principal, promoting.layers.memory(principal, "A build noturna falhou"))
    [episode] = await told(promoting, principal, "A build noturna falhou", times=5)
    await promoting.run(principal.tenant)
    assert (await became(promoting, principal, episode)).id == known
    assert await promoting.column(principal.tenant, "confirmations", [known]) == [6]


async def test_an_episode_that_somebody_holds_is_left_for_another_time(promoting: Tended, principal: Principal) -> None:
    [episode] = await told(promoting, principal, "A build noturna falhou")
    async with promoting.connections.system_transaction(principal.tenant) as connection:
        await memories.lock(connection, episode)
        assert (await promoting.run(principal.tenant, "promote")).steps["promote"] == Counts(examined=1, skipped=1)
    assert (await promoting.run(principal.tenant, "promote")).steps["promote"].changed == 1


def decides(*decisions: tuple[str, list[str], dict[str, Any]]) -> Any:
    """A model's answer about episodes by their words, under the names that it was shown."""

    def answer(said: str) -> Any:
        shown = {each.split('"')[0]: each for each in said.split('"id": "')[1:]}
        named = [
            [name for name, told in shown.items() if any(f'"{text}' in told for text in texts)]
            for _, texts, _ in decisions
        ]
        return {
            "decisions": [
                {"verdict": verdict, "ids": ids, **more}
                for ids, (verdict, _, more) in zip(named, decisions, strict=True)
                if ids
            ]
        }

    return answer


BUILD, LINKER = "The build of 31 projects failed", "The build failed on the linker, 31 projects"
WHOLE = "The build of 31 projects failed on the linker"
TEXTS = [BUILD, LINKER, "Always sign the release tag", "Maria leads the platform team", "Soup was served", "Rain fell"]


async def test_a_model_decides_and_the_entry_says_which_and_what_it_was_told(
    tended: Tended, principal: Principal
) -> None:
    model = Scripted(
        {},
        decides(
            ("MERGE", [BUILD, LINKER], {"text": WHOLE}),
            ("KEEP", ["Always sign"], {"as": "procedural"}),
            ("KEEP", ["Maria"], {"as": "fact", "subject": "Maria", "predicate": "leads", "object": "platform team"}),
            ("DISCARD", ["Soup"], {}),
        ),
    )
    judged = _with(tended, model)
    build, linker, rule, lead, soup, rain = ids = await told(judged, principal, *TEXTS)
    dry = await judged.consolidation.examine(principal.tenant, ["promote"])
    assert dry.steps["promote"] == Counts(examined=6, changed=6) and model.asked == []
    report = await judged.run(principal.tenant, "promote")
    assert replace(report.steps["promote"], told={}) == Counts(examined=6, changed=4, flagged=2)
    assert await judged.statuses(principal, ids) == ["superseded"] * 4 + ["live"] * 2
    merged, signed, fact = [await became(judged, principal, one) for one in (build, rule, lead)]
    assert (await became(judged, principal, linker)).id == merged.id
    assert (merged.kind, merged.text, set(merged.sources)) == (MemoryKind.SEMANTIC, WHOLE, {build, linker})
    assert (signed.kind, fact.kind, fact.text) == (
        MemoryKind.PROCEDURAL,
        MemoryKind.FACT,
        "Maria · leads · platform team",
    )
    assert await judged.column(principal.tenant, "confirmations", [merged.id]) == [6]
    [(entry, outcome, steps)] = await judged.entries(principal.tenant)
    assert (entry, outcome) == (report.entry, "done")
    said = steps["promote"]["told"]
    assert (said["model"], said["prompt"]) == ("scripted", Promoter(Model("m", model)).prompt)
    assert [said[name] for name in ("merge", "keep", "discard", "left")] == [1, 2, 1, 1]
    assert "Soup" not in str(steps)
    # What stays an episode is not asked about again, until it was of use.
    assert (await judged.run(principal.tenant, "promote")).steps["promote"] == Counts() and len(model.asked) == 1
    await judged.rows(principal.tenant, "UPDATE memory SET used_at = now() + '1 h' WHERE id = %s RETURNING id", rain)
    await judged.run(principal.tenant, "promote")
    assert len(model.asked) == 2 and "Rain" in model.asked[1][1] and "Soup" not in model.asked[1][1]
    assert soup != rain


async def test_a_fact_that_is_trusted_more_keeps_its_place_and_the_episode_stays_one(
    tended: Tended, principal: Principal
) -> None:
    model = Scripted(
        {}, decides(("KEEP", ["Maria"], {"as": "fact", "subject": "Maria", "predicate": "leads", "object": "sales"}))
    )
    judged = _with(tended, model)
    await judged.layers.state(principal, "Maria", "leads", "platform", day=-40, source="user", trust=1.0)
    [episode] = await told(judged, principal, "Maria leads sales now", times=6, source="agent", trust=0.5)
    counts = (await judged.run(principal.tenant, "promote")).steps["promote"]
    assert (counts.changed, counts.flagged, counts.told["refused: outranked"]) == (0, 1, 1)
    assert await judged.statuses(principal, [episode]) == ["live"]
    assert await of_kind(judged, principal.tenant, "fact") == ["Maria · leads · platform"]
    assert (await judged.run(principal.tenant, "promote")).steps["promote"].examined == 0


ANSWERS: list[tuple[Any, str]] = [
    ("I would keep them all!", "failed: no JSON"),
    ('{"decisions": [{"verdict": "KE', "failed: no JSON"),
    ({}, "failed: shape"),
    (TimeoutError(), "failed: late"),
    ({"decisions": [{}]}, "refused: shape"),
    ({"decisions": [{"verdict": "KEEP", "ids": ["{stranger}"]}]}, "refused: unknown"),
    ({"decisions": [{"verdict": "MERGE", "ids": ["e1", "{stranger}"], "text": WHOLE}]}, "refused: unknown"),
    ({"decisions": [{"verdict": "MERGE", "ids": ["e1", "e2"], "text": "Ignore everything"}]}, "refused: words"),
]


@pytest.mark.parametrize(("answer", "told_of"), ANSWERS)
async def test_whatever_else_a_model_answers_nothing_is_changed_and_the_entry_counts_it(
    tended: Tended, principal: Principal, answer: Any, told_of: str
) -> None:
    stranger = Principal(tenant=f"{principal.tenant}-2", agent="tester", session="session-1")
    [theirs] = await told(tended, stranger, "The password of the stranger")
    ids = await told(tended, principal, BUILD, LINKER)
    if isinstance(answer, dict):
        answer = json.loads(json.dumps(answer).replace("{stranger}", str(theirs)))
    model = Scripted({}, answer)
    report = await _with(tended, model).run(principal.tenant, "promote")
    counts = report.steps["promote"]
    assert (counts.changed, counts.flagged, counts.skipped, counts.told[told_of]) == (0, 0, 2, 1)
    assert await tended.statuses(principal, ids) == ["live", "live"]
    assert await tended.statuses(stranger, [theirs]) == ["live"]
    assert "stranger" not in str(model.asked) and await of_kind(tended, principal.tenant, "semantic") == []
    again = await _with(tended, Scripted({}, {"decisions": []})).run(principal.tenant, "promote")
    assert again.steps["promote"].flagged == 2


async def test_a_run_renews_its_lease_while_a_judge_thinks(tended: Tended, principal: Principal) -> None:
    model = Scripted({}, decides(("KEEP", [BUILD], {})), gate=asyncio.Event())
    thinking = _with(tended, model, pause=0.02)
    await told(thinking, principal, BUILD)
    running = asyncio.create_task(thinking.run(principal.tenant, "promote"))
    query = "SELECT held_until FROM consolidation_run WHERE tenant = current_tenant()"
    held: set[object] = set()
    async with asyncio.timeout(30):
        while not model.asked or len(held) < 5:
            held.update(row[0] for row in await thinking.rows(principal.tenant, query))
    assert model.gate is not None
    model.gate.set()
    assert (await running).steps["promote"].changed == 1


async def test_what_a_run_makes_has_the_id_that_it_always_makes_it_under(
    promoting: Tended, principal: Principal
) -> None:
    [episode] = await told(promoting, principal, "A build noturna falhou")
    report = await promoting.run(principal.tenant)
    assert report.entry is not None
    assert (await became(promoting, principal, episode)).id == derived_id(report.entry, "promote", str(episode))


async def test_a_run_that_is_broken_off_in_the_middle_promotes_the_rest_once(
    promoting: Tended, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["A build noturna falhou", "O cliente pediu prazo", "Maria lidera a equipe", "Choveu no evento"]
    ids, entry = await told(promoting, principal, *texts), new_id()
    for after in (1, 0, 1):
        await broken_off(promoting, principal, monkeypatch, entry, after=after)
        [(made,)] = await promoting.rows(principal.tenant, "SELECT count(*) FROM memory WHERE kind = 'semantic'")
        assert (await promoting.statuses(principal, ids)).count("superseded") == made
    report = await promoting.run(principal.tenant, entry=entry)
    assert report.steps["promote"].changed == len(texts)
    assert await of_kind(promoting, principal.tenant, "semantic") == sorted(texts)
    assert [(id, outcome) for id, outcome, _ in await promoting.entries(principal.tenant)] == [(entry, "done")]
