"""What a desk is told: a wrong type or sign is refused at once by its argument's name, and nothing was acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from lousa import Accept, Desk, Escalate, Outcomes, Pipeline, Reject, Runtime, Task
from lousa.infra.errors import BadInput
from lousa.memory_layers.guard import LARGEST_VALUE
from lousa.memory_layers.records import Json

from .test_pipeline_desk import at_a_desk

HUGE = 10**5000
NAIVE = datetime(2026, 11, 30)
REFUSED: list[tuple[Callable[[Any], Awaitable[Any]], str]] = [
    (lambda desk: desk.remember(None), "the text is text"),
    (lambda desk: desk.remember(5), "the text is text"),
    (lambda desk: desk.remember("a\x00"), "NUL"),
    (lambda desk: desk.remember("a\ud800"), "half a character"),
    (lambda desk: desk.remember("x", kind=5), "no memory kind 5"),
    (lambda desk: desk.remember("x", scope=5), "no scope 5"),
    (lambda desk: desk.remember("x", value=[HUGE]), "digits"),
    (lambda desk: desk.remember("x", value={"a": "\x00"}), "NUL"),
    (lambda desk: desk.remember("x", value=object()), "value"),
    (lambda desk: desk.remember("x", category=5), "category"),
    (lambda desk: desk.remember("x", subject="a\x00"), "subject"),
    (lambda desk: desk.remember("x", source=None), "source"),
    (lambda desk: desk.remember("x", trust="high"), "trust"),
    (lambda desk: desk.remember("x", occurred_at=NAIVE), "occurred_at"),
    (lambda desk: desk.remember("x", occurred_at="today"), "occurred_at"),
    (lambda desk: desk.remember("x", occurred_at=0), "occurred_at"),
    (lambda desk: desk.remember("x", expires_at=NAIVE), "expires_at"),
    (lambda desk: desk.remember("x", sources=["not-a-uuid"]), "sources"),
    (lambda desk: desk.remember("x", sources="not-a-uuid"), "sources"),
    (lambda desk: desk.remember("x", sources=5), "sources"),
    (lambda desk: desk.remember("x", metadata=5), "metadata"),
    (lambda desk: desk.remember("x", metadata=[]), "metadata"),
    (lambda desk: desk.remember("x", metadata={"a": HUGE}), "metadata"),
    (lambda desk: desk.remember("x", key=5), "key="),
    (lambda desk: desk.state_fact("a", "b", 3), "object is text"),
    (lambda desk: desk.state_fact(None, "b", "c"), "subject is text"),
    (lambda desk: desk.state_fact("a", "b\ud800", "c"), "predicate"),
    (lambda desk: desk.state_fact("a", "b", "c", since="now"), "since"),
    (lambda desk: desk.state_fact("a", "b", "c", many="yes"), "many"),
    (lambda desk: desk.state_fact("a", "b", "c", qualifier=5), "qualifier"),
    (lambda desk: desk.state_fact("a", "b", "c", person=5), "subject"),
    (lambda desk: desk.decide(5, "yes"), "question"),
    (lambda desk: desk.decide("q", object()), "outcome"),
    (lambda desk: desk.decide("q", HUGE), "outcome"),
    (lambda desk: desk.decide("q", ["a\x00"]), "outcome"),
    (lambda desk: desk.decide("q", "yes", reasons="because"), "reasons"),
    (lambda desk: desk.decide("q", "yes", reasons=["\ud800"]), "reasons"),
    (lambda desk: desk.decide("q", "yes", evidence="page 3"), "evidence"),
    (lambda desk: desk.decide("q", "yes", evidence=["a\x00"]), "evidence"),
    (lambda desk: desk.forget("nope", "why"), "memory is an id"),
    (lambda desk: desk.forget(5, "why"), "memory is an id"),
    (lambda desk: desk.forget(UUID(int=5), 5), "reason"),
    (lambda desk: desk.forget(UUID(int=5), "a\x00"), "reason"),
    (lambda desk: desk.recall(3), "query is text"),
    (lambda desk: desk.recall("x", k="x"), "k is a whole number"),
    (lambda desk: desk.recall("x", budget=1.5), "budget"),
    (lambda desk: desk.recall("x", kinds="fact"), "kinds"),
    (lambda desk: desk.recall("x", kinds=5), "kinds"),
    (lambda desk: desk.recall("x", as_of=NAIVE), "as_of"),
    (lambda desk: desk.facts(5), "about"),
    (lambda desk: desk.paths("a", None), "b is text"),
]


async def test_a_wrong_argument_is_refused_by_its_name_and_nothing_is_acknowledged(runtime: Runtime) -> None:
    desk: Any = runtime.desk()
    for number, (do, says) in enumerate(REFUSED):
        with pytest.raises(BadInput, match=says):
            await do(desk)
            pytest.fail(f"number {number} was let through")
    assert await runtime.services.router.dead_letters(desk.principal.tenant) == 0
    assert len(await desk.recall("x")) == 0


@pytest.mark.parametrize("who", [{"agent": 5}, {"agent": "a\x00"}, {"session": "\ud800"}, {"session": None}])
def test_a_name_that_no_store_can_hold_is_refused(runtime: Runtime, who: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(who))):
        runtime.desk(**who)


LARGEST = Accept("x" * (LARGEST_VALUE - 100))
ENDINGS = [
    (LARGEST, "accepted"),
    (Accept(), "accepted"),
    (Reject(reasons=["nothing fits"]), "rejected"),
    (Accept({"a": None}), "accepted"),
]


@pytest.mark.parametrize(("verdict", "status"), ENDINGS)
async def test_a_run_that_decides_nothing_or_as_much_as_may_be_ends(
    runtime: Runtime, verdict: Accept | Reject, status: str
) -> None:
    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("work")]

    async def work(desk: Desk, task: Task) -> None:
        await desk.decide("is there anything?", None)

    async def critic(desk: Desk, findings: Outcomes) -> Accept | Reject:
        return verdict

    result = await runtime.run(Pipeline(planner, workers=[work], critic=critic), None)
    assert result.decision == verdict.decision
    assert (await runtime.execution(result.execution)).status == status


async def test_a_person_may_answer_with_nothing(runtime: Runtime) -> None:
    async def planner(desk: Desk, goal: Json) -> list[Task]:
        return [Task("work")]

    async def work(desk: Desk, task: Task) -> str:
        return "found"

    async def critic(desk: Desk, findings: Outcomes) -> Escalate:
        return Escalate("anything to add?")

    pipeline = Pipeline(planner, workers=[work], critic=critic)
    waiting = await runtime.run(pipeline, None)
    result = await runtime.resume(waiting.execution, pipeline, answer=None)
    assert (result.status, result.decision) == ("accepted", None)


async def test_every_rule_and_block_in_scope_is_in_the_context_whatever_is_asked(runtime: Runtime) -> None:
    async def many_rules(desk: Desk, task: Task) -> list[int]:
        for number in range(70):
            kind = "procedural" if number % 2 else "block"
            await desk.remember(f"Directive {number} concerns invoices.", kind=kind, source="user")
        hidden = await desk.remember("A directive of one agent.", kind="procedural", scope="private")
        await desk.forget(hidden.id, "no more")
        await (await desk.state_fact("Recife", "weather", "hot")).settled()
        context = await desk.context("the weather in Recife", 4_000)
        small = await desk.context("the weather in Recife", 100)
        lines = str(context).splitlines()
        assert (
            lines[0] == "## Rules" and lines[1].startswith("- Directive 69 ") and lines[70].startswith("- Directive 0 ")
        )
        assert any(line.startswith("- Recife · weather · hot (confirmed ") for line in lines)
        assert str(small).startswith("## Rules (not all fit)") and small.tokens <= 100
        assert len(small.cited) + len(small.rules_left_out) == 70
        return [len(context.cited), len(context.rules_left_out)]

    assert (await at_a_desk(runtime, many_rules)).decision == [71, 0]
