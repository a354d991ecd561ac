"""`lousa extract` says what there is to read, reads it, and says what came of it, without a word of what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lousa.agents.extracting import Extracted, Standing
from lousa.infra.errors import SettingsError
from lousa.runtime.app import Runtime

from .conftest import Lousa


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a model answers, by what it is shown; the model is set."""
    file = tmp_path / "script.json"
    monkeypatch.setenv("SCRIPT", str(file))
    monkeypatch.setenv("LOUSA_MODEL", "scripted:from_file")
    return file


def test_without_a_model_it_counts_and_says_what_is_missing(lousa: Lousa) -> None:
    lousa("remember", "Eu moro em Recife com a Ana.", "--kind", "episodic")
    dry = lousa("extract", "--dry-run", "--json")
    assert (dry.code, dry.json) == (0, {"dry_run": True, "standing": {"unread": 1, "extracted": 0, "failed": 0}})
    refused = lousa("extract")
    assert refused.code == 2 and "LOUSA_MODEL" in refused.err and refused.out == ""


def test_it_reads_once_and_what_failed_when_it_is_told_to(lousa: Lousa, script: Path) -> None:
    item: dict[str, Any] = {
        "subject": "user",
        "predicate": "mora em",
        "object": "Recife",
        "quotation": "moro em Recife",
    }
    wrong = {**item, "object": "Natal"}
    found: dict[str, Any] = {"facts": [item, wrong], "episodes": [], "rules": []}
    script.write_text(json.dumps({"Recife": found, "contrato": "sorry"}))
    lousa("remember", "Eu moro em Recife com a Ana.", "--kind", "episodic", "--session", "one")
    lousa("remember", "O contrato vence em maio, disse o Bruno.", "--kind", "episodic", "--session", "two")
    shown = lousa("extract", "--dry-run")
    assert shown.out == "2 to read, 0 read, 0 failed\n" and "dry run" in shown.err
    done = lousa("extract", "--session", "one", "--limit", "5", "--json").json
    assert done["run"] | {"tenant": ""} == {
        "tenant": "",
        "read": 1,
        "passed_over": 0,
        "written": {"fact": 1},
        "dropped": {"object": 1},
        "failed": {},
        "gave_up": False,
    }
    [hit] = [
        each for each in lousa("recall", "Recife", "--session", "one", "--json").json["hits"] if each["kind"] == "fact"
    ]
    assert hit["text"] == "user · mora em · Recife"
    failed = lousa("extract")
    assert failed.code == 0 and "no JSON" in failed.out and "--retry-failed" in failed.err
    assert not any(word in failed.out + failed.err for word in ("contrato", "Bruno", "sorry"))
    script.write_text(json.dumps({"contrato": {"facts": [], "episodes": [], "rules": []}}))
    again = lousa("extract", "--retry-failed", "--json").json
    assert (again["run"]["read"], again["standing"]) == (1, {"unread": 0, "extracted": 2, "failed": 0})
    assert "nothing in it" in lousa("extract").out


async def test_from_python_it_is_the_same(runtime: Runtime) -> None:
    desk = runtime.desk(session="one")
    receipt = await desk.remember("Eu moro em Recife com a Ana.", kind="episodic", source="user")
    await receipt.settled(30)
    assert await runtime.extraction(session="one") == Standing(unread=1, extracted=0, failed=0)
    assert (await runtime.extraction(session="two")).unread == 0
    with pytest.raises(SettingsError, match="LOUSA_MODEL"):
        await runtime.extract()
    assert Extracted(tenant="t").gave_up is False
