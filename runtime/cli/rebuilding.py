"""`rebuild`: make a layer anew from the record, while it serves, and say by what figures it agrees with it.

On a terminal a bar shows how far it is and how long it will take; anywhere else each phase is a line.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ...infra.errors import BadInput
from ...memory_layers.rebuild.agreement import Agreement
from ...memory_layers.rebuild.context import Progress as News
from ..output import console, emit, show
from ..rebuild import Done, Known, Rebuilding, rebuilding
from .frame import Frame, say
from .served import while_served

Layer = Literal["context", "knowledge"]


async def rebuild(frame: Frame, layer: Layer, *, abandon: bool, keep_old: bool, json: bool) -> int:
    """The verb.

    Raises:
        BadInput: an option that the layer has not.
    """
    if layer == "knowledge" and (abandon or keep_old):
        raise BadInput(
            f"{'--abandon' if abandon else '--keep-old'} is for context: a rebuild of knowledge changes what differs"
            " and nothing else, so there is nothing to give up or to keep"
        )
    settings = frame.settings()
    async with rebuilding(settings) as opened, while_served(settings, opened.connections):
        if abandon:
            return await _abandon(opened, json=json)
        with _shown() as draw:

            def tell(news: News) -> None:
                frame.on_interrupt[:] = [f"what is made goes on with: {frame.command('rebuild', layer)}"]
                draw(news)

            if layer == "knowledge":
                return _known(await opened.knowledge(tell), json=json)
            done = await opened.context(keep_old=keep_old, tell=tell)
    return _told(done, json=json)


def _known(known: Known, *, json: bool) -> int:
    if json:
        emit({"layer": "knowledge", "derived": known.derived, "brought": known.brought, "ended": known.ended})
        return 0
    derived, brought = known.derived, known.brought
    show(
        f"{derived.facts:,} facts of {derived.tenants:,} tenants derived anew: {derived.added:,} were lacking,"
        f" {derived.changed:,} were otherwise, {derived.removed:,} had no memory"
    )
    if brought is None:
        said = f"; {known.ended:,} records are owed to no graph outside any more" if known.ended else ""
        show(f"the graph is read in Postgres{said}")
    else:
        show(
            f"{brought.store} was given {brought.given:,} records, and {brought.owed:,} are on their way",
            f"the graph is read in {brought.store} from now on",
        )
    return 0


async def _abandon(opened: Rebuilding, *, json: bool) -> int:
    space, left = await opened.abandon_context()
    if json:
        emit({"abandoned": space, "left": left})
        return 0
    show(f"given up: vectors of {space.model!r} in {space.store}; what served before still does")
    say(*(f"left in {each}" for each in left))
    return 0


def _told(done: Done, *, json: bool) -> int:
    rebuilt, found = done.rebuilt, done.rebuilt.agreement
    if json:
        emit({"layer": "context", **_fields(done)})
        return 0
    show(
        f"{found.live:,} memories of {found.tenants:,} tenants: {found.held:,} vectors,"
        f" {found.owed:,} owed, digests of ids {'equal' if found.equal else 'differ'} ({found.digest})",
        f"{found.alike} of {found.sampled} sampled vectors are what the model makes of their text",
    )
    if found.counted is not None:
        show(f"the store itself counts {found.counted:,}")
    if rebuilt.inherited:
        show(f"{rebuilt.inherited:,} memories of the last moment are found by words, and by likeness soon")
    say(*(f"vectors were left in {each}" for each in done.left))
    show(
        f"layer 2 lies in {rebuilt.store} with vectors of {rebuilt.model!r} from now on"
        f" ({'gone on with and ' if rebuilt.resumed else ''}done in {rebuilt.seconds:,.1f} s)"
    )
    return 0


def _fields(done: Done) -> dict[str, object]:
    rebuilt = done.rebuilt
    agreement: Agreement = rebuilt.agreement
    return {
        "space": rebuilt.space,
        "store": rebuilt.store,
        "model": rebuilt.model,
        "former": rebuilt.former,
        "resumed": rebuilt.resumed,
        "agreement": agreement,
        "inherited": rebuilt.inherited,
        "left": done.left,
        "seconds": round(rebuilt.seconds, 3),
    }


@contextmanager
def _shown() -> Generator[Callable[[News], None]]:
    """A listener that shows what it is told while the block runs."""
    out = console(stderr=True)
    if not out.is_terminal:
        phases: list[str] = []

        def line(news: News) -> None:
            if news.phase not in phases[-1:]:
                phases.append(news.phase)
                say(news.phase)

        yield line
        return
    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, transient=True) as picture:
        shown: dict[str, TaskID] = {}

        def draw(news: News) -> None:
            if news.phase not in shown:
                for task in shown.values():
                    picture.update(task, visible=False)
                shown[news.phase] = picture.add_task(news.phase, total=None, said="")
            said = f"{news.done:,} of {news.total:,}" if news.total else ""
            picture.update(shown[news.phase], completed=news.done, total=news.total or None, said=said)

        yield draw
