"""What a memory's words are stored as, however they come about; what its vector is; and what a write reads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy
import pytest
from lousa.infra.connections import Connection
from lousa.memory_layers.execution import memories
from psycopg import sql

if TYPE_CHECKING:
    from lousa.infra.identity import Principal

    from .conftest import Layers

TEXTS = [
    "Pagamento em 30 dias, por transferência: licitações, licitação, fiéis e jardins.",
    "Payment in 30 days; the gardens' gardener re-sends CX-10 and NF-2024/001 to us-east-1!",
    "Σίσυφος ΟΔΟΣ  naïve œuvre ½ ﬁne İstanbul straße “aspas” … não\u00a0separável e\u0301 ́",
    "-5 +3.2e-7 v1.2.3. foo@bar.com https://example.org/a?b=c&d=e 12.345.678/0001-95 a&amp;b c/d/e.txt",
    "see <a title='two words' href=x>two words</a> and x < y > z <!-- a comment -->",
    "tabs\tand\nlines\r\nand\x0bmore, 学习 中文 и по-русски",
    "under_score, semi;colon, semi-detached-house, __init__.py, (parens) [x] {y} «z» 'quoted' o'clock d'água",
]


async def stored(connection: Connection, text: str) -> tuple[str, str]:
    cursor = await connection.execute(
        "SELECT w.words::text, (stems(m.text))::text FROM memory_words w JOIN memory m USING (id) WHERE m.text = %s",
        (text,),
    )
    ((words, stems),) = await cursor.fetchall()
    return words, stems


async def test_words_are_those_that_the_database_makes_of_the_whole_text_whether_learned_or_not(
    layers: Layers, principal: Principal
):
    for number, again in enumerate(["", " ", "\n"]):  # spacing makes them other texts and changes no word
        texts = [text + again + str(number) for text in TEXTS]
        for text in texts:
            memory = layers.memory(principal, text, metadata={"number": number})
            await layers.keep(principal, memory, embed=False)
        await layers.context.learn(principal.tenant)
        async with layers.connections.transaction(principal) as connection:
            for text in texts:
                words, stems = await stored(connection, text)
                assert {each for each in words.split() if not each.startswith("'=")} == set(stems.split()), text
    lexicon = layers.context._lexicon  # pyright: ignore[reportPrivateUsage]  # or the last round proved nothing
    assert not lexicon.noted() and lexicon.read(TEXTS[0])[1] == ""


async def test_a_vector_is_stored_to_the_precision_of_half_a_float(layers: Layers, principal: Principal):
    (identifier,) = await layers.remember(principal, "The garden is watered at six.")
    (given,) = await layers.context.embedder.documents(["The garden is watered at six."])
    table = f"memory_vector_{layers.context.embedder.fingerprint}"
    async with layers.connections.transaction(principal) as connection:
        cursor = await connection.execute(
            sql.SQL("SELECT embedding::real[] FROM {} WHERE id = %s").format(sql.Identifier(table)),
            (identifier,),
        )
        ((held,),) = await cursor.fetchall()
    assert numpy.array_equal(numpy.array(held, dtype=numpy.float16), given.astype(numpy.float16))


@pytest.mark.parametrize("many", [1, 20])
async def test_a_write_reads_nothing_of_what_its_tenant_has(layers: Layers, principal: Principal, many: int):
    await layers.remember(principal, *(f"memory {number} of many" for number in range(300)))
    async with layers.connections.system_transaction(principal.tenant) as connection:
        await connection.execute(
            "INSERT INTO tombstone (tenant, id) SELECT current_tenant(), gen_random_uuid() FROM generate_series(1, 300)"
        )
    new = [layers.memory(principal, f"one more {number}") for number in range(many)]
    vectors = await layers.context.embedder.documents([memory.text for memory in new])
    assert len(vectors) == many

    async def read(connection: Connection) -> Counter[str]:
        cursor = await connection.execute(
            "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
            " WHERE schemaname = 'lousa'"
        )
        return Counter(dict(await cursor.fetchall()))

    async with layers.connections.system_transaction(principal.tenant) as connection:
        before = await read(connection)
        await memories.insert(connection, new)
        await layers.context.index_words(connection, new)
        found = await read(connection) - before
    assert max(found.values()) <= 4 * many, found
