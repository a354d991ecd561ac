"""A contract review by ten readers, an archivist and a critic, on one blackboard.

The planner puts each agreement on the board and looks whether a memory of it exists. For one that was read before,
character for character, the archivist brings back what was found; for any other, ten readers look for one clause each,
all at once. The critic asks for a second look at what a document should have and nobody found; the reader of that
clause then accepts what is less certain. Then the critic compares what related documents say, decides, and remembers
each document for another day.

What a reader is certain of becomes a fact in the graph, under the agreement's title and parties, so that a later
version which says something else supersedes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from lousa import Accept, Desk, Finding, Hit, Outcomes, Pipeline, Result, Revise, Task
from lousa.infra.errors import BadInput
from lousa.memory_layers.records import Json
from rich.console import RenderableType

from . import contradictions as disagreements
from . import report as reports
from .clauses import CLAUSES, find, second_look
from .documents import Document, DocumentError, document, read_document
from .facts import facts
from .parties import party_names
from .report import Findings, JsonObject, as_json, objects

RULES = 1
"""Raised whenever the readers would find something else in the same text: older memories are then read anew."""

CHARACTERS_PER_TOKEN = 4


def goal(arguments: list[str]) -> Json:
    """What to review: the files named, and the agreements in the folders named."""
    paths = [path for argument in arguments for path in _agreements(Path(argument))]
    if not paths:
        raise BadInput("name the agreements to review: lousa run examples/contract_review FILE [FILE ...]")
    names = [path.name for path in paths]
    for path in paths:
        if names.count(path.name) > 1:
            raise BadInput(
                f"two files are called {path.name!r}: findings name their document, so give them different names"
            )
        try:
            read_document(path)
        except DocumentError as error:
            raise BadInput(str(error)) from error
    return {"files": [str(path.absolute()) for path in paths]}


def _agreements(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = sorted(p for p in path.iterdir() if p.suffix.lower() in (".txt", ".md"))
    if not inside:
        raise BadInput(f"the folder {str(path)!r} has no .txt or .md file to review")
    return inside


async def planner(desk: Desk, goal: Mapping[str, Json]) -> Sequence[Task]:
    """One task a clause and document; for a document that is known, one task that remembers."""
    files = goal["files"]
    assert isinstance(files, list)
    documents = [await asyncio.to_thread(read_document, Path(str(file))) for file in files]
    tasks: list[Task] = []
    for one in documents:
        await desk.board.write(f"documents/{one.name}", one.text)
        known, earlier = await _earlier_reviews(desk, one, {d.name for d in documents})
        if known is not None:
            memory: JsonObject = {"id": str(known.id), "findings": known.value}
            tasks.append(Task("archivist", {"document": one.name, "memory": memory}, id=f"archivist/{one.name}"))
            continue
        tasks += [Task(clause, {"document": one.name}, id=f"{clause}/{one.name}") for clause in CLAUSES]
        if earlier is not None:
            since = earlier.occurred_at.date().isoformat()
            await desk.board.write(f"earlier/{one.name}", {"since": since, "findings": earlier.value})
    return tasks


async def _earlier_reviews(desk: Desk, one: Document, at_hand: set[str]) -> tuple[Hit | None, Hit | None]:
    """The memory of the same characters, and the newest of another version: of that name, or its parties and title."""
    subject = _subject(one)
    hits = [
        hit for hit in await desk.recall(_label(one), k=10, kinds=["semantic"]) if hit.metadata.get("rules") == RULES
    ]
    same = next((hit for hit in hits if hit.metadata.get("digest") == one.digest), None)
    others = [
        hit
        for hit in hits
        if hit.metadata.get("document") == one.name
        or (hit.metadata.get("subject") == subject and hit.metadata.get("document") not in at_hand)
    ]
    return same, max(others, key=lambda hit: hit.occurred_at, default=None)


def _label(one: Document) -> str:
    return f"Review of {one.name} ({one.digest[:16]}): {_subject(one)}"


def _subject(one: Document) -> str:
    return f"{disagreements.title_of(one)} · {' · '.join(sorted(party_names(one)))}"


def reader(clause: str) -> Callable[[Desk, Task], Awaitable[Finding]]:
    """The agent that reads for one clause."""

    async def read(desk: Desk, task: Task) -> Finding:
        one = await _document(desk, task)
        look = find if task.round == 1 else second_look
        quotations = await asyncio.to_thread(look, clause, one)
        await desk.board.write(f"found/{one.name}/{clause}", len(quotations))
        certain = await asyncio.to_thread(facts, one, quotations)
        for number, (subject, predicate, value) in enumerate(certain):
            if (predicate == "party") == (clause == "parties"):
                many = predicate == "party"
                await desk.state_fact(subject, predicate, value, many=many, scope="tenant", key=f"fact-{number}")
        return Finding([as_json(one.name, quotation) for quotation in quotations])

    read.__name__ = clause
    return read


async def archivist(desk: Desk, task: Task) -> Finding:
    """Brings back what was found in the same characters another day; a quotation that no longer fits is an error."""
    one = await _document(desk, task)
    given = task.input
    assert isinstance(given, dict) and isinstance(given["memory"], dict)
    found = given["memory"]["findings"]
    for item in objects(found):
        start, end = item["start"], item["end"]
        assert isinstance(start, int) and isinstance(end, int)
        if one.text[start:end] != item["text"]:
            raise ValueError(f"memory {given['memory']['id']} quotes what {one.name!r} does not say")
    saved = len(one.text) // CHARACTERS_PER_TOKEN
    return Finding({"recalled": found, "tokens_saved": saved}, evidence=[given["memory"]["id"]])


async def _document(desk: Desk, task: Task) -> Document:
    given = task.input
    assert isinstance(given, dict)
    name = str(given["document"])
    return _opened(name, str(await desk.board.read(f"documents/{name}")))


@lru_cache(maxsize=128)
def _opened(name: str, text: str) -> Document:
    """Ten readers ask for the same document, one after the other."""
    return document(name, text)


async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
    """Asks once for a second look at what is missing; then compares, decides and remembers."""
    texts = await desk.board.read_all("documents/*")
    documents = [_opened(field.removeprefix("documents/"), str(text)) for field, text in texts.items()]
    found = Findings.gather([*findings.earlier, *findings])
    missing = {
        one.name: [] if one.name in found.recalled else disagreements.missing(one, found.quotations(one.name))
        for one in documents
    }
    again = [
        Task(clause, {"document": name}, id=f"{clause}/{name}/again")
        for name, clauses in missing.items()
        for clause in clauses
    ]
    if again and not findings.earlier:
        return Revise(again, f"{len(again)} clauses that one would expect were not found at first sight")
    quotations = {one.name: found.quotations(one.name) for one in documents}
    missing = {one.name: disagreements.missing(one, quotations[one.name]) for one in documents}
    disagreeing = await asyncio.to_thread(disagreements.contradictions, documents, quotations)
    changed = await _changed(desk, found)
    review = reports.review_of(list(quotations), found, disagreeing, missing, changed)
    for one in documents:
        if one.name not in found.recalled and not found.unread_of(one.name):
            await desk.remember(
                _label(one),
                kind="semantic",
                scope="tenant",
                value=[*found.found[one.name]],
                metadata={"document": one.name, "digest": one.digest, "subject": _subject(one), "rules": RULES},
                key=f"review/{one.name}",
            )
    await desk.board.write("review", review)
    return Accept(reports.summary(review), reasons=reports.reasons(review), evidence=sorted(found.evidence))


async def _changed(desk: Desk, found: Findings) -> list[JsonObject]:
    """Clauses that an earlier version of a document put otherwise."""
    changed: list[JsonObject] = []
    for field, earlier in (await desk.board.read_all("earlier/*")).items():
        assert isinstance(earlier, dict)
        name = field.removeprefix("earlier/")
        before, now = _by_clause(objects(earlier["findings"])), _by_clause(found.found[name])
        changed += [
            {"document": name, "clause": clause, "since": earlier["since"], "before": old, "after": new}
            for clause in CLAUSES
            if (old := before.get(clause, "")) != (new := now.get(clause, ""))
        ]
    return changed


def _by_clause(items: Sequence[JsonObject]) -> dict[str, str]:
    quoted: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: int(str(item["start"]))):
        quoted.setdefault(str(item["clause"]), []).append(" ".join(str(item["text"]).split()))
    return {clause: " […] ".join(texts) for clause, texts in quoted.items()}


async def report(result: Result) -> Json:
    """What `--json` prints."""
    review = await result.board.read("review")
    assert isinstance(review, dict)
    return {"execution": str(result.execution), "decision": result.decision, **review}


def render(report: Json) -> RenderableType:
    """The same for a person."""
    assert isinstance(report, dict)
    return reports.page(report)


pipeline = Pipeline(
    planner,
    workers={**{clause: reader(clause) for clause in CLAUSES}, "archivist": archivist},
    critic=critic,
    name="contract review",
)
