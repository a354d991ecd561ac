"""Executions, effects and artifacts: guarded steps, deeds done once, large values kept once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from lousa.infra.connections import Connections
from lousa.infra.errors import BadInput, NotFound
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.execution import ledger
from lousa.memory_layers.execution.artifacts import Artifacts, collect
from lousa.memory_layers.execution.effects import Done, Effects, Intended, Uncertain
from lousa.memory_layers.execution.executions import Executions
from lousa.memory_layers.execution.transcript import Transcript, TranscriptTurn

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


async def test_an_execution_goes_one_guarded_step_at_a_time(connections: Connections, principal: Principal) -> None:
    runs = Executions(connections)
    run = await runs.create(principal, "review", {"files": ["a"]})
    assert await runs.create(principal, "review", {}, execution=run) == run
    assert (await runs.get(principal, run)).goal == {"files": ["a"]}
    with pytest.raises(BadInput, match="waits for no answer"):
        await runs.answer(principal, run, "yes")
    waiting = await runs.wait(principal, run, {"question": "really?"})
    assert waiting.status == "waiting" and await runs.wait(principal, run, {"question": "really?"}) == waiting
    assert (await runs.answer(principal, run, "yes")).status == "running"
    assert (await runs.answer(principal, run, "yes")).answer == "yes"
    done = await runs.finish(principal, run, "accepted", {"decision": "ok"})
    assert await runs.finish(principal, run, "accepted", {"decision": "ok"}) == done
    for step in (
        runs.finish(principal, run, "rejected"),
        runs.wait(principal, run, "again?"),
        runs.answer(principal, run, "no"),
    ):
        with pytest.raises(BadInput, match="accepted"):
            await step
    assert [each.id for each in await runs.list(principal, status="accepted")] == [run]
    async with connections.transaction(principal) as connection:
        trail = await ledger.trail(connection, run)
    assert [each.outcome for each in trail] == ["running", "waiting", "running", "accepted"]


async def test_another_tenants_execution_is_not_found(connections: Connections, principal: Principal) -> None:
    runs = Executions(connections)
    run = await runs.create(principal, "review", None)
    other = replace(principal, tenant=principal.tenant + "x")
    with pytest.raises(NotFound):
        await runs.get(other, run)
    with pytest.raises(NotFound):
        await runs.finish(other, run, "failed")


async def test_only_one_attempt_runs_an_effect(connections: Connections, principal: Principal) -> None:
    effects, run = Effects(connections), principal.execution
    assert run is not None
    answers = await asyncio.gather(*(effects.intend(principal, run, "mail-1", "mail", f"t{n}") for n in range(6)))
    assert sum(isinstance(answer, Intended) for answer in answers) == 1
    assert sum(isinstance(answer, Uncertain) for answer in answers) == 5
    await effects.record(principal, run, "mail-1", {"sent": True})
    await effects.record(principal, run, "mail-1", {"sent": "again"})
    assert await effects.intend(principal, run, "mail-1", "mail", "t9") == Done(result={"sent": True})
    with pytest.raises(BadInput, match="belongs to the effect 'mail'"):
        await effects.intend(principal, run, "mail-1", "payment", "t9")


async def test_an_effect_that_failed_is_uncertain_until_somebody_says_that_it_never_happened(
    connections: Connections, principal: Principal
) -> None:
    effects, run = Effects(connections), principal.execution
    assert run is not None
    await effects.intend(principal, run, "pay", "payment", "t1")
    await effects.fail(principal, run, "pay", "timed out")
    seen = await effects.intend(principal, run, "pay", "payment", "t1")
    assert isinstance(seen, Uncertain) and seen.error == "timed out"
    wins = await asyncio.gather(*(effects.retake(principal, run, "pay", "t1", seen) for _ in range(4)))
    assert sorted(wins) == [False, False, False, True]


async def test_an_artifact_is_kept_once_and_collected_only_while_untaken(
    connections: Connections, principal: Principal
) -> None:
    artifacts, body = Artifacts(connections), b"x" * 100_000
    digest, again = await asyncio.gather(artifacts.put(principal, body), artifacts.put(principal, body))
    other = await artifacts.put(principal, b"nobody wants this")
    assert digest == again and await artifacts.get(principal, digest) == body
    await artifacts.take(principal, digest)
    async with connections.system_transaction(principal.tenant) as connection:
        assert await collect(connection) == 0
        assert await collect(connection, timedelta(0)) == 1
    assert await artifacts.get(principal, digest) == body
    for gone in (artifacts.get(principal, other), artifacts.take(principal, other)):
        with pytest.raises(NotFound):
            await gone
    with pytest.raises(NotFound):
        await artifacts.get(replace(principal, tenant=principal.tenant + "x"), digest)
    with pytest.raises(BadInput, match="at most 64 MB"):
        await artifacts.put(principal, bytes(64 * 1024 * 1024 + 1))


async def test_a_session_reads_its_own_transcript_only(connections: Connections, principal: Principal) -> None:
    transcript = Transcript(connections)
    turns = [
        TranscriptTurn(id=new_id(), role="user", body=f"turn {n}", agent="tester", occurred_at=NOW, calls=("c1",))
        for n in range(5)
    ]
    await transcript.append(principal, turns)
    await transcript.append(principal, turns)
    assert await transcript.last(principal, 3) == turns[2:]
    assert await transcript.last(principal, 3, before=turns[2].id) == turns[:2]
    assert await transcript.last(replace(principal, session=principal.session + "x"), 3) == []
