"""`deduplicate`: memories that say the same become one, so that a recall's room is not spent on repetition.

The same is: of one tenant, one kind, one circle of readers, about the same person, with the same text (case, accents,
spacing and a full stop at the end apart), value, category and metadata. Writing folds what is equal to the letter at
once; here goes what a full stop, or another version of the program, had kept apart. The oldest of the most trusted
stays, with the sources, uses and confirmations of all and the latest of their confirmations; the others are superseded
by it, and say so on the record.

A fold raises nobody's trust, and what is in quarantine takes no part: being equal to something trusted does not let it
out. Facts have keys that decide about them, and each decision is an event of its own, so neither is ever folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from ..infra.connections import Connection
from ..memory_layers.records import MemoryKind
from .contract import Counts, Hour, Work
from .queries import QUERIES

FOLDING = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.PROCEDURAL, MemoryKind.BLOCK)


class Deduplicate:
    """Satisfies `Step`."""

    name = "deduplicate"

    async def examine(self, connection: Connection, hour: Hour) -> Counts:
        """Everything that can be folded, and how many would be gone."""
        examined = folded = 0
        for kind in FOLDING:
            looked, groups = await self._groups(connection, hour, kind)
            examined, folded = examined + looked, folded + sum(len(members) - 1 for members in groups)
        return Counts(examined=examined, changed=folded)

    async def work(self, work: Work, hour: Hour) -> None:
        """Find who says the same, then fold them: what they say cannot change meanwhile, how they stand can."""
        for kind in FOLDING:
            async with work.batch() as batch:
                _, groups = await self._groups(batch.connection, hour, kind)
            for chunk in in_chunks(groups, work.size):
                ids, places = zip(*chunk, strict=True)
                given = {"ids": list(ids), "places": list(places), "entry": work.entry}
                async with work.batch() as batch:
                    cursor = await batch.connection.execute(QUERIES["fold"], given)
                    gone = [row[0] for row in await cursor.fetchall()]
                    batch.changed += len(gone)
                    await work.take_out(batch, kind, gone)

    async def _groups(
        self, connection: Connection, hour: Hour, kind: MemoryKind
    ) -> tuple[int, Sequence[Sequence[UUID]]]:
        parameters: Mapping[str, object] = {**hour.gone(), "kind": kind.value}
        rows = await (await connection.execute(QUERIES["groups"], parameters)).fetchall()
        return rows[0][0], [row[1] for row in rows if row[1] is not None]


def in_chunks(groups: Sequence[Sequence[UUID]], size: int) -> Iterator[list[tuple[UUID, int]]]:
    """The members of groups, each with its group's number, at most `size` at a time.

    Of a group that is cut, each part has the one that stays.
    """
    chunk: list[tuple[UUID, int]] = []
    for number, (keeper, *others) in enumerate(groups):
        while others:
            room = size - len(chunk) - 1
            if room < 1:
                yield chunk
                chunk, room = [], size - 1
            chunk += [(member, number) for member in (keeper, *others[:room])]
            others = others[room:]
    if chunk:
        yield chunk
