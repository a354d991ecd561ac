"""What was found out lately: a dictionary that forgets by age, and the oldest first when it is full.

A bound on the number alone would let what nobody can use any more fill the memory up to it; so what is too old goes
whenever something new comes. `now` is the caller's, in seconds of a monotonic clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values for `age` seconds, the newest `most` of them."""

    def __init__(self, *, age: float, most: int) -> None:
        self._age = age
        self._most = most
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        """In the order of their coming."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K, now: float) -> V | None:
        """The value of `key`, unless it is too old or gone."""
        kept = self._kept.get(key)
        return kept[1] if kept is not None and now - kept[0] < self._age else None

    def put(self, key: K, value: V, now: float) -> None:
        """Remember a value from now on."""
        self._kept[key] = (now, value)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most or now - next(iter(self._kept.values()))[0] >= self._age:
            self._kept.popitem(last=False)
