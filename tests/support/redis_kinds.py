"""The kinds of Redis that a contract is held to: the embedded one, a master behind Sentinels, a Cluster.

The last two are used as a user with no rights but the documented ones, and what the tests themselves ask for.

A folder or a module of tests takes `connections` and `redis_url` from here, and each of its tests runs on every kind;
of its many cases one, where a `conftest.py` hands the collected tests to `once_a_kind`.
"""

from __future__ import annotations

import atexit
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
        atexit.register(stack.close)  # of a process that shares the tests with others, pytest cleans up nothing
        if kind == "cluster":
            started = clustered(3, 0, *least(*IN_A_CLUSTER, *_LOOKS))
        else:
            started = watched(1, *least(*BEHIND_SENTINELS, *_LOOKS))
        _STARTED[kind] = stack.enter_context(started).url
    return _STARTED[kind]


def once_a_kind(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with many cases, run all on the embedded server and one on each other kind.

    Which name or value it is matters to the scripts, which are the same everywhere, and not to where they run.
    """
    first: dict[tuple[object, str, str], str] = {}
    kinds: dict[pytest.Item, tuple[object, str, str]] = {}
    for item in items:
        case = getattr(item, "callspec", None)
        if isinstance(item, pytest.Function) and case is not None and case.params.get("redis_url", "alone") != "alone":
            kinds[item] = of = (item.path, item.originalname, case.params["redis_url"])
            first[of] = min(first.get(of, item.name), item.name)
    spare = [item for item, of in kinds.items() if item.name != first[of]]
    config.hook.pytest_deselected(items=spare)
    items[:] = [item for item in items if item not in set(spare)]


@pytest.fixture
async def connections(servers: Endpoints, redis_url: str) -> AsyncGenerator[Connections]:
    """Open clients of Postgres and of each kind of Redis."""
    async with AsyncExitStack() as stack:
        opened = Connections(redis_url, servers.postgres_url)
        await opened.start(stack)
        yield opened
