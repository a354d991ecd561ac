"""A child's line to the witness: every word is with the kernel before the child goes on, so its death loses none."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

Words = dict[str, Any]


class Channel:
    """One line of JSON a word, both ways."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._rest = b""

    def say(self, word: str, *more: Any) -> None:
        """Tell the witness; it always listens, so this waits for nothing but the kernel."""
        self._socket.sendall(json.dumps([word, *more], separators=(",", ":")).encode() + b"\n")

    def listen(self, heard: Callable[[Words], None], end: Callable[[], None]) -> None:
        """Call `heard` with each order from now on, and `end` when there will be none."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            part = self._socket.recv(65_536)
            if not part:
                loop.remove_reader(self._socket)
                end()
                return
            *lines, self._rest = (self._rest + part).split(b"\n")
            for line in lines:
                heard(json.loads(line))

        loop.add_reader(self._socket, read)
