"""A contract review by ten readers, an archivist and a critic, on one blackboard.

The planner puts each agreement on the board and looks whether a memory of it exists. For one that was read before, character for
character, the archivist brings back what was found; for any other, ten readers look for one clause each, all at once. The
critic asks a second look at what a document should have and does not: the reader of that clause then looks through the
documents that belong to it, because an amendment keeps what its main agreement says. Then it compares what related
documents say, decides, and remembers each document for another day.

What a reader is certain of becomes a fact in the graph under the agreement's name, so that a later version which says
something else supersedes it, and the report can say what changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Result, Revise, Task
from lousa.infra.errors import BadInput
from lousa.memory_layers.records import Json

from . import contradictions as disagreements
from .clauses import CLAUSES, Quotation, find
from .documents import Document, DocumentError, document, read_document
from .facts import facts
from .parties import party_names
from .report import Findings, review_of, summary

RULES = 1
"""Raised whenever the readers would find something else in the same text: older memories are then read anew."""

CHARACTERS_PER_TOKEN = 4


def goal(arguments: list[str]) -> Json:
    """What to review: the files named, and the agreements in the folders named."""
    paths: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        inside = sorted(p for p in path.iterdir() if p.suffix.lower() in (".txt", ".md")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"the folder {argument!r} has no .txt or .md file to review")
        paths += inside
    if not paths:
        raise BadInput("name the agreements to review: lousa run examples/contract_review FILE [FILE ...]")
    names = [path.name for path in paths]
    for path in paths:
        if names.count(path.name) > 1:
            raise BadInput(f"two files are called {path.name!r}: give them different names, because findings name their document")
        try:
            read_document(path)
        except DocumentError as error:
            raise BadInput(str(error)) from error
    return {"files": [str(path.absolute()) for path in paths]}


async def planner(desk: Desk, goal: Mapping[str, Json]) -> Sequence[Task]:
    """One task a clause and document; for a document that is known, one task that remembers."""
    files = goal["files"]
    assert isinstance(files, list)
    documents = [read_document(Path(str(file))) for file in files]
    tasks: list[Task] = []
    for one in documents:
        await desk.board.write(f"documents/{one.name}", {"text": one.text, "digest": one.digest})
        known = await _earlier_review(desk, one)
        if known is not None:
            tasks.append(Task("archivist", {"document": one.name, "memory": known}, id=f"archivist/{one.name}"))
        else:
            tasks += [Task(clause, {"document": one.name}, id=f"{clause}/{one.name}") for clause in CLAUSES]
    return tasks


async def _earlier_review(desk: Desk, one: Document) -> dict[str, Json] | None:
    for hit in await desk.recall(_label(one), k=5, kinds=["semantic"]):
        if hit.metadata.get("digest") == one.digest and hit.metadata.get("rules") == RULES:
            return {"id": str(hit.id), "findings": hit.value}
    return None


def _label(one: Document) -> str:
    return f"review of {one.name} {one.digest[:16]}"


def reader(clause: str):
    """The agent that reads for one clause."""

    async def read(desk: Desk, task: Task) -> Finding:
        given = task.input
        assert isinstance(given, dict)
        one = await _document(desk, str(given["document"]))
        if "related" in given:
            return await _second_look(desk, clause, given)
        quotations = await asyncio.to_thread(find, clause, one)
        await desk.board.write(f"found/{one.name}/{clause}", len(quotations))
        certain = facts(one, {clause: quotations})
        for number, (subject, predicate, value) in enumerate(certain):
            await desk.state_fact(
                subject, predicate, value, qualifier=one.name, many=predicate == "party", scope="tenant", key=f"fact-{number}"
            )
        return Finding([_as_json(one.name, q) for q in quotations])

    read.__name__ = clause
    return read


async def _second_look(desk: Desk, clause: str, given: Mapping[str, Json]) -> Finding:
    """What a related document says instead: an amendment keeps the clauses that it does not touch."""
    related = given["related"]
    assert isinstance(related, list)
    for name in related:
        count = await desk.board.read(f"found/{name}/{clause}")
        if isinstance(count, int) and count:
            return Finding({"kept_from": name})
    return Finding(None)


async def archivist(desk: Desk, task: Task) -> Finding:
    """Brings back what was found in the same characters another day; a quotation that no longer fits is an error."""
    given = task.input
    assert isinstance(given, dict) and isinstance(given["memory"], dict)
    one = await _document(desk, str(given["document"]))
    memory = given["memory"]
    found = memory["findings"]
    assert isinstance(found, list)
    for item in found:
        assert isinstance(item, dict)
        if one.text[int(str(item["start"])) : int(str(item["end"]))] != item["text"]:
            raise ValueError(f"memory {memory['id']} quotes what {one.name!r} does not say")
        await desk.board.write(f"found/{one.name}/{item['clause']}", 1, key=f"{item['clause']}@{item['start']}")
    return Finding({"recalled": found, "tokens_saved": len(one.text) // CHARACTERS_PER_TOKEN}, evidence=[str(memory["id"])])


async def critic(desk: Desk, findings: Outcomes) -> Accept | Revise:
    """Asks once for what is missing, then compares, decides and remembers."""
    names = sorted({str(f.task.input["document"]) for f in [*findings.earlier, *findings] if isinstance(f.task.input, dict)})
    documents = {name: await _document(desk, name) for name in names}
    found = Findings.gather([*findings.earlier, *findings])
    if not found.second_round:
        again = _what_to_look_for_again(documents, found)
        if again:
            return Revise(again, f"{len(again)} clauses that one would expect were not found")
    review = review_of(documents, found)
    await _remember(desk, documents, found)
    await desk.board.write("review", review)
    return Accept(summary(review), reasons=_reasons(review), evidence=sorted(found.evidence))


def _what_to_look_for_again(documents: Mapping[str, Document], found: Findings) -> list[Task]:
    groups = disagreements.related(list(documents.values()))
    return [
        Task(clause, {"document": name, "related": [*groups[name]]}, id=f"{clause}/{name}/again")
        for name, one in documents.items()
        if name not in found.recalled and groups[name]
        for clause in disagreements.missing(one, found.quotations[name])
    ]
