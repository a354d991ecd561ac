"""The checker finds what no order explains, and nothing else. Each history is written by hand, and has a sound twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from linearizability.checker import check
from linearizability.histories import Operation
from linearizability.specifications import ANY, Field, judge


class History:
    """Operations in the order of this page; each takes from `start` to `end`."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, kind: str, start: int, end: int | None, object: str = "field", **parts: Any) -> History:
        id = parts.pop("id", f"{kind}-{len(self.operations)}")
        answer = parts.pop("answer", None)
        operation = Operation(id=id, object=object, kind=kind, given=parts, invoked=start, answer=answer, answered=end)
        self.operations.append(operation)
        return self

    def write(self, new: str, expect: int | str, start: int, end: int | None, version: int = 0) -> History:
        answer = None if end is None else {"version": version, "changed": True}
        return self.add("write", start, end, new=new, expect=expect, answer=answer)

    def refused(self, new: str, expect: int, start: int, end: int, there: Sequence[Any]) -> History:
        return self.add("write", start, end, new=new, expect=expect, answer={"conflict": list(there)})

    def update(self, old: str | None, new: str, start: int, end: int, version: int) -> History:
        return self.add("update", start, end, old=old, new=new, answer={"version": version, "changed": True})

    def delete(self, expect: int | str, start: int, end: int, version: int, changed: bool = True) -> History:
        return self.add("delete", start, end, expect=expect, answer={"version": version, "changed": changed})

    def read(self, value: str | None, version: int, start: int, end: int) -> History:
        return self.add("read", start, end, answer={"version": version, "value": value})

    def claim(
        self, id: str, start: int, end: int | None, token: int = 0, over: Any = None, lease: int = 1000
    ) -> History:
        answer = None if end is None else {"token": token, "until": end + lease} if token else {"taken": True}
        return self.add("claim", start, end, "task", id=id, over=over, lease=lease, wall=start, answer=answer)

    def begin(self, start: int, end: int | None, version: int = 0, token: int | None = None) -> History:
        answer = {"version": version, "changed": True, "token": token} if token else {"stale": True}
        given = {"lease": 1000, "wall": start, "expect": ANY, "new": f"{start}"}
        return self.add("begin", start, end, "task", answer=None if end is None else answer, **given)

    def release(self, claim: str, start: int, end: int) -> History:
        return self.add("release", start, end, "task", claim=claim, answer={"done": True})

    def renew(self, claim: str, start: int, end: int, lost: bool = False) -> History:
        return self.add("renew", start, end, "task", claim=claim, answer={"stale": True} if lost else {"until": 9_999})

    def under(self, token: int, start: int, end: int, version: int = 0) -> History:
        answer = {"version": version, "changed": True} if version else {"stale": True}
        return self.add("write", start, end, "task", token=token, new=f"{token}", expect=ANY, answer=answer)

    @property
    def sound(self) -> bool:
        return all(verdict.linearizable for verdict in judge(self.operations).values())


def test_concurrent_operations_may_take_effect_in_any_order() -> None:
    assert History().write("a", 0, 0, 10, 1).write("b", ANY, 0, 10, 2).read("a", 1, 5, 15).read("b", 2, 5, 15).sound
    assert History().write("a", ANY, 0, 10, 2).write("b", 0, 0, 10, 1).read("b", 1, 5, 6).read("a", 2, 7, 15).sound


def test_a_lost_update_is_found() -> None:
    both = History().update(None, "a", 0, 10, 1).update("a", "b", 5, 15, 2)
    assert both.sound
    assert both.read("b", 2, 20, 21).sound
    assert not History().update(None, "a", 0, 10, 1).update(None, "b", 5, 15, 2).sound


def test_a_stale_read_is_found() -> None:
    assert History().write("a", 0, 0, 1, 1).write("b", 1, 2, 10, 2).read("a", 1, 3, 4).sound
    assert not History().write("a", 0, 0, 1, 1).write("b", 1, 2, 3, 2).read("a", 1, 4, 5).sound


def test_a_version_that_is_given_twice_is_found() -> None:
    assert History().write("a", ANY, 0, 10, 1).write("b", ANY, 0, 10, 2).sound
    assert not History().write("a", ANY, 0, 10, 1).write("b", ANY, 0, 10, 1).sound


def test_a_version_that_begins_anew_after_a_deletion_is_found() -> None:
    assert History().write("a", 0, 0, 1, 1).delete(1, 2, 3, 2).write("b", 2, 4, 5, 3).sound
    assert History().write("a", 0, 0, 1, 1).delete(1, 2, 3, 2).delete(2, 4, 5, 2, changed=False).sound
    assert not History().write("a", 0, 0, 1, 1).delete(1, 2, 3, 2).write("b", 0, 4, 5, 1).sound


def test_a_write_that_is_sent_again_and_conflicts_with_itself_is_found() -> None:
    assert History().write("a", 0, 0, 1, 1).refused("b", 0, 2, 3, [1, "a"]).sound
    assert not History().refused("a", 0, 0, 5, [1, "a"]).read("a", 1, 6, 7).sound


def test_two_holders_of_one_claim_are_found() -> None:
    assert History().claim("x", 0, 1, 1).claim("y", 2, 3).release("x", 4, 5).claim("y2", 6, 7, 2).sound
    assert History().claim("x", 0, 1, 1).claim("y", 2, 3, 2, over=ANY).renew("x", 4, 5, lost=True).sound
    assert History().claim("x", 0, 1, 1, lease=5).claim("y", 8, 9, 2).sound
    assert not History().claim("x", 0, 1, 1).claim("y", 2, 3, 2).sound
    assert not History().claim("x", 0, 1, 1).claim("y", 2, 3, 2, over=ANY).renew("x", 4, 5).sound
    assert not History().claim("x", 0, 1, 1).release("x", 2, 3).claim("y", 4, 5).sound


def test_a_token_that_begins_anew_is_found() -> None:
    assert History().claim("x", 0, 1, 5).release("x", 2, 3).claim("y", 4, 5, 6).sound
    assert not History().claim("x", 0, 1, 5).release("x", 2, 3).claim("y", 4, 5, 1).sound
    assert not History().claim("x", 0, 1, 5).release("x", 2, 3).claim("y", 4, 5, 5).sound


def test_tokens_grow_over_all_tasks_of_a_board() -> None:
    def claims(second: int, start: int) -> bool:
        granted = {"over": None, "lease": 1000, "wall": 0}
        first = History().add("claim", 0, 1, "task-0", answer={"token": 5, "until": 1001}, **granted)
        until = {"token": second, "until": start + 1001}
        return first.add("claim", start, start + 1, "task-1", answer=until, **granted).sound

    assert claims(6, 2)
    assert claims(4, 0), "both were under way"
    assert not claims(4, 2)
    assert not claims(5, 0)


def test_a_zombie_that_is_let_write_is_found() -> None:
    overtaken = History().claim("x", 0, 1, 1).claim("y", 2, 3, 2, over=ANY).under(2, 4, 5, version=1)
    assert overtaken.sound
    assert overtaken.under(1, 6, 7).sound
    assert not overtaken.under(1, 8, 9, version=2).sound
    assert not History().claim("x", 0, 1, 1).under(1, 2, 3).sound, "the holder was refused"
    assert not History().claim("x", 0, 1, 1).release("x", 2, 3).under(1, 4, 5, version=1).sound


def test_what_was_not_answered_took_effect_at_any_later_time_or_never() -> None:
    def unanswered() -> History:
        return History().write("a", 0, 0, None)

    assert unanswered().read(None, 0, 5, 6).sound
    assert unanswered().read(None, 0, 5, 6).read("a", 1, 7, 8).sound
    assert unanswered().refused("b", 0, 5, 6, [1, "a"]).sound
    assert not unanswered().read("a", 1, 5, 6).read(None, 0, 7, 8).sound
    assert not History().read("a", 1, 0, 1).write("a", 0, 2, None).sound, "not before it was asked"


def test_a_claim_that_was_not_answered_may_hold_the_task() -> None:
    def unanswered() -> History:
        return History().claim("x", 0, None)

    assert unanswered().claim("y", 2, 3).sound
    assert unanswered().claim("y", 2, 3, 1).sound
    assert unanswered().claim("y", 2, 3).claim("z", 4, 5, 2, over=ANY).sound
    assert not unanswered().claim("y", 2, 3).claim("z", 4, 5, 2).sound
    assert not unanswered().claim("y", 2, 3).claim("z", 4, 5, 1, over=ANY).sound, "token 1 is that of x"


def test_a_task_is_begun_by_a_write_once_and_never_after_it_was_claimed() -> None:
    begun = History().begin(0, 1, version=1, token=1)
    assert begun.sound
    assert begun.begin(2, 3).under(1, 4, 5, version=2).sound
    assert not begun.begin(6, 7, version=3, token=2).sound
    assert History().claim("x", 0, 1, 1).release("x", 2, 3).begin(4, 5).sound
    assert not History().claim("x", 0, 1, 1).release("x", 2, 3).begin(4, 5, version=1, token=2).sound
    assert not History().begin(0, 1).sound, "nobody had claimed it"
    assert History().begin(0, None).claim("y", 2, 3).sound
    assert not History().begin(0, None).claim("y", 2, 3).begin(4, 5, version=1, token=1).sound


def test_a_search_that_is_given_up_says_so() -> None:
    history = History()
    for number in range(6):
        history.write(f"{number}", ANY, 0, 100, 6 - number)
    assert check(history.operations, Field()).linearizable
    assert check(history.operations, Field(), most_steps=3).linearizable is None


def test_what_was_found_names_the_operation_that_does_not_fit() -> None:
    verdict = judge(History().write("a", 0, 0, 1, 1).read(None, 0, 2, 3).operations)["field"]
    assert not verdict.linearizable
    assert "read-1 field.read" in verdict.reason
    assert "version=1, value='a'" in verdict.reason


@pytest.mark.parametrize("clients", [2, 6])
def test_a_long_history_with_much_at_the_same_time_is_found_sound(clients: int) -> None:
    history = History()
    for number in range(300):
        begin = number // clients * 10
        history.write(f"{number}", ANY, begin, begin + 9, number // clients * clients + clients - number % clients)
    assert history.sound
