"""A watcher's place in the stream, at the moments when reader and watcher overtake each other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from lousa.infra.ids import new_id
from lousa.memory_layers.conversation.changes import StoredChange
from lousa.memory_layers.conversation.feed import Subscription


def change(number: int) -> StoredChange:
    return StoredChange(
        number=number, operation=new_id(), action="write", field="f", before=0, after=number, agent="a", session="s",
        task=None, at=datetime.now(UTC), subject="", payload=b"=1",
    )  # fmt: skip


class Reader:
    """A stream of `last` changes, of which the first `trimmed` are gone; more arrive while a page is on its way."""

    def __init__(self, *, number: int, last: int, trimmed: int = 0, arriving: int = 0) -> None:
        self.number = number
        self.last, self.trimmed, self.arriving = last, trimmed, arriving
        self.place: Subscription | None = None

    async def page(self, number: int) -> list[StoredChange]:
        page = [change(n) for n in range(max(number, self.trimmed) + 1, self.last + 1)]
        for _ in range(self.arriving):
            self.last += 1
            self.number = self.last
            assert self.place is not None
            self.place.offer(change(self.last))
        self.arriving = 0
        return page


def place_of(reader: Reader, number: int) -> Subscription:
    reader.place = Subscription(cast(Any, reader), lambda _: True, number, lost=False)
    return reader.place


async def seen(place: Subscription, count: int) -> list[int]:
    numbers: list[int] = []
    for _ in range(count):
        found = await place.next()
        assert found is not None
        numbers.append(found.number)
        place.step()
    return numbers


async def test_what_arrives_while_an_empty_page_is_read_is_no_gap() -> None:
    place = place_of(Reader(number=1, last=0, arriving=2), 0)
    place._reader.number = 0  # pyright: ignore[reportPrivateUsage]
    place.miss(lost=False)
    assert await seen(place, 2) == [1, 2]


async def test_what_arrives_while_a_page_is_read_comes_after_it_once() -> None:
    place = place_of(Reader(number=3, last=3, arriving=2), 0)
    assert await seen(place, 5) == [1, 2, 3, 4, 5]


async def test_what_is_no_longer_kept_is_a_gap() -> None:
    assert await place_of(Reader(number=5, last=5, trimmed=2), 1).next() is None
    assert await place_of(Reader(number=5, last=5, trimmed=5), 1).next() is None
    assert await seen(place_of(Reader(number=5, last=5, trimmed=2), 2), 3) == [3, 4, 5]


async def test_after_a_gap_it_goes_on_from_where_the_snapshot_ends() -> None:
    reader = Reader(number=5, last=5, trimmed=4)
    place = place_of(reader, 1)
    assert await place.next() is None
    place.restart(5)
    place.offer(change(5))
    place.offer(change(6))
    assert await seen(place, 1) == [6]


async def test_a_page_in_whose_middle_the_board_went_ahead_is_shown_up_to_there() -> None:
    reader = Reader(number=1_003, last=3)
    place = place_of(reader, 1)
    whole = reader.page

    async def page(number: int) -> list[StoredChange]:
        return [*await whole(number), *(change(ahead) for ahead in (1_001, 1_002, 1_003))]

    reader.page = page
    assert await seen(place, 2) == [2, 3]
    assert await place.next() is None
