"""Is the board linearizable? Records histories of concurrent clients on embedded servers, and checks each.

    python tests/faults/linearizability [--histories 200] [--operations 1000] [--seed 1]

The last line is JSON; exits with 1 when a history is not linearizable, or it could not be found out. Why goes to
standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

sys.path[0] = str(Path(__file__).resolve().parents[1])

from lousa.infra.embedded.supervisor import EmbeddedServers  # noqa: E402

from linearizability.recording import Recording  # noqa: E402
from linearizability.specifications import judge  # noqa: E402

KILL_EVERY = 5


async def run(histories: int, operations: int, seed: int) -> dict[str, float]:
    """Record and check; the figures."""
    counted = {"histories": 0, "operations": 0, "unanswered": 0, "not_linearizable": 0, "unknown": 0}
    began = monotonic()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lousa-lin-")))
        servers = await EmbeddedServers(folder / "home").start(stack)
        recording = Recording(servers, folder, seed=seed)
        await recording.start(stack)
        for number in range(histories):
            history = await recording.history(operations, kill=number % KILL_EVERY == KILL_EVERY - 1)
            verdicts = judge(history)
            answers = {verdict.linearizable for verdict in verdicts.values()}
            counted["histories"] += 1
            counted["operations"] += len(history)
            counted["unanswered"] += sum(each.answer is None for each in history)
            counted["not_linearizable"] += False in answers
            counted["unknown"] += None in answers and False not in answers
            for name, verdict in verdicts.items():
                if not verdict.linearizable:
                    print(f"history {number} of seed {seed}, {name}: {verdict.reason}", file=sys.stderr)
        return {**counted, "cut_replies": recording.cut, "seconds": round(monotonic() - began, 1)}


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--operations", type=int, default=1_000, help="of each history, at least")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    figures = asyncio.run(run(told.histories, told.operations, told.seed))
    print(json.dumps(figures))
    sys.exit(1 if figures["not_linearizable"] or figures["unknown"] else 0)


if __name__ == "__main__":
    main()
