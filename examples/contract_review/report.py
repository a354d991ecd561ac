"""What a review says in the end: for a program as JSON, for a person as a page on the screen.

`Findings` puts the outcomes of all rounds together; `review_of` makes the one value that goes on the board, that the
JSON report is and that the page is drawn from. A task that failed is told as unread: a clause nobody looked for is not
missing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lousa import Failure, Outcome, Skipped
from lousa.memory_layers.records import Json
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .clauses import CLAUSES, Quotation
from .contradictions import Contradiction

JsonObject = dict[str, Json]

MOST_DOCUMENTS = 6
"""How many documents a page shows."""
LABEL = 20
"""The width of a clause's name."""
LEAST_ROOM = 24
"""The narrowest column in which quotations can be read."""


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
    """The review for a person: documents and clauses, then what needs attention."""
    parts: list[RenderableType] = [_Overview(review)]
    for item in objects(review["contradictions"]):
        documents = _list(item["documents"])
        parts.append(Text(f"\nContradiction in {_spoken(item['clause'])}: {item['reason']}", style="bold yellow"))
        parts.append(_indented(f"{documents[0]}: “{_short(str(item['a']), 160)}”"))
        parts.append(_indented(f"{documents[1]}: “{_short(str(item['b']), 160)}”"))
    for item in objects(review["changed"]):
        parts.append(
            Text(f"\nChanged since {item['since']}: {_spoken(item['clause'])} of {item['document']}", style="bold cyan")
        )
        parts.append(_indented(f"before: “{_short(str(item['before']), 160)}”"))
        parts.append(_indented(f"now:    “{_short(str(item['after']), 160)}”"))
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


class _Overview:
    """What was found: documents side by side where there is room for them, else one after the other."""

    def __init__(self, review: JsonObject) -> None:
        names = [str(name) for name in _list(review["documents"])]
        self._names = names[:MOST_DOCUMENTS]
        self._more = len(names) - len(self._names)
        self._findings = objects(review["findings"])
        self._missing = {(i["document"], i["clause"]) for i in objects(review["missing"])}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = (options.max_width - LABEL) // max(1, len(self._names)) - 3
        yield Text("What was found", style="bold")
        if room >= LEAST_ROOM:
            yield self._side_by_side(min(room, 38))
        else:
            yield from self._one_by_one()
        if self._more:
            yield Text(f"… and {self._more} more documents; --json has them all", style="dim")

    def _side_by_side(self, room: int) -> Table:
        table = Table("clause", header_style="bold")
        for name in self._names:
            table.add_column(_in_pieces(name, room), max_width=room, overflow="fold")
        for clause in CLAUSES:
            table.add_row(_spoken(clause), *(self._cell(name, clause) for name in self._names))
        return table

    def _one_by_one(self) -> Iterator[RenderableType]:
        for name in self._names:
            yield Text(f"\n{name}", style="bold", overflow="fold")
            grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=True)
            grid.add_column(no_wrap=True, min_width=LABEL - 2)
            grid.add_column(overflow="fold")
            for clause in CLAUSES:
                grid.add_row(f"  {_spoken(clause)}", self._cell(name, clause))
            yield grid

    def _cell(self, name: str, clause: str) -> Text:
        quoted = [str(i["text"]) for i in self._findings if (i["document"], i["clause"]) == (name, clause)]
        if quoted:
            return Text(_short("; ".join(quoted) if clause == "parties" else quoted[0]))
        if (name, clause) in self._missing:
            return Text("missing", style="bold red")
        return Text("–", style="dim")


def _indented(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def _in_pieces(name: str, room: int) -> Text:
    """A file's name on as many lines as it needs, broken behind a hyphen or the like."""
    lines = [""]
    for piece in re.split(r"(?<=[-_. ])", name):
        if lines[-1] and len(lines[-1]) + len(piece) > room:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(line if len(line) <= room else f"{line[: room - 1]}…" for line in lines))


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
