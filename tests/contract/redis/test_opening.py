"""What cannot be used is refused at open: without rights, without TLS, under the address of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lousa.infra.errors import LousaError, ServerUnavailable, SettingsError
from lousa.infra.redis_rights import BEHIND_SENTINELS, IN_A_CLUSTER, RULE, lacking
from lousa.memory_layers.conversation.board import Written
from lousa.memory_layers.conversation.script import command
from servers.tls import speaking_tls
from servers.valkey import (
    HOST,
    PASSWORD,
    Clustered,
    Server,
    Watched,
    clustered,
    free_port,
    least,
    serving,
    wait_for,
    watched,
)

from .conftest import Entering


@pytest.fixture
def alone() -> Any:
    with serving(*least()) as (server,):
        yield server


def url_of(server: Server, user: str = "lousa", password: str = PASSWORD) -> str:
    return f"redis://{user}:{password}@{HOST}:{server.port}"


async def refused(entering: Entering, url: str) -> str:
    with pytest.raises((SettingsError, ServerUnavailable)) as told:
        async with entering(url):
            pass
    return str(told.value)


async def test_the_address_of_another_kind_is_refused_with_the_right_one(
    cluster: Clustered, group: Watched, entering: Entering
) -> None:
    replica = next(server for server in group.servers if server is not group.master())
    assert "redis+cluster://" in await refused(entering, cluster.nodes[0].url)
    assert "redis+sentinel://" in await refused(entering, group.sentinels[0].url)
    assert "is a replica" in await refused(entering, replica.url)
    assert "redis://" in await refused(entering, f"redis+cluster://{HOST}:{group.master().port}")


async def test_a_user_with_the_documented_rule_may_do_all_that_is_needed(alone: Server, entering: Entering) -> None:
    async with entering(url_of(alone)) as process:
        assert await lacking(process.connections.redis) == []
        assert isinstance(await (await process.board()).write("a", 1), Written)
        assert await process.connections.redis.exists("lousa:rights") == 0


async def test_what_a_user_may_not_do_is_named(alone: Server, entering: Entering) -> None:
    alone.ask("ACL", "SETUSER", "lousa", "-xclaim", "-evalsha", "-hset")
    async with entering(url_of(alone)) as process:
        assert set(await lacking(process.connections.redis)) == {"xclaim", "evalsha", "hset"}
        with pytest.raises(LousaError, match=r"'evalsha'.*docs/redis\.md"):
            await (await process.board()).write("a", 1)
        alone.ask("ACL", "SETUSER", "lousa", "+evalsha")
        with pytest.raises(LousaError, match=r"docs/redis\.md"):
            await (await process.board()).write("a", 1)


async def test_nothing_outside_the_keys_of_lousa_is_touched(alone: Server, entering: Entering) -> None:
    async with entering(url_of(alone)) as process:
        with pytest.raises(SettingsError, match=r"docs/redis\.md"):
            await command(process.connections.redis, "SET", "other", 1)


async def test_a_user_that_may_not_even_ask_is_refused_at_open(alone: Server, entering: Entering) -> None:
    alone.ask("ACL", "SETUSER", "lousa", "-info")
    assert "docs/redis.md" in await refused(entering, url_of(alone))


async def test_a_wrong_password_is_said_and_not_shown(alone: Server, entering: Entering) -> None:
    with pytest.raises(SettingsError, match=r"(?i)invalid username-password.*docs/redis\.md") as told:
        async with entering(url_of(alone, password="hidden")):
            pass
    assert "hidden" not in str(told.value)


async def test_an_option_that_does_not_exist_is_refused(alone: Server, entering: Entering) -> None:
    assert "LOUSA_REDIS_URL" in await refused(entering, url_of(alone) + "?colour=blue")


async def test_tls_needs_the_authority_and_where_asked_a_certificate(
    alone: Server, entering: Entering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lousa.infra.redis._TRIES", 1)
    async with speaking_tls([alone.port], tmp_path) as (tls,):
        url = url_of(alone).replace("redis://", "rediss://").replace(str(alone.port), str(tls.port))
        async with entering(url + tls.options) as process:
            assert isinstance(await (await process.board()).write("a", 1), Written)
        short = "&socket_timeout=1&socket_connect_timeout=1"
        assert "certificate verify failed" in await refused(entering, url + "?ssl_check_hostname=true" + short)
        assert "does not answer" in await refused(entering, f"{url}?ssl_ca_certs={tls.authority}{short}")


async def test_tls_goes_to_every_node_of_a_cluster(entering: Entering, tmp_path: Path) -> None:
    with clustered(3, 0, *least(*IN_A_CLUSTER)) as nodes:
        async with speaking_tls([node.port for node in nodes.nodes], tmp_path) as spoken:
            for node, tls in zip(nodes.nodes, spoken, strict=True):
                node.ask("CONFIG", "SET", "cluster-announce-port", str(tls.port))
            told = {tls.port for tls in spoken}
            wait_for("all to know", lambda: all({at for *_, at in nodes.ranges(node)} == told for node in nodes.nodes))
            url = f"rediss+cluster://lousa:{PASSWORD}@{HOST}:{spoken[0].port}{spoken[0].options}"
            async with entering(url) as process:
                for _ in range(8):
                    assert isinstance(await (await process.board()).write("a", 1), Written)


async def test_tls_goes_to_sentinels_and_to_the_master_they_name(entering: Entering, tmp_path: Path) -> None:
    with watched(1, *least(*BEHIND_SENTINELS)) as group:
        ports = [*(sentinel.port for sentinel in group.sentinels), group.master().port]
        async with speaking_tls(ports, tmp_path) as (*spoken, master):
            for sentinel in group.sentinels:
                sentinel.ask("SENTINEL", "REMOVE", "lousa")
                sentinel.ask("SENTINEL", "MONITOR", "lousa", HOST, str(master.port), "2")
            nodes = ",".join(f"{HOST}:{tls.port}" for tls in spoken)
            async with entering(f"rediss+sentinel://lousa:{PASSWORD}@{nodes}/lousa{master.options}") as process:
                assert isinstance(await (await process.board()).write("a", 1), Written)


def test_the_rule_is_whole() -> None:
    assert RULE.startswith("resetkeys ~lousa:* resetchannels &lousa:* -@all +")
    assert free_port() != free_port()
