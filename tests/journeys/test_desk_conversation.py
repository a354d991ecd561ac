"""A session's conversation at a desk: what leaves the window is read page by page, told shortly, and named."""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lousa
import pytest
from lousa import Desk, Runtime, Stale, Summary, Task, Turn
from lousa.agents.conversation import Conversation
from lousa.agents.services import Services
from lousa.agents.summarise import Plan
from lousa.infra.clock import ManualClock
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import BadInput, SettingsError
from lousa.memory_layers.conversation.keys import window_keys
from lousa.memory_layers.conversation.operations import Operations
from lousa.memory_layers.conversation.summaries import Summaries

from .test_pipeline_desk import at_a_desk

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "windows.md").read_text(encoding="utf-8")
SMALL = Plan(keep=4, turns=4, parts=3, fold=2, steps=50)
GOOD = {
    "summary": "As bombas da piscina têm que ser vistoriadas até o verão.",
    "topics": [{"topic": "bombas", "summary": "As bombas da piscina têm que ser vistoriadas.", "turns": [1, 2]}],
}


def conversation(services: Services, desk: Desk, session: str | None = None) -> Conversation:
    """The desk's conversation, with small parts."""
    who = replace(desk.principal, session=session or desk.principal.session)
    return Conversation(services, who, operations=Operations(None), plan=SMALL)


async def said(window: Conversation, turns: int) -> list[Turn]:
    return [
        await window.append(
            Turn(role=("user", "assistant")[number % 2], body=f"A bomba {number} da piscina tem que ser vistoriada.")
        )
        for number in range(turns)
    ]


async def test_a_summary_and_the_turns_after_it_are_the_whole_session(runtime: Runtime) -> None:
    async def talk(desk: Desk, task: Task) -> None:
        window = conversation(runtime.services, desk)
        kept = await said(window, 50)
        summary = await window.summary()
        after = await window.after(summary)
        assert summary.count + len(after) == 50 and summary.language == "pt"
        assert [turn.id for turn in after] == [turn.id for turn in kept[summary.count :]]
        assert summary.story is not None and summary.story.first == kept[0].id
        assert await window.summary(update=False) == summary
        assert (await window.after(summary, most=2)) == after[-2:]
        assert {topic.name for topic in await window.topics()} >= {"bomba"}
        assert await conversation(runtime.services, desk, "another").summary() == Summary()
        assert await conversation(runtime.services, desk, "another").topics() == []
        for bad in (0, -1, 1_001):
            with pytest.raises(BadInput):
                await window.after(summary, most=bad)
            with pytest.raises(BadInput):
                await window.earlier(bad)

    await at_a_desk(runtime, talk, session="a/b}{ção")


async def test_agents_whose_clocks_are_apart_are_told_in_the_order_in_which_they_spoke(runtime: Runtime) -> None:
    async def talk(desk: Desk, task: Task) -> None:
        clocks = [ManualClock(datetime(year, 1, 1, tzinfo=UTC)) for year in (2030, 2001)]
        windows = [conversation(replace(runtime.services, clock=clock), desk) for clock in clocks]
        kept = [(await said(windows[number % 2], 1))[0] for number in range(40)]
        summary = await windows[0].summary()
        assert summary.story is not None and summary.count == 36
        assert summary.turns == tuple(turn.id for turn in kept[summary.story.count : 36])
        assert await windows[1].after(summary) == kept[36:]
        late = (await said(windows[1], 12))[-1]
        after = await windows[0].after(await windows[0].summary())
        assert len(after) == 4 and after[-1] == late

    await at_a_desk(runtime, talk)


async def test_an_attempt_that_was_overtaken_reads_the_summary_and_makes_none(runtime: Runtime) -> None:
    async def overtaken() -> None:
        raise Stale("somebody else runs this task")

    async def talk(desk: Desk, task: Task) -> None:
        await said(conversation(runtime.services, desk), 8)
        stale = Conversation(runtime.services, desk.principal, operations=Operations(None), alive=overtaken, plan=SMALL)
        assert not await stale.summary() and await stale.topics() == []
        assert (await conversation(runtime.services, desk).summary()).count == 4
        assert (await stale.summary()).count == 4

    await at_a_desk(runtime, talk)


async def test_a_summary_shows_nothing_of_another_session_or_tenant(runtime: Runtime) -> None:
    async def talk(desk: Desk, task: Task) -> None:
        await said(conversation(runtime.services, desk), 12)
        ours = await conversation(runtime.services, desk).summary()
        first = (await desk.window.earlier())[0]
        who = desk.principal
        for stranger in (replace(who, session=f"{who.session}2"), replace(who, tenant=f"{who.tenant}2")):
            window = Conversation(runtime.services, stranger, operations=Operations(None), plan=SMALL)
            assert ours and not await window.summary() and await window.topics() == []
            assert await window.after(ours) == await window.after(Summary()) == await window.earlier() == []
            assert await window.earlier(9, before=first) == [] and await window.last(9) == []

    await at_a_desk(runtime, talk)


async def test_the_page_about_sessions_works_as_it_stands_there(runtime: Runtime) -> None:
    blocks: list[str] = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    assert len(blocks) >= 4

    async def follow(desk: Desk, task: Task) -> None:
        names: dict[str, Any] = {"desk": desk}
        for block in blocks:
            code = compile(block, "windows.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if (waiting := eval(code, names)) is not None:
                await waiting

    await at_a_desk(runtime, follow)


def test_every_verb_of_a_conversation_is_on_its_page() -> None:
    verbs = [name for name, _ in inspect.getmembers(Conversation, callable) if not name.startswith("_")]
    assert [verb for verb in verbs if f"`{verb}(" not in PAGE and f"window.{verb}(" not in PAGE] == []


async def test_what_left_the_window_is_read_page_by_page_as_it_was_said(runtime: Runtime) -> None:
    async def talk(desk: Desk, task: Task) -> None:
        turns = [
            Turn(role="user", body="how deep is the pool?"),
            Turn(role="assistant", body={"tool": "depth"}, calls=("1",)),
            Turn(role="tool", body={"metres": 3}, answers="1", source="web"),
            Turn(role="assistant", body="three metres"),
        ]
        kept = [await desk.window.append(turn) for turn in turns]
        keys = window_keys(desk.principal.tenant, desk.principal.session)
        await runtime.services.connections.redis.delete(*keys)
        assert await desk.window.last(9) == []
        assert await desk.window.earlier() == kept
        assert await desk.window.earlier(2, before=kept[3]) == kept[1:3]
        assert await desk.window.earlier(9, before=kept[1].id) == await desk.window.earlier(9, before=str(kept[1].id))
        assert await desk.window.earlier(9, before=kept[0]) == []

    await at_a_desk(runtime, talk)


async def test_the_model_that_is_set_tells_what_was_said_and_its_failure_costs_nothing(
    servers: Endpoints, tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"A bomba 0 ": GOOD}), encoding="utf-8")
    monkeypatch.setenv("SCRIPT", str(script))
    urls: dict[str, Any] = {"redis_url": servers.redis_url, "postgres_url": servers.postgres_url, "tenant": tenant}
    async with lousa.open(**urls, home=tmp_path, model="scripted:from_file") as runtime:

        async def talk(desk: Desk, task: Task) -> None:
            window = conversation(runtime.services, desk)
            await said(window, 12)
            summary = await window.summary()
            assert (summary.text, summary.count, summary.parts[0].by) == (GOOD["summary"], 4, "scripted")
            assert (summary.failures, summary.failed) == (1, "empty")  # it has no answer for the second part
            assert len(await window.after(summary)) == 8
            [topic] = await window.topics(update=False)
            assert (topic.name, topic.turns) == ("bombas", summary.turns[:2])
            assert len(await window.last(20)) == 12
            await Summaries(runtime.services.connections, desk.principal).drop()
            assert not await window.summary(update=False) and await window.topics(update=False) == []

        await at_a_desk(runtime, talk)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("gpt", "expected 'module:factory'"),
        ("no_such_module:model", "ModuleNotFoundError"),
        ("scripted:nobody", "AttributeError"),
        ("models:one", r"without ainvoke\(\)"),
    ],
)
async def test_a_model_that_cannot_be_used_is_refused_before_anything_is_started(
    tmp_path: Path, spec: str, why: str
) -> None:
    with pytest.raises(SettingsError, match=rf"LOUSA_MODEL='{spec}' cannot be used: .*{why}"):
        async with lousa.open(home=tmp_path, model=spec):
            pass
    assert empty(tmp_path)


def empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def test_a_context_has_what_was_said_before_its_last_turns_without_a_gap(runtime: Runtime) -> None:
    async def talk(desk: Desk, task: Task) -> None:
        await said(conversation(runtime.services, desk), 60)
        text = str(await desk.context("quais bombas?", 4_000, language="pt"))
        summary = await desk.window.summary(update=False)
        assert summary.count == 50 and summary.text and all(line in text for line in summary.text.splitlines())
        last = {turn.id for turn in await desk.window.last(20)}
        after = await desk.window.after(summary)
        assert {turn.id for turn in after} <= last
        keys = window_keys(desk.principal.tenant, desk.principal.session)
        await runtime.services.connections.redis.delete(*keys)  # as an hour of silence does
        text = str(await desk.context("quais bombas?", 4_000, language="pt"))
        assert all(turn.text in text for turn in after)

    await at_a_desk(runtime, talk)
