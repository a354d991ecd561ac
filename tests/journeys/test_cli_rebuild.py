"""`lousa rebuild` changes the embedding model of a home, says by what figures, and goes on after it was stopped."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import models
import psycopg
import pytest
from elsewhere import fresh_database, own_redis
from lousa.infra.embedded.supervisor import Endpoints

from .conftest import Ended, Lousa

SUPPORT = Path(models.__file__).parent


@pytest.fixture(scope="module")
def database(servers: Endpoints) -> str:
    """What is rebuilt is everybody's, so these tests have a database of their own."""
    return asyncio.run(fresh_database(servers, f"rebuild_{uuid4().hex[:8]}"))


@pytest.fixture
def of_model(
    servers: Endpoints, lousa: Lousa, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Ended]]:
    """Runs a command line with an embedder, on that database without memories and vectors."""
    with psycopg.connect(database) as owner:
        owner.execute("SET search_path = lousa, public")
        owner.execute("SELECT close_vector_space(name) FROM layer_space WHERE layer = 'context'")
        owner.execute("TRUNCATE memory, memory_words, debt, fact, entity, decision, rebuild")
    monkeypatch.setenv("LOUSA_POSTGRES_URL", database)
    monkeypatch.setenv("LOUSA_REDIS_URL", asyncio.run(own_redis(servers)))

    def call(model: str, *words: str) -> Ended:
        monkeypatch.setenv("LOUSA_EMBEDDER", f"models:{model}")
        return lousa(*words)

    yield call


def test_a_model_is_changed_and_changed_back(of_model: Callable[..., Ended]) -> None:
    for text in ("the mill is open", "o moinho está fechado", "水车开着"):
        assert of_model("one", "remember", text, "--kind", "procedural").code == 0
    refused = of_model("two", "recall", "mill")
    assert refused.code == 6 and "lousa rebuild context" in refused.err
    done = of_model("two", "rebuild", "context")
    assert done.code == 0
    assert "3 memories of 1 tenants: 3 vectors, 0 owed, digests of ids equal" in done.out
    assert done.out.splitlines()[-1].startswith("layer 2 lies in postgres with vectors of 'models:two two' from now on")
    assert [line for line in ("owing", "filling", "comparing", "switching") if line in done.err.splitlines()] != []
    hits = of_model("two", "recall", "the mill is open", "--json").json["hits"]
    assert hits[0]["text"] == "the mill is open" and "dense" in hits[0]["via"]
    assert of_model("one", "recall", "mill").code == 6
    back = of_model("one", "rebuild", "context", "--json")
    assert back.code == 0
    assert back.json["agreement"]["live"] == back.json["agreement"]["held"] == 3
    assert [space["model"] for space in back.json["former"]] == ["models:two two"]
    assert of_model("one", "recall", "mill").code == 0


def test_there_is_nothing_to_give_up_and_no_other_layer(of_model: Callable[..., Ended]) -> None:
    nothing = of_model("one", "rebuild", "context", "--abandon")
    assert nothing.code == 4 and "no rebuild of context is under way" in nothing.err
    assert of_model("one", "rebuild", "words").code == 2


def test_a_process_that_is_asked_to_end_says_how_to_go_on(
    of_model: Callable[..., Ended], database: str, environment: dict[str, str]
) -> None:
    assert of_model("one", "recall", "mill").code == 0
    child = subprocess.Popen(
        [sys.executable, "-m", "lousa", "rebuild", "context"],
        env={
            **environment,
            "LOUSA_POSTGRES_URL": database,
            "LOUSA_EMBEDDER": "models:stuck",
            "PYTHONPATH": str(SUPPORT),
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    with child:
        assert of_model("one", "remember", "the forge is open", "--kind", "procedural").code == 0
        for line in child.stderr:
            if line.strip() == "filling":
                break
        child.terminate()
        assert "what is made goes on with: " in child.stderr.read()
        assert child.wait(30) == 143
    checks = {check["what"]: check for check in of_model("one", "doctor", "--json").json["checks"]}
    assert checks["rebuild"]["state"] == "wrong" and "nobody is at it: 'lousa rebuild" in checks["rebuild"]["said"]
    other = of_model("two", "rebuild", "context")
    assert other.code == 2 and "--abandon" in other.err
    given_up = of_model("two", "rebuild", "context", "--abandon", "--json")
    assert json.loads(given_up.out)["abandoned"]["model"] == "models:stuck stuck"
    assert "rebuild" not in {check["what"] for check in of_model("one", "doctor", "--json").json["checks"]}


def test_facts_are_derived_anew_and_what_was_otherwise_is_counted(
    of_model: Callable[..., Ended], database: str
) -> None:
    for stated in ("Acme | fica em | Recife", "Acme | fica em | Olinda", "Rui | mora em | Natal"):
        assert of_model("one", "remember", stated, "--kind", "fact").code == 0
    before = of_model("one", "recall", "Acme", "--json").json["hits"]
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE lousa.fact SET status = 'current', valid_to = NULL WHERE object = 'Recife'")
        connection.execute("DELETE FROM lousa.fact WHERE object = 'Natal'")
    mended = of_model("one", "rebuild", "knowledge", "--json")
    assert mended.code == 0 and mended.json["brought"] is None
    assert mended.json["derived"] == {"tenants": 1, "facts": 3, "added": 1, "changed": 1, "removed": 0}
    again = of_model("one", "rebuild", "knowledge")
    assert "3 facts of 1 tenants derived anew: 0 were lacking, 0 were otherwise, 0 had no memory" in again.out
    assert again.out.splitlines()[-1] == "the graph is read in Postgres"
    assert [hit["text"] for hit in of_model("one", "recall", "Acme", "--json").json["hits"]] == [
        hit["text"] for hit in before
    ]
    assert of_model("one", "rebuild", "knowledge", "--abandon").code == 2
