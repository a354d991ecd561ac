"""The demo: the whole of Lousa on four agreements, on two days, any number of times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lousa.infra.embedded.supervisor import Endpoints


@pytest.fixture
def environment(servers: Endpoints, tmp_path: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("LOUSA_")},
        "LOUSA_REDIS_URL": servers.redis_url,
        "LOUSA_POSTGRES_URL": servers.postgres_url,
        "LOUSA_EMBEDDER": os.environ["LOUSA_EMBEDDER"],
        "LOUSA_HOME": str(tmp_path / "home"),
    }


def lousa(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-m", "lousa", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_second_day_reads_nothing_again_and_decides_the_same(environment: dict[str, str]) -> None:
    told = json.loads(lousa(environment, "demo", "--json"))
    first, second = told["days"]
    assert first["recalled"] == 0 and first["tokens_saved"] == 0
    assert second["recalled"] == len(first["findings"]) and second["tokens_saved"] > 1_000
    for part in ("decision", "contradictions", "missing"):
        assert first[part] == second[part], part
    found = [
        {(one["document"], one["clause"], one["start"], one["end"]) for one in day["findings"]}
        for day in (first, second)
    ]
    assert found[0] == found[1]
    assert first["contradictions"] and first["missing"]
    trail = lousa(environment, "trail", first["execution"], "--tenant", told["tenant"])
    assert "critic" in trail and "liability_cap" in trail


def test_each_day_s_verdict_is_said_to_a_person_and_the_first_with_its_reasons(environment: dict[str, str]) -> None:
    said = lousa(environment, "demo")
    assert said.count("accepted: 4 agreements reviewed: not to be signed") == 2
    assert said.count("  - ") >= 2 and "tokens were not read again" in said
