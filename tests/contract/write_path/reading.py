"""Extraction over the real write path, by a model that a test scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from lousa.agents.extracting import Extracted, Extraction, Standing, standing
from lousa.agents.llm import Model
from lousa.infra.clock import SystemClock
from lousa.infra.identity import Principal
from lousa.memory_layers.execution import memories
from lousa.memory_layers.guard import admit
from lousa.memory_layers.records import Memory, MemoryKind
from scripted import Scripted

from .conftest import eventually

if TYPE_CHECKING:
    from .conftest import WritePath

NOTHING: dict[str, Any] = {"facts": [], "episodes": [], "rules": []}


def facts(*told: tuple[str, str, str, str], **more: Any) -> dict[str, Any]:
    names = ("subject", "predicate", "object", "quotation")
    return {**NOTHING, "facts": [{**dict(zip(names, each, strict=True)), **more} for each in told]}


NEIGHBOURS = [
    "Ana mora perto do cais",
    "Bruno cozinha para vizinhos",
    "Carla estuda biologia marinha",
    "Davi conserta relógios antigos",
    "Elisa viaja muito ao sul",
    "Fábio cria abelhas nativas",
    "Gilda canta no coral",
    "Heitor pinta murais grandes",
    "Iara rema todo domingo",
    "Jonas coleciona selos raros",
    "Kátia ensina xadrez",
    "Lauro planta café orgânico",
]
RECIFE = facts(("user", "mora em", "Recife", "moro em Recife"))


@dataclass
class Reader:
    """Extraction over the real write path, by a model that a test scripts."""

    path: WritePath
    who: Principal
    model: Scripted = field(default_factory=lambda: Scripted({}, NOTHING))

    def extraction(self, **parts: Any) -> Extraction:
        model = Model(self.model.model, self.model)
        return Extraction(self.path.connections, self.path.router, model, SystemClock(), **parts)

    async def run(self, **parts: Any) -> Extracted:
        return await self.extraction().run(self.who.tenant, **parts)

    async def keep(self, *texts: str, **parts: Any) -> list[UUID]:
        """Memories of what was said, in the record."""
        told: dict[str, Any] = {"kind": MemoryKind.EPISODIC, "source": "user", "trust": 1.0, **parts}
        kept = [self.path.memory(self.who, text, **told) for text in texts]
        admitted = [admit(self.who, memory, memory.id, memory.recorded_at) for memory in kept]
        async with self.path.connections.transaction(self.who) as connection:
            await memories.insert(connection, admitted)
        return [memory.id for memory in kept]

    async def thinks(self) -> None:
        """Wait until the model was asked."""

        async def asked() -> bool:
            return bool(self.model.asked)

        await eventually(asked)

    async def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        async with self.path.connections.system_transaction(self.who.tenant) as connection:
            return await (await connection.execute(query.encode(), parameters)).fetchall()

    async def states(self) -> dict[UUID, tuple[str, int, str | None]]:
        query = "SELECT source, state, attempts, error FROM extraction WHERE tenant = current_tenant()"
        return {row[0]: row[1:] for row in await self.rows(query)}

    async def derived(self) -> list[Memory]:
        """What came of anything, in the order of its text."""
        query = "SELECT id FROM memory WHERE tenant = current_tenant() AND sources <> '{}' ORDER BY text"
        ids = [row[0] for row in await self.rows(query)]
        async with self.path.connections.system_transaction(self.who.tenant) as connection:
            found = await memories.get(connection, ids)
        return [found[one] for one in ids]

    async def texts(self) -> list[str]:
        return [memory.text for memory in await self.derived()]

    async def standing(self, **parts: Any) -> Standing:
        return await standing(self.path.connections, self.who.tenant, **parts)


@pytest.fixture
def reader(path: WritePath, principal: Principal) -> Reader:
    return Reader(path, principal)
