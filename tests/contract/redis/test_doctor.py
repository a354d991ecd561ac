"""The doctor asks every server that holds keys, says what is wrong, and what it cannot know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lousa.infra.redis_address import parse
from lousa.infra.redis_rights import IN_A_CLUSTER
from lousa.infra.settings import load
from lousa.runtime.check import Check
from lousa.runtime.doctor_redis import coverage, eviction, followers, promise_by_report, redis_checks
from servers.valkey import HOST, PASSWORD, Clustered, Watched, clustered, least, serving, wait_for

from .conftest import Entering, Process


async def checks(process: Process, home: Path) -> dict[str, Check]:
    settings = load(redis_url=process.connections.redis_url, home=home)
    return {check.what: check async for check in redis_checks(settings, process.connections)}


async def test_a_whole_cluster_with_replicas_is_well(cluster: Clustered, entering: Entering, tmp_path: Path) -> None:
    async with entering(cluster.url) as process:
        found = await checks(process, tmp_path)
    assert "3 primaries" in found["redis"].said and "Valkey" in found["redis"].said
    assert found["redis promises"].state == found["redis eviction"].state == found["redis cluster"].state == "ok"
    assert found["redis rights"].state == "ok"
    assert found["redis replicas"].state == "note" and "min-replicas-to-write" in found["redis replicas"].said


async def test_one_wrong_node_is_enough_to_be_wrong(entering: Entering, tmp_path: Path) -> None:
    with clustered(3, 0, *least(*IN_A_CLUSTER, "config|get", "cluster|info"), "--maxmemory", "100mb") as nodes:
        nodes.nodes[1].ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        nodes.nodes[2].ask("CONFIG", "SET", "appendonly", "no")
        async with entering(nodes.url) as process:
            found = await checks(process, tmp_path)
            assert found["redis eviction"].state == "wrong" and "allkeys-lru" in found["redis eviction"].said
            assert found["redis promises"].state == "wrong" and "appendonly is off" in found["redis promises"].said
            assert found["redis replicas"].state == "wrong" and "3 of 3 primaries" in found["redis replicas"].said
            assert found["redis cluster"].state == "ok"


async def test_a_cluster_that_lost_slots_can_be_entered_and_is_wrong(entering: Entering, tmp_path: Path) -> None:
    with clustered(3, 0) as nodes:
        nodes.nodes[2].kill()
        wait_for("the others to know", lambda: "cluster_state:fail" in str(nodes.nodes[0].ask("CLUSTER", "INFO")))
        async with entering(nodes.url) as process:
            found = await checks(process, tmp_path)
            assert found["redis cluster"].state == "wrong"
            assert "of 16,384 slots" in found["redis cluster"].said


async def test_a_master_without_a_replica_is_wrong(entering: Entering, tmp_path: Path, doomed: Watched) -> None:
    async with entering(doomed.url) as process:
        assert (await checks(process, tmp_path))["redis replicas"].state == "note"
        doomed.master().ask("CONFIG", "SET", "min-replicas-to-write", "1")
        assert (await checks(process, tmp_path))["redis replicas"].state == "ok"
        next(server for server in doomed.servers if server is not doomed.master()).kill()
        wait_for("the master to miss it", lambda: doomed.master().ask("INFO", "replication")["connected_slaves"] == 0)
        found = await checks(process, tmp_path)
    assert found["redis replicas"].state == "wrong"


async def test_what_a_server_hides_is_said_to_be_unknown(entering: Entering, tmp_path: Path) -> None:
    with serving(*least()) as (server,):
        async with entering(f"redis://lousa:{PASSWORD}@{HOST}:{server.port}") as process:
            found = await checks(process, tmp_path)
            assert found["redis promises"].state == "note" and "cannot be known" in found["redis promises"].said
            assert found["redis eviction"].state == "ok"
            server.ask("CONFIG", "SET", "appendonly", "no")
            assert (await checks(process, tmp_path))["redis promises"].state == "wrong"
            server.ask("ACL", "SETUSER", "lousa", "-hscan", "-xclaim")
            rights = (await checks(process, tmp_path))["redis rights"]
            assert rights.state == "wrong" and "hscan, xclaim" in rights.said and PASSWORD not in rights.said


@pytest.mark.parametrize(("told", "state"), [({"aof_enabled": 1}, "note"), ({"aof_enabled": 0}, "wrong"), ({}, "note")])
def test_a_report_tells_what_it_can(told: dict[str, Any], state: str) -> None:
    assert promise_by_report(told).state == state


def test_an_unknown_policy_is_a_note() -> None:
    assert eviction({}).state == "note"


def test_slots_that_nobody_serves_are_wrong() -> None:
    well = {"cluster_state": "ok", "cluster_slots_ok": "16384"}
    assert coverage([well, well]).state == "ok"
    assert coverage([well, well | {"cluster_slots_ok": "10923"}]).state == "wrong"
    assert coverage([well, well | {"cluster_state": "fail"}]).state == "wrong"


def test_one_server_alone_is_not_asked_for_replicas() -> None:
    assert list(followers(parse("redis://h"), [{"connected_slaves": 0}])) == []
