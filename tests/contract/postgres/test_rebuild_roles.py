"""Layers are made anew by a login that owns nothing, in a database whose owner is no superuser."""

from __future__ import annotations

from pathlib import Path

import lousa
from lousa.infra.settings import Settings
from lousa.runtime.rebuild import rebuilding

from .conftest import RUNTIME, Database


async def test_a_login_that_owns_nothing_changes_the_embedding_model_and_derives_facts(
    database: Database, redis_url: str, tmp_path: Path
) -> None:
    await database.migrate(let_in=RUNTIME)

    def settings(embedder: str) -> Settings:
        return Settings(
            home=tmp_path,
            redis_url=redis_url,
            postgres_url=database.url(RUNTIME),
            embedder=embedder,
            consolidate=False,
            tenant=f"tenant-{database.name}",
        )

    async with lousa.open(settings("models:one")) as runtime:
        receipt = await runtime.desk().remember("O gato dorme no telhado")
        await runtime.desk().state_fact("Acme", "fica em", "Recife")
        await receipt.settled()
    async with rebuilding(settings("models:two")) as opened:
        done = await opened.context()
        assert done.rebuilt.agreement.live == done.rebuilt.agreement.held == 2
        known = await opened.knowledge()
        assert (known.derived.facts, known.derived.added, known.derived.changed) == (1, 0, 0)
    async with lousa.open(settings("models:two")) as runtime:
        hits = (await runtime.desk().recall("gato telhado")).hits
        assert hits[0].text == "O gato dorme no telhado" and "dense" in hits[0].via
