"""`lousa consolidate` says what it did, what it would do, and which steps there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import lousa as library
import psycopg
import pytest
from lousa import Runtime
from lousa.consolidation.contract import ORDER, Counts
from lousa.consolidation.run import Consolidation
from lousa.consolidation.schedule import Schedule
from lousa.infra.clock import Clock, ManualClock
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import BadInput

from .conftest import Lousa


@pytest.fixture
def months_pass(servers: Endpoints) -> Callable[[str], None]:
    """Makes a memory a hundred days older."""

    def older(identifier: str) -> None:
        with psycopg.connect(servers.postgres_url) as connection:
            connection.execute(
                "UPDATE lousa.memory SET recorded_at = recorded_at - interval '100 days',"
                " confirmed_at = confirmed_at - interval '100 days' WHERE id = %s",
                (identifier,),
            )

    return older


@pytest.mark.usefixtures("to_the_letter")
def test_a_dry_run_says_what_the_run_then_does(lousa: Lousa, months_pass: Callable[[str], None]) -> None:
    price = lousa("remember", "o preço da Acme é 10", "--source", "agent", "--json").json["id"]
    lousa("remember", "a Acme é de Recife", "--json")
    lousa("remember", "A Acme é de Recife.", "--json")
    episode = lousa("remember", "Ana asked for a discount", "--kind", "episodic", "--source", "agent", "--json").json[
        "id"
    ]
    months_pass(price)
    months_pass(episode)
    dry = lousa("consolidate", "--dry-run", "--json")
    assert dry.code == 0 and dry.json["dry_run"] is True
    changed = {name: counts["changed"] for name, counts in dry.json["steps"].items()}
    assert changed == {"expire": 1, "archive": 1, "deduplicate": 1, "promote": 0, "partitions": 0}
    shown = lousa("consolidate", "--dry-run")
    assert shown.code == 0 and "dry run" in shown.err
    assert [line.split()[0] for line in shown.out.splitlines()] == ["step", *ORDER]
    assert len(lousa("recall", "preço da Acme", "--kind", "semantic", "--json").json["hits"]) == 2

    real = lousa("consolidate", "--json").json
    assert real["steps"] == dry.json["steps"] and real["dry_run"] is False
    [run] = real["runs"]
    assert run["entry"] and run["steps"] == real["steps"]
    texts = [hit["text"] for hit in lousa("recall", "preço Acme Recife discount", "--json").json["hits"]]
    assert texts == ["a Acme é de Recife"]
    assert "ledger entry" in lousa("consolidate").err
    assert all(counts["changed"] == 0 for counts in lousa("consolidate", "--json").json["steps"].values())

    assert lousa("confirm", price, "--reason", "it still holds").code == 4
    assert lousa("confirm", episode, "--reason", "it is asked about", "--json").json["state"] == "stored"
    assert lousa("recall", "discount", "--json").json["hits"][0]["id"] == episode


def test_one_step_runs_alone_and_several_in_their_order(lousa: Lousa) -> None:
    assert list(lousa("consolidate", "--step", "archive", "--json").json["steps"]) == ["archive"]
    both = lousa("consolidate", "--step", "deduplicate", "--step", "expire", "--json").json["steps"]
    assert list(both) == ["expire", "deduplicate"]


def test_an_unknown_step_is_refused_with_the_names_of_all(lousa: Lousa) -> None:
    ended = lousa("consolidate", "--step", "polish")
    assert ended.code == 2 and ended.out == ""
    assert all(name in ended.err for name in ("polish", *ORDER))


def test_it_is_for_the_tenant_in_force_or_for_everyone(lousa: Lousa) -> None:
    names = [f"tenant-{uuid4().hex[:12]}" for _ in range(2)]
    for name in names:
        lousa("remember", "a word", "--tenant", name)
    [run] = lousa("consolidate", "--tenant", names[0], "--json").json["runs"]
    assert run["tenant"] == names[0]
    everyone = lousa("consolidate", "--all-tenants", "--dry-run", "--step", "expire", "--json").json["runs"]
    assert {run["tenant"] for run in everyone} >= set(names)
    assert lousa("consolidate", "--tenant", " ").code == 2


async def test_a_program_consolidates_what_it_has_open(runtime: Runtime) -> None:
    await (await runtime.desk().remember("a word")).settled()
    dry = await runtime.consolidate(["expire"], dry_run=True)
    report = await runtime.consolidate(["expire"])
    assert report.steps == dry.steps == {"expire": Counts(examined=1)}
    assert (dry.entry, report.tenant) == (None, runtime.settings.tenant)
    for dry_run in (False, True):
        with pytest.raises(BadInput, match="no step 'x'"):
            await runtime.consolidate(["x"], dry_run=dry_run)


async def test_a_schedule_can_be_left_out(servers: Endpoints, tmp_path: Path) -> None:
    for wanted in (True, False):
        async with library.open(
            redis_url=servers.redis_url, postgres_url=servers.postgres_url, home=tmp_path, consolidate=wanted
        ):
            running = [task.get_name() for task in asyncio.all_tasks()]
            assert ("lousa: consolidation" in running) is wanted


async def test_a_program_that_plays_with_time_does_so_for_its_own_tenant(
    servers: Endpoints, tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Clock | None] = []

    def made(self: Schedule, consolidation: Consolidation, every: timedelta) -> None:
        seen.append(consolidation.clock)

    async def started(self: Schedule, stack: object) -> None:
        return

    monkeypatch.setattr(Schedule, "__init__", made)
    monkeypatch.setattr(Schedule, "start", started)
    far = ManualClock(datetime.now(UTC) + timedelta(days=900))
    where: dict[str, Any] = {
        "redis_url": servers.redis_url,
        "postgres_url": servers.postgres_url,
        "home": tmp_path,
        "tenant": tenant,
    }
    async with library.open(**where) as runtime:
        await (await runtime.desk().remember("a word")).settled()
    async with library.open(clock=far, **where) as runtime:
        assert (await runtime.consolidate(["expire"])).steps["expire"].changed == 1
    assert seen == [None, None]
