"""A process that extracts from a tenant's sources, to be killed by itself at a moment that its words choose.

`model`: while the model thinks; `inside`: in the transaction, when everything but its commit is done; `after`: when it
is committed and nobody was told. A number says at which source; from -1 on it dies at none.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

from lousa.agents import extracting
from lousa.agents.extracting import Extracted, Extraction
from lousa.agents.llm import Model
from lousa.infra.clock import SystemClock
from lousa.infra.connections import Connection, Connections
from lousa.infra.identity import Principal
from lousa.infra.settings import Settings
from lousa.memory_layers.commit import Along
from lousa.memory_layers.context.pgvector import ContextLayer
from lousa.memory_layers.conversation.feed import Feed
from lousa.memory_layers.embedding import load
from lousa.memory_layers.execution import ledger
from lousa.memory_layers.knowledge.postgres import KnowledgeLayer
from lousa.memory_layers.policy import table
from lousa.memory_layers.receipts import Receipt
from lousa.memory_layers.records import Memory
from lousa.memory_layers.router import Router
from scripted import Scripted

LEASE = timedelta(seconds=0.2)
SAID = "Projeto{0} usa Banco{0} e Cache{0} desde {1}"


def answer(said: str) -> dict[str, list[dict[str, str]]]:
    """Three facts of a text, told anew in other words each time."""
    words = said[said.index("Projeto") :].split('"')[0].split()
    verb = os.urandom(4).hex()
    return {
        "facts": [
            {"subject": words[0], "predicate": f"{verb} {thing}", "object": thing, "quotation": " ".join(words[:5])}
            for thing in (words[2], words[4])
        ],
        "episodes": [],
        "rules": [],
    }


async def extract(redis_url: str, postgres_url: str, tenant: str, moment: str = "", at: int = -1) -> Extracted:
    """A run, one source after the other."""
    extracting.AT_ONCE = 1
    async with AsyncExitStack() as stack:
        connections = Connections(redis_url, postgres_url)
        await connections.start(stack)
        context, knowledge = ContextLayer(connections, load("e5")), KnowledgeLayer(connections)
        router = Router(connections, table(), context, knowledge, SystemClock(), Settings(), feed=Feed(connections))
        written = router.derive
        left = at

        def die_at(reached: str) -> None:
            nonlocal left
            if reached == moment:
                left -= 1
                if left == -1:
                    os.kill(os.getpid(), signal.SIGKILL)

        def thinking(said: str) -> object:
            die_at("model")
            return answer(said)

        async def derive(principal: Principal, memories: Sequence[Memory], along: Along) -> list[Receipt]:
            async def to_the_end(connection: Connection) -> Sequence[ledger.Entry]:
                entries = await along(connection)
                await connection.execute("SELECT 1")
                die_at("inside")
                return entries

            receipts = await written(principal, memories, to_the_end)
            die_at("after")
            return receipts

        router.derive = derive
        model = Model("scripted", Scripted({}, thinking))
        return await Extraction(connections, router, model, SystemClock(), lease=LEASE).run(tenant)


if __name__ == "__main__":
    _, redis, postgres, whose, when, which = sys.argv
    asyncio.run(extract(redis, postgres, whose, when, int(which)))
