"""The command line: its verbs, each a function that says what it takes and hands it on.

Here stand only names, options and help, so that `lousa --help` is there at once: what a verb does is imported when it
is asked for. `frame` runs it, turns every error into one line with a way out, and decides the exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from . import frame

EVERYWHERE = ("--home", "--tenant", "--debug")

app = typer.Typer(
    name="lousa",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 waits for a person, 4 not found, 5 no server,"
    " 6 another schema, 7 conflict, 8 doctor found something, 10 rejected, 130 interrupted.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]
Session = Annotated[str, typer.Option(help="The conversation that this belongs to.")]
Agent = Annotated[str, typer.Option(help="In whose name.")]
Identifier = Annotated[str, typer.Argument(metavar="ID", help="The execution.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lousa {version('lousa')}")
        raise typer.Exit


@app.callback()
def everywhere(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option(help="Where the embedded servers keep their data.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Who owns the data.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A blackboard on which parallel agents share what they know, remember it, and leave a trail.

    Begin with: lousa demo
    """
    context.obj = frame.Frame(home=home, tenant=tenant, debug=debug)


@app.command()
def run(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A Python file, or a folder, with a pipeline.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="What it works on.")] = None,
    goal: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="The whole goal, instead of ARGS.")] = None,
    session: Session = "default",
    json: AsJson = False,
) -> None:
    """Run a pipeline and show its work."""
    from . import runs

    outer = frame.of(context)
    outer.perform(runs.run(outer, path, arguments or [], goal=goal, session=session, json=json))


@app.command()
def demo(context: typer.Context, json: AsJson = False) -> None:
    """Review four agreements with ten parallel agents, on two days."""
    from . import demonstration

    outer = frame.of(context)
    outer.perform(demonstration.demo(outer, json=json))


@app.command()
def resume(
    context: typer.Context,
    execution: Identifier,
    answer: Annotated[str | None, typer.Option(metavar="TEXT|JSON", help="What a person says to the question.")] = None,
    verdict: Annotated[
        Literal["accept", "reject", "revise"] | None, typer.Option(help="What a person decides.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Go on with an execution that was interrupted, or that waits for a person."""
    from . import runs

    outer = frame.of(context)
    outer.perform(runs.resume(outer, execution, answer=answer, verdict=verdict, json=json))


@app.command()
def board(
    context: typer.Context,
    execution: Annotated[str | None, typer.Argument(metavar="ID", help="The execution; without it, a list.")] = None,
    field: Annotated[str | None, typer.Argument(help="One field, or a pattern with *; without it, all.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show each change as it comes.")] = False,
    write: Annotated[str | None, typer.Option(metavar="VALUE", help="Write JSON, or text, to the field.")] = None,
    expect: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Overwrite this version, or `any`; a new field needs none.")
    ] = None,
    agent: Agent = "user",
    json: AsJson = False,
) -> None:
    """Read, watch or write the board of an execution."""
    from . import boards

    outer = frame.of(context)
    verb = boards.board(outer, execution, field, watch=watch, write=write, expect=expect, agent=agent, json=json)
    outer.perform(verb)


@app.command()
def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for, in words.")],
    k: Annotated[int, typer.Option("-k", min=1, max=200, help="How many hits, at most.")] = 8,
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind; may be repeated.")] = None,
    as_of: Annotated[str | None, typer.Option(metavar="TIME", help="What was true then, as 2026-11-30.")] = None,
    session: Session = "default",
    agent: Agent = "user",
    json: AsJson = False,
) -> None:
    """Find what is remembered."""
    from . import memories

    outer = frame.of(context)
    outer.perform(
        memories.recall(outer, query, k=k, kinds=kind or [], as_of=as_of, session=session, agent=agent, json=json)
    )


@app.command()
def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; `-` reads standard input.")],
    kind: Annotated[str, typer.Option(help="episodic, semantic, procedural, block or fact.")] = "semantic",
    scope: Annotated[str, typer.Option(help="private, shared (with the session) or tenant.")] = "shared",
    source: Annotated[Literal["user", "tool", "agent", "web"], typer.Option(help="Where it comes from.")] = "user",
    session: Session = "default",
    agent: Agent = "user",
    json: AsJson = False,
) -> None:
    """Remember one thing."""
    from . import memories

    outer = frame.of(context)
    who = {"session": session, "agent": agent}
    outer.perform(memories.remember(outer, text, kind=kind, scope=scope, source=source, **who, json=json))


@app.command()
def confirm(
    context: typer.Context,
    memory: Annotated[str, typer.Argument(metavar="ID", help="The memory.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the audit ledger.")],
    json: AsJson = False,
) -> None:
    """Let a memory out of quarantine, or back from the archive."""
    from . import memories

    outer = frame.of(context)
    outer.perform(memories.confirm(outer, memory, reason=reason, json=json))


@app.command()
def forget(
    context: typer.Context,
    memory: Annotated[str, typer.Argument(metavar="ID", help="The memory.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the audit ledger.")],
    json: AsJson = False,
) -> None:
    """Withdraw a memory: no recall brings it back."""
    from . import memories

    outer = frame.of(context)
    outer.perform(memories.forget(outer, memory, reason=reason, json=json))


@app.command()
def trail(context: typer.Context, execution: Identifier, json: AsJson = False) -> None:
    """Who did what in an execution and why, in order."""
    from . import trails

    outer = frame.of(context)
    outer.perform(trails.trail(outer, execution, json=json))


@app.command()
def consolidate(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and say what would be done.")] = False,
    step: Annotated[list[str] | None, typer.Option(help="Only this step; may be repeated.")] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="Everyone who has memories.")] = False,
    json: AsJson = False,
) -> None:
    """Let go of what is past its time, fold what is there twice, archive what is old, promote what proved itself."""
    from . import consolidating

    outer = frame.of(context)
    outer.perform(consolidating.consolidate(outer, step or [], dry_run=dry_run, all_tenants=all_tenants, json=json))


@app.command()
def extract(
    context: typer.Context,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also what failed, however often it did.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many sources.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this conversation.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read nothing, and say what would be read.")] = False,
    json: AsJson = False,
) -> None:
    """Have the model that LOUSA_MODEL names read what was said: to facts, episodes and rules."""
    from . import extracting

    outer = frame.of(context)
    how = {"retry_failed": retry_failed, "dry_run": dry_run, "json": json}
    outer.perform(extracting.extract(outer, limit=limit, session=session, **how))


@app.command()
def doctor(context: typer.Context, json: AsJson = False) -> None:
    """Say what is in force, and what is wrong."""
    from . import checks

    outer = frame.of(context)
    outer.perform(checks.doctor(outer, json=json))


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
    json: AsJson = False,
) -> None:
    """Write all that the embedded servers hold, as of one moment, into one file."""
    from . import backups

    outer = frame.of(context)
    outer.perform(backups.backup(outer, file.absolute(), force=force, json=json))


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that `lousa backup` wrote.")],
    force: Annotated[bool, typer.Option("--force", help="Set aside what is in the home already.")] = False,
    json: AsJson = False,
) -> None:
    """Bring a backup back into an empty home."""
    from . import backups

    outer = frame.of(context)
    outer.perform(backups.restore(outer, file.absolute(), force=force, json=json))


@app.command()
def migrate(
    context: typer.Context,
    sql: Annotated[bool, typer.Option("--sql", help="Print what is pending as a script for psql.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Say what is pending.")] = False,
    login: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let this login in, which owns nothing and may then run Lousa.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Bring the database's schema up to date, as its owner."""
    from . import migrating

    outer = frame.of(context)
    outer.perform(migrating.migrate(outer, sql=sql, check=check, login=login, json=json))


@app.command()
def rebuild(
    context: typer.Context,
    layer: Annotated[
        Literal["context", "knowledge"], typer.Argument(metavar="LAYER", help="context (vectors) or knowledge (facts).")
    ],
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up what was begun.")] = False,
    keep_old: Annotated[bool, typer.Option("--keep-old", help="Leave what a store outside still holds.")] = False,
    json: AsJson = False,
) -> None:
    """Make a layer anew from the record, with the settings in force, while it serves."""
    from . import rebuilding

    outer = frame.of(context)
    outer.perform(rebuilding.rebuild(outer, layer, abandon=abandon, keep_old=keep_old, json=json))


@app.command()
def stop(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Also while somebody uses them.")] = False,
    json: AsJson = False,
) -> None:
    """Stop the embedded servers of the home."""
    from . import servers

    outer = frame.of(context)
    outer.perform(servers.stop(outer, force=force, json=json))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line as a process: ends with `SystemExit`."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    sys.exit(frame.run(app, _everywhere_first(words)))


def _everywhere_first(words: list[str]) -> list[str]:
    """Options that hold for every verb may also stand behind it, up to a `--`."""
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    rest: list[str] = []
    position = 0
    while position < end:
        word = words[position]
        takes = 2 if word in ("--home", "--tenant") else 1
        (first if word.split("=", 1)[0] in EVERYWHERE else rest).extend(words[position : min(position + takes, end)])
        position += takes
    return [*first, *rest, *words[end:]]
