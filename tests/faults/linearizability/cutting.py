"""A line that is cut: stands between clients and their server, and sometimes swallows a reply and hangs up.

The server has done what was asked; the client does not know, and its driver asks again.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path


class Cutter:
    """Listens at `socket` for the server at `server`, and cuts the share `rate` of the replies."""

    def __init__(self, socket: Path, server: Path, rate: float, seed: int) -> None:
        self.socket = socket
        self.cut = 0
        self._server = server
        self._rate = rate
        self._random = random.Random(seed)
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self, stack: AsyncExitStack) -> None:
        """Listen until the stack closes."""
        listener = await asyncio.start_unix_server(self._accept, str(self.socket))
        stack.push_async_callback(self._stop, listener)

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._serving.add(serving := asyncio.create_task(self._serve(client, to_client)))
        serving.add_done_callback(self._serving.discard)

    async def _stop(self, listener: asyncio.Server) -> None:
        listener.close()
        for serving in list(self._serving):
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await listener.wait_closed()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(str(self._server))

        async def requests() -> None:
            while data := await client.read(65_536):
                to_server.write(data)
            to_server.write_eof()

        asking = asyncio.create_task(requests())
        try:
            while data := await server.read(65_536):
                if self._random.random() < self._rate:
                    self.cut += 1
                    break
                to_client.write(data)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            to_client.close()
            to_server.close()
