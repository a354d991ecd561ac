"""What was said is read once, whatever a model does: from stored to extracted or failed, with all that came of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from lousa.agents.extracting import ATTEMPTS, GIVES_UP
from lousa.infra.errors import ServerUnavailable
from lousa.infra.ids import new_id
from psycopg.errors import InsufficientPrivilege
from scripted import Scripted

from .reading import NEIGHBOURS, NOTHING, RECIFE, Reader, facts, reader

__all__ = ["reader"]

if TYPE_CHECKING:
    pass


async def test_whatever_a_model_answers_the_source_is_kept_and_its_state_says_what_became_of_it(reader: Reader) -> None:
    long = " ".join(f"item{number}" for number in range(60))
    answers: dict[str, tuple[Any, tuple[str, str | None], int]] = {
        "garbage": ("lorem ipsum", ("failed", "no JSON"), 0),
        "half": ('{"facts": [{"subject": "user", "pre', ("failed", "no JSON"), 0),
        "refusal": ("I'm sorry, I can't help with that.", ("failed", "no JSON"), 0),
        "silence": ("", ("failed", "empty"), 0),
        "empty": ({}, ("failed", "shape"), 0),
        "hollow": ({**NOTHING, "facts": [{}, {}]}, ("failed", "misread"), 0),
        "english": (
            {**NOTHING, "episodes": [{"text": "The user has moved", "quotation": "mora"}]},
            ("failed", "misread"),
            0,
        ),
        "foreign": (
            facts(("user", "mora em", "foreign Recife", "mora em foreign Recife"), owner="mallory", tenant="other"),
            ("failed", "misread"),
            0,
        ),
        "nothing": (NOTHING, ("extracted", None), 0),
        "twice": (facts(*[("user", "vive em", "twice Recife", "mora em twice Recife")] * 3), ("extracted", None), 1),
        "rambles": (
            facts(*(("user", f"tem {n}", f"item{n}", long) for n in range(60))),
            ("extracted", None),
            24,
        ),
    }
    reader.model.answers = {f"em {name} Recife": answer for name, (answer, _, _) in answers.items()}
    sources = dict(zip(answers, await reader.keep(*(f"mora em {name} Recife {long}" for name in answers)), strict=True))
    done = await reader.run()
    states = await reader.states()
    assert {name: (states[sources[name]][0], states[sources[name]][2]) for name in answers} == {
        name: state for name, (_, state, _) in answers.items()
    }
    came = [source for memory in await reader.derived() for source in memory.sources]
    assert {name: came.count(sources[name]) for name in answers} == {
        name: number for name, (_, _, number) in answers.items()
    }
    assert sum(done.failed.values()) == 8 and not done.gave_up
    kept = await reader.rows("SELECT count(*) FROM memory WHERE tenant = current_tenant() AND sources = '{}'")
    assert kept == [(len(answers),)]
    [(entries,)] = await reader.rows(
        "SELECT count(*) FROM ledger_entry WHERE action = 'extract' AND outcome = 'failed'"
    )
    assert entries == 8
    told = await reader.rows("SELECT row_to_json(extraction)::text FROM extraction WHERE tenant = current_tenant()")
    assert "Recife" not in str(told)


async def test_what_fails_is_tried_again_by_later_runs_and_then_only_when_asked(reader: Reader) -> None:
    [source] = await reader.keep("Eu moro em Recife.")
    reader.model.otherwise = "garbage"
    for attempt in range(1, ATTEMPTS + 1):
        assert (await reader.run()).failed == {"no JSON": 1}
        assert await reader.states() == {source: ("failed", attempt, "no JSON")}
    assert (await reader.run()).failed == {}
    assert (await reader.standing()).unread == 0 and (await reader.standing(retry_failed=True)).unread == 1
    reader.model.otherwise = RECIFE
    assert (await reader.run(retry_failed=True)).written == {"fact": 1}
    assert (await reader.states())[source][0] == "extracted" and len(await reader.derived()) == 1


async def test_a_model_that_is_away_counts_against_no_source_and_ends_the_run(reader: Reader) -> None:
    sources = await reader.keep(*NEIGHBOURS)
    reader.model.otherwise = ConnectionError("no route to it")
    done = await reader.run()
    assert done.gave_up and GIVES_UP <= sum(done.failed.values()) < len(sources)
    assert {state[2] for state in (await reader.states()).values()} == {"away"}
    for _ in range(ATTEMPTS):
        await reader.run(limit=GIVES_UP)
    reader.model.otherwise = NOTHING
    assert (await reader.run()).read == len(sources)
    assert {state[0] for state in (await reader.states()).values()} == {"extracted"}


async def test_two_that_run_at_once_read_each_source_once(reader: Reader) -> None:
    sources = await reader.keep(*NEIGHBOURS)
    reader.model.answers = {text: facts((text.split()[0], "mora", text.split()[-1], text)) for text in NEIGHBOURS}
    runs = await asyncio.gather(*(reader.run() for _ in range(3)))
    assert sum(run.read for run in runs) == len(sources) == len(reader.model.asked)
    assert sorted(source for memory in await reader.derived() for source in memory.sources) == sorted(sources)


async def test_one_that_was_overtaken_while_its_model_thought_writes_nothing(reader: Reader) -> None:
    [source] = await reader.keep("Eu moro em Recife.")
    slow = Reader(reader.path, reader.who, Scripted({}, RECIFE, gate=asyncio.Event()))
    late = asyncio.create_task(slow.extraction(lease=timedelta(0)).run(reader.who.tenant, limit=1))
    await slow.thinks()
    reader.model.otherwise = facts(("user", "reside em", "Recife", "moro em Recife"))
    assert (await reader.run()).written == {"fact": 1}
    assert slow.model.gate is not None
    slow.model.gate.set()
    assert (await late).read == 0
    assert await reader.texts() == ["user · reside em · Recife"]
    assert (await reader.states())[source][:2] == ("extracted", 2)


async def test_what_is_withdrawn_while_it_is_read_gives_nothing(reader: Reader) -> None:
    [source] = await reader.keep("Eu moro em Recife.")
    reader.model.otherwise, reader.model.gate = RECIFE, asyncio.Event()
    reading = asyncio.create_task(reader.run())
    await reader.thinks()
    await reader.path.router.forget(reader.who, source, "asked to", new_id())
    reader.model.gate.set()
    assert (await reading).written == {}
    assert await reader.derived() == [] and await reader.states() == {}


async def test_a_run_that_is_cancelled_leaves_its_sources_to_the_next_at_once(reader: Reader) -> None:
    await reader.keep("Eu moro em Recife.")
    reader.model.otherwise, reader.model.gate = RECIFE, asyncio.Event()
    reading = asyncio.create_task(reader.run())
    await reader.thinks()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    reader.model.gate.set()
    assert (await reader.run()).written == {"fact": 1}
    assert [state[:2] for state in (await reader.states()).values()] == [("extracted", 1)]


async def test_a_run_that_is_broken_off_by_a_server_leaves_its_sources_as_they_were(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise ServerUnavailable("Postgres is away")

    [source] = await reader.keep("Eu moro em Recife.")
    reader.model.otherwise = RECIFE
    with monkeypatch.context() as patched, pytest.raises(ServerUnavailable):
        patched.setattr(reader.path.router, "derive", away)
        await reader.run()
    assert await reader.states() == {source: ("stored", 0, None)} and await reader.derived() == []
    assert (await reader.run()).written == {"fact": 1}
    assert await reader.states() == {source: ("extracted", 1, None)}


async def test_a_limit_is_kept_and_a_text_of_a_word_or_two_needs_no_model(reader: Reader) -> None:
    await reader.keep("ok", "sim, claro", *NEIGHBOURS[:2])
    assert (await reader.run(limit=3)).read == 1
    assert len(reader.model.asked) == 1 and (await reader.standing()).unread == 1


async def test_agents_neither_see_nor_change_how_sources_stand(reader: Reader) -> None:
    for query in ("SELECT * FROM extraction", "DELETE FROM extraction", "UPDATE extraction SET state = 'stored'"):
        with pytest.raises(InsufficientPrivilege):
            async with reader.path.connections.transaction(reader.who) as connection:
                await connection.execute(query.encode())
