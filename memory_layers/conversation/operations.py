"""Operation ids: how a repeated call is known to be a repetition.

Every mutation carries one. Inside a task the id derives from the execution, the round, the task, what the call is
about (`of`, say ``write words/a``) and the ordinal of the call among those about the same: a task that runs again
after a crash meets the answers of its first attempt. Counting by what a call is about lets a task write two fields in
parallel in any order; two parallel calls about the *same* thing have no order that a second attempt could repeat, and
pass `key`.

Outside a task every call is a new one, unless it says by `key` that it is not.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from ...infra.errors import BadInput
from ...infra.ids import derived_id, new_id
from ...infra.text import flaw


class Operations:
    """The ids of the calls of one desk, in order. One object a desk, shared by all that the desk can do."""

    def __init__(self, execution: UUID | None, *, task: str | None = None, round: int = 0) -> None:
        if task is not None and execution is None:
            raise BadInput(f"task {task!r} belongs to an execution: pass its id")
        if task is not None and (wrong := flaw(task)) is not None:
            raise BadInput(f"the task {task[:60]!r} {wrong}")
        self._execution = execution
        self._task = task
        self._round = round
        self._calls: Counter[str] = Counter()

    def next(self, key: str | None = None, *, of: str = "") -> UUID:
        """The id of the next call about `of`.

        Raises:
            BadInput: `key` is no name, or is given outside an execution, where nothing would remember it.
        """
        if not isinstance(key, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise BadInput(f"key= is {type(key).__name__}: it names the call, so it is text")
        for what, name in (("key=", key or ""), ("the call ", of)):
            if (wrong := flaw(name)) is not None:
                raise BadInput(f"{what}{name[:60]!r} {wrong}")
        if self._execution is None:
            if key is not None:
                raise BadInput(f"key={key!r} has a meaning within an execution only: leave it out")
            return new_id()
        if key is not None:
            return derived_id(self._execution, self._round, self._task or "", of, "key", key)
        if self._task is None:
            return new_id()
        self._calls[of] += 1
        return derived_id(self._execution, self._round, self._task, of, "call", self._calls[of])
