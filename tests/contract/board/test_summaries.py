"""Summaries on the real servers: every turn is told once, whoever is at it, and what is told stays within bounds."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from lousa.agents.summarise import BY_EXTRACT
from lousa.memory_layers.conversation.keys import summary_keys, window_keys
from lousa.memory_layers.conversation.summaries import State, Summaries, Summary
from redis.crc import key_slot
from sessions import MORNING, SMALL, Session


@pytest.fixture
def session(room: Any) -> Session:
    return Session(room)


async def test_the_newest_turns_are_left_and_all_before_are_told_once(session: Session) -> None:
    summariser, summary = session.summariser(), Summary()
    for turns in range(1, 60):
        session.talk(1)
        summary = (await summariser.update()).summary
        left = turns - summary.count
        assert 0 <= left < SMALL.keep + SMALL.turns
        assert left >= min(turns, SMALL.keep)
        assert len(summary.parts) <= SMALL.parts
        newer = session.turns[summary.count :]
        assert [turn.id for turn in session.turns if turn.id in summary.turns] == list(summary.turns)
        assert {turn.id for turn in newer}.isdisjoint(summary.turns)
    assert summary.story is not None and summary.story.first == session.turns[0].id
    assert summary.story.count + len(summary.turns) == summary.count
    assert session.turns[summary.story.count - 1].id == summary.story.last
    assert summary.text and summary.trust == 0.5 and {part.by for part in summary.parts} == {BY_EXTRACT}
    assert (await session.summaries.read()).summary == summary


async def test_what_holds_much_is_told_sooner(session: Session) -> None:
    for _ in range(4):
        session.say("The pump must be inspected. " * 60)
    assert (await session.summariser(plan=replace(SMALL, size=2_000)).update()).summary.count == 2


async def test_several_who_summarise_at_once_tell_no_turn_twice_and_lose_none(session: Session) -> None:
    session.talk(44)
    await asyncio.gather(*(session.summariser().update() for _ in range(6)))
    summary = (await session.summariser().update()).summary
    assert summary.count == 40
    seen = [turn.id for turn in session.turns]
    assert list(summary.turns) == seen[40 - len(summary.turns) : 40]
    assert summary.story is not None and (summary.story.first, summary.story.last) == (
        seen[0],
        seen[40 - len(summary.turns) - 1],
    )


async def test_of_two_who_knew_the_same_one_is_refused(session: Session) -> None:
    session.talk(8)
    knew = await session.summaries.read()
    made = (await session.summariser().update()).summary
    assert await session.summaries.replace(knew, "other", Summary(), []) is False
    assert (await session.summaries.read()).summary == made


async def test_a_turn_that_is_seen_late_is_told_with_the_next(session: Session) -> None:
    session.talk(20)
    before = (await session.summariser().update()).summary
    late = session.say("A late remark about the lido.", arrived=before.parts[-1].arrived)
    session.talk(8)
    after = (await session.summariser().update()).summary
    assert Counter(after.turns)[late.id] == 1 and after.count == 24
    session.talk(40)
    assert (await session.summariser().update()).summary.count == 64


async def test_when_turns_were_said_does_not_matter_and_each_is_told_once(session: Session) -> None:
    session.talk(40)
    for apart in (timedelta(0), timedelta(hours=5), timedelta(days=-900)):  # clocks of different agents
        session.turns = [replace(turn, at=MORNING + place % 7 * apart) for place, turn in enumerate(session.turns)]
        await session.summaries.drop()
        summary = (await session.summariser().update()).summary
        assert summary.count == 36 and summary.story is not None
        assert {*summary.turns} == {turn.id for turn in session.turns[summary.story.count : 36]}


async def test_an_attempt_that_was_overtaken_writes_no_summary(session: Session) -> None:
    async def overtaken() -> None:
        raise PermissionError("somebody else runs this")

    session.talk(8)
    with pytest.raises(PermissionError):
        await session.summariser(alive=overtaken).update()
    assert not (await session.summaries.read()).summary


async def test_a_summary_is_trusted_as_the_least_of_the_turns_that_it_tells(session: Session) -> None:
    for number in range(4):
        session.say(f"The lido's pump {number} must be inspected.", "tool" if number == 2 else "user")
    for number in range(8):
        session.say(f"The lido's pump {number} is fine.")
    parts = (await session.summariser().update()).summary
    assert [part.trust for part in parts.parts] == [0.7, 1.0] and parts.trust == 0.7
    for number in range(20):
        session.say(f"The lido's pump {number} is fine.")
    later = (await session.summariser().update()).summary
    assert later.story is not None and (later.story.trust, later.trust) == (0.7, 0.7)


async def test_topics_are_kept_with_what_was_said_when_and_where(session: Session) -> None:
    pump = [session.say(f"The pump in hall {number} drips.") for number in (1, 2)]
    session.say("Tickets for the lido sell well.")
    session.say("The tickets for the lido must be cheaper.")
    for number in range(4):
        session.say(f"We talked about gardens and hedges, {number} of them.")
    first = {topic.name: topic for topic in (await session.summariser().update()).topics}
    assert first["pump"].turns == tuple(turn.id for turn in pump)
    assert first["pump"].touched == pump[1].at and "hall 2 drips" in first["pump"].text
    again = session.say("The pump was mended.")
    for number in range(7):
        session.say(f"The hedges of garden {number} grow.")
    topics = (await session.summariser().update()).topics
    assert len(topics) <= SMALL.topics
    assert [topic.touched for topic in topics] == sorted((topic.touched for topic in topics), reverse=True)
    touched = {topic.name: topic for topic in topics}
    if "pump" in touched:  # else it was let go for those touched later
        assert touched["pump"].turns[-1] == again.id


async def test_a_call_is_told_in_the_same_part_as_its_result(session: Session) -> None:
    for number in range(30):
        session.say("look", "assistant", calls=(f"{number}",))
        session.say("meanwhile the lido fills up")
        session.say("found", "tool", answers=f"{number}")
    summary = (await session.summariser().update()).summary
    assert summary.count > 60
    for part in summary.parts:
        inside = [turn for turn in session.turns if turn.id in part.turns]
        assert {call for turn in inside for call in turn.calls} == {turn.answers for turn in inside} - {None}


async def test_one_at_a_time_may_ask_a_model_and_a_failure_makes_all_wait(session: Session) -> None:
    kept, hour = session.summaries, timedelta(hours=1)
    assert (await kept.lease("one", hour)).leased and (await kept.lease("one", hour)).leased
    assert not (await kept.lease("two", hour)).leased
    await kept.release("two")
    state = await kept.lease("two", hour)
    assert not state.leased and state.may
    await kept.failed(state, "one", "late", bad=False, pause=hour)
    await kept.failed(state, "one", "refusal", bad=True, pause=hour)
    state = await kept.lease("two", hour)
    assert state.leased and not state.may
    assert (state.summary.failures, state.summary.failed, state.bad) == (2, "refusal", 1)
    await kept.release("two")
    state = await kept.lease("three", hour)
    assert state.leased
    assert await kept.replace(state, "three", Summary(language="pt"), [])
    state = await kept.read()
    assert (state.may, state.bad, state.summary.failures, state.summary.language) == (True, 0, 2, "pt")
    await kept.failed(replace(state, version="0"), "three", "late", bad=False)
    assert (await kept.read()).summary.failures == 2
    await kept.drop()
    assert (await kept.read()).summary == Summary()


async def test_a_summary_that_its_server_lost_is_made_anew(session: Session) -> None:
    session.talk(20)
    before = (await session.summariser().update()).summary
    keys = summary_keys(session.room.principal.tenant, session.room.principal.session)
    await session.room.connections.redis.delete(*keys)
    assert (await session.summariser().update()).summary == before


async def test_a_summary_lies_beside_its_window_and_goes_in_a_month(session: Session) -> None:
    session.talk(8)
    await session.summariser().update()
    who = session.room.principal
    summary, topics = summary_keys(who.tenant, who.session)
    keys = (summary, topics, *window_keys(who.tenant, who.session))
    assert len({key_slot(key.encode()) for key in keys}) == 1
    assert 29 * 86_400 < await session.room.connections.redis.ttl(summary) <= 30 * 86_400
    assert 6 * 86_400 < await session.room.connections.redis.ttl(topics) <= 7 * 86_400


async def test_a_session_of_any_name_has_a_summary_of_its_own(session: Session) -> None:
    rooms = [replace(session.room.principal, session=name) for name in ("a", "a/b", "a}{b", "ação 😀", "a:summary")]
    for number, who in enumerate(rooms):
        state = State(version="0", summary=Summary(), topics=(), bad=0, may=True, leased=False)
        made = Summary(language="pt" if number % 2 else "en")
        assert await Summaries(session.room.connections, who).replace(state, "x", made, [])
    found = [(await Summaries(session.room.connections, who).read()).summary.language for who in rooms]
    assert found == ["en", "pt", "en", "pt", "en"]
