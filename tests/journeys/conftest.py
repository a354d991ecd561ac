"""An open Lousa on the servers that all tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import lousa
import pytest
from lousa import Runtime
from lousa.infra.embedded.supervisor import Endpoints


@pytest.fixture
async def runtime(servers: Endpoints, tmp_path: Path, tenant: str) -> AsyncIterator[Runtime]:
    """Open for one test, in its own tenant."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(
            lousa.open(
                redis_url=servers.redis_url,
                postgres_url=servers.postgres_url,
                home=tmp_path,
                tenant=tenant,
                lease=timedelta(seconds=2),
            )
        )
