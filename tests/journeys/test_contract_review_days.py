"""The contract review on several days: what is known comes back, what changed is said, nothing is mixed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from lousa import Runtime
from lousa.examples import contract_review
from lousa.runtime.load import load

SHIPPED = Path(str(contract_review.__file__)).parent / "agreements"
REVIEW = load(SHIPPED.parent)
Report = dict[str, Any]


@pytest.fixture
def review(runtime: Runtime) -> Callable[..., Any]:
    async def of(*paths: Path) -> Report:
        result = await runtime.run(REVIEW.pipeline, REVIEW.goal([str(path) for path in paths]))
        assert result.status == "accepted"
        assert REVIEW.report is not None
        return cast(Report, await REVIEW.report(result))

    return of


def copied(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def text_of(name: str) -> str:
    return (SHIPPED / name).read_text(encoding="utf-8")


def quoted_rightly(report: Report, *paths: Path) -> bool:
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    found: Sequence[Report] = report["findings"]
    return bool(found) and all(texts[f["document"]][f["start"] : f["end"]] == f["text"] for f in found)


async def test_a_price_that_goes_and_comes_back_is_said_and_stands_in_the_graph(
    runtime: Runtime, review: Callable[..., Any], tmp_path: Path
) -> None:
    name, cheap = "harbour-ledger-subscription.md", text_of("harbour-ledger-subscription.md")
    dear = cheap.replace("2,400", "2,900")
    path = copied(tmp_path / "a", name, cheap)
    first = await review(path)
    assert (first["changed"], first["recalled"], first["tokens_saved"]) == ([], 0, 0)
    for text, says in ((dear, "2,900"), (cheap, "2,400"), (dear, "2,900")):
        path.write_text(text, encoding="utf-8")
        report = await review(path)
        assert [change["clause"] for change in report["changed"]] == ["payment"]
        assert says in report["changed"][0]["after"] and says not in report["changed"][0]["before"]
        known = await runtime.desk().recall("monthly price of the Harbour Ledger subscription", kinds=["fact"], k=20)
        assert [says in hit.text for hit in known if "price" in hit.text] == [True]
    assert quoted_rightly(report, path)


async def test_what_a_new_version_no_longer_says_is_no_fact_any_more(
    runtime: Runtime, review: Callable[..., Any], tmp_path: Path
) -> None:
    text = text_of("monitoramento-pomares.md")
    path = copied(tmp_path / "a", "contrato.md", text)
    await review(path)
    (venue,) = [line for line in text.split("\n\n") if "foro da Comarca" in line]
    path.write_text(text.replace(venue, "As partes resolvem suas controvérsias por acordo."), encoding="utf-8")
    report = await review(path)
    assert "governing_law" in [change["clause"] for change in report["changed"]]
    known = await runtime.desk().recall("Petrolina foro", kinds=["fact"], k=20)
    assert not [hit.text for hit in known if "Petrolina" in hit.text]


async def test_the_same_text_under_another_name_is_recalled_under_that_name(
    review: Callable[..., Any], tmp_path: Path
) -> None:
    text = text_of("tidewater-mutual-nda.txt")
    await review(copied(tmp_path / "a", "nda.txt", text))
    path = copied(tmp_path / "b", "renamed.txt", text)
    report = await review(path)
    assert report["recalled"] == len(report["findings"]) > 0 and report["tokens_saved"] > 0
    assert quoted_rightly(report, path)
    assert report["changed"] == []


async def test_another_agreement_under_the_same_file_name_has_changed_nothing(
    review: Callable[..., Any], tmp_path: Path
) -> None:
    await review(copied(tmp_path / "a", "agreement.txt", text_of("tidewater-mutual-nda.txt")))
    report = await review(copied(tmp_path / "b", "agreement.txt", text_of("harbour-ledger-subscription.md")))
    assert (report["changed"], report["recalled"]) == ([], 0)


async def test_an_amendment_that_comes_alone_meets_the_agreement_of_another_day(
    review: Callable[..., Any], tmp_path: Path
) -> None:
    both = await review(SHIPPED / "monitoramento-pomares.md", SHIPPED / "monitoramento-pomares-aditivo.md")
    changed_end = text_of("monitoramento-pomares-aditivo.md") + "\n"
    path = copied(tmp_path / "a", "aditivo.md", changed_end)
    alone = await review(path)
    assert alone["recalled"] > 0
    assert quoted_rightly(alone, path)
    assert {c["clause"] for c in alone["contradictions"]} == {c["clause"] for c in both["contradictions"]} != set()
    assert all("aditivo.md" in c["documents"] for c in alone["contradictions"])


async def test_a_name_as_long_as_names_may_be_and_a_goal_that_is_none(
    runtime: Runtime, review: Callable[..., Any], tmp_path: Path
) -> None:
    path = copied(tmp_path / "a", "contrato " + "x" * 230 + ".md", text_of("harbour-ledger-subscription.md"))
    assert quoted_rightly(await review(path), path)
    with pytest.raises(Exception, match="the goal of a review"):
        await runtime.run(REVIEW.pipeline, [])
