"""The kinds of Redis that a contract is held to: the embedded one, a master behind Sentinels, a Cluster.

The last two are used as a user with no rights but the documented ones, and what the tests themselves ask for.

A folder or a module of tests takes `connections` and `redis_url` from here, and each of its tests runs on every kind.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack

import pytest
from lousa.infra.connections import Connections
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.redis_rights import BEHIND_SENTINELS, IN_A_CLUSTER
from servers.valkey import clustered, least, watched

_LOOKS = ("ttl", "pttl", "cluster|keyslot", "script|flush", "subscribe")
"""What tests ask a server for, and Lousa does not."""
_STARTED: dict[str, str] = {}


@pytest.fixture(scope="session", params=["alone", "cluster", "sentinel"])
def redis_url(request: pytest.FixtureRequest, servers: Endpoints) -> str:
    """The address of each kind in turn; it is started when the first test asks for it, and stops with the run."""
    kind: str = request.param
    if kind == "alone":
        return servers.redis_url
    if kind not in _STARTED:
        stack = ExitStack()
        request.config.add_cleanup(stack.close)
        if kind == "cluster":
            started = clustered(3, 0, *least(*IN_A_CLUSTER, *_LOOKS))
        else:
            started = watched(1, *least(*BEHIND_SENTINELS, *_LOOKS))
        _STARTED[kind] = stack.enter_context(started).url
    return _STARTED[kind]


@pytest.fixture
async def connections(servers: Endpoints, redis_url: str) -> AsyncGenerator[Connections]:
    """Open clients of Postgres and of each kind of Redis."""
    async with AsyncExitStack() as stack:
        opened = Connections(redis_url, servers.postgres_url)
        await opened.start(stack)
        yield opened
