"""`board`: what an execution's agents share, read, followed or written by a person or a script.

A write that would replace something must name the version it replaces, so that no person overwrites an agent unseen.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from uuid import UUID

from ...infra.errors import BadInput, NotFound
from ...memory_layers.conversation.board import ANY, Board, Conflict, Expect, Written
from ...memory_layers.conversation.changes import Change, Snapshot
from ...memory_layers.execution.executions import Execution
from ..app import Runtime
from ..deserted import deserted
from ..output import emit, short, show, table
from .frame import CONFLICT, Frame, say
from .runs import read_json

INTERRUPTED = "interrupted"
LOOK_AGAIN = 1.0
"""Seconds without a change after which a watcher asks whether the execution has ended."""


async def board(
    frame: Frame,
    execution: str | None,
    field: str | None,
    *,
    watch: bool,
    write: str | None,
    expect: str | None,
    agent: str,
    json: bool,
) -> int:
    """The verb."""
    if write is not None and (field is None or watch):
        raise BadInput("--write needs the field that it writes, and no --watch")
    if watch and execution is None:
        raise BadInput("--watch needs the execution to watch: lousa board ID --watch; `lousa board` lists them")
    if expect is not None and write is None:
        raise BadInput("--expect goes with --write")
    expected = _expected(expect)
    async with frame.open() as runtime:
        if execution is None:
            return await _listed(runtime, json=json)
        record = await runtime.execution(execution)
        of = runtime.board(record.id, agent, session=record.session)
        if write is not None and field is not None:
            return await _write(of, field, write, expected, json=json)
        if watch:
            return await _watch(runtime, record.id, of, field or "*", json=json)
        return await _read(of, field, json=json)


async def _listed(runtime: Runtime, *, json: bool) -> int:
    """The newest executions: whoever names none may want to know which there are."""
    executions = [(one, await _standing(runtime, one)) for one in await runtime.executions()]
    if json:
        emit({"executions": [{**asdict(one), "status": standing} for one, standing in executions]})
        return 0
    if not executions:
        show(f"nothing was run for tenant {runtime.settings.tenant!r} yet; `lousa run` and `lousa demo` do")
        return 0
    rows = [
        (one.id, standing, one.pipeline, one.session, f"{one.started_at:%Y-%m-%d %H:%M}")
        for one, standing in executions
    ]
    show(table("execution", "status", "pipeline", "session", "began", rows=rows))
    if any(standing == INTERRUPTED for _, standing in executions):
        say("nobody runs what was interrupted: lousa resume ID goes on with it")
    return 0


async def _standing(runtime: Runtime, one: Execution) -> str:
    """The status, as a person means it: a run that nobody runs is not running."""
    if one.status == "running" and await deserted(runtime.services.connections, runtime.settings.tenant, one.id):
        return INTERRUPTED
    return one.status


async def _read(of: Board, field: str | None, *, json: bool) -> int:
    if field is not None and "*" not in field:
        value, version = await of.read_versioned(field)
        if version == 0:
            raise NotFound(
                f"the board has no field {field!r} (a board is kept for a day after its execution has ended)"
            )
        if json:
            emit({"field": field, "value": value, "version": version})
        else:
            show(value if isinstance(value, str) else short(value, 1_000_000))
        return 0
    fields = await of.read_all(field or "*")
    if json:
        emit(fields)
    else:
        show(table("field", "version", "value", rows=[(name, of.seen[name], short(v)) for name, v in fields.items()]))
    return 0


async def _write(of: Board, field: str, value: str, expected: Expect, *, json: bool) -> int:
    match await of.write(field, read_json(value), expect=expected):
        case Written(version=version):
            if json:
                emit({"field": field, "written": True, "version": version})
            else:
                show(f"{field} is at version {version}")
            return 0
        case Conflict(version=version, value=there):
            if json:
                emit({"field": field, "written": False, "version": version, "value": there})
            say(f"conflict: {field!r} is at version {version}, {short(there)}; --expect {version} overwrites it")
            return CONFLICT


async def _watch(runtime: Runtime, execution: UUID, of: Board, pattern: str, *, json: bool) -> int:
    """What is there, then every change, until the execution has ended and nothing more came."""
    start = await of.snapshot(pattern)
    _told(start, json=json)
    async with of.watch(since=start.cursor, fields=pattern) as changes:
        last_look = False
        while True:
            try:
                _told(await asyncio.wait_for(anext(changes), LOOK_AGAIN), json=json)
            except TimeoutError:
                if last_look:
                    return 0
                last_look = (await runtime.execution(execution)).ended


def _told(news: Change | Snapshot, *, json: bool) -> None:
    if json:
        emit(news)
        return
    match news:
        case Snapshot(fields=fields):
            show(*(f"{name} = {short(value)}" for name, value in fields.items()))
        case Change(action="delete", field=name, version=version, agent=agent, at=at):
            show(f"{at:%H:%M:%S} {name} deleted at version {version} by {agent}")
        case Change(field=name, version=version, value=value, agent=agent, at=at):
            show(f"{at:%H:%M:%S} {name} = {short(value)}  (version {version}, {agent})")


def _expected(expect: str | None) -> Expect:
    if expect is None:
        return None
    if expect == "any":
        return ANY
    if not expect.isascii() or not expect.isdigit():
        raise BadInput(f"--expect is a version (a number) or `any`, not {expect!r}")
    return int(expect)
