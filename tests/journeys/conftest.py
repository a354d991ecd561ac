"""An open Lousa, and its command line, on the servers that all tests share."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import lousa as library
import pytest
from lousa import Runtime
from lousa.infra.embedded.supervisor import Endpoints
from lousa.runtime.cli import main


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command line left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Lousa = Callable[..., Ended]


@pytest.fixture
def lousa(
    servers: Endpoints, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Lousa:
    """Runs a command line in this process, as a fresh tenant on the servers of the test run."""
    monkeypatch.setenv("LOUSA_REDIS_URL", servers.redis_url)
    monkeypatch.setenv("LOUSA_POSTGRES_URL", servers.postgres_url)
    monkeypatch.setenv("LOUSA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOUSA_TENANT", f"tenant-{uuid4().hex[:12]}")

    def call(*words: object) -> Ended:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return Ended(left.value.code if isinstance(left.value.code, int) else 0, said.out, said.err)

    return call


@pytest.fixture
def environment(servers: Endpoints, tmp_path: Path) -> dict[str, str]:
    """For a process of its own, as a fresh tenant on the servers of the test run."""
    return {
        **os.environ,
        "LOUSA_REDIS_URL": servers.redis_url,
        "LOUSA_POSTGRES_URL": servers.postgres_url,
        "LOUSA_HOME": str(tmp_path / "home"),
        "LOUSA_TENANT": f"tenant-{uuid4().hex[:12]}",
    }


@pytest.fixture
async def runtime(servers: Endpoints, tmp_path: Path, tenant: str) -> AsyncIterator[Runtime]:
    """Open for one test, in its own tenant."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(
            library.open(
                redis_url=servers.redis_url,
                postgres_url=servers.postgres_url,
                home=tmp_path,
                tenant=tenant,
                lease=timedelta(seconds=2),
            )
        )
