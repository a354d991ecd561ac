"""What can be set or typed is documented, and nothing is documented that cannot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from lousa.infra import errors
from lousa.infra.settings import Settings
from lousa.runtime.cli import app, frame

COMMANDS = {name.__name__: name for command in app.registered_commands if (name := command.callback)}


@pytest.fixture(scope="module")
def cli(root: Path) -> str:
    return (root / "docs/cli.md").read_text(encoding="utf-8")


def options_of(verb: str) -> set[str]:
    """The options of a verb, as typer knows them; `lousa` itself for ''."""
    group: Any = typer.main.get_command(app)
    command = group.commands[verb] if verb else group
    return {name for parameter in command.params for name in parameter.opts if name.startswith("-")}


def test_every_setting_is_documented_and_no_other(root: Path) -> None:
    documented = set(re.findall(r"^\| `(LOUSA_\w+)`", (root / "docs/settings.md").read_text(encoding="utf-8"), re.M))
    assert documented == {f"LOUSA_{name.upper()}" for name in Settings.model_fields}


def test_every_measure_is_documented_and_no_other(root: Path) -> None:
    page = (root / "docs/back-pressure.md").read_text(encoding="utf-8")
    code = [path for folder in ("memory_layers", "agents", "runtime") for path in (root / folder).rglob("*.py")]
    call = re.compile(r"telemetry\.(?:count|spread|level)\(\s*\"([\w.]+)")
    measured = {name for path in code for name in call.findall(path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"^\| `(lousa\.[\w.]+)`", page, re.M)) == measured


def test_every_verb_is_documented_and_no_other(cli: str) -> None:
    assert set(re.findall(r"^### `lousa (\w+)", cli, re.M)) == set(COMMANDS)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_option_of_a_verb_is_in_its_headline_and_no_other(cli: str, verb: str) -> None:
    headline = re.search(rf"^### `lousa {verb}\b(.*)`$", cli, re.M)
    assert headline
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", headline[1])) == options_of(verb)


def test_every_option_for_all_verbs_is_documented(cli: str) -> None:
    table = cli[: cli.index("## Verbs")]
    missing = [name for name in options_of("") if f"`{name}" not in table]
    assert missing == []


def test_every_exit_code_is_documented(cli: str) -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", cli, re.M)}
    ours = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LousaError)
    }
    theirs = {frame.FAILED, frame.WAITING, frame.CONFLICT, frame.UNWELL, frame.REJECTED, frame.INTERRUPTED}
    assert documented == {0, *ours, *theirs, frame.PIPE_CLOSED, frame.ENDED}


def test_both_readmes_show_the_same_code(root: Path) -> None:
    blocks = [
        re.findall(r"^```.*?^```", (root / name).read_text(encoding="utf-8"), re.M | re.S)
        for name in ("README.md", "README.pt-BR.md")
    ]
    assert [block.split("\n")[0] for block in blocks[0]] == [block.split("\n")[0] for block in blocks[1]]
    assert [words(block) for block in blocks[0]] == [words(block) for block in blocks[1]]


def words(block: str) -> list[str]:
    """The code itself: comments and texts may be translated."""
    without = re.sub(r"#.*|\"[^\"]*\"", "", block)
    return without.split()
