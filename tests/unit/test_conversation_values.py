"""Values go in and come out as they were, or are refused by their place."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from enum import StrEnum
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from lousa.infra.errors import BadInput
from lousa.memory_layers.conversation.values import DEEPEST, Reference, decode, encode
from lousa.memory_layers.records import Json


def made_up(dice: Random, depth: int = 0) -> Json:
    """Some JSON."""
    leaves: list[Json] = [None, True, False, 0, -(2**63), 2**80, 0.1, -1e300, "", "é\u2028\x00\n", "🍏"]
    if depth > 3 or dice.random() < 0.4:
        return dice.choice(leaves)
    inner = [made_up(dice, depth + 1) for _ in range(dice.randrange(4))]
    return inner if dice.random() < 0.5 else {f"k{dice.randrange(9)}{n}": value for n, value in enumerate(inner)}


def test_json_comes_back_as_it_went_in() -> None:
    dice = Random(3)
    for _ in range(2_000):
        value = made_up(dice)
        assert decode(encode(value, "it")) == value


class Colour(StrEnum):
    RED = "red"


KIN: list[tuple[Any, Json]] = [
    ((1, (2,)), [1, [2]]),
    (Colour.RED, "red"),
    (OrderedDict(a=1), {"a": 1}),
    (defaultdict(list, a=[1]), {"a": [1]}),
]


@pytest.mark.parametrize(("value", "back"), KIN)
def test_kin_of_json_types_become_them(value: Any, back: Json) -> None:
    assert decode(encode(value, "it")) == back


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_has_a_limit_well_below_the_interpreters() -> None:
    assert decode(encode(nested(DEEPEST), "it")) == nested(DEEPEST)
    for depth in (DEEPEST + 1, 100_000):
        with pytest.raises(BadInput, match="nested deeper than 100"):
            encode(nested(depth), "it")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "it is nan"),
        ([1, float("-inf")], r"it\[1\] is -inf"),
        ({"a": {"b": (0, uuid4())}}, r"it\['a'\]\['b'\]\[1\] is UUID"),
        ({None: 1}, "it has the key None"),
        ({"a": {True: 1}}, r"it\['a'\] has the key True"),
        (range(3), "it is range"),
        (1j, "it is complex"),
        ({"a\ud800": 1}, "half a character"),
    ],
)
def test_what_is_not_json_is_refused_by_its_place(value: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        encode(value, "it")


def test_a_reference_is_told_from_a_value() -> None:
    reference = Reference(digest=bytes(range(32)), size=11, subject="person-7")
    assert Reference.of(reference.payload()) == reference
    for payload in (b"-", b'="@"', b"=" + json.dumps({"digest": "00"}).encode()):
        assert Reference.of(payload) is None
