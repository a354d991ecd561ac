"""Forks the children of the campaign: a program of its own that has done the slow imports and has no thread or loop.

An order is a line of JSON on its input, the answer a pid. It never waits for a child: the system reaps them, and the
witness knows of an end by the line that breaks off.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from campaign import child  # noqa: E402  # its folder had to be found first


def main() -> None:
    """One child a line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.dup2(nothing, 1)
            child.live(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
