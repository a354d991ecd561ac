"""Language models: any LangChain chat model, asked for one text at a time.

None is needed: what a model does better here is done without one as well. `LOUSA_MODEL=module:factory` names a
function without arguments that returns a chat model; it is called once, when Lousa opens, so that a mistyped name is
known at once. What is sent goes where that model lives, and nothing is sent that a caller did not ask for.

A model is never trusted. It may be away, say nothing, break off, or refuse; all of that is one error, `ModelFailed`,
whose message never holds what was said. Whether an answer is any good is for whoever asked to judge.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Protocol, cast

from ..infra.errors import ModelFailed, SettingsError
from ..memory_layers.records import Json

PATIENCE = timedelta(seconds=60)
"""How long one answer may take."""
_BROKEN_OFF = frozenset({"length", "max_tokens", "content_filter", "safety", "refusal"})
"""How an answer ended that is not whole, in the words of the providers."""


def _no_number(name: str) -> Json:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


class Chat(Protocol):
    """The part of LangChain's chat models that is used."""

    async def ainvoke(self, input: Sequence[tuple[str, str]]) -> object: ...


class Model:
    """A language model. `name` says which, for the record; `chat` is the LangChain model itself."""

    def __init__(self, name: str, chat: Chat, *, within: timedelta = PATIENCE) -> None:
        self.name = name
        self.chat = chat
        self._within = within.total_seconds()

    async def ask(self, system: str, said: str) -> str:
        """Its answer to `said`, under the instruction `system`; never empty.

        Raises:
            ModelFailed: it was away, too slow, or gave no whole answer.
        """
        return self._text(await self._answer(self.chat, system, said))

    async def fill(self, system: str, said: str, form: Mapping[str, Json]) -> Json:
        """Its answer as JSON of the shape that `form`, a JSON schema, describes. A model that can be held to a form is;
        what others say is read. Whether the answer has that shape is for the caller to see.

        Raises:
            ModelFailed: as `ask`, or what it answered is no JSON.
        """
        held = self._held_to(form)
        if held is None:
            return self._json(await self.ask(system, said))
        answer = await self._answer(held, system, said)
        told = cast(Mapping[str, object], answer) if isinstance(answer, Mapping) else {"parsed": answer}
        if told.get("parsed") is not None:
            return cast(Json, told["parsed"])
        raw = told.get("raw")
        if (why := _broken_off(raw)) is not None:
            raise ModelFailed(f"{self.name} did not answer to the end: {why}", kind="broken off")
        return self._json(self._text(raw))

    def _held_to(self, form: Mapping[str, Json]) -> Chat | None:
        """The model as LangChain holds it to a form; None where that is not made for it."""
        hold = getattr(self.chat, "with_structured_output", None)
        if hold is None:
            return None
        try:
            return cast(Chat, hold(dict(form), include_raw=True))
        except NotImplementedError:
            return None

    async def _answer(self, chat: Chat, system: str, said: str) -> object:
        try:
            async with asyncio.timeout(self._within):
                message = await chat.ainvoke([("system", system), ("human", said)])
        except TimeoutError as error:
            raise ModelFailed(f"{self.name} gave no answer within {self._within:g} s", kind="late") from error
        except Exception as error:  # whatever a provider's client raises
            raise ModelFailed(f"{self.name} failed: {type(error).__name__}", kind="away") from error
        if (why := _broken_off(message)) is not None:
            raise ModelFailed(f"{self.name} did not answer to the end: {why}", kind="broken off")
        return message

    def _text(self, message: object) -> str:
        text = message if isinstance(message, str) else str(getattr(message, "text", ""))
        if not text.strip():
            raise ModelFailed(f"{self.name} answered nothing", kind="empty")
        return text

    def _json(self, text: str) -> Json:
        """The first whole JSON object of a text; models like to say something around it."""
        try:
            return cast(Json, _DECODER.raw_decode(text, text.index("{"))[0])
        except (ValueError, RecursionError) as error:
            raise ModelFailed(f"{self.name} answered in no JSON that is whole", kind="no JSON") from error


def _broken_off(message: object) -> str | None:
    """Why an answer is not whole, as far as its provider says."""
    told = cast(Mapping[str, object], getattr(message, "response_metadata", None) or {})
    more = cast(Mapping[str, object], getattr(message, "additional_kwargs", None) or {})
    for name in ("finish_reason", "stop_reason", "done_reason"):
        if isinstance(reason := told.get(name), str) and reason.casefold() in _BROKEN_OFF:
            return reason.casefold()
    return "refusal" if more.get("refusal") else None


def load(spec: str | None) -> Model | None:
    """The model that a setting names; None when it names none.

    Raises:
        SettingsError: no such factory, or one that gives no chat model.
    """
    if spec is None:
        return None
    module, colon, factory = spec.partition(":")
    if not (module and colon and factory):
        raise SettingsError(f"LOUSA_MODEL={spec!r} cannot be used: expected 'module:factory'")
    try:
        chat = getattr(import_module(module), factory)()
    except Exception as error:  # a factory is the user's own code
        raise SettingsError(f"LOUSA_MODEL={spec!r} cannot be used: {type(error).__name__}: {error}") from error
    if not callable(getattr(chat, "ainvoke", None)):
        raise SettingsError(
            f"LOUSA_MODEL={spec!r} cannot be used: it gives a {type(chat).__name__} without ainvoke(),"
            " expected a LangChain chat model"
        )
    named = getattr(chat, "model", None) or getattr(chat, "model_name", None)
    return Model(named if isinstance(named, str) else spec, cast(Chat, chat))
