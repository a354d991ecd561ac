"""How fast the contract review reads, and how much it finds: the rules alone, without a runtime around them.

Every agreement of a folder is read for all ten clauses, looked at again for what is missing, and compared with the
others. A round reads everything anew; a contract's time is the median of its rounds, in seconds of processor: nothing
here waits. `--findings` writes what was quoted in the shape of the review's JSON, for a scorer with a key.

    python benchmarks/contracts.py [FOLDER] [--json] [--rounds 7] [--findings OUT.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from pathlib import Path
from time import process_time

import lousa.examples.contract_review as example
from lousa.examples.contract_review.clauses import CLAUSES, Quotation, find, second_look
from lousa.examples.contract_review.clauses.scoring import scores
from lousa.examples.contract_review.contradictions import contradictions, missing
from lousa.examples.contract_review.documents import Document, read_document
from lousa.examples.contract_review.segments import sentences

SHIPPED = Path(example.__path__[0]) / "agreements"


def reviewed(document: Document) -> list[Quotation]:
    """Both rounds of a review: every clause, and again those that one would expect and did not find."""
    first = [quotation for clause in CLAUSES for quotation in find(clause, document)]
    return first + [quotation for clause in missing(document, first) for quotation in second_look(clause, document)]


def timed(path: Path, rounds: int) -> tuple[Document, list[Quotation], float]:
    """A document, what was quoted from it, and the median of the seconds that reading it took."""
    seconds: list[float] = []
    document, quotations = read_document(path), list[Quotation]()
    for _ in range(rounds):
        sentences.cache_clear()
        scores.cache_clear()
        begin = process_time()
        document = read_document(path)
        quotations = reviewed(document)
        seconds.append(process_time() - begin)
    return document, quotations, statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SHIPPED, help="agreements in .txt and .md")
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--rounds", type=int, default=7, help="at least 7")
    parser.add_argument("--findings", type=Path, metavar="OUT.json", help="write what was quoted")
    options = parser.parse_args()

    paths = sorted(path for path in options.folder.iterdir() if path.suffix in (".txt", ".md"))
    if not paths:
        parser.error(f"no .txt or .md file in {str(options.folder)!r}")
    rows = [timed(path, max(7, options.rounds)) for path in paths]
    begin = process_time()
    disagreements = contradictions([row[0] for row in rows], {document.name: quoted for document, quoted, _ in rows})
    comparing = process_time() - begin

    if options.findings:
        found = [
            {"document": document.name, "clause": q.clause, "text": q.text, "start": q.start, "end": q.end}
            for document, quotations, _ in rows
            for q in quotations
        ]
        options.findings.write_text(json.dumps({"findings": found}, ensure_ascii=False), encoding="utf-8")

    slowest = max(seconds for _, _, seconds in rows)
    if options.json:
        report = {
            "slowest contract": {
                "value": round(slowest, 4),
                "unit": "s",
                "against": f"one second, {len(rows)} contracts",
                "bar": 1.0,
                "holds": slowest <= 1.0,
            }
        }
        print(json.dumps(report))
        return
    width = max(len(path.name) for path in paths)
    print(f"{'':{width}}  {'characters':>10}  {'seconds':>8}  {'quoted':>6}  not found")
    for document, quotations, seconds in rows:
        absent = ", ".join(missing(document, quotations)) or "-"
        print(f"{document.name:{width}}  {len(document.text):10,}  {seconds:8.3f}  {len(quotations):6}  {absent}")
    clauses = Counter(clause for _, quotations, _ in rows for clause in {q.clause for q in quotations})
    print("documents with each clause: " + ", ".join(f"{clause} {clauses[clause]}" for clause in CLAUSES))
    print(f"{len(disagreements)} contradictions, compared in {comparing:.3f} s")
    print(f"slowest contract {slowest:.3f} s (bar: 1 s)")


if __name__ == "__main__":
    main()
