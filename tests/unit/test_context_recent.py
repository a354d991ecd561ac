"""What is remembered for a while does not stay because there is room for it."""

from __future__ import annotations

from lousa.memory_layers.context.recent import Recent


def test_what_is_too_old_is_not_told_and_goes_with_the_next_that_comes() -> None:
    recent = Recent[str, int](age=60, most=1000)
    for second in range(1000):
        recent.put(f"asked once at {second}", second, now=second)
    assert len(recent) == 60
    assert recent.get("asked once at 999", now=1000) == 999
    assert recent.get("asked once at 999", now=1059) is None
    assert recent.get("never asked", now=1000) is None


def test_the_oldest_goes_when_there_are_too_many() -> None:
    recent = Recent[str, int](age=60, most=2)
    for name, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        recent.put(name, value, now=0)
    assert [recent.get(name, now=1) for name in ("a", "b", "c")] == [3, None, 4]
