"""A home that was opened once, for tests of the embedded servers."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from embedded_home import Kept
from lousa.infra.embedded.supervisor import EmbeddedServers, status, stop


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was opened once: copying it spares each test the initialisation."""
    home = tmp_path_factory.mktemp("made") / "home"

    async def once() -> None:
        async with AsyncExitStack() as stack:
            await EmbeddedServers(home).start(stack)

    asyncio.run(once())
    return home


@pytest.fixture
async def home(made: Path) -> AsyncGenerator[Path]:
    """A home whose servers do not run; afterwards none may be left running."""
    yield made
    left = await status(made)
    await stop(made, force=True)
    assert left.servers == (), "servers were left behind"


@pytest.fixture(autouse=True)
def kept() -> None:
    Kept.test = uuid4().hex


@pytest.fixture
def spare(made: Path, tmp_path: Path) -> Path:
    """A home to be destroyed."""
    return Path(shutil.copytree(made, tmp_path / "spare"))
