"""Whether a recall finds what answers a question: a folder of texts and questions, by the ids of the evidence.

A folder holds `corpus.jsonl`, lines of {conv, id, text, …}, and `queries.jsonl`, lines of {conv, qid, question, …}. A
conversation is one session with an agent of its own, and a question is asked there. The texts are remembered in the
order of the file through the public API, with what else a line has: a `speaker` makes it a turn of its session, said on
`session_date`; a `caption` tells what a picture that came with it shows; a `title` stands above the text. Where the
folder has a `triples.jsonl`, lines of {id, triples: [[subject, predicate, object], …]}, an agent states them as facts
drawn from the text of that id, and texts alone are asked for; `--no-triples` leaves them out.

When everything is in every layer, each question is asked for its best 20. A line of the run is {qid, ranked, ms}: the
ids of the hits, best first, each followed by those that were folded into it, and what the recall took, embedding
included. Where a question names its `evidence`, the figures are printed as well: recall@k is the share of its evidence
among the first k, all@k how many questions have all of theirs there, mrr the mean of 1/rank of the first; by
`category_name`, and over all that are not called adversarial. `tokens` is what the ten best hits are long, of what the
whole conversation is, at four characters a token.

`--baselines` asks the same database as one would by hand: `OUT.words.jsonl` by full text (stems of both languages, any
of the question's, by ts_rank), `OUT.rrf.jsonl` by that and the same vectors, both lists of a hundred, fused by their
ranks alone with k = 60.

    python benchmarks/retrieval.py FOLDER --run OUT.jsonl [--embedder E] [--no-triples] [--baselines] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID

import lousa
from lousa.infra.settings import load
from lousa.memory_layers.context.halves import Half
from psycopg import sql

if TYPE_CHECKING:
    from lousa.agents.remembering import Remembering
    from lousa.memory_layers.receipts import Receipt

Line = Mapping[str, Any]

K = 20
BREADTH = 100
RRF = 60
AT_ONCE = 500
"""How many writes may be on their way to the layers."""
PATIENCE = timedelta(minutes=30)
"""What the layers may take for what was written: a model embeds some ten texts a second."""
DEADLINE = timedelta(seconds=30)
"""What a layer may take to answer: the figures shall not depend on how busy the machine is."""
SIGNS_PER_TOKEN = 4

_BY_WORDS: LiteralString = """
    SELECT m.id FROM lousa.memory AS m CROSS JOIN (
        SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')::tsquery AS query
        FROM unnest(tsvector_to_array(lousa.stems(%(question)s))) AS lexeme) AS asked
    CROSS JOIN LATERAL (SELECT lousa.stems(m.text) AS words) AS held
    WHERE m.session = %(session)s AND m.kind <> 'fact' AND held.words @@ asked.query
    ORDER BY ts_rank(held.words, asked.query) DESC, m.id LIMIT %(breadth)s"""
_BY_LIKENESS: LiteralString = """
    SELECT v.id FROM lousa.{table} AS v WHERE v.session = %(session)s AND v.kind <> 'fact'
    ORDER BY (v.embedding <=> %(vector)s::public.halfvec) + 0, v.id LIMIT %(breadth)s"""


def lines(path: Path) -> list[Line]:
    """A file of one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def moment(told: object) -> datetime | None:
    """When a session was: ISO 8601, or as in '1:56 pm on 8 May, 2023'; None where nobody says."""
    text = str(told or "").strip()
    with suppress(ValueError):
        found = datetime.fromisoformat(text)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    for form in ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y", "%d %B, %Y", "%d %B %Y"):
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    return None


def told(line: Line) -> str:
    """What is remembered of a line."""
    title = f"{line['title']}\n" if line.get("title") else ""
    caption = f" [image: {line['caption']}]" if line.get("caption") else ""
    return f"{title}{line['text']}{caption}"


@dataclass(slots=True)
class Kept:
    """What a folder became: which lines a memory stands for, and how long a conversation is."""

    lines_of: defaultdict[UUID, list[str]] = field(default_factory=lambda: defaultdict[UUID, list[str]](list))
    receipts: list[tuple[str, Receipt]] = field(default_factory=list[tuple[str, "Receipt"]])
    length: defaultdict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    memory_of: dict[tuple[str, str], tuple[str, UUID]] = field(default_factory=dict[tuple[str, str], tuple[str, UUID]])
    """By conversation and line, and by the line alone, as triples may name it."""

    async def settle(self) -> None:
        """Wait until all that was written is in every layer."""
        waiting, self.receipts = self.receipts, []
        for line, sent in waiting:
            receipt = await sent.settled(PATIENCE)
            if receipt.state == "journaled" or receipt.owed:
                raise TimeoutError(f"line {line!r} is not in every layer after {PATIENCE}: {receipt}")
            for one in {sent.id, receipt.id}:
                self.lines_of[one].append(line)

    def ranked(self, hits: Iterable[lousa.Hit]) -> list[str]:
        """The lines that hits stand for, best first."""
        return self.said_by(one for hit in hits for one in (hit.id, *hit.also))

    def said_by(self, ids: Iterable[UUID]) -> list[str]:
        """The lines that memories stand for, each once."""
        return list(dict.fromkeys(line for one in ids for line in self.lines_of.get(one, ())))


def desk_of(runtime: lousa.Runtime, conversation: str) -> Remembering:
    """The desk of the one agent that sees a conversation: an agent sees what is its own in every session."""
    return runtime.desk(f"assistant of {conversation}", session=conversation)


async def remember(runtime: lousa.Runtime, corpus: Sequence[Line], kept: Kept) -> None:
    """The corpus, in order; a second lies between two turns of one date, so that they stay in order."""
    turns: defaultdict[tuple[str, str], int] = defaultdict(int)
    for line in corpus:
        conversation = str(line["conv"])
        speaker = line.get("speaker") or None
        date = moment(line.get("session_date"))
        if date is not None:
            place = (conversation, str(line["session_date"]))
            date += timedelta(seconds=turns[place])
            turns[place] += 1
        desk = desk_of(runtime, conversation)
        receipt = await desk.remember(told(line), speaker=speaker, occurred_at=date)
        kept.receipts.append((str(line["id"]), receipt))
        kept.length[conversation] += len(told(line))
        for name in ("", conversation):
            kept.memory_of[name, str(line["id"])] = (conversation, receipt.id)
        if len(kept.receipts) == AT_ONCE:
            await kept.settle()
    await kept.settle()


async def state(runtime: lousa.Runtime, triples: Sequence[Line], kept: Kept) -> None:
    """Facts that were read from the texts, each with its text as source."""
    waiting: list[Receipt] = []
    for line in triples:
        place = (str(line.get("conv") or ""), str(line["id"]))
        if place not in kept.memory_of:
            continue
        conversation, source = kept.memory_of[place]
        desk = desk_of(runtime, conversation)
        for subject, predicate, thing in line["triples"]:
            if all(part.strip() for part in (subject, predicate, thing)):
                waiting.append(
                    await desk.state_fact(
                        subject,
                        predicate,
                        thing,
                        many=True,
                        object_is_entity=True,
                        sources=[source],
                    )
                )
        if len(waiting) >= AT_ONCE:
            await all_settled(waiting)
            waiting = []
    await all_settled(waiting)


async def all_settled(waiting: Sequence[Receipt]) -> None:
    for sent in waiting:
        receipt = await sent.settled(PATIENCE)
        if receipt.state == "journaled" or receipt.owed:
            raise TimeoutError(f"a fact is not in every layer after {PATIENCE}: {receipt}")


async def by_hand(runtime: lousa.Runtime, conversation: str, question: str) -> tuple[list[UUID], list[UUID]]:
    """What full text finds, and what the fusion of that and likeness by ranks alone does."""
    context = runtime.services.context
    vector = Half(await context.embedder.query(question))
    likest = sql.SQL(_BY_LIKENESS).format(table=sql.Identifier(f"memory_vector_{context.space}"))
    given = {"question": question, "session": conversation, "vector": vector, "breadth": BREADTH}
    principal = desk_of(runtime, conversation).principal
    async with runtime.services.connections.transaction(principal) as connection:
        by_words = [row[0] for row in await (await connection.execute(_BY_WORDS, given)).fetchall()]
        by_likeness = [row[0] for row in await (await connection.execute(likest, given)).fetchall()]
    score: defaultdict[UUID, float] = defaultdict(float)
    for found in (by_words, by_likeness):
        for place, one in enumerate(found, 1):
            score[one] += 1 / (RRF + place)
    return by_words[:K], sorted(score, key=lambda one: (-score[one], one))[:K]


def figures(queries: Sequence[Line], run: Sequence[Line]) -> dict[str, dict[str, float]]:
    """The figures of a run, by category."""
    ranked = {line["qid"]: line["ranked"] for line in run}
    found: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for query in queries:
        if not (evidence := set(query.get("evidence") or ())):
            continue
        first = ranked[query["qid"]]
        grades = {f"recall@{k}": len(evidence & set(first[:k])) / len(evidence) for k in (5, 10, K)}
        grades |= {f"all@{k}": float(evidence <= set(first[:k])) for k in (10, K)}
        grades["mrr"] = next((1 / place for place, one in enumerate(first, 1) if one in evidence), 0.0)
        category = str(query.get("category_name") or "")
        found[category].append(grades)
        if category != "adversarial":
            found["all but adversarial"].append(grades)
    return {
        category: {
            "questions": len(grades),
            **{name: round(mean(one[name] for one in grades), 4) for name in grades[0]},
        }
        for category, grades in sorted(found.items())
    }


def report(run: str, told: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The figures for people."""
    for category, values in told.items():
        shown = "  ".join(f"{name} {value:.3f}" for name, value in values.items() if name != "questions")
        yield f"{run:9}{category:22}{values['questions']:5.0f}  {shown}"


def write(path: Path, run: Iterable[Line]) -> None:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in run), encoding="utf-8")


async def measure(folder: Path, options: argparse.Namespace, home: Path) -> dict[str, Any]:
    """Remember a folder, ask its questions, write the runs; the figures."""
    corpus, queries = lines(folder / "corpus.jsonl"), lines(folder / "queries.jsonl")
    known = folder / "triples.jsonl"
    triples = lines(known) if known.exists() and options.triples else []
    given = {} if options.embedder is None else {"embedder": options.embedder}
    chosen = load(home=home, redis_fsync="everysec", consolidate=False, deadline=DEADLINE, **given)
    kept = Kept()
    runs: dict[str, list[Line]] = {"lousa": []}
    shares: list[float] = []
    async with lousa.open(chosen) as runtime:
        began = perf_counter()
        await remember(runtime, corpus, kept)
        await state(runtime, triples, kept)
        written = perf_counter() - began
        for query in queries:
            conversation, question = str(query["conv"]), query["question"]
            desk = desk_of(runtime, conversation)
            began = perf_counter()
            found = await desk.recall(question, k=K, kinds=("semantic",) if triples else ())
            ms = (perf_counter() - began) * 1000
            if found.silent or found.behind:
                raise TimeoutError(f"a layer did not answer within {DEADLINE}: {found.silent}")
            runs["lousa"].append({"qid": query["qid"], "ranked": kept.ranked(found), "ms": round(ms, 3)})
            if kept.length[conversation]:
                shares.append(sum(len(hit.text) for hit in found.hits[:10]) / kept.length[conversation])
            if options.baselines:
                for name, ids in zip(("words", "rrf"), await by_hand(runtime, conversation, question), strict=True):
                    runs.setdefault(name, []).append({"qid": query["qid"], "ranked": kept.said_by(ids), "ms": 0.0})
    for name, run in runs.items():
        write(options.run if name == "lousa" else options.run.with_suffix(f".{name}{options.run.suffix}"), run)
    tokens = sum(kept.length.values()) / max(1, len(kept.length)) / SIGNS_PER_TOKEN
    return {
        "folder": folder.name,
        "texts": len(corpus),
        "facts": sum(len(line["triples"]) for line in triples),
        "questions": len(queries),
        "seconds to remember": round(written, 1),
        "ms p50": round(median(line["ms"] for line in runs["lousa"]), 2),
        "tokens of a conversation": round(tokens),
        "share of them given": round(mean(shares), 4) if shares else None,
        "figures": {name: figures(queries, run) for name, run in runs.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with corpus.jsonl, queries.jsonl and perhaps triples.jsonl")
    parser.add_argument("--run", type=Path, required=True, help="the file of {qid, ranked, ms} to write")
    parser.add_argument("--embedder", help="as LOUSA_EMBEDDER names it")
    parser.add_argument("--no-triples", dest="triples", action="store_false", help="the texts alone, no facts")
    parser.add_argument("--baselines", action="store_true", help="full text, and its fusion with likeness, as well")
    parser.add_argument("--json", action="store_true", help="the figures as one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lousa-retrieval-") as folder:
        found = asyncio.run(measure(options.folder, options, Path(folder)))
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    by_run = found.pop("figures")
    print(", ".join(f"{name} {value}" for name, value in found.items()))
    for run, values in by_run.items():
        print("\n".join(report(run, values)))


if __name__ == "__main__":
    sys.exit(main())
