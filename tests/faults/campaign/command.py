"""The command line of the campaign, and its one line of figures.

python tests/faults/campaign [--moments 200] [--seed N] [--only KIND] [--broken NAME] [--keep]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence

from . import household
from .broken import BROKEN
from .campaign import FEWEST, RECOVERY, Campaign
from .moments import Deck, Moment, moments
from .witness import KINDS

_PAUSE = 0.3
"""Seconds of load between two moments."""
_VAIN = 20
"""So many more moments than are asked for may be waited for in vain."""
NOT_FOUND = 3
"""The exit code when a build was broken and that did not show."""
FAILED = 70
"""The exit code when the campaign itself went wrong."""
_EVERY = 9
"""After so many moments an execution ends and another begins."""


def say(line: str) -> None:
    """To people; the figures alone go to standard output."""
    print(line, file=sys.stderr, flush=True)


async def run(asked: argparse.Namespace) -> int:
    """One campaign; its exit code."""
    folder = household.folder()
    campaign = Campaign(folder, asked.seed, asked.broken)
    kinds = moments(campaign.slows is not None)
    say(
        f"seed {asked.seed}; home {folder}; slow fsync "
        + ("by a shim" if campaign.slows else "left out: no C compiler")
    )
    if asked.broken:
        kinds = {name: moment for name, moment in kinds.items() if name in BROKEN[asked.broken][2]}
    if asked.only:
        kinds = {name: moment for name, moment in kinds.items() if asked.only in name}
    if not kinds:
        raise SystemExit(f"no kind of moment is called like {asked.only!r}: {', '.join(moments(True))}")
    began, happened, not_reached = time.monotonic(), Counter[str](), Counter[str]()
    try:
        running = asyncio.create_task(_run(campaign, asked, kinds, happened, not_reached))
        hopeless = asyncio.create_task(campaign.hopeless.wait())
        await asyncio.wait((running, hopeless), return_when=asyncio.FIRST_COMPLETED)
        hopeless.cancel()
        if running.done():
            running.result()
        running.cancel()
    finally:
        await campaign.close()
        if not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return report(campaign, asked.seed, asked.broken, time.monotonic() - began, happened, not_reached)


async def _run(
    campaign: Campaign,
    asked: argparse.Namespace,
    kinds: dict[str, Moment],
    happened: Counter[str],
    not_reached: Counter[str],
) -> None:
    began = time.monotonic()
    await campaign.begin()
    say(f"begun after {time.monotonic() - began:.1f} s")
    deck = Deck(kinds, campaign.rng)
    await campaign.load(1.0)
    while campaign.moments < asked.moments:
        if sum(not_reached.values()) > asked.moments + _VAIN:
            campaign.failures.append("moments were waited for in vain too often")
            break
        name, moment = deck.draw()
        at = time.monotonic()
        counts = await moment(campaign)
        (happened if counts else not_reached)[name] += 1
        campaign.moments += counts
        await campaign.all_ready()
        if campaign.moments % _EVERY == 0 and counts:
            await campaign.rotate(campaign.rng.choice(sorted(campaign.boards)))
            await campaign.glance()
        took = time.monotonic() - at
        await campaign.load(_PAUSE)
        if asked.verbose:
            say(f"{campaign.moments:4} {name:28} {took:6.2f} s {'' if counts else '(not reached)'}")
        if asked.broken and campaign.witness.found[BROKEN[asked.broken][1]]:
            return
    say(f"settling after {time.monotonic() - began:.1f} s")
    await campaign.settle(5.0 if asked.broken else 60.0)
    say(f"closing after {time.monotonic() - began:.1f} s")


def report(
    campaign: Campaign, seed: int, broken: str, took: float, happened: Counter[str], not_reached: Counter[str]
) -> int:
    """Say what came of it; 1 when a promise was broken."""
    witness = campaign.witness
    rate = campaign.acknowledged_between / campaign.seconds_between if campaign.seconds_between else 0.0
    slowest = max(campaign.recoveries, default=0.0)
    if rate < FEWEST:
        campaign.failures.append(f"{rate:.0f} acknowledgements a second between moments: {FEWEST} are asked for")
    if slowest > RECOVERY:
        campaign.failures.append(f"the load went on only {slowest:.1f} s after a server was back")
    campaign.failures += [f"{count} × {kind}" for kind, count in witness.found.items() if kind not in KINDS]
    say(f"{took:.0f} s; kinds: {dict(happened)}")
    if not_reached:
        say(f"not reached, and not counted: {dict(not_reached)}")
    say(
        f"{witness.repeats} repeats answered as before, {witness.resent} sent again on purpose,"
        f" {witness.snapshots} snapshots"
    )
    for line in (*witness.examples, *campaign.failures):
        say(line)
    figures = {
        "moments": campaign.moments,
        "acknowledged": witness.acknowledged,
        "per_second": round(rate),
        **{kind: witness.found[kind] for kind in KINDS},
        "recovery_seconds_max": round(slowest, 2),
        "seed": seed,
    }
    print(json.dumps(figures), flush=True)
    if broken and not witness.found[BROKEN[broken][1]]:
        return NOT_FOUND
    return int(bool(campaign.failures) or any(witness.found[kind] for kind in KINDS))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, and exit with its code."""
    parser = argparse.ArgumentParser(prog="campaign", description="Kill things under load, and count what was lost.")
    parser.add_argument("--moments", type=int, default=200, help="how many times something is killed, cut or slowed")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="which moments come, and when")
    parser.add_argument("--only", default="", metavar="KIND", help="moments whose name contains this")
    parser.add_argument("--broken", default="", choices=["", *BROKEN], metavar="NAME", help="break the product first")
    parser.add_argument("--keep", action="store_true", help="leave the home and the log of the children")
    parser.add_argument("--verbose", action="store_true", help="a line a moment")
    try:
        code = asyncio.run(run(parser.parse_args(arguments)))
    except Exception:
        traceback.print_exc()
        code = FAILED
    sys.exit(code)
