"""A pipeline is loaded from what a user writes, and what cannot be one says why."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from pathlib import Path
from textwrap import dedent

import pytest
from lousa.infra.errors import BadInput, PipelineError
from lousa.runtime.load import load

FUNCTIONS = """
    from lousa import Accept, Finding, Task

    async def planner(desk, goal):
        return [Task("count", goal)]

    async def count(desk, task):
        return Finding(1)

    async def critic(desk, findings):
        return Accept("done")
"""


def written(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(code), encoding="utf-8")
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path / "folder with a space, e acentuação"


def test_planner_critic_and_whoever_takes_a_task_are_a_pipeline(here: Path) -> None:
    loaded = load(written(here / "mine.py", FUNCTIONS))
    assert loaded.pipeline.name == "mine"
    assert list(loaded.pipeline.workers) == ["count"]
    assert loaded.path == here / "mine.py"
    assert loaded.goal(["a", "b"]) == {"files": ["a", "b"]}
    assert loaded.report is None and loaded.render is None


def test_a_class_with_work_is_a_worker_and_private_or_borrowed_ones_are_not(here: Path) -> None:
    code = (
        FUNCTIONS
        + """
    from lousa import Worker, Planner, Critic

    class Reader:
        async def work(self, desk, task):
            return 1

    async def _helper(desk, task):
        return 1

    async def other(desk, number):
        return 1
    """
    )
    assert list(load(written(here / "mine.py", code)).pipeline.workers) == ["count", "Reader"]


def test_a_file_that_is_also_a_script_does_not_run_when_it_is_loaded(here: Path) -> None:
    code = (
        FUNCTIONS
        + """
    import asyncio

    async def main(words):
        raise SystemExit("it ran")

    asyncio.run(main([]))
    """
    )
    path = written(here / "script.py", code)
    assert list(load(path).pipeline.workers) == ["count"]
    assert not list(here.rglob("*.pyc"))


def test_a_ready_pipeline_and_hooks_are_taken_as_they_are(here: Path) -> None:
    code = (
        FUNCTIONS
        + """
    from lousa import Pipeline

    pipeline = Pipeline(planner, workers=[count], critic=critic, name="ready")

    def goal(arguments):
        return {"n": len(arguments)}

    async def report(result):
        return {"r": 1}

    def render(report):
        return "seen"
    """
    )
    loaded = load(written(here / "mine.py", code))
    assert loaded.pipeline.name == "ready"
    assert loaded.goal(["a"]) == {"n": 1}
    assert loaded.render is not None and loaded.render({}) == "seen"
    assert loaded.report is not None


def test_a_file_may_import_its_neighbours(here: Path) -> None:
    written(here / "neighbour_of_mine.py", "NAME = 'next door'\n")
    code = "    from neighbour_of_mine import NAME\n" + FUNCTIONS + "\n    def goal(arguments):\n        return NAME\n"
    assert load(written(here / "mine.py", code)).goal([]) == "next door"


@pytest.mark.parametrize("home", ["__init__.py", "pipeline.py"])
def test_a_folder_is_a_package_whose_relative_imports_work(here: Path, home: str) -> None:
    written(here / "review" / "__init__.py", '"""A package."""\n')
    written(here / "review" / "parts.py", "WORD = 'part'\n")
    code = "    from .parts import WORD\n" + FUNCTIONS + "\n    def goal(arguments):\n        return WORD\n"
    written(here / "review" / home, code)
    loaded = load(here / "review")
    assert loaded.goal([]) == "part"
    assert loaded.pipeline.name == "review"
    assert list(loaded.pipeline.workers) == ["count"]


def test_an_installed_module_is_loaded_by_its_name(here: Path) -> None:
    loaded = load("lousa.examples.contract_review")
    assert loaded.path.name == "contract_review" and "liability_cap" in loaded.pipeline.workers
    written(here / "beside" / "mine.py", FUNCTIONS)
    sys.path.insert(0, str(here))
    assert load("beside.mine").path == here / "beside" / "mine.py"


def test_two_folders_of_one_name_stay_apart(here: Path) -> None:
    for number in (1, 2):
        written(here / str(number) / "same" / "parts.py", f"NUMBER = {number}\n")
        code = "    from .parts import NUMBER\n" + FUNCTIONS + "\n    def goal(arguments):\n        return NUMBER\n"
        written(here / str(number) / "same" / "__init__.py", code)
    assert [load(here / str(number) / "same").goal([]) for number in (1, 2, 1)] == [1, 2, 1]


def test_a_changed_file_is_loaded_anew(here: Path) -> None:
    path = written(here / "mine.py", FUNCTIONS)
    load(path)
    written(path, FUNCTIONS.replace("count", "weigh"))
    assert list(load(path).pipeline.workers) == ["weigh"]


def test_a_submodule_called_like_a_hook_does_not_stand_in_for_it(here: Path) -> None:
    written(here / "review" / "__init__.py", "")
    written(here / "review" / "report.py", "WORD = 'seen'\n")
    code = (
        FUNCTIONS
        + """
    from . import report as reports

    async def report(result):
        return reports.WORD
    """
    )
    written(here / "review" / "pipeline.py", code)
    loaded = load(here / "review")
    assert loaded.report is not None
    assert list(loaded.pipeline.workers) == ["count"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = (\n", "line 1"),
        ("import there_is_no_such_module\n", "there_is_no_such_module"),
        ("x = 1\n\nraise RuntimeError('on purpose')\n", "on purpose.*line 3"),
        ("import sys\nsys.exit(4)\n", "SystemExit"),
        ("x = 1\n", "lacks a `planner` and a `critic` and a worker"),
        ("async def planner(desk, goal): ...\nasync def critic(desk, findings): ...\n", "lacks a worker"),
        (dedent(FUNCTIONS) + "\ndef report(result): ...\n", "`report`.*async function"),
        (dedent(FUNCTIONS) + "\nasync def goal(arguments): ...\n", "`goal`.*plain function"),
    ],
)
def test_what_cannot_be_a_pipeline_says_why(here: Path, code: str, told: str) -> None:
    path = written(here / "mine.py", code)
    with pytest.raises(PipelineError, match=told) as refused:
        load(path)
    assert "mine.py" in str(refused.value)


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        (
            "async def count(desk, tarefa): ...",
            "found `count(desk, tarefa)`: its second parameter must be called `task`",
        ),
        ("def count(desk, task): ...", "found `count(desk, task)`: it must be async"),
        ("async def _count(desk, task): ...", "found `_count(desk, task)`: a name that begins with _ is private"),
        ("class Count:\n    def work(self, desk, task): ...", "found `class Count`: its `work` must be async"),
    ],
)
def test_what_was_perhaps_meant_as_a_worker_is_named(here: Path, worker: str, told: str) -> None:
    code = "async def planner(desk, goal): ...\nasync def critic(desk, findings): ...\n" + worker + "\n"
    with pytest.raises(PipelineError) as refused:
        load(written(here / "mine.py", code))
    assert told in str(refused.value) and "async function whose second parameter is called `task`" in str(refused.value)


def test_what_is_nothing_like_a_worker_is_not_named(here: Path) -> None:
    code = "from asyncio import sleep\nimport json\nasync def planner(desk, goal): ...\ndef helper(x): ...\n"
    with pytest.raises(PipelineError, match=r"class with an async `work`$"):
        load(written(here / "mine.py", code))


def test_what_fails_to_load_leaves_nothing_behind(here: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(PipelineError):
        load(written(here / "mine.py", "raise RuntimeError('on purpose')\n"))
    assert not [name for name in set(sys.modules) - before if name.startswith("lousa_run_")]


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("nowhere.py", "no pipeline at"),
        ("no.such.module", "no pipeline at"),
        ("agreement.txt", "no Python file"),
        ("empty", "no __init__.py"),
    ],
)
def test_what_is_no_python_at_all_is_refused(here: Path, place: str, told: str) -> None:
    written(here / "agreement.txt", "a text")
    (here / "empty").mkdir()
    with pytest.raises(BadInput, match=told):
        load(here / place)


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(asyncio.run(main()))",
        "result = asyncio.run(main())",
        "run(main())",
        "def start():\n    asyncio.run(main())\nstart()",
        "late = main()\nasyncio.get_event_loop().run_until_complete(late)",
        "import anyio\nresult = anyio.run(main)",
    ],
)
async def test_a_script_that_starts_a_loop_on_import_is_told_the_way_out(here: Path, ending: str) -> None:
    start = "import asyncio\nimport sys\nfrom asyncio import run\nasync def main():\n    return 0\n"
    file = written(here / "mine.py", f"{dedent(FUNCTIONS)}\n{start}{ending}\n")
    await asyncio.sleep(0)  # a loop runs here, as it does for every verb
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(BadInput, match=r'mine.py\W+ line \d+\): .*`if __name__ == "__main__":`'):
            load(file)
        gc.collect()
    assert [str(warning.message) for warning in heard if "never awaited" in str(warning.message)] == []
    guarded = ending.replace("\n", "\n    ")
    assert load(written(file, f'{dedent(FUNCTIONS)}\n{start}if __name__ == "__main__":\n    {guarded}\n')).pipeline
