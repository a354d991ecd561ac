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
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from pathlib import Path

from lousa import Accept, Desk, Finding, Outcomes, Pipeline, Result, Revise, Task
from lousa.infra.errors import BadInput
from lousa.memory_layers.conversation.board import ANY
from lousa.memory_layers.records import Json
from rich.console import RenderableType

from . import contradictions as disagreements
from . import earlier as past
from . import report as reports
from .clauses import CLAUSES, find, second_look
from .documents import Document, DocumentError, document, read_document
from .facts import facts, predicates
from .report import Findings, JsonObject, as_json, objects

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
        _read(path)
    return {"files": [str(path.absolute()) for path in paths]}


def _read(path: Path) -> Document:
    try:
        path.name.encode()
        return read_document(path)
    except UnicodeEncodeError as error:
        raise BadInput(f"the name of {str(path)!r} is not UTF-8: findings name their document, so rename it") from error
    except DocumentError as error:
        raise BadInput(str(error)) from error


def _agreements(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = sorted(p for p in path.iterdir() if p.suffix.lower() in (".txt", ".md"))
    if not inside:
        raise BadInput(f"the folder {str(path)!r} has no .txt or .md file to review")
    return inside


async def planner(desk: Desk, goal: Json) -> Sequence[Task]:
    """One task a clause and document; for a document that is known, one task that remembers."""
    if not isinstance(goal, dict) or not isinstance(files := goal.get("files"), list) or not files:
        raise BadInput('the goal of a review is {"files": ["agreement.txt", …]}')
    documents = [await asyncio.to_thread(_read, Path(str(file))) for file in files]
    agreements = {past.agreement_of(one) for one in documents}
    versions = {past.version_of(one) for one in documents}
    tasks: list[Task] = []
    for one in documents:
        await desk.board.write(f"documents/{one.name}", one.text)
        known = await past.of_version(desk, past.version_of(one))
        before = await past.newest(desk, past.agreement_of(one))
        newer = before is not None and before.version not in versions
        if before is not None and newer:
            await desk.board.write(f"earlier/{one.name}", before.as_json())
        given: JsonObject = {"document": one.name, "newer": newer}
        if known is not None:
            tasks.append(Task("archivist", {**given, "review": known.as_json()}, id=_id("archivist", one)))
        else:
            tasks += [Task(clause, given, id=_id(clause, one)) for clause in CLAUSES]
        for review in await past.related(desk, one, agreements):
            kept = review.document()
            if kept is not None:
                await desk.board.write(f"known/{kept.name}", review.as_json(), expect=ANY)
    return tasks


def _id(worker: str, one: Document, ending: str = "") -> str:
    name = one.name if len(one.name) <= 120 else f"{one.name[:100]}…{one.digest[:8]}"
    return f"{worker}/{name}{ending}"


def reader(clause: str) -> Callable[[Desk, Task], Awaitable[Finding]]:
    """The agent that reads for one clause."""

    async def read(desk: Desk, task: Task) -> Finding:
        one = await _document(desk, task)
        look = find if task.round == 1 else second_look
        quotations = await asyncio.to_thread(look, clause, one)
        await desk.board.write(f"found/{one.name}/{clause}", len(quotations))
        if task.round == 1:  # what a second look found is not certain enough to be a fact
            fixed = await asyncio.to_thread(facts, one, quotations)
            certain = [fact for fact in fixed if fact[1] in predicates(clause)]
            await _state_facts(desk, certain)
            if isinstance(task.input, dict) and task.input["newer"]:
                await _withdraw_facts(desk, one, clause, certain)
        return Finding([as_json(one.name, quotation) for quotation in quotations])

    read.__name__ = clause
    return read


async def _state_facts(desk: Desk, certain: Sequence[tuple[str, str, str]]) -> None:
    """What a document fixes goes into the graph."""
    for subject, predicate, value in certain:
        party = predicate == past.PARTY
        await desk.state_fact(subject, predicate, value, many=party, object_is_entity=party, scope="tenant")


async def _withdraw_facts(desk: Desk, one: Document, clause: str, certain: Sequence[tuple[str, str, str]]) -> None:
    """What an earlier version fixed and this one no longer speaks of is not so any more."""
    said = {(predicate, value) for _, predicate, value in certain}
    for edge in await desk.facts(past.agreement_of(one)):
        if edge.predicate in predicates(clause) and (edge.predicate, edge.object) not in said:
            await desk.forget(edge.id, f"{one.name} no longer says so")


async def archivist(desk: Desk, task: Task) -> Finding:
    """Brings back what was found in the same characters another day; a quotation that no longer fits is an error."""
    one = await _document(desk, task)
    given = task.input
    assert isinstance(given, dict) and isinstance(given["review"], dict)
    review = given["review"]
    found: list[JsonObject] = [{**item, "document": one.name} for item in objects(review["findings"])]
    for item in found:
        start, end = item["start"], item["end"]
        assert isinstance(start, int) and isinstance(end, int)
        if one.text[start:end] != item["text"]:
            raise ValueError(f"memory {review['memory']} quotes what {one.name!r} does not say")
    if given["newer"]:  # an older version is in force again
        await _state_facts(desk, await asyncio.to_thread(facts, one, reports.quotations(found)))
    saved = len(one.text) // CHARACTERS_PER_TOKEN
    return Finding({"recalled": [*found], "tokens_saved": saved}, evidence=[review["memory"]])


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
        Task(clause, {"document": one.name, "newer": False}, id=_id(clause, one, "/again"))
        for one in documents
        for clause in missing[one.name]
    ]
    if again and not findings.earlier:
        return Revise(again, f"{len(again)} clauses that one would expect were not found at first sight")
    quotations = {one.name: found.quotations(one.name) for one in documents}
    missing = {one.name: disagreements.missing(one, quotations[one.name]) for one in documents}
    known = await _known(desk)
    compared = await asyncio.to_thread(
        disagreements.contradictions,
        [*documents, *(one for one, _ in known)],
        {**quotations, **{one.name: reports.quotations(items) for one, items in known}},
    )
    disagreeing = [found for found in compared if not quotations.keys().isdisjoint(found.documents)]
    changed = await _changed(desk, found)
    found.recalled_otherwise = sum(len(items) for _, items in known)
    review = reports.review_of(list(quotations), found, disagreeing, missing, changed)
    for one in documents:
        if one.name in found.recalled:
            await past.confirm(desk, one)
        elif not found.unread_of(one.name):
            await past.remember(desk, one, found.found[one.name])
    await desk.board.write("review", review)
    return Accept(reports.summary(review), reasons=reports.reasons(review), evidence=sorted(found.evidence))


async def _known(desk: Desk) -> list[tuple[Document, list[JsonObject]]]:
    """Documents of earlier days between the same parties, and what was found in them."""
    known: list[tuple[Document, list[JsonObject]]] = []
    for field, review in (await desk.board.read_all("known/*")).items():
        assert isinstance(review, dict)
        known.append((_opened(field.removeprefix("known/"), str(review["text"])), objects(review["findings"])))
    return known


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
