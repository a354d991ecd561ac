"""What earlier reviews left behind, and how to find it again: exactly, not by likeness.

A review of a document is one memory, which carries the version's digest as a word of its own, so that a recall for that
word finds it. Which version of an agreement was reviewed last is a fact about the agreement, and a newer one supersedes
it. The parties are things in the graph, so from a party one finds the agreements that it signed: an amendment that
comes alone meets the agreement which it amends.

An agreement is known by its title and its parties, not by its file's name: two files of one name may be two agreements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from lousa import Desk, Hit
from lousa.memory_layers.records import Json

from .documents import Document, document
from .facts import subject_of
from .parties import party_names
from .report import JsonObject, objects

RULES = 2
"""Raised whenever the readers would find something else in the same text: older memories are then read anew."""

PARTY = "party"
REVIEWED = "last reviewed version"
MOST_RELATED = 5
LONGEST_KEPT = 200_000
"""Characters of a text that is kept with its review, so that a document of another day can be compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review of an earlier day. `text` is None when it was too long to be kept."""

    memory: str
    name: str
    version: str
    day: date
    findings: list[JsonObject]
    text: str | None

    def as_json(self) -> JsonObject:
        """For the board."""
        return {"memory": self.memory, "since": self.day.isoformat(), "findings": [*self.findings], "text": self.text}

    def document(self) -> Document | None:
        """The document under a name that says from when it is."""
        return None if self.text is None else document(f"{self.name} (reviewed {self.day.isoformat()})", self.text)


def agreement_of(one: Document) -> str:
    """The agreement that a document is a version of."""
    return subject_of(one, party_names(one))


def version_of(one: Document) -> str:
    """A document's text, as one word that a recall finds exactly."""
    return f"version-{one.digest[:16]}"


async def of_version(desk: Desk, version: str) -> Review | None:
    """The review of exactly this text."""
    for hit in await desk.recall(version, k=5, kinds=["semantic"]):
        if hit.metadata.get("version") == version and hit.metadata.get("rules") == RULES:
            return _review(hit)
    return None


async def newest(desk: Desk, agreement: str) -> Review | None:
    """The last review of an agreement, whichever version that was."""
    for edge in await desk.facts(agreement):
        if edge.predicate == REVIEWED:
            return await of_version(desk, edge.object)
    return None


async def related(desk: Desk, one: Document, at_hand: Collection[str]) -> list[Review]:
    """The last reviews of other agreements between at least two of the same parties, apart from those `at_hand`."""
    shared: Counter[str] = Counter()
    for name in dict.fromkeys(party_names(one)):
        shared.update({edge.subject for edge in await desk.facts(name) if edge.predicate == PARTY})
    others = [agreement for agreement, count in shared.most_common() if count > 1 and agreement not in at_hand]
    found = [await newest(desk, agreement) for agreement in others[:MOST_RELATED]]
    return [review for review in found if review is not None]


async def remember(desk: Desk, one: Document, findings: Sequence[JsonObject]) -> None:
    """Keep a review, and that it is the last one of its agreement."""
    version = version_of(one)
    value: Json = {"findings": [*findings], "text": one.text if len(one.text) <= LONGEST_KEPT else None}
    await desk.remember(
        f"Review of {one.name}, {version}: {agreement_of(one)}",
        kind="semantic",
        scope="tenant",
        value=value,
        metadata={"document": one.name, "version": version, "rules": RULES},
        key=f"review/{one.name}",
    )
    await confirm(desk, one)


async def confirm(desk: Desk, one: Document) -> None:
    """This version is the last one that was reviewed."""
    await desk.state_fact(agreement_of(one), REVIEWED, version_of(one), scope="tenant", key=f"last reviewed/{one.name}")


def _review(hit: Hit) -> Review:
    kept = hit.value
    assert isinstance(kept, dict)
    text = kept["text"]
    return Review(
        memory=str(hit.id),
        name=str(hit.metadata["document"]),
        version=str(hit.metadata["version"]),
        day=hit.occurred_at.date(),
        findings=objects(kept["findings"]),
        text=text if isinstance(text, str) else None,
    )
