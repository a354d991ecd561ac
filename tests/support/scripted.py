"""Language models for tests that say what they are told to say.

`Scripted` answers by what it is shown: the answer whose key stands in the last message, as JSON if it is no text; an
exception is raised. It can be held to a form, as most chat models can, and then gives an object; `Talking` cannot, and
gives a text. `LOUSA_MODEL=scripted:from_file` reads the answers from the file that `SCRIPT` names.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Answer = Any


@dataclass
class Talking:
    """A chat model that only talks. Satisfies the part of LangChain's that is used."""

    answers: Mapping[str, Answer]
    otherwise: Answer = ""
    model: str = "scripted"
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    gate: asyncio.Event | None = None
    """A model that thinks as long as this is not set."""

    async def ainvoke(self, input: Sequence[tuple[str, str]], *_: object, **__: object) -> Any:
        answer = await self.chosen(input)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return SimpleNamespace(text=text, response_metadata={}, additional_kwargs={})

    async def chosen(self, input: Sequence[tuple[str, str]]) -> Answer:
        (_, system), (_, said) = input
        self.asked.append((system, said))
        if self.gate is not None:
            await self.gate.wait()
        answer = next((answer for key, answer in self.answers.items() if key in said), self.otherwise)
        if isinstance(answer, BaseException):
            raise answer
        return answer(said) if callable(answer) else answer


class Scripted(Talking):
    """One that can be held to a form."""

    def with_structured_output(self, schema: Mapping[str, Any], *, include_raw: bool) -> _Held:
        assert include_raw and schema["title"]
        return _Held(self)


@dataclass
class _Held:
    model: Scripted

    async def ainvoke(self, input: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
        answer = await self.model.chosen(input)
        if isinstance(answer, str):
            raw = SimpleNamespace(text=answer, response_metadata={}, additional_kwargs={})
            return {"raw": raw, "parsed": None, "parsing_error": ValueError("no form")}
        return {"raw": SimpleNamespace(text=""), "parsed": answer, "parsing_error": None}


def from_file() -> Scripted:
    """What `LOUSA_MODEL=scripted:from_file` calls, also in a process of its own."""
    return Scripted(json.loads(Path(os.environ["SCRIPT"]).read_text(encoding="utf-8")))


def silent() -> Talking:
    """A model that answers nothing."""
    return Talking({})
