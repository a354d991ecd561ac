"""What grew: a judgement over series of samples, and nothing else.

The first fifth of a soak is warm-up and does not count: caches fill, pools open, models load. Of the rest, the first
fifth of the soak after it is held against the last. A median stands for each, so that one odd sample decides nothing;
for what comes and goes with each request (tasks, handles, connections) the lower quartile, because a leak lifts the
floor.
The slope is that of the least squares over everything after the warm-up. Both are reported; the growth is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median, quantiles

Series = Sequence[tuple[float, float]]
"""Minutes since the start, and what was measured then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much a series may grow: by a share of what it was, and by so much besides."""

    share: float = 0.0
    besides: float = 0.0
    floor: bool = False
    """Whether its floor is judged, in place of its middle."""

    def level(self, values: Sequence[float]) -> float:
        """What stands for some samples."""
        return quantiles(values, n=4)[0] if self.floor else median(values)


LIMITS: Mapping[str, Limit] = {
    "memory": Limit(share=0.10, besides=8.0),
    "handles": Limit(besides=3, floor=True),
    "tasks": Limit(share=0.10, besides=3, floor=True),
    "connections": Limit(besides=3, floor=True),
    "keys": Limit(share=0.25, besides=200),
    "owed": Limit(share=0.25, besides=500),
}
"""By the first part of a series' name. Memory is in MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a series went after the warm-up."""

    first: float
    last: float
    slope: float
    """A minute."""
    allowed: float

    @property
    def grew(self) -> bool:
        """More than it may."""
        return self.last - self.first > self.allowed


def course(series: Series, limit: Limit) -> Course:
    """The course of one series.

    Raises:
        ValueError: there are too few samples to say anything.
    """
    if len(series) < 10:
        raise ValueError(f"{len(series)} samples say nothing: let it run for longer, or sample more often")
    fifth = len(series) // 5
    counted = series[fifth:]
    first = limit.level([value for _, value in counted[:fifth]])
    last = limit.level([value for _, value in counted[-fifth:]])
    slope = linear_regression([minute for minute, _ in counted], [value for _, value in counted]).slope
    return Course(first=first, last=last, slope=slope, allowed=first * limit.share + limit.besides)


def judge(series: Mapping[str, Series]) -> dict[str, Course]:
    """The course of every series, each under the limit of its kind."""
    return {name: course(samples, LIMITS[name.partition("/")[0]]) for name, samples in sorted(series.items())}
