"""What says the same becomes one memory; nothing that differs in any way that matters does, and nobody gains trust."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from lousa.consolidation.contract import Counts
from lousa.consolidation.deduplicate import in_chunks
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import memories
from lousa.memory_layers.execution.memories import folded
from lousa.memory_layers.records import Fact, Memory, MemoryKind, Scope, ScopeKind

if TYPE_CHECKING:
    from .conftest import Tended

DAY = timedelta(days=1)
READERS = Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"ana", "bruno"}))
KEYED = memories.content_key


@pytest.fixture(autouse=True)
def an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing kept apart what is not equal to the letter, as it once did."""

    def former(memory: Memory) -> bytes:
        return KEYED(replace(memory, metadata={**memory.metadata, "to the letter": folded(memory.text)}))

    monkeypatch.setattr(memories, "content_key", former)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A LICITAÇÃO foi   aprovada", "a licitacao foi aprovada."),
        ("Ação nº 5 é do João.", "acao nº 5 e do joao"),
        ("The invoice was paid.", "  the INVOICE was paid ..."),
        ("Café com açúcar", "cafe\u0301 com ac\u0327u\u0301car."),
        ("Straße", "STRASSE."),
    ],
)
async def test_case_accents_spacing_and_a_full_stop_make_no_difference(
    tended: Tended, principal: Principal, first: str, second: str
) -> None:
    one, other = await tended.keep(
        principal, tended.aged(principal, first, 2 * DAY), tended.aged(principal, second, 1 * DAY)
    )
    report = await tended.run(principal.tenant, "deduplicate")
    assert report.steps["deduplicate"] == Counts(examined=2, changed=1)
    assert await tended.statuses(principal, [one, other]) == ["live", "superseded"]
    assert await tended.column(principal.tenant, "superseded_by", [one, other]) == [None, one]
    assert await tended.column(principal.tenant, "consolidated_by", [one, other]) == [report.entry, report.entry]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"text": "Ana vem."}, {"text": "Ana vem?"}),
        ({"text": "2.5 dias"}, {"text": "25 dias."}),
        ({"scope": "tenant"}, {"scope": "shared"}),
        ({"scope": "shared"}, {"scope": "private"}),
        ({"scope": READERS}, {"scope": Scope(kind=ScopeKind.HIERARCHICAL, readers=frozenset({"ana"}))}),
        ({"scope": READERS}, {"scope": Scope(kind=ScopeKind.HIERARCHICAL, roles=frozenset({"ana", "bruno"}))}),
        ({"kind": MemoryKind.SEMANTIC}, {"kind": MemoryKind.EPISODIC}),
        ({"kind": MemoryKind.PROCEDURAL, "scope": "tenant"}, {"kind": MemoryKind.PROCEDURAL, "scope": "shared"}),
        ({"value": 1}, {"value": "1"}),
        ({"value": None}, {"value": 0}),
        ({"category": "preference"}, {"category": None}),
        ({"subject": "Ana"}, {"subject": "Bruno"}),
        ({"metadata": {"file": "a.md"}}, {"metadata": {"file": "b.md"}}),
    ],
)
async def test_what_differs_is_kept_apart(
    tended: Tended, principal: Principal, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> None:
    texts: list[Mapping[str, Any]] = [{"text": "the same words", **ours}, {"text": "The same words.", **theirs}]
    ids = await tended.keep(principal, *(tended.layers.memory(principal, **{"text": "", **parts}) for parts in texts))
    assert await tended.counts(principal.tenant, "deduplicate") == Counts()
    assert await tended.statuses(principal, ids) == ["live", "live"]


async def test_circles_of_readers_stay_apart(tended: Tended, principal: Principal, somebody_else: Principal) -> None:
    """Sessions, owners of what is private, and tenants; of what all of a tenant see, it matters not who said it."""
    other = replace(principal, tenant=f"{principal.tenant}-other")
    for scope, folded_by_the_run in (("shared", 0), ("private", 0), ("tenant", 1)):
        await tended.keep(principal, tended.layers.memory(principal, f"a {scope} word", scope=scope))
        await tended.keep(somebody_else, tended.layers.memory(somebody_else, f"a {scope} word.", scope=scope))
        await tended.keep(other, tended.layers.memory(other, f"a {scope} word.", scope=scope))
        assert (await tended.counts(principal.tenant, "deduplicate")).changed == folded_by_the_run
        assert (await tended.counts(other.tenant, "deduplicate")).changed == 0


async def test_the_oldest_of_the_most_trusted_stays_with_what_all_had(tended: Tended, principal: Principal) -> None:
    sources = [new_id() for _ in range(3)]
    far = tended.now + 900 * DAY

    def said(text: str, days: int, trust: float, *sources: UUID, **parts: Any) -> Memory:
        return tended.aged(principal, text, days * DAY, trust=trust, sources=sources, **parts)

    lowest = said("it rains", 40, 0.5, sources[0], expires_at=far - DAY)
    keeper = said("It rains.", 30, 0.7, sources[1], lowest.id, expires_at=far)
    newest = said("it rains..", 10, 0.7, sources[1], sources[2], expires_at=far - 2 * DAY)
    assert keeper.trust == newest.trust
    ids = await tended.keep(principal, lowest, keeper, newest)
    for number, identifier in enumerate(ids, 1):
        await tended.rows(
            principal.tenant,
            "UPDATE memory SET uses = %s, used_at = %s, confirmations = %s WHERE id = %s RETURNING id",
            number,
            tended.now - number * DAY,
            number,
            identifier,
        )
    assert (await tended.counts(principal.tenant, "deduplicate")).changed == 2
    assert await tended.statuses(principal, ids) == ["superseded", "live", "superseded"]
    columns = "trust, uses, used_at, confirmations, confirmed_at, expires_at, recorded_at, sources"
    [found] = await tended.rows(principal.tenant, f"SELECT {columns} FROM memory WHERE id = %s", keeper.id)
    assert found[0] == pytest.approx(0.7)
    assert found[1:7] == (6, tended.now - DAY, 6, tended.now - 10 * DAY, far, tended.now - 30 * DAY)
    assert set(found[7]) == {*sources, lowest.id} and len(found[7]) == 4


async def test_one_that_was_given_no_date_keeps_the_fold_from_ending(tended: Tended, principal: Principal) -> None:
    first = tended.aged(principal, "it rains", 2 * DAY, expires_at=tended.now + DAY)
    [kept, _] = await tended.keep(principal, first, tended.aged(principal, "it rains.", DAY))
    await tended.run(principal.tenant, "deduplicate")
    assert await tended.column(principal.tenant, "expires_at", [kept]) == [None]


async def test_a_memory_that_was_derived_from_its_equal_is_no_source_of_itself(
    tended: Tended, principal: Principal
) -> None:
    first = tended.aged(principal, "it rains", 2 * DAY)
    await tended.keep(principal, first, tended.aged(principal, "it rains.", DAY, sources=(first.id,)))
    await tended.run(principal.tenant, "deduplicate")
    assert await tended.column(principal.tenant, "sources", [first.id]) == [[]]


async def test_being_equal_to_what_is_trusted_lets_nothing_out_of_quarantine(
    tended: Tended, principal: Principal
) -> None:
    set_apart = {"status": "quarantined", "trust": 0.3, "source": "web"}
    ids = await tended.keep(
        principal,
        tended.aged(principal, "the moon is made of cheese", 3 * DAY, **set_apart),
        tended.aged(principal, "the moon is made of cheese.", 2 * DAY, **set_apart),
        tended.aged(principal, "The moon is made of cheese", 1 * DAY),
    )
    assert await tended.counts(principal.tenant, "deduplicate") == Counts()
    assert await tended.statuses(principal, ids) == ["quarantined", "quarantined", "live"]


async def test_facts_and_decisions_are_never_folded(tended: Tended, principal: Principal) -> None:
    facts = [Fact(subject="Ana", predicate=name, object="Natal") for name in ("city", "birthplace")]
    kept = [tended.layers.memory(principal, "Ana is from Natal", fact=fact) for fact in facts]
    kept += [tended.layers.memory(principal, "ship it: yes", kind=MemoryKind.DECISION) for _ in range(2)]
    ids = await tended.keep(principal, *kept)
    assert await tended.counts(principal.tenant, "deduplicate") == Counts()
    assert await tended.statuses(principal, ids) == ["live"] * 4


async def test_a_recall_finds_what_stayed_and_names_it_once(tended: Tended, principal: Principal) -> None:
    first = tended.aged(principal, "o prazo da Acme é de 24 meses", 2 * DAY)
    second = tended.aged(principal, "O prazo da Acme é de 24 meses.", 1 * DAY)
    await tended.keep(principal, first, second, embed=True)
    [before] = await tended.layers.recall(principal, "prazo da Acme")
    assert {before.id, *before.also} == {first.id, second.id}
    await tended.run(principal.tenant)
    [after] = await tended.layers.recall(principal, "prazo da Acme")
    assert (after.id, after.also) == (first.id, ())
    await tended.layers.context.put(principal.tenant, [second])
    assert len(await tended.layers.recall(principal, "prazo da Acme")) == 1


async def test_rules_that_say_the_same_to_the_same_readers_are_one_rule(tended: Tended, principal: Principal) -> None:
    rule = MemoryKind.PROCEDURAL
    await tended.keep(
        principal,
        tended.aged(principal, "Responda em português", 2 * DAY, kind=rule),
        tended.aged(principal, "responda em portugues.", 1 * DAY, kind=rule),
    )
    await tended.run(principal.tenant)
    always = await tended.layers.recaller.always(principal, [rule])
    assert [hit.text for hit in always] == ["Responda em português"]


async def test_a_row_that_somebody_holds_is_left_and_folded_the_next_time(tended: Tended, principal: Principal) -> None:
    one, other = await tended.keep(
        principal, tended.aged(principal, "it rains", 2 * DAY), tended.aged(principal, "it rains.", DAY)
    )
    async with tended.connections.transaction(principal) as connection:
        await connection.execute("SELECT FROM memory WHERE id = %s FOR UPDATE", (one,))
        assert await tended.counts(principal.tenant, "deduplicate") == Counts(skipped=1)
    assert await tended.counts(principal.tenant, "deduplicate") == Counts(changed=1)
    assert await tended.statuses(principal, [one, other]) == ["live", "superseded"]


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_folded_the_texts_that_live_are_the_same(
    tended: Tended, principal: Principal, somebody_else: Principal, seed: int
) -> None:
    """Any memories: each circle of readers has the same texts before and after, each once, and no trust was raised."""
    chance = random.Random(seed)
    words = ["ação", "Acao", "chá", "cha", "é", "E", "tea", "TEA", "não"]
    for _ in range(100):
        who = chance.choice([principal, somebody_else])
        text = " ".join(chance.choices(words, k=chance.randint(1, 2))) + chance.choice(["", ".", " .", "?"])
        parts: dict[str, Any] = {
            "scope": chance.choice(["tenant", "shared", "private"]),
            "kind": chance.choice([MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.PROCEDURAL]),
            "trust": chance.choice([0.5, 0.7, 1.0]),
            "metadata": chance.choice([{}, {"page": 1}]),
        }
        await tended.keep(who, tended.aged(who, text, timedelta(hours=chance.randint(1, 500)), **parts))

    async def living() -> dict[tuple[Any, ...], list[tuple[UUID, float]]]:
        query = (
            "SELECT kind, scope, CASE scope WHEN 'private' THEN owner WHEN 'shared' THEN session END, metadata::text,"
            " text, id, trust FROM memory WHERE tenant = current_tenant() AND status = 'live'"
        )
        found: dict[tuple[Any, ...], list[tuple[UUID, float]]] = {}
        for *circle, text, identifier, trust in await tended.rows(principal.tenant, query):
            found.setdefault((*circle, folded(text).rstrip(" .")), []).append((identifier, trust))
        return found

    before = await living()
    report = await tended.run(principal.tenant, "deduplicate")
    after = await living()
    assert after.keys() == before.keys()
    assert all(len(found) == 1 for found in after.values())
    assert all(found[0] in before[key] for key, found in after.items())
    assert all(found[0][1] == max(trust for _, trust in before[key]) for key, found in after.items())
    assert report.steps["deduplicate"].changed == sum(len(found) - 1 for found in before.values()) > 0


@pytest.mark.parametrize("size", [2, 3, 7, 500])
def test_groups_are_cut_into_chunks_that_each_have_the_one_that_stays(size: int) -> None:
    groups = [[new_id() for _ in range(members)] for members in (2, 2, 5, 31, 2, 3)]
    chunks = [*in_chunks(groups, size)]
    assert all(2 <= len(chunk) <= size for chunk in chunks)
    for number, (keeper, *others) in enumerate(groups):
        for other in others:
            assert [(keeper, number) in chunk for chunk in chunks if (other, number) in chunk] == [True]
