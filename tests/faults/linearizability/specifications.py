"""What a board promises, for one object at a time: a field, and a task that is claimed.

A *field* is a register with versions. A write or deletion that expects another version is a conflict and is told the
version and value there are; any other makes the next version, and a deleted field keeps its version. Deleting what is
not there changes nothing.

A *task* is a lock with a lease, a token that only grows, and one field that is written under it. It is given to one
holder at a time: to the next when it is released, when the lease has ended by the server's clock, or over a holder that
the claim names. What carries another token than the holder's is refused. A claim that was not answered may have been
granted under a token that nobody was told. A task that nobody claimed yet may be begun by a write that brings its claim
along; once it was claimed, such a write is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .checker import Verdict, check
from .histories import Facts, Operation

ANY = "any"
FIRST = ""
"""Whose the first claim of a task is, where a write brought it along."""
LONGEST = 30_000
"""Milliseconds that a history takes at most."""
TOLERANCE = 2
"""Milliseconds by which the server may have seen an unanswered claim before the clock of who made it."""


@dataclass(frozen=True, slots=True)
class Register:
    """A field's version, and its value, None when there is none."""

    version: int = 0
    value: str | None = None

    def written(self, operation: Operation) -> Register | None:
        """After a write, a deletion or an update; None when it is not answered so here."""
        given, answer = operation.given, operation.answer
        expect = self.version if operation.kind == "update" else given["expect"]
        fits = expect in (ANY, self.version)
        if answer is not None and "conflict" in answer:
            return self if not fits and answer["conflict"] == [self.version, self.value] else None
        if operation.kind == "update" and ("new" not in given or given["old"] != self.value):
            return None  # its function was not called yet, or with another value
        if not fits:
            return None
        if operation.kind == "delete" and self.value is None:
            return self if answer == {"version": self.version, "changed": False} else None
        after = Register(self.version + 1, None if operation.kind == "delete" else given["new"])
        return after if answer in (None, {"version": after.version, "changed": True}) else None

    def reads(self, answer: Facts | None) -> bool:
        """Whether a read is answered so."""
        return answer == {"version": self.version, "value": self.value}


class Field:
    """Satisfies `Specification`."""

    def start(self) -> Register:
        return Register()

    def step(self, state: Register, operation: Operation) -> Register | None:
        if operation.kind == "read":
            return state if state.reads(operation.answer) else None
        return state.written(operation)

    def observes(self, operation: Operation) -> bool:
        return _only_observes(operation)


@dataclass(frozen=True, slots=True)
class Lock:
    """A task: its last token (or, while it is not `known`, the least it can be), its holder, the end of the lease."""

    token: int = 0
    known: bool = True
    holder: str | None = None
    until: int = 0
    field: Register = Register()

    def free_for(self, given: Facts, now: int) -> bool:
        """Whether a claim is granted at that moment."""
        over = given["over"]
        named = over == ANY or (over is not None and (over == self.token or not self.known))
        return self.holder is None or named or self.until <= now

    def carries(self, token: int) -> bool:
        """Whether a mutation with that token is the holder's."""
        return self.holder is not None and self.known and self.token == token


class Task:
    """Satisfies `Specification`."""

    def start(self) -> Lock:
        return Lock()

    def step(self, state: Lock, operation: Operation) -> Lock | None:
        return getattr(self, f"_{operation.kind}")(state, operation)

    def observes(self, operation: Operation) -> bool:
        answer = operation.answer or {}
        return "taken" in answer or "stale" in answer or _only_observes(operation)

    def _claim(self, state: Lock, operation: Operation) -> Lock | None:
        given, answer = operation.given, operation.answer
        if answer is None:
            if not state.free_for(given, given["wall"] + LONGEST):
                return None
            until = given["wall"] + given["lease"] - TOLERANCE
            return replace(state, token=state.token + 1, known=False, holder=operation.id, until=until)
        if "taken" in answer:
            return state if state.holder is not None and given["over"] != ANY else None
        if answer["token"] <= state.token or not state.free_for(given, answer["until"] - given["lease"]):
            return None
        return replace(state, token=answer["token"], known=True, holder=operation.id, until=answer["until"])

    def _begin(self, state: Lock, operation: Operation) -> Lock | None:
        given, answer = operation.given, operation.answer
        never_claimed = state.token == 0
        if answer is not None and "stale" in answer:
            return None if never_claimed else state
        told = dict(answer or {})
        token = told.pop("token", None)
        field = state.field.written(replace(operation, answer=None if answer is None else told))
        if field is None or not never_claimed:
            return None
        until = given["wall"] + given["lease"] - TOLERANCE
        return Lock(token=token or 1, known=token is not None, holder=FIRST, until=until, field=field)

    def _renew(self, state: Lock, operation: Operation) -> Lock | None:
        mine = state.holder == operation.given["claim"]
        if operation.answer is None:
            return None  # a lease that may be longer forbids nothing that this specification does not allow
        if "stale" in operation.answer:
            return None if mine else state
        return replace(state, until=operation.answer["until"]) if mine else None

    def _release(self, state: Lock, operation: Operation) -> Lock | None:
        if state.holder == operation.given["claim"]:
            return replace(state, holder=None)
        return None if operation.answer is None else state

    def _holder(self, state: Lock, operation: Operation) -> Lock | None:
        answer = operation.answer or {}
        if "nobody" in answer:
            return state if state.holder is None else None
        if not answer or answer["claim"] != state.holder:
            return None
        token = answer["token"]
        fits = token == state.token if state.known else token >= state.token
        return replace(state, token=token, known=True) if fits else None

    def _write(self, state: Lock, operation: Operation) -> Lock | None:
        carries = state.carries(operation.given["token"])
        if operation.answer is not None and "stale" in operation.answer:
            return None if carries else state
        after = state.field.written(operation) if carries else None
        return None if after is None else replace(state, field=after)

    def _read(self, state: Lock, operation: Operation) -> Lock | None:
        return state if state.field.reads(operation.answer) else None


def _only_observes(operation: Operation) -> bool:
    answer = operation.answer or {}
    return operation.kind == "read" or "conflict" in answer or answer.get("changed") is False


def judge(operations: Iterable[Operation]) -> dict[str, Verdict]:
    """The verdict on every object of a board, and on the tokens of all its tasks together."""
    objects: dict[str, list[Operation]] = {}
    for operation in operations:
        objects.setdefault(operation.object, []).append(operation)
    verdicts: dict[str, Verdict] = {}
    for name, own in sorted(objects.items()):
        verdicts[name] = check(own, Task()) if name.startswith("task") else check(own, Field())
    granted = [each for own in objects.values() for each in own if each.answer and each.kind in ("claim", "begin")]
    return {**verdicts, "tokens": tokens_grow([each for each in granted if "token" in (each.answer or {})])}


def tokens_grow(granted: Iterable[Operation]) -> Verdict:
    """Whether no token of a board was given twice, or after a greater one had been given: all tasks share them."""
    seen: dict[int, str] = {}
    by_invocation = sorted(granted, key=lambda each: each.invoked)
    by_answer = sorted(by_invocation, key=lambda each: each.answered or 0)
    greatest, before = 0, 0
    for each in by_invocation:
        while before < len(by_answer) and (by_answer[before].answered or 0) < each.invoked:
            greatest = max(greatest, (by_answer[before].answer or {})["token"])
            before += 1
        token: int = (each.answer or {})["token"]
        if token in seen or token <= greatest:
            why = f"token {token} of {each} was given to {seen.get(token)} before, or comes after {greatest}"
            return Verdict(linearizable=False, reason=why)
        seen[token] = each.id
    return Verdict(linearizable=True)
