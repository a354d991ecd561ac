"""What a review says in the end: for a program as JSON, for a person as a page on the screen.

`Findings` puts the outcomes of all rounds together; `review_of` makes the one value that goes on the board, that the
JSON report is and that the page is drawn from. A task that failed is told as unread: a clause nobody looked for is not
missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lousa import Failure, Outcome, Skipped
from lousa.memory_layers.records import Json
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .clauses import CLAUSES, Quotation
from .contradictions import Contradiction

JsonObject = dict[str, Json]


@dataclass(slots=True, kw_only=True)
class Findings:
    """All that was found, by document: quotations by clause, as they go into the report and into memory."""

    found: dict[str, list[JsonObject]] = field(default_factory=lambda: defaultdict(list))
    recalled: dict[str, int] = field(default_factory=dict[str, int])
    recalled_otherwise: int = 0
    tokens_saved: int = 0
    unread: list[JsonObject] = field(default_factory=list[JsonObject])
    evidence: set[str] = field(default_factory=set[str])

    @classmethod
    def gather(cls, outcomes: Iterable[Outcome]) -> Findings:
        """The findings of all outcomes, of whichever round."""
        gathered = cls()
        for outcome in outcomes:
            given = outcome.task.input
            assert isinstance(given, dict)
            name = str(given["document"])
            if isinstance(outcome, (Failure, Skipped)):
                because = outcome.told if isinstance(outcome, Failure) else f"{outcome.because} did not succeed"
                gathered.unread.append({"document": name, "clause": outcome.task.worker, "because": because})
                continue
            gathered.evidence.update(str(item) for item in outcome.evidence)
            match outcome.value:
                case list() as quoted:
                    gathered.found[name] += [item for item in quoted if isinstance(item, dict)]
                case {"recalled": list() as quoted, "tokens_saved": int() as saved}:
                    gathered.found[name] += [item for item in quoted if isinstance(item, dict)]
                    gathered.recalled[name] = len(quoted)
                    gathered.tokens_saved += saved
                case strange:
                    raise ValueError(f"task {outcome.task.id!r} returned {strange!r}, which is no finding")
        return gathered

    def unread_of(self, name: str) -> list[JsonObject]:
        """The clauses of one document that no reader could look for."""
        return [item for item in self.unread if item["document"] == name]

    def quotations(self, name: str) -> list[Quotation]:
        """What was quoted from one document."""
        return quotations(self.found[name])


def quotations(items: Sequence[JsonObject]) -> list[Quotation]:
    """Findings as the rules know them."""
    return [
        Quotation(
            clause=str(item["clause"]), start=int(str(item["start"])), end=int(str(item["end"])), text=str(item["text"])
        )
        for item in items
    ]


def as_json(name: str, quotation: Quotation) -> JsonObject:
    """A finding as the report has it."""
    return {
        "document": name,
        "clause": quotation.clause,
        "text": quotation.text,
        "start": quotation.start,
        "end": quotation.end,
        "agent": quotation.clause,
    }


def review_of(
    names: Sequence[str],
    findings: Findings,
    contradictions: Sequence[Contradiction],
    missing: Mapping[str, Sequence[str]],
    changed: Sequence[JsonObject],
) -> JsonObject:
    """The whole review as one JSON value; the report adds the execution and its decision."""
    unread = {(item["document"], item["clause"]) for item in findings.unread}
    return {
        "findings": [item for name in names for item in findings.found[name]],
        "contradictions": [
            {"documents": [*c.documents], "clause": c.clause, "a": c.a, "b": c.b, "reason": c.reason}
            for c in contradictions
        ],
        "missing": [
            {"document": name, "clause": clause}
            for name in names
            for clause in missing[name]
            if (name, clause) not in unread
        ],
        "unread": [*findings.unread],
        "changed": [*changed],
        "recalled": sum(findings.recalled.values()) + findings.recalled_otherwise,
        "tokens_saved": findings.tokens_saved,
        "documents": [*names],
    }


def summary(review: JsonObject) -> str:
    """The decision in one sentence."""

    def count(key: str) -> int:
        items = review[key]
        assert isinstance(items, list)
        return len(items)

    documents = count("documents")
    troubles = [
        f"{number} {singular if number == 1 else plural}"
        for number, singular, plural in (
            (count("contradictions"), "contradiction", "contradictions"),
            (count("missing"), "missing clause", "missing clauses"),
            (count("unread"), "clause that could not be read", "clauses that could not be read"),
        )
        if number
    ]
    what = f"{documents} agreement{'' if documents == 1 else 's'}"
    if not troubles:
        return f"{what} reviewed: nothing stands against signing"
    return (
        f"{what} reviewed: not to be signed as {'it stands' if documents == 1 else 'they stand'}, {', '.join(troubles)}"
    )


def reasons(review: JsonObject) -> list[str]:
    """Why, a line each."""
    lines: list[str] = []
    for item in objects(review["contradictions"]):
        documents = item["documents"]
        assert isinstance(documents, list)
        lines.append(f"{item['clause']}: {documents[0]} and {documents[1]} disagree, {item['reason']}")
    lines += [f"{item['document']}: no {_spoken(item['clause'])} clause" for item in objects(review["missing"])]
    lines += [
        f"{i['document']}: {_spoken(i['clause'])} was not read, {i['because']}" for i in objects(review["unread"])
    ]
    return lines


def page(review: JsonObject) -> RenderableType:
    """The review for a person: a table of documents and clauses, then what needs attention."""
    table = Table(title="What was found", title_justify="left", header_style="bold")
    table.add_column("clause")
    names = [str(name) for name in _list(review["documents"])]
    shown = names[:6]
    for name in shown:
        table.add_column(name, overflow="fold", max_width=38)
    findings = objects(review["findings"])
    missing = {(i["document"], i["clause"]) for i in objects(review["missing"])}
    for clause in CLAUSES:
        cells: list[str | Text] = []
        for name in shown:
            quoted = [str(item["text"]) for item in findings if item["document"] == name and item["clause"] == clause]
            if quoted:
                cells.append(_short("; ".join(quoted) if clause == "parties" else quoted[0]))
            elif (name, clause) in missing:
                cells.append(Text("missing", style="bold red"))
            else:
                cells.append(Text("–", style="dim"))
        table.add_row(_spoken(clause), *cells)
    parts: list[RenderableType] = [table]
    if len(names) > len(shown):
        parts.append(Text(f"… and {len(names) - len(shown)} more documents; --json has them all", style="dim"))
    for item in objects(review["contradictions"]):
        documents = _list(item["documents"])
        parts.append(Text(f"\nContradiction in {_spoken(item['clause'])}: {item['reason']}", style="bold yellow"))
        parts.append(Text(f"  {documents[0]}: “{_short(str(item['a']), 160)}”"))
        parts.append(Text(f"  {documents[1]}: “{_short(str(item['b']), 160)}”"))
    for item in objects(review["changed"]):
        parts.append(
            Text(f"\nChanged since {item['since']}: {_spoken(item['clause'])} of {item['document']}", style="bold cyan")
        )
        parts.append(Text(f"  before: “{_short(str(item['before']), 160)}”"))
        parts.append(Text(f"  now:    “{_short(str(item['after']), 160)}”"))
    parts += [
        Text(f"\nNot read: {_spoken(item['clause'])} of {item['document']}: {item['because']}", style="bold red")
        for item in objects(review["unread"])
    ]
    if review["recalled"]:
        parts.append(
            Text(
                f"\nRecalled {review['recalled']} findings from an earlier day;"
                f" about {int(str(review['tokens_saved'])):,} tokens were not read again.",
                style="bold green",
            )
        )
    return Group(*parts)


def _spoken(clause: Json) -> str:
    return str(clause).replace("_", " ")


def _short(text: str, most: int = 90) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rsplit(" ", 1)[0] + " …"


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def objects(value: Json) -> list[JsonObject]:
    """The objects in a list."""
    return [item for item in _list(value) if isinstance(item, dict)]
