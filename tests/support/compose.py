"""The production stack as tests read it: the file, its services, and what Compose would make of its variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parents[2] / "infra/compose.yaml"
_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)([^}]*)\})")


@dataclass(frozen=True, slots=True)
class Stack:
    """`infra/compose.yaml`."""

    text: str
    whole: dict[str, Any]

    @classmethod
    def read(cls) -> Stack:
        text = FILE.read_text(encoding="utf-8")
        return cls(text, yaml.safe_load(text))

    @property
    def services(self) -> dict[str, dict[str, Any]]:
        return self.whole["services"]

    def variables(self) -> list[tuple[str, str]]:
        """Every variable that is asked for, with what follows its name."""
        return [(found[1], found[2]) for found in _VARIABLE.finditer(self.text) if found[1]]

    def flags(self, service: str) -> dict[str, str]:
        """The options of a command, written as `--name=value` or as two words."""
        words: list[str] = self.services[service]["command"][1:]
        if all("=" in word for word in words):
            return {name.removeprefix("--"): value for name, _, value in (word.partition("=") for word in words)}
        return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}

    def config(self, name: str, variables: Mapping[str, str]) -> str:
        """The text of a configuration, with its variables filled in."""
        content: str = self.whole["configs"][name]["content"]
        return _VARIABLE.sub(lambda found: variables[found[1]] if found[1] else "$", content)
