"""The checker: is there an order of operations that explains every answer?

Wing and Gong's search with Lowe's memo. It takes, one after the other, an operation that was invoked before any other
open one was answered, asks the specification whether its answer fits the state, and goes back where nothing fits. What
was taken and the state it led to are remembered, so no place is searched twice. Operations without an answer may be
taken at any time after their invocation, or never.

An operation that only observes changes no state whatever the state is: where its answer fits, it is taken at once and
nothing else is tried, since any order that takes it later can take it here.

J. M. Wing, C. Gong: Testing and verifying concurrent objects, 1993. G. Lowe: Testing for linearizability, 2017.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .histories import Operation

S = TypeVar("S", bound=Hashable)
MOST_STEPS = 2_000_000
_NEVER = 2**63


class Specification(Protocol[S]):
    """What an object is, when one operation comes after the other."""

    def start(self) -> S:
        """Its state before the first."""
        ...

    def step(self, state: S, operation: Operation) -> S | None:
        """The state after the operation; None when it cannot be answered so in this state.

        One without an answer gives the state it leads to when it takes effect, and None when it would take none.
        """
        ...

    def observes(self, operation: Operation) -> bool:
        """Whether an operation that is answered so leaves every state as it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`linearizable`, or not, or None: unknown, the search was given up. Then `reason` says where it got stuck."""

    linearizable: bool | None
    reason: str = ""


@dataclass(slots=True)
class _Place(Generic[S]):
    """A place of the search: what was taken (bits of answered and of unanswered ones), the state, what to try next."""

    taken: int
    unanswered: int
    first: int
    state: S
    moves: Iterator[tuple[int, int, S]]


def check(operations: Sequence[Operation], specification: Specification[S], most_steps: int = MOST_STEPS) -> Verdict:
    """Whether the operations of one object are linearizable."""
    return _Search(operations, specification).run(most_steps)


class _Search(Generic[S]):
    def __init__(self, operations: Sequence[Operation], specification: Specification[S]) -> None:
        by_invocation = sorted(operations, key=lambda each: each.invoked)
        self._answered = [each for each in by_invocation if each.answered is not None]
        self._unanswered = [each for each in by_invocation if each.answered is None]
        self._specification = specification

    def run(self, most_steps: int) -> Verdict:
        goal = (1 << len(self._answered)) - 1
        place = self._place(0, 0, 0, self._specification.start())
        deepest, path = place, [place]
        known = {(0, 0, place.state)}
        for _ in range(most_steps):
            if path[-1].taken == goal:
                return Verdict(linearizable=True)
            move = next(path[-1].moves, None)
            if move is None:
                path.pop()
                if not path:
                    return Verdict(linearizable=False, reason=self._stuck(deepest))
            elif move not in known:
                known.add(move)
                path.append(place := self._place(move[0], move[1], path[-1].first, move[2]))
                if place.taken.bit_count() > deepest.taken.bit_count():
                    deepest = place
        return Verdict(linearizable=None, reason=f"given up after {most_steps} steps; {self._stuck(deepest)}")

    def _place(self, taken: int, unanswered: int, first: int, state: S) -> _Place[S]:
        while taken >> first & 1:
            first += 1
        return _Place(taken, unanswered, first, state, iter(self._moves(taken, unanswered, first, state)))

    def _moves(self, taken: int, unanswered: int, first: int, state: S) -> list[tuple[int, int, S]]:
        """Where the search can go from a place."""
        step, observes = self._specification.step, self._specification.observes
        open_ones, until = self._open(taken, first)
        moves: list[tuple[int, int, S]] = []
        for index in open_ones:
            operation = self._answered[index]
            after = step(state, operation)
            if after is not None:
                move = (taken | 1 << index, unanswered, after)
                if observes(operation):
                    return [move]
                moves.append(move)
        for index, operation in enumerate(self._unanswered):
            if operation.invoked > until:
                break
            if not unanswered >> index & 1:
                after = step(state, operation)
                if after is not None:
                    moves.append((taken, unanswered | 1 << index, after))
        return moves

    def _open(self, taken: int, first: int) -> tuple[list[int], int]:
        """The answered operations that may come next, and the moment before which one has to be invoked for that."""
        found: list[int] = []
        until = _NEVER
        for index in range(first, len(self._answered)):
            operation = self._answered[index]
            if operation.invoked > until:
                break
            if not taken >> index & 1:
                found.append(index)
                until = min(until, operation.answered or until)
        return found, until

    def _stuck(self, place: _Place[S]) -> str:
        waiting = "; ".join(str(self._answered[index]) for index in self._open(place.taken, place.first)[0])
        return f"after {place.taken.bit_count()} of {len(self._answered)}, in state {place.state}, none fits: {waiting}"
