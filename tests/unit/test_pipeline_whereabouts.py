"""An error is told with the place in the user's own code, not in ours or in a library's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from lousa.agents.plan import to_json
from lousa.agents.whereabouts import whereabouts

HERE = "test_pipeline_whereabouts.py"


def mine() -> None:
    raise ValueError("no")


def in_a_list() -> None:
    _ = [1 // n for n in (1, 0)]


def in_the_standard_library() -> None:
    json.loads("{")


def in_ours() -> None:
    to_json({1: 2}, "it")


def in_a_library() -> None:
    pytest.fail("no")


def caught(call: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as raised:
        call()
    error = raised.value
    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this function
    return error


@pytest.mark.parametrize("call", [mine, in_a_list, in_the_standard_library, in_ours, in_a_library])
def test_the_innermost_frame_of_the_users_own_is_told(call: Callable[[], object]):
    assert whereabouts(caught(call)) == f"{HERE}:{call.__code__.co_firstlineno + 1} in {call.__name__}"


def test_of_a_group_the_first_ones_place_is_told():
    async def later() -> None:
        mine()

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(later())

    assert whereabouts(caught(lambda: asyncio.run(together()))).endswith(" in mine")


def test_an_error_that_was_never_raised_has_no_place():
    assert whereabouts(ValueError("no")) == ""


def test_of_a_package_its_folder_is_told_too():
    error = caught(lambda: exec(compile("1 / 0", "/somewhere/reviews/__init__.py", "exec")))
    assert whereabouts(error) == "reviews/__init__.py:1 in <module>"
