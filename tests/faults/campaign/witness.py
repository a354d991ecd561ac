"""The witness: what was intended, acknowledged and seen, as the children told it, and what was wrong at once.

It is never killed. A word of a child that died counts, since it was with the kernel before the child went on.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

NEEDS = {"own": "valkey", "cas": "valkey", "add": "valkey", "back": "valkey", "through": "postgres", "fact": "postgres"}
"""The server without which an operation cannot be acknowledged."""
KINDS = ("lost", "doubled", "unaudited", "missed_changes", "leaked")
_SHOWN = 12


@dataclass(slots=True)
class Told:
    """One operation: what a worker intended, and the first answer it had."""

    key: str
    agent: str
    tenant: str
    do: str
    execution: str
    what: dict[str, Any]
    answer: list[Any] | None = None

    def words(self) -> dict[str, Any]:
        """As a worker is handed it to send it again."""
        return {"key": self.key, "do": self.do, "execution": self.execution, "what": self.what}


@dataclass(slots=True)
class Agent:
    """One worker, over all the processes that played it."""

    name: str
    tenant: str
    number: int = 0
    told: list[Told] = field(default_factory=list[Told])
    unanswered: dict[str, Told] = field(default_factory=dict[str, Told])


@dataclass(slots=True)
class Watched:
    """What watchers told of one board: changes, and the jumps that snapshots announced."""

    cursor: int = 0
    seen: dict[int, tuple[str, int, Any]] = field(default_factory=dict[int, tuple[str, int, Any]])
    jumps: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list[tuple[int, int, dict[str, Any]]])


class Witness:
    """Hears every child."""

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        self.told: dict[str, Told] = {}
        self.watched: dict[str, Watched] = defaultdict(Watched)
        self.found: Counter[str] = Counter()
        self.examples: list[str] = []
        self.acknowledged = 0
        self.repeats = 0
        self.resent = 0
        self.snapshots = 0
        self.restored: dict[str, tuple[int, int]] = {}
        """Boards that were restored from a backup: their last number in it, and the one they went on after."""
        self.last: dict[str, float] = {"valkey": 0.0, "postgres": 0.0}
        """When an operation that needs that server was acknowledged last."""

    def wrong(self, kind: str, what: str) -> None:
        """Something of that kind was found."""
        self.found[kind] += 1
        if self.found[kind] <= _SHOWN:
            self.examples.append(f"{kind}: {what}")

    # What children tell

    def intent(self, agent: str, key: str, do: str, execution: str, what: dict[str, Any]) -> None:
        known = self.agents[agent]
        told = Told(key, agent, known.tenant, do, execution, what)
        known.number += 1
        known.told.append(told)
        known.unanswered[key] = self.told[key] = told

    def ack(self, key: str, answer: list[Any]) -> None:
        told = self.told[key]
        told.answer = answer
        self.agents[told.agent].unanswered.pop(key, None)
        if answer[0] == "refused":
            self.wrong("refused", f"{told.do} {key}: {answer[1]}: {answer[2]}")
            return
        if told.do == "own" and answer[0] == "conflict":
            self.wrong("doubled", f"nobody else writes {told.what['field']}, and {key} met a conflict: {answer}")
        self.repeats += answer[0] == "written" and answer[3]
        self.acknowledged += 1
        if (server := NEEDS.get(told.do)) is not None:
            self.last[server] = time.monotonic()

    def again(self, key: str, answer: list[Any]) -> None:
        told = self.told[key]
        first = told.answer or []
        self.resent += 1
        if (first[0] == "written" and (answer[0] != "written" or answer[1:3] != first[1:3])) or (
            first[0] == "kept" and (answer[0] != "kept" or answer[1] != first[1])
        ):
            self.wrong("doubled", f"{key} was answered {first} and, sent again, {answer}")

    def unseen(self, key: str, memory: str, of: str) -> None:
        self.wrong("lost", f"a recall ({key}) that was behind in nothing did not bring {memory} of {of}")

    def leak(self, what: str) -> None:
        self.wrong("leaked", what)

    def seen(self, execution: str, cursor: str, name: str, version: int, value: Any) -> None:
        watched, number = self.watched[execution], _number(cursor)
        if number != watched.cursor + 1:
            what = f"after change {watched.cursor} of {execution} the watcher was shown {number}"
            self.wrong("missed_changes", what)
        watched.cursor = max(number, watched.cursor)
        watched.seen[number] = (name, version, value)

    def snapshot(self, execution: str, cursor: str, fields: dict[str, Any]) -> None:
        watched, number = self.watched[execution], _number(cursor)
        if number < watched.cursor:
            self.wrong("missed_changes", f"a snapshot of {execution} went back from {watched.cursor} to {number}")
        self.snapshots += 1
        watched.jumps.append((watched.cursor, number, fields))
        watched.cursor = max(number, watched.cursor)

    # What successors are handed

    def order(self, agent: str, open_boards: dict[str, str], others: dict[str, list[str]], rng: Any) -> dict[str, Any]:
        """All that a worker needs to go on where a dead one stopped."""
        known = self.agents[agent]
        execution = open_boards[known.tenant]
        versions: dict[str, int] = {}
        for told in known.told[-200:]:
            if told.execution == execution and told.do == "own" and told.answer and told.answer[0] == "written":
                versions[told.what["field"]] = told.answer[1]
        answered = [told for told in known.told[-60:] if told.answer and told.answer[0] in ("written", "kept")]
        kept = {told.key: told.answer[1] for told in known.told[-80:] if told.answer and told.do in ("back", "through")}
        gone = {told.what["memory"] for told in known.told if told.do == "forget"}
        return {
            "agent": agent,
            "tenant": known.tenant,
            "execution": execution,
            "other": others[known.tenant],
            "number": known.number,
            "versions": versions,
            "kept": [(key, identifier) for key, identifier in kept.items() if identifier not in gone][-6:],
            "unanswered": [told.words() for told in known.unanswered.values()],
            "answered": [told.words() for told in rng.sample(answered, min(2, len(answered)))],
        }

    def under_way(self, execution: str) -> int:
        """How many operations of an execution have no answer yet."""
        return sum(told.execution == execution for agent in self.agents.values() for told in agent.unanswered.values())


def _number(cursor: str) -> int:
    return int(cursor.removeprefix("0-"))
