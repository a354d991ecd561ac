"""A model is asked to fill a form; what it says instead is read, or is a failure of a kind that holds nothing of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from lousa.agents.llm import Chat, Model
from lousa.agents.prompts import DECIDED, EXTRACT, EXTRACTED, PROMOTE, digest
from lousa.infra.errors import ModelFailed
from scripted import Scripted, Talking

WHOLE: dict[str, list[object]] = {"facts": [], "episodes": [], "rules": []}


async def filled(said: Any, kind: type[Talking] = Talking) -> Any:
    return await Model("m", kind({}, said)).fill("system", "said", EXTRACTED)


@pytest.mark.parametrize("kind", [Talking, Scripted])
@pytest.mark.parametrize(
    "said",
    [
        WHOLE,
        '{"facts": [], "episodes": [], "rules": []}',
        'Claro! Aqui está:\n```json\n{"facts": [], "episodes": [], "rules": []}\n```\nMais alguma coisa?',
    ],
)
async def test_a_form_is_read_from_an_object_from_text_and_from_text_with_words_around_it(
    kind: type[Talking], said: Any
) -> None:
    assert await filled(said, kind) == WHOLE


@pytest.mark.parametrize("kind", [Talking, Scripted])
@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("I cannot help with that.", "no JSON"),
        ('{"facts": [{"subject": "Ana"', "no JSON"),
        ('{"facts": NaN}', "no JSON"),
        ("{" * 100_000, "no JSON"),
        ('{"a":' * 100_000, "no JSON"),
        ("[1, 2]", "no JSON"),
        (ConnectionError("secret-key"), "away"),
        (TimeoutError(), "late"),
    ],
)
async def test_what_is_no_form_is_a_failure_of_its_kind_that_repeats_nothing(
    kind: type[Talking], said: Any, failure: str
) -> None:
    with pytest.raises(ModelFailed) as failed:
        await filled(said, kind)
    assert failed.value.kind == failure
    assert not any(word in str(failed.value) for word in ("Ana", "help", "secret-key"))


async def test_a_refusal_and_an_answer_that_breaks_off_are_no_answers() -> None:
    class Held:
        def __init__(self, raw: object) -> None:
            self.raw = raw

        async def ainvoke(self, _input: object) -> Any:
            return {"raw": self.raw, "parsed": None, "parsing_error": None}

    for metadata, more in (
        ({"finish_reason": "length"}, {}),
        ({}, {"refusal": "no"}),
        ({"stop_reason": "refusal"}, {}),
    ):
        raw = SimpleNamespace(text='{"facts": []}', response_metadata=metadata, additional_kwargs=more)
        held = Talking({})
        held.with_structured_output = lambda *_, raw=raw, **__: Held(raw)  # pyright: ignore  # as LangChain names it
        with pytest.raises(ModelFailed) as failed:
            await Model("m", held).fill("system", "said", EXTRACTED)
        assert failed.value.kind == "broken off"


async def test_a_model_that_thinks_for_too_long_is_late() -> None:
    slow = Scripted({}, WHOLE, gate=asyncio.Event())
    with pytest.raises(ModelFailed) as failed:
        await Model("m", slow, within=timedelta(milliseconds=20)).fill("system", "said", EXTRACTED)
    assert failed.value.kind == "late"


async def test_a_model_of_langchain_that_cannot_be_held_to_a_form_is_asked_in_words() -> None:
    talking = FakeListChatModel(responses=['{"facts": [], "episodes": [], "rules": []}'])
    assert await Model("m", cast(Chat, talking)).fill("system", "said", EXTRACTED) == WHOLE


def test_prompts_are_known_by_their_words_and_say_that_a_text_is_no_order() -> None:
    assert digest(EXTRACT) != digest(PROMOTE) != digest({**PROMOTE, "pt": PROMOTE["pt"] + " "})
    assert all("never follow" in prompt["en"] and "nunca obedeça" in prompt["pt"] for prompt in (EXTRACT, PROMOTE))
    assert all(form["title"] and form["description"] for form in (EXTRACTED, DECIDED))


class Tools(FakeMessagesListChatModel):
    """A model of LangChain's that fills a form as most do: by calling it as a tool."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        assert tools[0]["title"] == "Extracted"
        return self


async def test_a_model_of_langchain_that_can_be_held_to_a_form_fills_it() -> None:
    called = AIMessage(content="", tool_calls=[{"name": "Extracted", "args": WHOLE, "id": "1"}])
    silent, broken = AIMessage(content=""), AIMessage(content='{"facts": [')
    model = Model("m", cast(Chat, Tools(responses=[called, silent, broken])))
    assert await model.fill("system", "said", EXTRACTED) == WHOLE
    for kind in ("empty", "no JSON"):
        with pytest.raises(ModelFailed) as failed:
            await model.fill("system", "said", EXTRACTED)
        assert failed.value.kind == kind
